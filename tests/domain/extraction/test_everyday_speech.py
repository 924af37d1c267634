"""What people say in passing of their health, family, bank and work, and what only sounds like it."""

from collections.abc import Sequence
from datetime import date, timedelta

import pytest

from mnemolog.domain.extraction.extractor import extract
from tests.domain.extraction.test_extraction import AT, found

pytestmark = pytest.mark.spec_part("B13")


def told(text: str, previous: str) -> list[str]:
    """As `subject predicate object` of a message after another."""
    return [f"{one.subject} {one.predicate} {one.object}" for one in extract(text, AT, previous=previous)]


def test_a_name_that_was_told_before_is_one_in_small_letters() -> None:
    before = [extract("My missus Shanice is 30 weeks pregnant", AT)]

    [mother] = extract("shanices mum Yvonne is visiting", AT, before=before)
    assert (mother.subject, mother.predicate, mother.object) == ("Shanice", "mother", "Yvonne")
    [drug] = extract("nurse thinks shanice is ill. they started her on sertraline", AT, before=before)
    assert (drug.subject, drug.object) == ("Shanice", "sertraline")


def test_she_is_nobody_of_the_message_before_if_one_in_small_letters_may_have_named_her() -> None:
    previous = "my mum is going to spend her life shouting"

    assert told("they started her on sertraline", previous) == ["me medication sertraline"]
    assert not told("nurse thinks shanice is ill. they started her on sertraline", previous)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Halifax have shut our branch so I've moved to Nationwide", ["bank Nationwide"]),
        ("I've switched to Monzo, the old bank was useless", ["bank Monzo"]),
        ("I've switched to Monzo", ["bank Monzo in place of *"]),
        ("I've moved to Nationwide", []),
        ("I moved to Barclays in March", []),
        ("I moved to Vodafone last week, the signal is better", []),
        ("Our broadband was rubbish so we moved to Zen", []),
        ("We moved to Leeds and opened a bank account", ["lives_in Leeds"]),
        ("I've moved to Skye", ["lives_in Skye"]),
        ("I quit Barclays.", ["-works_at Barclays"]),
    ],
)
def test_whose_customer_one_becomes_is_no_home(text: str, expected: list[str]) -> None:
    assert found(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I'm allergic to cats officially", ["allergy cats"]),
        ("I'm allergic to penicillin (badly)", ["allergy penicillin"]),
        ("I'm only allergic to penicillin", ["allergy penicillin"]),
        ("I'm allergic to royal jelly", ["allergy royal jelly"]),
        ("I'm not allergic to anything but penicillin, for the form", ["allergy penicillin"]),
        ("I'm not allergic to anything", []),
        (
            "Things you should know about me: allergic to penicillin (properly, not just a rash), I hate mushrooms",
            ["allergy penicillin", "dislikes mushrooms"],
        ),
        ("About me: vegan, allergic to nuts", ["diet_plan vegan", "allergy nuts"]),
        ("Song about me: allergic to love", []),
        ("The teacher wrote about me: I live in a bubble", []),
        ("test result: Sam's allergic to kiwi, latex too", ["known Sam allergy kiwi", "known Sam allergy latex"]),
        ("The text said: Sam's allergic to kiwi", []),
        ("I come up in hives w kiwi", ["allergy kiwi"]),
        ("I get hives when I eat strawberries.", ["allergy strawberries"]),
        ("Prawns bring me out in hives so no thanks", ["allergy prawns"]),
        ("Deadlines give me hives.", []),
        ("I got hives from the stress.", []),
        ("Dwayne can't do shellfish", ["known Dwayne intolerance shellfish"]),
        ("I can't do Tuesday", []),
    ],
)
def test_an_allergy_in_other_words(text: str, expected: list[str]) -> None:
    assert found(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Eve's 12 on Thursday", ["known Eve age 12 2026-05-14.."]),
        ("My daughter Eve is 12 in June.", ["daughter Eve", "Eve age 12 2026-06-01.."]),
        ("My daughter Eve is 12 on the 20th.", ["daughter Eve", "Eve age 12 2026-05-20.."]),
        ("Eve is 12 now", ["known Eve age 12"]),
        ("Eve turned 12 on Tuesday", ["known Eve age 12 2026-05-12.."]),
    ],
)
def test_an_age_may_be_one_to_come(text: str, expected: list[str]) -> None:
    assert found(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Kids are Eve, she's 11, and Sam who's 7 and a half", ["parent_of Eve", "parent_of Sam"]),
        ("Our kids are Eve, who's eleven, and Sam", ["parent_of Eve", "parent_of Sam"]),
        ("Kids are Happy today", []),
        ("My best mate is Tracy", ["friend_of Tracy"]),
        ("Kids back at school. Eve's started at Kelvin Hall, hates the tie", ["known Eve studies_at Kelvin Hall"]),
        ("Kids back at school. Eve's started at Kelvin Hall, teaching music", ["known Eve works_at Kelvin Hall"]),
        ("Dean's started at Kelvin Hall", ["known Dean works_at Kelvin Hall"]),
        ("Karen's been made redundant", ["-known Karen works_at *"]),
        ("Karen's been made a partner", []),
        ("Dana got Mia's job", [f"{one} Dana in place of Mia" for one in ("boss", "manager", "supervisor")]),
        ("Dana is replacing Mia", [f"{one} Dana in place of Mia" for one in ("boss", "manager", "supervisor")]),
        ("Dana got Mia's job offer", []),
        ("Dana is replacing Mia's tyres", []),
        ("I changed doctor, I'm with Dr Petrova now, Lal's retired", ["doctor Dr Petrova"]),
        ("I've been upped to 100 of sertraline", ["sertraline_dose 100"]),
        ("They've upped me to 100mg of sertraline", ["sertraline_dose 100mg"]),
        ("I'm down to 2.5mg of bisoprolol now", ["bisoprolol_dose 2.5mg"]),
        ("Dana is up to 100 of sertraline", []),
        ("I might go up to 100 of sertraline", []),
        ("funeral's on the 1st of June at the Priory", ["funeral_date 2026-06-01"]),
        ("Funeral's been moved to the 5th, they were double booked", ["funeral_date 2026-06-05"]),
    ],
)
def test_family_and_work_in_other_words(text: str, expected: list[str]) -> None:
    assert found(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Our rent is £750 a month which everyone says is cheap", ["rent £750 a month"]),
        ("Rent here is £795 and the landlord wants to put it up", ["rent £795"]),
        ("I earn 38 grand", ["salary 38 grand"]),
        ("I make 5 grand mistakes", []),
    ],
)
def test_what_follows_a_figure_leaves_it_certain(text: str, expected: list[str]) -> None:
    assert found(text) == expected


