"""What a question asks for that is to come, and until when what a message names lasts."""

from datetime import UTC, datetime

import pytest

from mnemolog.domain.ahead import asked_ahead, lasts_until

AT = datetime(2026, 11, 23, 9, tzinfo=UTC)


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("What is my next trip?", "my next trip"),
        ("When is Tom's next gig?", "Tom's next gig"),
        ("Do I have any trips coming up?", "upcoming trips"),
        ("What are my upcoming appointments?", "upcoming appointments"),
        ("What do I have coming up?", "upcoming plans"),
        ("Where am I going on holiday?", "upcoming holiday"),
    ],
)
def test_a_question_asks_for_what_is_to_come(question: str, said: str) -> None:
    ahead = asked_ahead(question)
    assert ahead
    assert ahead.said == said


@pytest.mark.parametrize(
    "question",
    [
        "Who lives next to my house?",
        "Who is my next door neighbour?",
        "What trip did I have coming up in May?",
        "When is the exam?",
    ],
)
def test_a_question_asks_for_none(question: str) -> None:
    assert asked_ahead(question) is None


@pytest.mark.parametrize(
    ("text", "until"),
    [
        ("Crete: 6 to 13 February", "2027-02-14"),
        ("The work do is the 10th", "2026-12-11"),
        ("Interview on Friday", "2026-11-28"),
        ("Physio next week", "2026-12-07"),
        ("Flying in two weeks", "2026-12-07"),
        ("It starts in January", "2027-02-01"),
        ("The 30th of February", None),
        ("Back since 3 November", None),
        ("Choir on Tuesdays", None),
    ],
)
def test_a_message_lasts_until_the_last_day_that_it_names(text: str, until: str | None) -> None:
    end = lasts_until(text, AT)
    assert (end and end.date().isoformat()) == until


def test_a_day_that_is_over_when_it_is_asked_was_to_come_when_it_was_said() -> None:
    booked = lasts_until("Booked a trip to Seville for 14 March!", datetime(2026, 1, 25, tzinfo=UTC))
    assert booked == datetime(2026, 3, 15, tzinfo=UTC)


def test_of_a_long_message_only_the_beginning_is_looked_at() -> None:
    assert lasts_until("x " * 2_000 + "on 14 March", AT) is None
    assert lasts_until("on 1 March " * 20 + "on 14 March", AT) == datetime(2027, 3, 2, tzinfo=UTC)
