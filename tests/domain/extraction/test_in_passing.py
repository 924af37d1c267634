"""What people type in a hurry: several things at once, asides, short words, and others in their life."""

import pytest

from mnemolog.domain.extraction.extractor import extract
from tests.domain.extraction.test_extraction import AT, found

pytestmark = pytest.mark.spec_part("B13")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # What leads up to it.
        ("oh and i should say up front, im allergic to latex", ["allergy latex"]),
        ("I should mention that I'm allergic to nuts", ["allergy nuts"]),
        ("She says I should mention I'm allergic to nuts", []),
        ("so for recipes: my son is severely allergic to nuts", ["my son allergy nuts"]),
        # What somebody's body does not take, and how it is known.
        ("mum can't have penicillin btw, she came out in hives as a kid", ["my mother intolerance penicillin"]),
        ("I can't take ibuprofen", ["intolerance ibuprofen"]),
        ("I can't take any more of this", []),
        ("I react badly to codeine", ["intolerance codeine"]),
        ("I react badly to criticism", []),
        ("My son had a severe allergic reaction to amoxicillin", ["my son allergy amoxicillin"]),
        # Why somebody does something, and what follows from it.
        ("Yeah, since I'm lactose intolerant I'm trying oat milk", ["intolerance lactose"]),
        ("Because I'm vegan, I brought my own", ["diet_plan vegan"]),
        ("Since I'm not vegan, I eat cheese", ["-diet_plan vegan"]),
        ("Just because I'm vegan doesn't mean I'm difficult", []),
        ("I live in New York, so I'd prefer to fly from JFK", ["lives_in New York"]),
        ("I live in the US, so I'd prefer shops that ship there", ["lives_in US"]),
        ("I live in Oslo, but I'd like that to change", []),
        ("I work in the IT industry as a software engineer", ["job_title software engineer"]),
        ("I live in the US", ["lives_in US"]),
        ("Since I've been living in Tokyo, Japan, I'm eager to explore", ["lives_in Tokyo"]),
        ("I'm a master's student in biology at MIT", ["studies biology", "studies_at MIT"]),
        ("I'm a student of life", []),
        ("Lost my job as a banker", ["-works_at *"]),
        # Who somebody is, whom a message only mentions, or a question takes for granted.
        ("I'm looking for a catio for my cat Luna", ["cat Luna"]),
        ("I bought a bowl for my dog, Max, with a fish on it", ["dog Max"]),
        ("Can you suggest a gift for my niece Emma?", ["niece Emma"]),
        ("I'm thinking of taking my nephew, Jack, on a fishing trip", ["nephew Jack"]),
        ("Could I borrow it from my brother Mike?", ["brother Mike"]),
        ("We're buying a home with my partner Alex", ["partner_of Alex"]),
        ("Any ideas for my daughter Sara's birthday?", ["daughter Sara"]),
        ("We went with my sister, Sophia and Tom", []),
        ("We went with my sister, Sophia, and Tom", []),
        ("Should I give my son Minecraft?", []),
        ("Talk to me like my brother Samwise", []),
        ("What can I cook for my sister Friday?", []),
        ("How about a present for my mum Christmas morning?", []),
        ("I need a card for my mom Mother's Day", []),
        ("Shall I do a roast for my dad Sunday lunch?", []),
        ("My son Andrew has put this on my tablet and says I may ask anything", ["son Andrew"]),
        ("I'm late because my partner Alex was late", ["partner_of Alex"]),
        ("My mum Googled it and told me to rest", []),
        ("My missus Shanice is vegan", ["partner_of Shanice", "Shanice diet_plan vegan"]),
        # What a question names, and its author takes.
        ("Remind me what apixaban does? I have taken it since my stroke in 2023", ["medication apixaban"]),
        ("What's metformin? I take it twice a day", ["medication metformin"]),
        ("What is donepezil? Mum takes it at night", ["my mother medication donepezil"]),
        ("Is ramipril safe? Not that I take it", []),
        ("I love metformin jokes. I take it you don't", []),
        # What everybody who cooks must know comes before who that is.
        ("My friends Ana and Bo are vegan", ["Ana diet_plan vegan", "Bo diet_plan vegan"]),
        # Capitals that are not English.
        ("My sister Ágnes is allergic to nuts", ["Ágnes allergy nuts"]),
        ("I moved to Łódź", ["lives_in Łódź"]),
        # What others are told, know or forget.
        ("Can you write to the hotel and tell them I'm allergic to nuts?", ["allergy nuts"]),
        (
            "Tell the caterer that my son Leo is allergic to peanuts and my wife is coeliac",
            ["Leo allergy peanuts", "son Leo", "my married_to condition coeliac disease"],
        ),
        ("Write an email to the hotel saying I'm allergic to nuts", ["allergy nuts"]),
        ("Nobody told her Marcus is allergic to peanuts tho and there was satay", ["Marcus allergy peanuts"]),
        ("My boss forgot my daughter is allergic to eggs and gave her cake", ["my daughter allergy eggs"]),
        ("I told my boss I'm allergic to meetings", []),
        ("I told them my sister is allergic to cats but she isn't", []),
        ("Tell me a joke about a man who is allergic to nuts", []),
        ("I wish she knew that my son is allergic to nuts", []),
        # Whom "she" and "he" mean, and what follows an allergy.
        ("It's for Mum, she's been lactose intolerant since she was fifty", ["my mother intolerance lactose"]),
        (
            "My nephew Peti is five. No nuts please, he's allergic to hazelnuts and his mother checks everything",
            ["nephew Peti", "Peti age 5", "Peti allergy hazelnuts"],
        ),
        ("She has a young man called Theo, he is allergic to shellfish", ["Theo allergy shellfish"]),
        ("Theo is allergic to shellfish", ["known Theo allergy shellfish"]),
        # What a doctor gives, changes or forbids.
        ("The GP gave me sumatriptan to try, 50mg", ["medication sumatriptan", "sumatriptan_dose 50mg"]),
        ("The nurse gave me paracetamol", []),
        (
            "The GP took me off sumatriptan because of my heart and put me on topiramate, 25 at night",
            ["-medication sumatriptan", "-sumatriptan_dose *", "medication topiramate", "topiramate_dose 25"],
        ),
        (
            "The neurologist is trying me on candesartan instead, 8 mg",
            ["medication candesartan", "candesartan_dose 8 mg"],
        ),
        ("I am to take ramipril now", ["medication ramipril"]),
        ("Dr Okonjo is switching my ramipril to losartan", ["-medication ramipril", "medication losartan"]),
        ("The dentist says I mustn't have anything in the penicillin family", ["intolerance penicillin"]),
        ("I can't have anything with nuts", ["intolerance nuts"]),
        ("I had an awful rash after amoxicillin", ["intolerance amoxicillin"]),
        ("I got a nasty rash from the new washing powder", []),
        # Health that a message takes for granted.
        ("With my peanut allergy and my asthma, what can I do?", ["allergy peanuts", "condition asthma"]),
        ("Because of my nut allergy I avoid pesto", ["allergy nuts"]),
        ("my son's severe peanut allergy makes lunches hard", ["my son allergy peanuts"]),
        (
            "My colleagues Anna and Tom are allergic to nuts",
            ["Anna allergy nuts", "Tom allergy nuts", "colleague Anna", "colleague Tom"],
        ),
        ("My half-sister Anna is allergic to nuts", ["Anna allergy nuts"]),
        ("my half-brother is diabetic", ["my brother condition diabetes"]),
        ("My sister Mia's egg allergy means no cake", ["Mia allergy eggs"]),
        ("What can I cook for my husband's diabetes?", ["my married_to condition diabetes"]),
        ("I need to refill my metformin prescription", ["medication metformin"]),
        ("Is grapefruit ok with my dad's statins?", ["my father medication statins"]),
        ("I'm pregnant! Could I take my dog Max? Due in December.", ["dog Max", "condition pregnancy ..2027-01-01"]),
        ("I have psoriasis. Any cream for my asthma?", ["condition asthma", "condition psoriasis"]),
        ("My asthma is gone", ["-condition asthma"]),
        ("My asthma is gone when I swim", []),
        ("My cancer is in remission", []),
        ("I'm worried about my mum's dementia", []),
        ("If my asthma comes back, I'll call", []),
        ("Proofread my diabetes essay", []),
        ("I want to reduce my cholesterol", []),
        ("Where's my ibuprofen?", []),
        ("my lisinopril ran out, I'm on losartan now", ["medication losartan"]),
        # What an agent that calls or shows something must know.
        ("I'm deaf, so no phone calls please", ["condition deafness"]),
        ("my son is color-blind", ["my son condition color blindness"]),
        ("My mum is hard of hearing", ["my mother condition hearing loss"]),
        ("I'm visually impaired", ["condition visual impairment"]),
        ("I'm deaf to excuses", []),
        # Medication and conditions.
        ("Dr put me on sertraline 50mg, been really low", ["medication sertraline", "sertraline_dose 50mg"]),
        ("Dr put me on the list", []),
        ("They checked my heart, put me on bisoprolol", ["medication bisoprolol"]),
        ("I felt faint so they put me on losartan", ["medication losartan"]),
        ("My dad has parkinsons", ["my father condition parkinsons"]),
        ("My nan has dementia and lives with us", ["my grandmother condition dementia"]),
        ("I have depression glass to sell", []),
        ("i've got adhd btw, on elvanse", ["condition adhd", "medication elvanse"]),
        ("my mum has asthma, on ventolin", ["my mother condition asthma", "my mother medication ventolin"]),
        ("My mum has asthma and is on ventolin", ["my mother condition asthma", "my mother medication ventolin"]),
        ("my brother rang and is on the way", []),
        ("on novorapid and lantus", ["medication novorapid", "medication lantus"]),
        ("took me off elvanse bc of my heart rate", ["-medication elvanse", "-elvanse_dose *"]),
        ("I can't have gluten or eggs at the moment", ["intolerance gluten", "intolerance eggs"]),
        (
            "They've stopped mum's donepezil as it made her sick, she's on memantine instead",
            ["-my mother medication donepezil", "my mother medication memantine"],
        ),
        ("Doc says I have high blood pressure", ["condition high blood pressure"]),
        ("mums in hospital, she's on morphine", ["my mother medication morphine"]),
        ("wife's vegan", ["my married_to diet_plan vegan"]),
        ("I've an underactive thyroid", ["condition underactive thyroid"]),
        (
            "my mam is on apixaban. the GP stopped her apixaban because of a bleed",
            ["my mother medication apixaban", "-my mother medication apixaban"],
        ),
        ("No more insulin at the pharmacy", []),
        ("had a bacon sandwich so not veggie anymore", ["-diet_plan vegetarian"]),
        # Whose relative has it.
        ("Karen's lad Jack is 9 and has type 1 diabetes", []),
        ("My friend Tom's wife is lovely and takes metformin", []),
        (
            "I care for my mother in law Rosa, she's 78 and has COPD. she's allergic to sulfa drugs",
            ["Rosa condition COPD", "Rosa allergy sulfa drugs", "Rosa age 78"],
        ),
        ("my sons name is Kai, he's 4 and he's got a dairy allergy", ["son Kai", "Kai age 4", "Kai allergy dairy"]),
        ("My sister Claire's husband Dev is allergic to nuts", ["Dev allergy nuts"]),
        ("Priya's parents flew in. Her mom Lakshmi is diabetic", ["Lakshmi condition diabetes"]),
        ("My brother's wife Eva is vegan", ["Eva diet_plan vegan"]),
        ("My friend Luis from work (not my brother) is allergic to peanuts", ["Luis allergy peanuts"]),
    ],
)
def test_health_told_in_passing(text: str, expected: list[str]) -> None:
    ties = ("friend_of", "mother_in_law", "sister", "brother_in_law", "sister_in_law", "my brother married_to")
    of_others = ("Claire married_to", "known Priya mother")
    assert [one for one in found(text) if not one.startswith((*ties, *of_others))] == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("They put me on prednisone for two weeks", ["medication prednisone ..2026-05-27"]),
        ("they've got me on codeine 5mg for a couple weeks", ["medication codeine ..", "codeine_dose 5mg .."]),
        ("My mum is on amoxicillin for 10 days", ["my mother medication amoxicillin ..2026-05-23"]),
        ("I've been on sertraline for two weeks", ["medication sertraline 2026-04-29.."]),
    ],
)
def test_a_course_of_a_medication_ends(text: str, expected: list[str]) -> None:
    assert all(one.startswith(each) for one, each in zip(found(text), expected, strict=True))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # Work.
        ("I work nights as a radiographer at Leeds General", ["job_title radiographer", "works_at Leeds General"]),
        ("New job!! starting as head chef at Lobo on June 23.", ["works_at Lobo 2026-06-23.."]),
        ("New job!! last day at Osteria is the 20th", ["-works_at Osteria ..2026-05-20"]),
        ("My brother quit. last day at Osteria is the 20th", []),
        ("We're in Paris! First day at Disneyland was great", []),
        ("I'm not at the Marlowe anymore", ["-works_at Marlowe"]),
        ("I'm not at Tesco right now", []),
        ("They cut my position", ["-works_at *"]),
        ("They cut my hair", []),
        (
            "Callum started his apprenticeship with Hargreaves Electrical",
            ["known Callum works_at Hargreaves Electrical"],
        ),
        ("I've been made redundant from Argos after 14 years", ["-works_at Argos"]),
        ("I've packed in the job at the co-op", ["-works_at *"]),
        ("I work weekends at Greggs", ["works_at Greggs"]),
        # Home.
        (
            "Signed for a flat in Hull!! Moving on the 1st of june",
            ["plans to move to Hull", "lives_in Hull 2026-06-01.."],
        ),
        ("I'm 24, just moved to Hull", ["age 24", "lives_in Hull"]),
        ("We've decided not to move to Otley", ["-plans to move to Otley", "-lives_in Otley"]),
        ("We got the apartment in Pilsen, moving aug 15", ["lives_in Pilsen 2026-08-15.."]),
        ("I move to Topsham on Saturday 15 August", ["lives_in Topsham 2026-08-15.."]),
        ("moving to Stapleford 12 december. need a list", ["lives_in Stapleford 2026-12-12.."]),
        ("I move to the beat on Saturday", []),
        ("My friend Sue from choir has offered me a lift", ["friend_of Sue"]),
        ("I've been seeing someone. Slowly! His name is Bence", ["partner_of Bence"]),
        ("mum's all moved in", []),
        ("my sister has moved to Leeds", ["my sister lives_in Leeds"]),
        (
            "Mum can't manage, so she's moving in with us at the end of the month",
            ["-my mother lives_in * ..2026-05-31", "my mother lives_with me 2026-05-31.."],
        ),
        ("Greg's moving in with us instead", []),
        ("I live in Porto, thinking of moving to Lisbon", ["lives_in Porto"]),
        ("Darragh got into UL!! moving to Limerick in September", []),
        ("My brother got a dog. Moved to Leeds last week", []),
        ("Great news! Moved to Lisbon in May", ["lives_in Lisbon 2026-05-01.."]),
        ("Ciara moved to Barcelona for Erasmus, back in June", ["known Ciara lives_in Barcelona"]),
        ("Fionn is home for good now", ["-known Fionn lives_in *"]),
        # Bank.
        ("Banking with Nationwide now, Lloyds shut the branch", ["bank Nationwide"]),
        ("We're with Barclays but their app is awful, thinking of switching to Monzo", ["bank Barclays"]),
        ("We're with Chase tonight", []),
        ("I bank w/ Chase, anyway how do I send money abroad?", ["bank Chase"]),
        ("I switched from Chase to a credit union, Alliant", ["bank Alliant"]),
        # Trips.
        ("not going to Barcelona now, mam's not well", ["-next_trip Barcelona"]),
        (
            "Booked a week in Crete for half term, flying on 24 May from Leeds",
            ["crete_trip_date 2026-05-24 ..2026-05-25"],
        ),
        ("flying to Guadalajara tmrw to see the family", ["guadalajara_trip_date 2026-05-14 ..2026-05-15"]),
        # People.
        ("my manager Trish left, it's chaos", ["-manager Trish"]),
        ("my manager Trish left for lunch", ["manager Trish"]),
        ("just adopted two kittens Salt and Pepper", ["cat Salt", "cat Pepper"]),
        ("we moved to Austin, husband got a job at Dell", ["lives_in Austin", "my married_to works_at Dell"]),
        ("my sisters moved to Leeds", []),
        ("my daughter Hannah's getting on fine", ["daughter Hannah"]),
        ("Guess my dad is asleep", []),
        ("me and jamie are back together", ["partner_of Jamie"]),
        ("I told you wrong, mum is 85 not 84", ["!my mother age 85"]),
        ("I'm veggie now", ["diet_plan vegetarian"]),
        ("living in Otley with my gf Priya", ["lives_in Otley", "partner_of Priya"]),
        ("I've got two teenagers, Callum (16) and Isla who's 13", ["parent_of Callum", "parent_of Isla"]),
        ("He's back home with my brother Luis", ["brother Luis"]),
        ("I gave my son Minecraft", []),
        ("I gave my son Minecraft and my daughter Lego", []),
        ("I gave the keys to my son Leo and my daughter Mia", ["son Leo", "daughter Mia"]),
        ("We watched a film with my niece Frozen", []),
        ("We watched a film with my niece Frozen, she's 4 and sang all of it", ["my niece age 4"]),
        ("We watched Frozen with my niece Ella", ["niece Ella"]),
        ("I've switched to law from june 2025", ["studies law 2025-06-01.."]),
        ("im Ruth, 46, and new here", ["~called Ruth", "age 46"]),
        ("quit smoking on new years", ["-habit smoking"]),
    ],
)
def test_life_told_in_passing(text: str, expected: list[str]) -> None:
    told = [one for one in found(text) if not one.startswith(("job_title head chef",))]
    assert [one[: len(each)] for one, each in zip(told, expected, strict=True)] == expected


