"""What a question says of its answer: a time, a number, or a period."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemolog.domain.asked import AnswerKind, Span, answer_kind, periods

SATURDAY = datetime(2023, 4, 22, 8, tzinfo=UTC)
TUESDAY = datetime(2023, 3, 21, 21, tzinfo=UTC)


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("When did Jon go to the fair?", AnswerKind.TIME),
        ("What day is the exam?", AnswerKind.TIME),
        ("Since when has Mia had a dog?", AnswerKind.TIME),
        ("How long ago did we meet?", AnswerKind.TIME),
        ("Which year did I move?", AnswerKind.TIME),
        ("How many cats has Ana?", AnswerKind.NUMBER),
        ("What did Ana say when Ben left?", None),
        ("Where does Ana live?", None),
        ("Whenever?", None),
        ("¿Cuándo?", None),
    ],
)
def test_a_question_asks_for_a_time_a_number_or_anything(question: str, kind: AnswerKind | None) -> None:
    assert answer_kind(question) is kind


@pytest.mark.parametrize(
    ("question", "asked_at", "first", "last"),
    [
        ("What did I buy 10 days ago?", SATURDAY, "2023-04-12", "2023-04-12"),
        ("Whom did I meet two weeks ago?", SATURDAY, "2023-04-05", "2023-04-11"),
        ("Which museum was it two months ago?", SATURDAY, "2023-02-07", "2023-03-09"),
        ("Who came last Saturday?", SATURDAY, "2023-04-15", "2023-04-15"),
        ("Who came last weekend?", SATURDAY, "2023-04-15", "2023-04-16"),
        ("Which bike did I fix the past weekend?", TUESDAY, "2023-03-18", "2023-03-19"),
        ("What happened last week?", TUESDAY, "2023-03-13", "2023-03-19"),
        ("What did we eat last month?", TUESDAY, "2023-02-01", "2023-02-28"),
        ("Where was I last summer?", TUESDAY, "2022-06-01", "2022-08-31"),
        ("Where was I in the summer of 2021?", TUESDAY, "2021-06-01", "2021-08-31"),
        ("What did I plan yesterday?", TUESDAY, "2023-03-20", "2023-03-20"),
        ("What did Ana paint on October 13, 2022?", TUESDAY, "2022-10-13", "2022-10-13"),
        ("What did Ana find on 1 February, 2023?", TUESDAY, "2023-02-01", "2023-02-01"),
        ("Who came on 2023-02-01?", TUESDAY, "2023-02-01", "2023-02-01"),
        ("What did Ana do in July 2022?", TUESDAY, "2022-07-01", "2022-07-31"),
        ("What did Ana do in 2021?", TUESDAY, "2021-01-01", "2021-12-31"),
        ("Where did I work at the beginning of 2022?", TUESDAY, "2022-01-01", "2022-04-01"),
        ("Where was I in late 2021?", TUESDAY, "2021-10-01", "2021-12-31"),
        ("Who came in the middle of last year?", TUESDAY, "2022-04-02", "2022-09-30"),
        ("What is new since early 2022?", TUESDAY, "2022-01-01", f"{TUESDAY:%F}"),
        ("What is new since February?", TUESDAY, "2023-02-01", f"{TUESDAY:%F}"),
        ("What has changed since last week?", TUESDAY, "2023-03-13", f"{TUESDAY:%F}"),
    ],
)
def test_a_period_counts_from_when_it_is_asked(question: str, asked_at: datetime, first: str, last: str) -> None:
    [span] = periods(question, asked_at)

    assert (f"{span.start:%F}", f"{span.end - timedelta(days=1):%F}") == (first, last)


def test_a_month_without_a_year_is_that_month_of_every_year_before() -> None:
    spans = periods("Did we camp in June?", TUESDAY)

    assert [span.start.year for span in spans] == list(range(2022, 2012, -1))
    assert {(span.start.month, span.end.month) for span in spans} == {(6, 7)}


@pytest.mark.parametrize(
    "question",
    [
        "Where do I live?",
        "What may I eat?",
        "Who will come next week?",
        "Is Ana free this weekend?",
        "Who came on 31 February 2023?",
        "What happens on 3 May 2031?",
    ],
)
def test_no_period_is_named(question: str) -> None:
    assert not periods(question, TUESDAY)


def test_a_text_of_many_periods_names_the_first_ten() -> None:
    assert len(periods("yesterday, " * 50, TUESDAY)) == 10


def test_the_distance_from_a_period_is_negative_before_it() -> None:
    span = Span(TUESDAY, SATURDAY)

    assert span.distance(TUESDAY) == timedelta()
    assert span.distance(TUESDAY - timedelta(days=2)) == -timedelta(days=2)
    assert span.distance(SATURDAY + timedelta(days=3)) == timedelta(days=3)


WORDS = "last past 3 120 a few weeks months ago in on may june 31 of 1900 weekend summer"


@given(
    st.lists(st.sampled_from(WORDS.split())),
    st.datetimes(timezones=st.just(UTC)),
)
def test_no_question_and_no_time_is_too_odd(words: list[str], asked_at: datetime) -> None:
    assert all(span.start < span.end for span in periods(" ".join(words), asked_at))