@pytest.mark.parametrize(
    ("previous", "text", "expected"),
    [
        ("My dentist is Mr Hussain.", "Mrs Dale, lovely woman, she has diabetes", ["Mrs Dale condition diabetes"]),
        ("I saw Mr Hussain today.", "she has diabetes", []),
        ("I saw Mrs Hussain today.", "he has diabetes", []),
        ("I saw Mrs Hussain today.", "she has diabetes", ["Mrs Hussain condition diabetes"]),
        ("Aunt Pat had a stroke last night", "She died at teatime.", ["me aunt Pat", "Pat died by 2026-05-13"]),
    ],
)
def test_a_pronoun_is_of_whom_it_can_be(previous: str, text: str, expected: Sequence[str]) -> None:
    assert told(text, previous) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I've moved to Ward 8", []),
        ("My dad moved to Bay 2 this morning", []),
        ("I moved to Nights in January", []),
        ("My dad moved to Castle Hill yesterday for the scan", []),
        ("My dad moved into Saltshouse Haven for respite care", []),
        ("My dad moved into Saltshouse Haven", ["my father lives_in Saltshouse Haven"]),
        ("We moved to Ward Hill", ["lives_in Ward Hill"]),
        ("We moved to Bay Ridge", ["lives_in Bay Ridge"]),
        ("I left Tesco at five", []),
        ("I left Tesco at eleven today", []),
        ("I left Tesco after five years", ["-works_at Tesco"]),
        ("I love jazz to bits", ["likes jazz"]),
        ("I love walking to work", ["likes walking to work"]),
        ("My brother is allergic to hard work", []),
        ("My brother is allergic to hard cheese", ["my brother allergy hard cheese"]),
        ("I take sertraline to the pharmacy for returns", []),
        ("I take insulin to Mrs Dale", []),
        ("I take sertraline to help with sleep", ["medication sertraline"]),
    ],
)
def test_what_only_sounds_like_a_home_a_job_or_a_medication(text: str, expected: list[str]) -> None:
    assert found(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I'm allergic to early mornings", []),
        ("My dad is allergic to technology", []),
        ("I'm allergic to latex", ["allergy latex"]),
        ("We've stopped smoking in the house", []),
        ("I stopped smoking at work", []),
        ("I've stopped smoking in March", ["-habit smoking ..2026-03-01"]),
        ("I quit smoking at last", ["-habit smoking"]),
        ("I'm a taxi driver for my kids", []),
        ("I'm a glorified taxi driver", []),
        ("I'm a taxi driver for my kids basically", []),
        ("I'm a taxi driver in Hull", ["job_title taxi driver", "works_in Hull"]),
    ],
)
def test_what_is_said_in_jest_or_of_one_place_is_no_fact(text: str, expected: list[str]) -> None:
    assert found(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I'm seeing a guy called Pete about some oak on Friday", []),
        ("I'm seeing a woman called Dana at the weekend", []),
        ("I'm going out with Pete tomorrow", []),
        ("I'm going out with Pete for a curry", []),
        ("I'm going out with Pete and the lads", []),
        ("My brother is seeing Anna on Friday", []),
        ("My brother is seeing Anna", ["my brother partner_of Anna"]),
        ("I've been going out with Dana since March", ["partner_of Dana 2026-03-01.."]),
        ("I started dating a girl called Dana on Friday", ["partner_of Dana 2026-05-08.."]),
    ],
)
def test_whom_one_meets_is_no_partner(text: str, expected: list[str]) -> None:
    assert found(text) == expected