def test_a_relative_of_the_other_sex_is_not_meant() -> None:
    assert "Claire diet_plan vegetarian" in found("My sister Claire lives with her husband Dev. she's vegetarian")


def test_what_another_writes_is_not_of_the_author() -> None:
    assert found("This is Karen, Des's daughter. I'm allergic to nuts and I live in Swindon.") == []
    assert found("Karen here, his daughter. Dad takes warfarin") == []
    assert found("This is my sister Anna. I'm vegan") == ["diet_plan vegan"]


@pytest.mark.parametrize(
    "text",
    [
        "My brother Tom rang. I met a guy at work. He's a paramedic.",
        "My brother Tom rang. I've been talking to someone. Declan. He's a paramedic.",
        "My brother Tom rang. The lad next door, Tom (not my Tom), fixed it. He's a paramedic.",
    ],
)
def test_somebody_who_has_no_name_may_be_meant(text: str) -> None:
    assert found(text) == ["brother Tom"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # What is taken back in the next sentence.
        ("My son is allergic to nuts. Actually no", []),
        ("I'm allergic to bisoprolol. Actually no, the chemist says it was the washing powder", []),
        ("My son is allergic to nuts. Wait no, it's eggs", ["my son allergy eggs"]),
        (
            "My sister Anna is allergic to cats. I'm allergic to nuts and eggs. Actually no, it's milk",
            ["sister Anna", "Anna allergy cats", "allergy milk"],
        ),
        ("My wife is pregnant. Actually no, she isn't", []),
        ("I live in Leeds. Actually no, it's Bradford", []),
        ("I'm allergic to nuts, can you suggest a snack? Actually no, it's late", ["allergy nuts"]),
        ("I'm vegan. Actually no, I don't want cake, suggest a pie", ["diet_plan vegan"]),
        # What happened to somebody once.
        ("Dad had a stroke on Thursday", ["my father condition stroke 2026-05-07.."]),
        ("I had a mild heart attack in 2019", ["condition heart attack 2019-01-01.."]),
        ("You scared me, I had a heart attack!", []),
        ("Mum had a stroke when I told her", []),
        ("I had a stroke of luck", []),
        # Medication that ends.
        ("off the oxy finally", ["-medication oxy", "-oxy_dose *"]),
        ("Mum is home. off the oxy finally", []),
        ("bloods are fine so no more metformin for me!", ["-medication metformin", "-metformin_dose *"]),
        ("mum had a hypo, so no more lantus, back on tablets", ["-my mother medication lantus"]),
        ("mum's fine, dad's fine, so no more warfarin", []),
        ("So no more insulin, can you reorder?", []),
        ("So no more insulin. Remind me to reorder", []),
        ("mum's doctor stopped the metformin bc of her kidneys", ["-my mother medication metformin"]),
        ("my dad's GP put him on statins", ["my father medication statins"]),
        ("my sister's doctor stopped by", []),
        ("I've stopped taking ramipril while I've got this bug", []),
        (
            "Dad's not on warfarin, he's on apixaban",
            ["-my father medication warfarin", "my father medication apixaban"],
        ),
        ("I'm not on statins, thank god", ["-medication statins", "-statins_dose *"]),
        # Who has what.
        ("I was diagnosed with MS but it turned out to be a B12 thing", []),
        ("It's Mia who's allergic to eggs, not Leo", ["Mia allergy eggs"]),
        ("It's my son who has asthma", ["my son condition asthma"]),
        # In short.
        (
            "stopped the omeprazole 3 wks ago",
            ["-medication omeprazole ..2026-04-22", "-omeprazole_dose * ..2026-04-22"],
        ),
        ("i get awful reflux. on omeprazole 20mg for it", ["medication omeprazole", "omeprazole_dose 20mg"]),
        ("my mum gets reflux. on omeprazole 20mg for it", []),
        ("GP here put me on sertraline", ["medication sertraline"]),
        ("my little bro was diagnosed w T1 diabetes :(", ["my brother condition type 1 diabetes"]),
        ("so i DO have adhd", ["condition adhd"]),
        # A job that is offered.
        ("got an offer from Waitrose, taking it", ["plans to work at Waitrose"]),
        ("I got an offer from Acme and I'm taking it!", ["plans to work at Acme"]),
        ("I got an offer from Acme, not taking it", []),
        # Who is a couple.
        ("I asked Jean to marry me. She said at our age? and then she said yes.", ["engaged_to Jean"]),
        ("I proposed to Jean last night and she said yes!", ["engaged_to Jean 2026-05-12.."]),
        ("I asked Jean to marry me. She said she'd think about it", []),
        ("I asked Jean to lunch. She said yes", []),
        ("I think I can say Jean and I are courting.", ["partner_of Jean"]),
        # The days of children.
        ("Our son Arjun was born on the 8th, not the 7th", ["!son Arjun", "!Arjun birthday 8 May 2026"]),
        ("My sister Anna was born on 8 May", ["sister Anna", "Anna birthday 8 May"]),
    ],
)
def test_what_is_taken_back_over_or_said_in_short(text: str, expected: list[str]) -> None:
    assert found(text) == expected


@pytest.mark.parametrize(
    ("text", "over"),
    [
        ("I'm pregnant! Due in December", "2027-01-01"),
        ("I'm pregnant. Due 3 November", "2026-11-03"),
        ("I'm pregnant. 7 weeks. Nobody knows", "2026-12-30"),
        ("I'm pregnant. The essay is due in June", "2027-02-17"),
    ],
)
def test_a_sentence_that_says_when_a_child_is_due(text: str, over: str) -> None:
    [one] = extract(text, AT)
    assert one.until is not None
    assert one.until.date().isoformat() == over


def test_a_message_that_says_when_a_child_is_due() -> None:
    _, one = extract("due in december! mum's telling everyone", AT, before=[extract("I'm pregnant", AT)])
    assert one.until is not None
    assert one.until.date().isoformat() == "2027-01-01"


def test_a_subject_to_which_somebody_has_switched_from_a_month_on() -> None:
    assert found("It's official, switched to psychology from september") == ["studies psychology 2026-09-01.."]


def test_a_husband_who_is_told_of_after_a_separation_is_none_again() -> None:
    told = found("me and my husband Keith have split up, he's moved in with his sister in Hull")
    assert told == ["-married_to Keith", "Keith lives_in Hull"]
