"""What a message tells to be different from before."""

import pytest

from mnemolog.domain import hydration
from mnemolog.domain.change import changes, is_correction


def told(text: str) -> list[str]:
    """The things that changed, with a `!` if they went to another day or price and a `-` if they are off."""
    found = []
    for one in changes(text):
        mark = ("!" if one.firm else "") + ("-" if one.off else "")
        found += [f"{mark}{' '.join([*sorted(thing.of), thing.noun])}" for thing in one.things]
    return found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Interview's been shifted to 10 February", ["!interview"]),
        ("The bus was full and my eye operation's been put back to 8 June", ["!eye operation"]),
        ("Ffion has moved the Welsh class to Monday", ["!ffion", "!welsh clas"]),
        ("Linnea's start at nursery got pushed to 16 February", ["!linnea start"]),
        ("The party is off because of the rain", ["!-part"]),
        ("He has finally put the rent up, it's £725", ["rent"]),
        ("The airline changed our flights, we go on the 2nd", ["airlin", "flight"]),
        ("The dose is down to 25mg", ["dos"]),
        ("It went well. Rota is now three long days", ["rota"]),
        ("Declan leaves, new ward manager from November is Grace", ["ward manag"]),
        ("I have resigned as treasurer", ["treasur"]),
        ("The surgeon is ill, so my eye is to be done on the 15th instead", ["!eye"]),
        ("dr naylor is off, so my supervisor's gonna be Dr Fenwick", ["!-dr nayl", "supervis"]),
        ("dyed my hair back to brown for my nan", ["hair"]),
        ("The Leith place fell through", ["!-leith"]),
        ("The whole thing fell through", ["!-thing"]),
        ("The party was moved to Marseille", ["part"]),
        ("It was put back to 3 May", []),
        ("I buy a loaf now and then", []),
        ("The rota is four on, four off", []),
        ("Dad's up to 4mg on the patch", ["patch"]),
        ("My dose is up to 4mg", ["dos"]),
    ],
)
def test_a_message_tells_what_changed(text: str, expected: list[str]) -> None:
    assert told(text) == expected


@pytest.mark.parametrize(
    ("text", "over"),
    [
        ("Turns out it's not tendonitis, it's carpal tunnel", {"tendoniti"}),
        ("It's on the respiratory ward not stroke", {"strok"}),
        ("Anstruther is off", {"anstruth"}),
        ("She has packed in gymnastics and wants to do judo", {"gymnastic"}),
        ("I must cancel Recife, it is impossible", {"recif"}),
        ("pulled out of lisbon, i couldn't face it", {"lisbon"}),
        ("we backed out of the house", {"hous"}),
        ("twisted my ankle so no marathon for me", {"marathon"}),
        ("But I can't do Lisbon now", {"lisbon"}),
        ("As of today I am done subbing", {"sub"}),
        ("I can't do that", {"that"}),
        ("Miss Okoro's left already", {"okoro"}),
        ("I withdrew the Malta application today", {"malta"}),
        ("She withdrew from the course", {"cours"}),
        ("I withdrew 200 euros", set()),
        ("I've left Valley Echoes after ten years", {"valley", "echo"}),
        ("Tom left Leeds at noon", set()),
        ("I left early", set()),
        ("I left Tom with my mum", set()),
        ("Castara is full, so we're booked in Speyside instead", {"castara"}),
        ("Castara is full of birds", set()),
        ("Kasia's gone on holiday", set()),
        ("The doctor took me off atorvastatin", {"atorvastatin"}),
        ("We backed out of the house.", {"hous"}),
        ("cancelled planet fitness", {"planet"}),
        ("twisted my ankle so no half marathon for me", {"half"}),
        ("The financing got turned down. so no bungalow.", {"bungalow"}),
        ("The gig was cancelled because of rain", set()),
        ("There's no milk for breakfast", set()),
        ("so no idea what to do", set()),
        ("I'm not sure about that", set()),
    ],
)
def test_a_message_says_what_is_not_or_no_longer_so(text: str, over: set[str]) -> None:
    assert {stem for one in changes(text) for stem in one.over} == over


def test_a_price_is_not_a_day() -> None:
    assert [one.priced for one in changes("Put my lessons up to £35 from February")] == [True]
    assert [one.priced for one in changes("My lessons moved to Monday")] == [False]


def test_what_is_said_of_it_may_be_about_all_that_the_sentence_names() -> None:
    [change] = changes("Hand clinic rang, they've changed me to the 26th of March")
    assert {"hand", "clin"} <= change.stems


def test_a_change_is_about_a_thing_only_if_nothing_else_is_said_of_it() -> None:
    [moved] = changes("The Dunbar job moved to 3 May")
    asked = hydration.stems("When does the Harper job start?")
    assert not moved.about(asked, hydration.stems("The Harper job starts on 2 May"))
    assert moved.about(asked, hydration.stems("The Dunbar job starts on 2 May"))


def test_what_changed_may_be_shortened() -> None:
    [moved] = changes("chiro's thursdays now cos of the route")
    asked = hydration.stems("What day do I see the chiropractor?")
    assert moved.about(asked, asked)
    [short] = changes("the pro is on thursdays now")
    assert not short.about(hydration.stems("prosecco"), asked)


@pytest.mark.parametrize(
    ("text", "thing", "firm"),
    [
        ("The weekend in York has become the weekend of the 19th", "weekend", True),
        ("Mrs Hale has handed the orchestra over to a man called Per", "orchestra", False),
        ("Ines takes over the shop", "shop", False),
    ],
)
def test_what_becomes_another_day_or_goes_to_somebody_else_changed(text: str, thing: str, *, firm: bool) -> None:
    [change] = changes(text)
    assert (thing in {one.noun for one in change.things}, change.firm) == (True, firm)


@pytest.mark.parametrize(
    ("text", "corrects"),
    [
        ("*friday", True),
        ("No wait, the interview is the 24th", True),
        ("I meant the 5th of March for the driving test", True),
        ("Sorry, I said the dentist is on the 12th, it's the 19th", True),
        ("work do is the 10th sorry not the 11th", True),
        ("Wait, not 10 April, 17 April.", True),
        ("Actually no, the exam starts at ten", True),
        ("The exam starts at ten", False),
        ("Sorry, I was busy on Friday", False),
        ("I meant to call you on Friday", False),
        ("No, the film is on Friday? Then I will come. " * 9, False),
        ("The interview is the 24th", False),
        ("They have a place at the school, not decided", False),
    ],
)
def test_a_message_may_correct_the_one_before(text: str, *, corrects: bool) -> None:
    assert is_correction(text) is corrects


@pytest.mark.parametrize(
    ("text", "thing"),
    [("Physio's been put back a week", "physio"), ("The physio got moved forward by two days", "physio")],
)
def test_what_is_put_off_by_some_time_has_no_other_day_yet(text: str, thing: str) -> None:
    [change] = changes(text)
    assert (thing in {one.noun for one in change.things}, change.firm, change.off) == (True, True, True)


@pytest.mark.parametrize("text", ["Not swimming any more, shoulder", "Not swimming at the moment"])
def test_what_somebody_is_not_doing_is_over(text: str) -> None:
    assert any("swim" in one.over for one in changes(text))
