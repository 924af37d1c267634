"""What a question says of its answer: that it is a time or a number, and the periods in which it was said.

By rules, which know English; a question in another language has neither.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import islice

from mnemolog.domain.extraction.times import COUNT, DAY, DAY_AND_MONTH, MONTH, SEASON, moved, point
from mnemolog.domain.lazy_regex import lazy_compile

_DAY_LONG, _WEEK_LONG = timedelta(days=1), timedelta(days=7)
_MOST = 10
"""The phrases of one question that are considered."""
_BACK = 10
"""A month without a year is that month in each of so many years, because messages may be old."""
_AROUND = {"day": timedelta(), "week": timedelta(days=3), "month": timedelta(days=15)}
_DATE = rf"{DAY_AND_MONTH}|\d{{4}}-\d\d-\d\d"
_SURE = (
    rf"{_DATE}|{COUNT} (?:day|week|month)s? ago|(?:last|past) (?:weekend|week|month|year|{DAY}|{MONTH}|{SEASON})"
    r"|yesterday|today|last night|this (?:morning|afternoon|evening)"
)
_BARE = rf"{MONTH}(?:,? (?:19|20)\d\d)?|(?:19|20)\d\d|{DAY}|{SEASON}(?: of)?(?: (?:19|20)\d\d)?"
_WHEN = "in|on|during|of|by|as of"
_PERIOD = lazy_compile(
    rf"\b(?:(?:(?:{_WHEN}|(?P<since>since)|before|after) )?(?:the )?(?P<sure>{_SURE})"
    rf"|(?:(?:{_WHEN}|(?P<ever>since)) (?:the )?(?:(?:early|mid|late)[ -])?|(?:early|mid|late)[ -])(?P<bare>{_BARE}))\b"
)
# Which part of a month or of more is meant: a quarter, or the half between.
_PARTS = (
    (lazy_compile(r"\b(?:(?:beginning|start) of|early(?: in)?)[ -](?:the )?$"), 0, 1),
    (lazy_compile(r"\b(?:middle of|mid)[ -](?:the )?$"), 1, 3),
    (lazy_compile(r"\b(?:end of|late(?: in)?)[ -](?:the )?$"), 3, 4),
)


class AnswerKind(StrEnum):
    """What the answer is. The value is a full-text query that finds the texts which tell one, in Postgres' syntax."""

    TIME = (
        "yesterday | today | tomorrow | tonight | week | weekend | month | year | ago | last | next | monday | tuesday"
        " | wednesday | thursday | friday | saturday | sunday | january | february | march | april | june | july"
        " | august | september | october | november | december"
    )
    NUMBER = (
        "one | two | three | four | five | six | seven | eight | nine | ten | twelve | dozen | couple | few | several"
        " | 0:* | 1:* | 2:* | 3:* | 4:* | 5:* | 6:* | 7:* | 8:* | 9:*"
    )


_ASKING = (
    (
        AnswerKind.TIME,
        lazy_compile(
            r"^\W*when\b|\b(?:what|which) (?:date|day|month|year|time|week)s?\b|\bsince when\b"
            r"|\bhow long (?:ago|since)\b"
        ),
    ),
    (
        AnswerKind.NUMBER,
        lazy_compile(r"\bhow (?:many|much|often|old|long|far)\b|\b(?:what|which) (?:dose|dosage|amount|price)\b"),
    ),
)


def asks_why(question: str) -> bool:
    return _WHY.match(question) is not None


_WHY = lazy_compile(r"\W*(?:why|how come)\b", re.IGNORECASE)


def answer_kind(question: str) -> AnswerKind | None:
    """The kind of answer that a question asks for; None if it may be anything.

    >>> answer_kind("Which year did we move?").name, answer_kind("How many cats have I?").name
    ('TIME', 'NUMBER')
    """
    plain = question.lower()
    return next((kind for kind, pattern in _ASKING if pattern.search(plain)), None)


@dataclass(frozen=True, slots=True)
class Span:
    """From a time until just before another."""

    start: datetime
    end: datetime

    def distance(self, at: datetime) -> timedelta:
        """How long after its end a time is, or as a negative figure how long before its start; 0 within."""
        return min(at - self.start, timedelta()) or max(at - self.end, timedelta())


def periods(question: str, asked_at: datetime) -> Sequence[Span]:
    """The periods that a question names, of those that have begun when it is asked; "since" such a one, until then.

    >>> from datetime import UTC
    >>> [span] = periods("Who came two weeks ago?", datetime(2026, 5, 20, 9, tzinfo=UTC))
    >>> f"{span.start:%d %b} to {span.end:%d %b}"
    '03 May to 10 May'
    """
    plain = question.lower()
    spans = list[Span]()
    for one in islice(_PERIOD.finditer(plain), _MOST):
        said = (one["sure"] or one["bare"]).removeprefix("the ")
        part = _part(plain[: one.start("sure" if one["sure"] else "bare")])
        begun = [span for span in map(part, _spans(said, asked_at)) if span.start <= asked_at]
        if begun and (one["since"] or one["ever"]):
            begun = [Span(max(span.start for span in begun), asked_at + _DAY_LONG)]
        spans += begun
    return spans


def _part(before: str) -> Callable[[Span], Span]:
    """The part of a period that is meant by what stands before it: "at the beginning of", "late"."""
    begins, ends = next(((begins, ends) for form, begins, ends in _PARTS if form.search(before)), (0, 4))

    def part(of: Span) -> Span:
        quarter = (of.end - of.start) / 4
        return Span(of.start + begins * quarter, of.start + ends * quarter) if quarter >= _WEEK_LONG else of

    return part


def without_periods(question: str) -> str:
    """
    >>> without_periods("Where did I work in May 2024?")
    'Where did I work ?'
    """
    return re.sub(_PERIOD.pattern, "", question, flags=re.IGNORECASE)


def _spans(said: str, asked_at: datetime) -> Iterator[Span]:
    said = said.replace("past ", "last ")
    try:
        if re.fullmatch(MONTH, said):
            last = point(said, asked_at)
            starts = [last.replace(year=last.year - back) for back in range(_BACK)] if last else []
            yield from (Span(start, moved(start, 1, "month")) for start in starts)
        elif said == "last weekend":
            day = asked_at.replace(hour=0, minute=0, second=0, microsecond=0)
            saturday = day - timedelta(days=(day.weekday() - 5) % 7 + 7 * (day.weekday() >= 5))
            yield Span(saturday, saturday + timedelta(days=2))
        elif start := point(said, asked_at):
            yield _beginning(start, said)
    except (ValueError, OverflowError):  # Before the first or after the last year of the calendar.
        return


def _beginning(start: datetime, said: str) -> Span:
    if ago := re.search(r"(day|week|month)s? ago$", said):
        return Span(start - _AROUND[ago[1]], start + _AROUND[ago[1]] + _DAY_LONG)
    if "week" in said:
        return Span(start, start + timedelta(days=7))
    if re.search(SEASON, said):
        return Span(start, moved(start, 3, "month"))
    if re.fullmatch(_DATE, said):
        return Span(start, start + _DAY_LONG)
    if re.search(rf"month|\b{MONTH}\b", said):
        return Span(start, moved(start, 1, "month"))
    return Span(start, moved(start, 1, "year") if re.search(r"year|\d{4}$", said) else start + _DAY_LONG)
