"""When facts hold: what is said of one subject and predicate, and the periods that follow from it (X13).

A slot is all that was said under one subject and predicate, in one scope. What was said of a fact is kept as it was
said; the periods in which it holds are reckoned from all of the slot, so that they do not depend on the order in which
it was learned: a value of a single-valued predicate holds until it is said to end, or until the next one begins.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import pairwise
from uuid import UUID

from mnemolog.domain.errors import InvalidInput


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
    """All that is said of when one fact holds, and the periods that follow; none when it is retired."""

    relation_id: UUID
    said: tuple[Period, ...] = ()
    periods: tuple[Period, ...] = ()


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact of a slot. `single`: where it is said to begin, whatever else the slot holds ends."""

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
    """That a value holds from `since`; `stated` when somebody said since when, not only that it does."""

    since: datetime
    until: datetime | None = None
    stated: bool = True

    def __post_init__(self) -> None:
        if self.until is not None and self.until <= self.since:
            message = f"ends at {self.until.isoformat()}, which is not after its beginning, {self.since.isoformat()}"
            raise InvalidInput(message, field="until", fix="give a later end, or an earlier start")


def repeats(fact: Fact, said: Said) -> bool:
    """Whether this was known: then it is an observation, and no change."""
    if said.until is not None:
        return False
    known = (one.holds_at(said.since) or (not said.stated and one.lasts_beyond(said.since)) for one in _held(fact))
    return any(known)


def asserted(slot: Slot, fact: Fact, said: Said) -> Slot:
    """The slot once a fact, in the slot or new, is said to hold. What was said to begin at that instant is retired."""
    added = fact.says([*_but(fact, said.since), Period(said.since, said.until)])
    others = [one.says(_but(one, said.since)) if fact.single else one for one in slot if not _same(one, fact)]
    return settled(_placed(slot, [*others, added]))


def ended(slot: Slot, fact: Fact, at: datetime) -> Slot:
    """The slot once a fact is said to have ended: its last period that began before then."""
    begun = [period for period in _held(fact) if period.valid_from < at]
    if not begun:
        raise InvalidInput(
            f"the fact does not hold before {at.isoformat()}", field="until", fix="give a time after its start"
        )
    last = begun[-1]
    inside = [
        one for one in fact.validity.said if last.valid_from <= one.valid_from and last.lasts_beyond(one.valid_from)
    ]
    kept = [one for one in fact.validity.said if one not in inside]
    before = [one for one in inside if one.valid_from < at]
    changed = fact.says([*kept, *before[:-1], replace(before[-1], valid_to=at)])
    return settled(_placed(slot, [changed]))


def retired(slot: Slot, fact: Fact) -> Slot:
    """The slot once a fact is known never to have held: what it had ended goes on."""
    return settled(_placed(slot, [fact.says(())]))


def settled(slot: Slot) -> Slot:
    """The slot with the periods that follow from what is said in it."""
    return [
        replace(one, validity=replace(one.validity, periods=_periods(slot, place))) for place, one in enumerate(slot)
    ]


def changes(before: Slot, after: Slot) -> tuple[Validity, ...]:
    """Of which facts something changed, in the order of the slot."""
    known = {one.relation_id: one.validity for one in before}
    return tuple(one.validity for one in after if one.validity != known.get(one.relation_id, Validity(one.relation_id)))


def _same(one: Fact, other: Fact) -> bool:
    return one.relation_id == other.relation_id


def _held(fact: Fact) -> tuple[Period, ...]:
    return fact.validity.periods


def _but(fact: Fact, since: datetime) -> list[Period]:
    return [one for one in fact.validity.said if one.valid_from != since]


def _placed(slot: Slot, changed: Sequence[Fact]) -> Slot:
    """The slot with facts in their places, new ones last."""
    new = {one.relation_id: one for one in changed}
    return [*(new.pop(one.relation_id, one) for one in slot), *new.values()]


def _periods(slot: Slot, place: int) -> tuple[Period, ...]:
    own = [_clipped(slot, place, one) for one in slot[place].validity.said]
    return _joined([one for one in own if one.valid_to is None or one.valid_from < one.valid_to])


def _clipped(slot: Slot, place: int, said: Period) -> Period:
    """Until it is said to end, or until what ends it begins. Of two that begin at once the later in the slot stands."""
    starts = [
        other.valid_from
        for at, fact in enumerate(slot)
        if fact.single or at == place
        for other in fact.validity.said
        if other.valid_from > said.valid_from or (other.valid_from == said.valid_from and at > place)
    ]
    ends = [*starts, *([said.valid_to] if said.valid_to is not None else [])]
    return replace(said, valid_to=min(ends, default=None))


def _joined(periods: Sequence[Period]) -> tuple[Period, ...]:
    """Periods that touch are one."""
    joined = list(periods[:1])
    for before, after in pairwise(periods):
        if before.valid_to == after.valid_from:
            joined[-1] = replace(joined[-1], valid_to=after.valid_to)
        else:
            joined.append(after)
    return tuple(joined)