def test_who_is_getting_married_is_not_married_yet() -> None:
    assert found("Eve's getting married to Tom") == []
    assert found("Eve got married to Tom") == ["known Eve married_to Tom"]


@pytest.mark.parametrize("text", ["Eve's moving up to Year 3 in September", "Eve moved to Year 3"])
def test_a_form_at_school_is_no_home_and_no_school(text: str) -> None:
    assert found(text) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Mum's allergic to penicillin, I always forget to say", ["my mother allergy penicillin"]),
        ("Dad's got diabetes", ["my father condition diabetes"]),
        ("Nan's 90", ["my grandmother age 90"]),
        ("Mum's birthday is 3 May", ["my mother birthday 3 May"]),
        ("Mum's called Jean", ["mother Jean"]),
    ],
)
def test_mum_is_one_s_own_mother_in_short_as_well(text: str, expected: list[str]) -> None:
    assert found(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I'm allergic to nuts by the way", ["allergy nuts"]),
        ("I'm 41 btw, feel 80", ["age 41"]),
        ("My dentist is Dr Shaw, just so you know", ["dentist Dr Shaw"]),
    ],
)
def test_an_aside_is_no_part_of_what_is_said(text: str, expected: list[str]) -> None:
    assert found(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Sold the van! A lad gave me 3200", ["-drives *"]),
        ("We sold the truck for 900", ["-drives *"]),
        ("I sold the car for Dad", []),
        ("I sold the car keys", []),
    ],
)
def test_the_car_that_one_sells_is_one_s_own(text: str, expected: list[str]) -> None:
    assert found(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("My old boss Dana lives in Leeds", []),
        ("My old landlord moved to Spain", []),
        ("My old dentist is Dr Shaw", []),
        ("My old friend Tom lives in York", ["friend_of Tom", "Tom lives_in York"]),
        ("My old cat is called Mog", ["cat Mog"]),
    ],
)
def test_an_old_boss_is_none_any_more(text: str, expected: list[str]) -> None:
    assert found(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("my daughter and my son are allergic to eggs", ["my daughter allergy eggs", "my son allergy eggs"]),
        (
            "My daughter Mia and my son Tom are both allergic to eggs",
            ["Mia allergy eggs", "Tom allergy eggs", "daughter Mia", "son Tom"],
        ),
        ("Freya and Angus are allergic to nuts", ["known Freya allergy nuts", "Angus allergy nuts"]),
        (
            "My sons Tom and Ben are allergic to nuts",
            ["Tom allergy nuts", "Ben allergy nuts", "son Tom", "son Ben"],
        ),
        (
            "My girls, Mia and Eva, are coeliac",
            ["Mia condition coeliac disease", "Eva condition coeliac disease", "parent_of Mia", "parent_of Eva"],
        ),
        (
            "My son, Tom, and daughter Mia are allergic to nuts",
            ["Tom allergy nuts", "Mia allergy nuts", "son Tom", "daughter Mia"],
        ),
        (
            "My brothers Tom and Ben and I are vegan",
            ["diet_plan vegan", "Tom diet_plan vegan", "Ben diet_plan vegan", "brother Tom", "brother Ben"],
        ),
        ("The twins Mia and Eva are allergic to milk", ["Eva allergy milk"]),
        ("Both my kids have finally outgrown their egg allergy", ["-my kids allergy egg"]),
        ("Me and the kids are vegan now", ["diet_plan vegan", "my kids diet_plan vegan"]),
        ("My wife and kids can't have gluten", ["my married_to intolerance gluten", "my kids intolerance gluten"]),
        ("Mum and dad are both diabetics", ["my mother condition diabetes", "my father condition diabetes"]),
        ("My mum and I have asthma, she coughs", ["my mother condition asthma", "condition asthma"]),
        ("My sister and her son are coeliac", ["my sister condition coeliac disease"]),
        ("My son is allergic to bees, like me", ["my son allergy bees", "allergy bees"]),
        ("both my boys are allergic to nuts and I moved to Leeds", ["my boys allergy nuts", "lives_in Leeds"]),
        ("the twins are lactose intolerant so it's the fancy formula", ["my twins intolerance lactose"]),
        ("Both my parents take statins", ["my parents medication statins"]),
        ("The kids aren't allergic to nuts any more", ["-my kids allergy nuts"]),
        ("I teach year 2 and the twins are allergic to nuts", []),
        ("My sister came. The kids are allergic to nuts", []),
        ("Neither of the kids is allergic to nuts", []),
        ("Kids are allergic to homework", []),
        ("Are the twins allergic to nuts?", []),
        ("I think the twins are allergic to eggs", []),
        ("My dogs and I are allergic to grass", []),
    ],
)
def test_what_is_said_of_the_health_of_several_at_once_is_of_each(text: str, expected: list[str]) -> None:
    assert found(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("They stopped dad's warfarin", ["-my father medication warfarin"]),
        ("Dad's warfarin was stopped on Monday", ["-my father medication warfarin ..2026-05-11"]),
        ("the consultant's put mum on naproxen for the knee", ["my mother medication naproxen"]),
        ("They've put Dad back on a lower dose of apixaban", ["my father medication apixaban"]),
        ("the doctor put my sister Ana on statins", ["sister Ana", "Ana medication statins"]),
        ("The consultant has taken Clive off risperidone", ["-known Clive medication risperidone"]),
        (
            "Mom had a stroke. they took her off lisinopril and put her on amlodipine and clopidogrel",
            [
                "-my mother medication lisinopril",
                "my mother medication amlodipine",
                "my mother medication clopidogrel",
                "my mother condition stroke",
            ],
        ),
        (
            "They've switched my brother from sertraline to fluoxetine",
            ["-my brother medication sertraline", "my brother medication fluoxetine"],
        ),
        ("They want to put mum on statins", []),
        ("They stopped dad's warfarin for two days", []),
        ("They took dad off warfarin until Monday", []),
        ("My mum called Joan", []),
        ("They didn't put mum on statins", []),
        ("Julian met Anjali. They put her on statins", []),
        ("My momma isn't diabetic", ["-my mother condition diabetes"]),
        ("My daughter isn't coeliac after all", ["-my daughter condition coeliac disease"]),
        ("My younger daughter isn't coeliac", []),
        ("My son isn't lactose intolerant any more", ["-my son intolerance lactose"]),
        ("Mum doesn't have asthma any more", ["-my mother condition asthma"]),
        ("Freya's given up being vegan", ["-known Freya diet_plan vegan"]),
        ("Mum moved to a care home in Wells", ["my mother lives_in Wells"]),
        ("Dad has gone into a nursing home in Leeds", ["my father lives_in Leeds"]),
        ("Dad has gone into a nursing home in Leeds for respite", []),
        ("My gran is in a care home in Hull", ["my grandmother lives_in Hull"]),
        ("mum's called Joan if you need it for the card", ["mother Joan"]),
    ],
)
def test_what_others_no_longer_take_or_have_and_where_they_moved(text: str, expected: list[str]) -> None:
    assert found(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "Ramipril gave me a dreadful cough. Dr Mehta has put me onto candesartan instead.",
            ["-medication ramipril", "-ramipril_dose *", "medication candesartan"],
        ),
        (
            "metformin upsets my stomach so doc switched me to gliclazide",
            ["-medication metformin", "-metformin_dose *", "medication gliclazide"],
        ),
        (
            "I'm on sertraline. They switched me to losartan.",
            ["medication sertraline", "medication losartan"],
        ),
        ("Candesartan's been stopped, I'm dizzy", ["-medication Candesartan", "-candesartan_dose *"]),
        ("Ozempic has been discontinued", []),
        ("they got me on naproxen for the back", ["medication naproxen"]),
        ("They've moved the wedding to 19 September", ["wedding_date 2026-09-19"]),
        ("I have given up the choir, it's too far", ["-choir_day *"]),
        ("ferry company cancelled, so Brittany's off", ["-next_trip Brittany"]),
        ("I've gone dairy free for January", []),
        ("I'm vegan for Lent", []),
        ("I've gone vegan for good", ["diet_plan vegan"]),
        ("I've changed my bank. I'm with Nationwide now", ["bank Nationwide"]),
        ("I'm with Chase now", []),
        ("New doctor here is Dr Lacey, very thorough", ["doctor Dr Lacey"]),
        ("my doctor left so now I see Dr. Okafor", ["doctor Dr Okafor"]),
        ("I see Dr. Okafor about my knee", []),
    ],
)
def test_what_is_no_longer_so_in_other_words(text: str, expected: list[str]) -> None:
    assert found(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I'm allergic to nuts, can you suggest a snack?", ["allergy nuts"]),
        ("I'm vegan so what can I cook?", ["diet_plan vegan"]),
        ("I moved to Leeds, so please don't forget it", ["lives_in Leeds"]),
        ("I'm on citalopram, so check if the tablets are ok with it", ["medication citalopram"]),
        ("Do you think I'm vegan so should I eat this?", []),
        ("If I moved to Leeds, could you visit?", []),
        ("I live in Leeds, right?", []),
        ("I live in Leeds, is that right?", []),
        ("What if I moved to Leeds, can you say?", []),
    ],
)
def test_a_request_leaves_the_statement_before_it(text: str, expected: list[str]) -> None:
    assert found(text) == expected


