"""What lies ahead: whether a question asks for it, and until when what a message names lasts. By rules, in English."""

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice

from mnemolog.domain import hydration
from mnemolog.domain.extraction.times import COUNT, DAY, DAY_AND_MONTH, MONTH, moved, point, shifted
from mnemolog.domain.lazy_regex import lazy_compile

_LONGEST = 4_000  # Characters of a message that are looked at.
_MOST = 20  # Days that one message names.
_NEAR = timedelta(days=300)
"""A day without a year that is further ahead is one that is over: "we met on 3 March", said on the 10th."""
_NOUN = r"(?!(?:do|have|am|are|is|i|we|my|our|there|of|that|thing|one)\b)[a-z]+"
_ASKS = lazy_compile(
    rf"\b(?P<whose>my|our|\w+'s) (?P<next>next)\b(?! (?:to|door|of)\b|-)(?: (?P<noun>{_NOUN}))?"
    rf"|\bupcoming (?P<upcoming>{_NOUN})|\bgoing on (?P<going>holiday|vacation)\b"
    rf"|\b(?:(?:any|which|what|my|our)(?: upcoming)? (?P<sort>{_NOUN})\b.{{0,60}}?)?"
    r"\b(?:coming up|lined up|upcoming|in the diary|scheduled|planned)\b",
    re.IGNORECASE,
)
_PAST = lazy_compile(r"\b(?:was|were|did|had|been)\b", re.IGNORECASE)
_NAMED = lazy_compile(
    rf"\b(?:(?P<day>\d{{4}}-\d\d-\d\d|{DAY_AND_MONTH}|the \d{{1,2}}(?:st|nd|rd|th)|(?:on|next|this|till|until|by) {DAY}"
    rf"|tomorrow|today)|tonight|(?P<week>(?:next|this) week(?:end)?)"
    rf"|(?:in|until|till|by|of|from|early|late|mid|for|over) (?P<month>{MONTH}(?: \d{{4}})?)|(?P<next>next month)"
    rf"|in (?P<count>{COUNT}) (?P<unit>day|week|month)s?)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Ahead:
    """What a question asks for that is to come: of which sort, as stems, if it says so; `next`: the soonest."""

    said: str
    sort: frozenset[str] = frozenset()
    next: bool = False

    def is_sort(self, text: str) -> bool:
        stems = hydration.stems(text)
        return not self.sort or not self.sort.isdisjoint(stems | hydration.alike(stems))


def asked_ahead(question: str) -> Ahead | None:
    """What a question asks for that is to come, if it does.

    >>> asked_ahead("What is my next trip?").said, asked_ahead("What concerts do I have coming up?").said
    ('my next trip', 'upcoming concerts')
    >>> asked_ahead("Who lives next to me?")
    """
    found = None if _PAST.search(question) else _ASKS.search(question)
    if found is None:
        return None
    noun = next(filter(None, map(found.group, ("noun", "sort", "upcoming", "going"))), "").lower()
    said = f"{found['whose']} next {noun}" if found["next"] and noun else f"upcoming {noun or 'plans'}"
    return Ahead(said, hydration.stems(noun), found["next"] is not None)


def lasts_until(text: str, at: datetime) -> datetime | None:
    """When the last of the days, weeks and months that a message names is over, if it was to come; None without any.

    >>> from datetime import UTC
    >>> f"{lasts_until('Booked Crete: 6 to 13 February', datetime(2026, 11, 23, tzinfo=UTC)):%Y-%m-%d}"
    '2027-02-14'
    """
    ends = (_end(found, at) for found in islice(_NAMED.finditer(text[:_LONGEST]), _MOST))
    return max((end for end in ends if end is not None and end > at), default=None)


def _end(found: re.Match[str], at: datetime) -> datetime | None:
    try:
        if found["count"]:
            return shifted(at, f"{found['count']} {found['unit']}", 1)
        if found["month"] or found["next"]:
            start = point(found["month"] or found["next"], at, future=True)
            end = start and moved(start, 1, "month")
        elif found["week"]:
            start = point(found["week"], at, future=True)
            end = start and start + timedelta(days=2 if "end" in found["week"].lower() else 7)
        else:
            named = re.sub(r"^(?:on|till|until|by) ", "", (found["day"] or "today").lower())
            start = point(named, at, future=True)
            end = start and start + timedelta(days=1)
    except (ValueError, OverflowError):
        return None
    return end if start and start - at < _NEAR else None
