"""Whether a text has an answer of the kind that a question asks for."""

import pytest

from mnemolog.domain.answers import tells, tells_age, tells_name, tells_person, tells_place, told_by
from mnemolog.domain.asked import AnswerKind


@pytest.mark.parametrize(
    ("kind", "text", "told"),
    [
        (AnswerKind.TIME, "It moved to the 21st", True),
        (AnswerKind.TIME, "Choir is on Thursdays now", True),
        (AnswerKind.TIME, "What a wild time! My tournament got pushed back, look at this cake", False),
        (AnswerKind.NUMBER, "It's £725 from March", True),
        (AnswerKind.NUMBER, "Tea is free", True),
        (AnswerKind.NUMBER, "Down to fifteen pupils", True),
        (AnswerKind.NUMBER, "He put the rent up", False),
        (AnswerKind.NUMBER, "We went to the zoo as a family", False),
        (AnswerKind.NUMBER, "It takes an hour, a week at most", True),
    ],
)
def test_a_text_tells_a_time_or_a_number(kind: AnswerKind, text: str, told: bool) -> None:
    assert tells(kind, text) is told


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("I run a wool shop on Corve Street in Ludlow", True),
        ("It's behind the library", True),
        ("i run it from plymouth", True),
        ("The shop is open on Thursday", False),
        ("Rent on the shop is due in March", False),
        ("minding the shop all day", False),
    ],
)
def test_a_text_tells_a_place_other_than_the_one_that_is_asked_for(text: str, told: bool) -> None:
    assert tells_place(text, "Where is my shop?") is told


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("Plumber is a chap called Barry Todd", True),
        ("Barry was here", True),
        ("Dr Lennox looked at it", True),
        ("My aunt did it", True),
        ("she did it, her name's mia, shes great", True),
        ("New boiler's in. Merry Christmas to me", False),
        ("The Monday after, it worked", False),
    ],
)
def test_a_text_speaks_of_somebody(text: str, told: bool) -> None:
    assert tells_person(text, "Who fixed the boiler?") is told


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("I keep a small boat, the Morag Bheag", True),
        ("We have a boat and it is called Morag", True),
        ("my boat is morag btw", True),
        ("I have decided to sell the boat. At my age!", False),
        ("Hamish has his own firm, Munro Electrical", False),
    ],
)
def test_a_text_tells_what_something_is_called(text: str, told: bool) -> None:
    assert tells_name(text, "What's my boat called?") is told


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("Jack turned one yesterday!!", True),
        ("Ella's 7 today!!!", True),
        ("my boy Malik is four and he wants a dinosaur everything", True),
        ("hes 6", True),
        ("A retired fisherman from Eastern Passage, 61", True),
        ("Mum's in the home. 84 and she doesn't know me", True),
        ("Whiskers is a 12 yr old orange tom", True),
        ("It's my 21st birthday", True),
        ("He was born in 1958", True),
        ("Ah Ma passed this morning. 91.", True),
        ("Jack was a lobster", False),
        ("Jack has two teeth", False),
        ("We were 3 miles from home", False),
        ("Jack's room is at the back", False),
    ],
)
def test_a_text_tells_how_old_somebody_is(text: str, told: bool) -> None:
    assert tells_age(text) is told


def test_only_a_question_where_or_who_asks_for_a_place_or_a_person() -> None:
    assert told_by("Where's my shop?") is tells_place
    assert told_by("who is my dentist?") is tells_person
    assert told_by("How old is Jack?") is tells_age
    assert told_by("What is my dentist called?") is told_by("What are our twins called?") is tells_name
    assert told_by("Whose is it?") is told_by("What did I call it?") is None