@pytest.mark.parametrize(
    ("text", "previous", "expected"),
    [
        ("The wedding will be 5 September.", "My son Tom got engaged to Ella.", []),
        ("My brother is getting married! The wedding will be 5 September.", "", []),
        ("The wedding will be 5 September.", "My sister Ella and Jonas are getting married.", []),
        ("We got engaged! The wedding will be 5 September.", "", ["me wedding_date 2026-09-05"]),
        ("The wedding will be 5 September.", "Tom proposed to me!", ["me wedding_date 2026-09-05"]),
        ("The wedding will be 5 September.", "", ["me wedding_date 2026-09-05"]),
    ],
)
def test_the_wedding_of_others_is_not_ones_own(text: str, previous: str, expected: list[str]) -> None:
    assert [one for one in told(text, previous) if "wedding" in one] == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I got a job at Acme and will be moving to Leeds in June.", [("works_at", None), ("lives_in", 6)]),
        ("Jonas got a job at Acme and will be living in Leeds from June.", [("works_at", None), ("lives_in", 6)]),
    ],
)
def test_the_date_of_a_home_is_not_that_of_the_job_before_it(text: str, expected: list[tuple[str, int | None]]) -> None:
    assert [(one.predicate, one.since.month if one.since else None) for one in extract(text, AT)] == expected


