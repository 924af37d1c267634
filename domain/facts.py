"""The validity of facts: assertions about one subject and predicate, and the resulting periods (X13).

A slot contains all assertions about one subject and predicate, in one scope. Assertions are stored as made. The periods
are computed from the whole slot, so they do not depend on the order of recording: a value of a single-valued predicate
holds until it is asserted to end, or until the next value begins.
"""

from bisect import bisect_right
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from itertools import pairwise, zip_longest
from uuid import UUID

from mnemolog.domain.errors import InvalidInput
from mnemolog.domain.precision import Precisions


class State(StrEnum):
    """The state of a fact at a point in time."""

    ACTIVE = "active"
    UPCOMING = "upcoming"
    ENDED = "ended"
    RETIRED = "retired"


@dataclass(frozen=True, slots=True, order=True)
class Period:
    """From an instant until just before another; None is open."""

    valid_from: datetime
    valid_to: datetime | None = None

    def holds_at(self, at: datetime) -> bool:
        return self.valid_from <= at and self.lasts_beyond(at)

    def lasts_beyond(self, at: datetime) -> bool:
        return self.valid_to is None or at < self.valid_to


@dataclass(frozen=True, slots=True)
class Validity:
    """The asserted validity of one fact, and the resulting periods; none if it is retired."""

    relation_id: UUID
    said: tuple[Period, ...] = ()
    periods: tuple[Period, ...] = ()


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact of a slot. `single`: when it begins, all other facts of the slot end."""

    relation_id: UUID
    single: bool
    validity: Validity

    @classmethod
    def new(cls, relation_id: UUID, *, single: bool) -> "Fact":
        return cls(relation_id, single, Validity(relation_id))

    def says(self, said: Iterable[Period]) -> "Fact":
        return replace(self, validity=replace(self.validity, said=tuple(sorted(said))))


Slot = Sequence[Fact]


@dataclass(frozen=True, slots=True)
class Said:
    """An assertion that a value holds from `since`; `stated`: the start was given explicitly.

    `precisions`: how exactly dates are known that are not known to the day.
    """

    since: datetime
    until: datetime | None = None
    stated: bool = True
    precisions: Precisions = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.until is not None and self.until <= self.since:
            message = f"ends at {self.until.isoformat()}, which is not after its start, {self.since.isoformat()}"
            raise InvalidInput(message, field="until", fix="give a later end, or an earlier start")


def repeats(fact: Fact, said: Said) -> bool:
    """Whether this was already known, so that it is only an observation."""
    if said.until is not None:
        return False
    known = (
        one.holds_at(said.since) or (not said.stated and one.lasts_beyond(said.since)) for one in _periods_of(fact)
    )
    return any(known)


def asserted(slot: Slot, fact: Fact, said: Said) -> Slot:
    """The slot after a known or new fact is asserted. Facts that begin at the same instant are retired."""
    added = fact.says([*but(fact, said.since), Period(said.since, said.until)])
    rest = [one for one in slot if one.relation_id != fact.relation_id]
    others = [one.says(but(one, said.since)) for one in rest] if fact.single else rest
    return settled(_placed(slot, [*others, added]))


def wrong(slot: Slot, said: Said, apart: Collection[UUID]) -> Sequence[Fact]:
    """The other values of what is timeless that had begun when this one did: they never held."""
    others = (one for one in slot if one.relation_id not in apart and one.validity.said)
    return [one for one in others if one.validity.said[0].valid_from <= said.since]


def ended(slot: Slot, fact: Fact, at: datetime) -> Slot:
    """The slot after a fact is asserted to have ended, which ends its last period that began before then."""
    begun = [period for period in _periods_of(fact) if period.valid_from < at]
    if not begun:
        raise not_begun(at)
    last = begun[-1]
    inside = [
        one for one in fact.validity.said if last.valid_from <= one.valid_from and last.lasts_beyond(one.valid_from)
    ]
    kept = [one for one in fact.validity.said if one not in inside]
    before = [one for one in inside if one.valid_from < at]
    changed = fact.says([*kept, *before[:-1], replace(before[-1], valid_to=at)])
    return settled(_placed(slot, [changed]))


def not_begun(at: datetime) -> InvalidInput:
    message = f"the fact does not hold before {at.isoformat()}"
    return InvalidInput(message, field="until", fix="give a time after its start")


def retired(slot: Slot, fact: Fact) -> Slot:
    """The slot after a fact is retired; the facts it had ended continue."""
    return settled(_placed(slot, [fact.says(())]))


def settled(slot: Slot) -> Slot:
    """The slot with the periods computed from its assertions."""
    starts = sorted((one.valid_from, at) for at, fact in enumerate(slot) if fact.single for one in fact.validity.said)
    return [
        replace(one, validity=replace(one.validity, periods=periods(one, place, starts)))
        for place, one in enumerate(slot)
    ]


def changes(before: Slot, after: Slot) -> tuple[Validity, ...]:
    """The facts that changed, in the order of the slot."""
    known = {one.relation_id: one.validity for one in before}
    return tuple(one.validity for one in after if one.validity != known.get(one.relation_id, Validity(one.relation_id)))


def _periods_of(fact: Fact) -> tuple[Period, ...]:
    return fact.validity.periods


def but(fact: Fact, since: datetime) -> list[Period]:
    return [one for one in fact.validity.said if one.valid_from != since]


def _placed(slot: Slot, changed: Sequence[Fact]) -> Slot:
    """The slot with facts replaced, new ones last."""
    new = {one.relation_id: one for one in changed}
    return [*(new.pop(one.relation_id, one) for one in slot), *new.values()]


Start = tuple[datetime, int]
"""When the value of a fact begins, and the place of that fact in its slot."""


def periods(fact: Fact, place: int, starts: Sequence[Start]) -> tuple[Period, ...]:
    """`starts` are those of all facts that replace others, in order."""
    said = fact.validity.said
    clipped = [_clipped(place, one, again, starts) for one, again in zip_longest(said, said[1:])]
    return _joined([one for one in clipped if one.valid_to is None or one.valid_from < one.valid_to])


def _clipped(place: int, said: Period, again: Period | None, starts: Sequence[Start]) -> Period:
    """The end of a period: its asserted end, or the start of the next value, which may be the same value `again`.

    Of two that begin at the same time, the later in the slot wins.
    """
    after = bisect_right(starts, (said.valid_from, place))
    replaced = starts[after][0] if after < len(starts) else None
    ends = [at for at in (replaced, again.valid_from if again else None, said.valid_to) if at is not None]
    return Period(said.valid_from, min(ends, default=None))


def _joined(periods: Sequence[Period]) -> tuple[Period, ...]:
    joined = list(periods[:1])
    for before, after in pairwise(periods):
        if before.valid_to == after.valid_from:
            joined[-1] = replace(joined[-1], valid_to=after.valid_to)
        else:
            joined.append(after)
    return tuple(joined)