def test_who_decide_to_separate_are_no_longer_together() -> None:
    assert found("Gareth and I have decided to separate.")[0] == "-partner_of Gareth"
    assert found("We've decided to get divorced.")[0].startswith("-partner_of")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I'm pregnant!", ["condition pregnancy ..2027-02-17"]),
        ("I'm 14 weeks pregnant.", ["condition pregnancy ..2026-11-11"]),
        ("Good news: I'm expecting a baby!", ["condition pregnancy ..2027-02-17"]),
        ("I'm expecting a parcel.", []),
        ("I'm pregnant with anticipation.", []),
        ("I think I'm pregnant.", []),
        ("I'm not pregnant after all.", ["-condition pregnancy"]),
        ("I gave birth on Tuesday.", ["-condition pregnancy ..2026-05-12"]),
        ("We lost the baby.", ["-condition pregnancy"]),
        ("I had a miscarriage in April.", ["-condition pregnancy ..2026-04-01"]),
        ("We had a baby shower.", []),
        ("I had the baby for the weekend.", []),
        ("I had twins in my class.", []),
        ("I'm prediabetic.", ["condition prediabetes"]),
        ("The doctor says I'm anaemic.", ["condition anaemia"]),
        ("My GP said that I have high blood pressure.", ["condition high blood pressure"]),
        ("The doctor said I'm fine.", []),
    ],
)
def test_pregnancies_and_what_a_doctor_says(text: str, expected: list[str]) -> None:
    assert found(text) == expected


@pytest.mark.parametrize(
    ("text", "weeks"),
    [
        ("I'm pregnant", 40),
        ("I'm ten weeks pregnant", 30),
        ("My sister Mia is 20 weeks pregnant", 20),
        ("I'm 40 weeks pregnant", 2),
    ],
)
def test_a_pregnancy_is_over_in_time(text: str, weeks: int) -> None:
    *_, one = extract(text, AT)
    assert one.until is not None
    assert one.until.date() == AT.date() + timedelta(weeks=weeks)


@pytest.mark.parametrize(
    ("text", "over"),
    [
        ("Leila is pregnant, due in October!", date(2026, 11, 1)),
        ("Leila is pregnant and due in February.", date(2027, 3, 1)),
        ("Leila is pregnant, due on 3 November.", date(2026, 11, 3)),
    ],
)
def test_the_pregnancy_of_another_is_over_when_the_child_is_due(text: str, over: date) -> None:
    [one] = extract(text, AT)
    assert one.until is not None
    assert one.until.date() == over


def test_a_pregnancy_is_over_when_the_child_is_due() -> None:
    day, one = extract("I'm pregnant, due on 3 November", AT)
    assert (day.predicate, day.object) == ("due_date", "2026-11-03")
    assert one.until is not None
    assert one.until.date() == date(2026, 11, 3)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("My wife Eva is pregnant.", ["me married_to Eva", "Eva condition pregnancy"]),
        ("Eva gave birth to a girl yesterday.", ["Eva condition pregnancy"]),
        ("Anna will be living in Leeds from June.", ["Anna lives_in Leeds"]),
        ("My sister Anna will be living in Leeds.", ["me sister Anna", "Anna plans to move to Leeds"]),
        ("Dad's been moved to a nursing home in Derby.", ["me lives_in Derby"]),
    ],
)
def test_where_others_will_live_and_who_is_pregnant(text: str, expected: list[str]) -> None:
    assert told(text, "") == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I'm eating fish again, first time in 12 years", None),
        ("I haven't eaten meat in two years, but I eat fish again", None),
        ("I'm moving to Oslo in two weeks", date(2026, 5, 27)),
        ("My first day at Acme is in two weeks", date(2026, 5, 27)),
    ],
)
def test_so_many_years_may_be_those_before(text: str, expected: date | None) -> None:
    assert {each.date() if each else None for one in extract(text, AT) for each in (one.since or one.until,)} == {
        expected
    }


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("actually no, the test came back: not lactose intolerant, it's stress", ["-intolerance lactose"]),
        ("The results came back and I'm not celiac", ["-condition celiac disease"]),
        ("Turns out I don't have asthma", ["-condition asthma"]),
        ("I'm not coeliac after all", ["-condition coeliac disease"]),
        ("Turns out I don't have to move", []),
        ("I've got celiac disease, apparently.", ["condition celiac disease"]),
        ("Apparently I'm lactose intolerant", ["intolerance lactose"]),
        ("I'm moving to Rome, apparently", []),
        (
            "i stopped taking cetirizine, switched to loratadine cos it made me sleepy",
            ["-medication cetirizine", "-cetirizine_dose *", "medication loratadine"],
        ),
        ("My blood type is O negative", ["blood_type O negative"]),
    ],
)
def test_what_a_test_says_and_what_one_takes_instead(text: str, expected: list[str]) -> None:
    assert found(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("dad moved in with aunt Vesna in Leeds", ["my father lives_in Leeds"]),
        (
            "my new adress is Steenweg 212, 9050 Ledeberg",
            ["lives_in Ledeberg", "address Steenweg 212"],
        ),
        ("raised my rate to 65 an hour", ["hourly_rate 65 an hour"]),
        ("It's me and a flatmate, Priyanka, she's nice", ["roommate Priyanka"]),
        ("I'm seeing someone, which is bad timing. His name is Lukas", ["partner_of Lukas"]),
        ("I met someone. Her name is Sofie", ["partner_of Sofie"]),
        ("I met someone at the gym. Her name is Sofie", []),
        ("We met someone. His name is Pete", []),
        ("Our new address is Długa 14, 80-827 Gdańsk", ["lives_in Gdańsk", "address Długa 14"]),
        ("my dentist is dr. Peeters on the High Street", ["dentist Dr Peeters"]),
        ("im Milica, 34, nurse in Graz", ["~called Milica", "job_title nurse", "age 34", "works_in Graz"]),
        ("Last shift at the Red Cross done.", ["-works_at Red Cross"]),
        ("I was made team leader on our ward", ["job_title team leader"]),
        ("I was made to wait for the team leader", []),
        ("Quit the barista job!!", ["-job_title barista"]),
        ("I freelance as an illustrator", ["-works_at *", "employment self-employed", "job_title illustrator"]),
        (
            "For you: 1) my birthday is 9 april 2) I'm vegan 3) I'm learning Italian",
            ["birthday 9 April", "diet_plan vegan", "learns Italian"],
        ),
        (
            "My brother Joris and his husband Pieter are coming, they live in Antwerp. Pieter is a vegan",
            ["brother_in_law Pieter", "known Pieter diet_plan vegan", "brother Joris", "Joris married_to Pieter"],
        ),
    ],
)
def test_a_life_in_other_words(text: str, expected: list[str]) -> None:
    assert found(text) == expected


def test_she_is_the_same_one_as_in_the_sentence_before() -> None:
    previous = "my sister Jelena turns 30"

    assert told("she's a pharmacist and she's married to Tobias", previous) == [
        "me sister Jelena",
        "Jelena job_title pharmacist",
        "Jelena married_to Tobias",
    ]
    assert told("she's married to Tobias and she's a pharmacist", previous)[-1] == "Jelena job_title pharmacist"
