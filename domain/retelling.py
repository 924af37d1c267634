"""What was believed of the facts of a slot, statement by statement, in the order in which they were told (X13).

History that is imported is told in the order of the import, which is not that in which it was said. So what a late
statement changes follows from all statements of its slot, each in its place.
"""

from bisect import bisect_left, insort
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import takewhile
from uuid import UUID

from mnemolog.domain import facts
from mnemolog.domain.errors import InvalidInput
from mnemolog.domain.facts import Fact, Period, Said, Slot, Start


@dataclass(frozen=True, slots=True)
class Asserts:
    """A value holds. `single`: whether it ended all others of the slot; None if it was known, as it was told first."""

    said: Said
    single: bool | None


@dataclass(frozen=True, slots=True)
class Ends:
    """A value holds until then. `holding`: if it was still known to hold then; else it corrects the end."""

    at: datetime
    holding: bool = False


@dataclass(frozen=True, slots=True)
class Retires:
    """A value never held."""


@dataclass(frozen=True, slots=True)
class Withdraws:
    """A value never held, and is not shown any more."""


@dataclass(frozen=True, slots=True)
class Shows:
    """A value is shown from now on, or no longer."""

    shown: bool


@dataclass(frozen=True, slots=True)
class Drops:
    """What an event stated counts no more."""

    event_id: UUID


Change = Asserts | Ends | Retires | Withdraws | Shows | Drops


@dataclass(frozen=True, slots=True)
class Statement:
    """What was told of a fact, and when. `number`: its place in the order of recording.

    `retold`: whether it was recorded with what it changed of earlier beliefs, if it was told late.
    """

    relation_id: UUID
    told: datetime
    number: int
    event_id: UUID | None
    change: Change
    retold: bool = True


@dataclass(frozen=True, slots=True)
class Belief:
    """From `known_from` until `known_to`, it was believed that a fact holds from `valid_from` until `valid_to`.

    `learned_at`: since when it was believed to hold from `valid_from`, if another end was believed before.
    """

    valid_from: datetime
    valid_to: datetime | None
    known_from: datetime
    known_to: datetime | None
    learned_at: datetime


@dataclass(frozen=True, slots=True)
class Beliefs:
    """All that was ever believed of one fact, in order."""

    relation_id: UUID
    beliefs: tuple[Belief, ...] = ()


@dataclass(frozen=True, slots=True)
class History:
    """A slot after all its statements, the facts that are hidden, and what was believed.

    `repeated`: the numbers of the statements that told what was known. `vain`: those of the ends of what did not hold.
    """

    slot: Slot
    hidden: frozenset[UUID]
    beliefs: Mapping[UUID, Beliefs]
    repeated: frozenset[int]
    vain: frozenset[int]


def history(relation_ids: Iterable[UUID], statements: Iterable[Statement], *, timeless: bool) -> History:
    """`timeless`: another value of a single-valued predicate is a correction, whenever it begins."""
    state = _Slot.empty(relation_ids)
    found = {id_: _Believed() for id_ in state.known}
    before: list[Statement] = []
    same: dict[type[Change], set[int]] = {Asserts: set(), Ends: set()}
    for one in in_order(statements):
        after = _after(state, one, before, timeless)
        if after is state:
            same.setdefault(type(one.change), set()).add(one.number)
        for id_ in after.differing(state):
            found[id_].change(after.known[id_].validity.periods, one.told, shown=id_ not in after.hidden)
        before.append(one)
        state = after
    beliefs = {id_: Beliefs(id_, tuple(one.known)) for id_, one in found.items()}
    return History(list(state.known.values()), state.hidden, beliefs, frozenset(same[Asserts]), frozenset(same[Ends]))


def in_order(statements: Iterable[Statement]) -> list[Statement]:
    """As they were told. What was told of a fact before the fact itself counts from when that was told."""
    told = list(statements)
    first: dict[UUID, datetime] = {}
    for one in told:
        if isinstance(one.change, Asserts):
            first[one.relation_id] = min(first.get(one.relation_id, one.told), one.told)
    moved = [
        (replace(one, told=max(one.told, first.get(one.relation_id, one.told))), one.told)
        if isinstance(one.change, Ends | Retires)
        else (one, one.told)
        for one in told
    ]
    return [one for one, was in sorted(moved, key=lambda pair: (pair[0].told, pair[0].told != pair[1], pair[0].number))]


@dataclass(frozen=True, slots=True)
class _Slot:
    """Facts with their periods. A change settles only the facts next to it, as there may be many statements.

    `places` are those in the slot, and `starts` those of all single-valued facts, in order.
    """

    known: Mapping[UUID, Fact]
    places: Mapping[UUID, int]
    starts: Sequence[Start] = ()
    hidden: frozenset[UUID] = frozenset()

    @classmethod
    def empty(cls, relation_ids: Iterable[UUID]) -> "_Slot":
        known = {id_: Fact.new(id_, single=False) for id_ in relation_ids}
        return cls(known, {id_: place for place, id_ in enumerate(known)})

    def saying(self, *changed: Fact) -> "_Slot":
        """With other statements of some facts."""
        known = {**self.known, **{one.relation_id: one for one in changed}}
        starts, moved = list(self.starts), list[Start]()
        for one in changed:
            was, now = (self._starts_of(fact) for fact in (self.known[one.relation_id], one))
            for start in was - now:
                del starts[bisect_left(starts, start)]
            for start in now - was:
                insort(starts, start)
            moved += was ^ now
        ids = list(known)
        before = (place for start in moved if (place := bisect_left(starts, start) - 1) >= 0)
        beside = {one.relation_id for one in changed} | {ids[starts[place][1]] for place in before}
        for id_ in known if self._mixed(known) else beside:
            fact = known[id_]
            periods = facts.periods(fact, self.places[id_], starts)
            known[id_] = replace(fact, validity=replace(fact.validity, periods=periods))
        return replace(self, known=known, starts=starts)

    def showing(self, relation_id: UUID, *, shown: bool) -> "_Slot":
        one = frozenset({relation_id})
        return replace(self, hidden=self.hidden - one if shown else self.hidden | one)

    def beginning(self, at: datetime) -> Sequence[Fact]:
        """The facts with a value from then on."""
        if self._mixed(self.known):
            return [one for one in self.known.values() if any(said.valid_from == at for said in one.validity.said)]
        ids, first = list(self.known), bisect_left(self.starts, (at, 0))
        same = takewhile(lambda start: start[0] == at, self.starts[first:])
        return [self.known[ids[place]] for _, place in same]

    def differing(self, before: "_Slot") -> Sequence[UUID]:
        """The facts that hold at other times than before, or were hidden or shown."""
        if self is before:
            return []
        pairs = ((id_, fact, before.known[id_]) for id_, fact in self.known.items())
        other = {id_ for id_, fact, was in pairs if fact is not was and fact.validity.periods != was.validity.periods}
        return [id_ for id_ in self.known if id_ in other or (id_ in self.hidden) != (id_ in before.hidden)]

    def _starts_of(self, fact: Fact) -> set[Start]:
        place = self.places[fact.relation_id]
        return {(one.valid_from, place) for one in fact.validity.said} if fact.single else set()

    @staticmethod
    def _mixed(known: Mapping[UUID, Fact]) -> bool:
        """Whether single-valued facts end others that are not: the predicate was configured otherwise."""
        return len(known) > 1 and any(not one.single and one.validity.said for one in known.values())


def _after(slot: _Slot, one: Statement, before: Sequence[Statement], timeless: bool) -> _Slot:
    """The same slot if it says nothing new."""
    id_ = one.relation_id
    fact = slot.known[id_]
    match one.change:
        case Asserts(said, single):
            return _asserted(slot, fact, said, single=fact.single if single is None else single, timeless=timeless)
        case Ends(at, holding):
            if holding and not any(period.lasts_beyond(at) for period in fact.validity.periods):
                return slot
            try:
                return slot.saying(facts.ended([fact], fact, at)[0])
            except InvalidInput:
                return slot  # It was not known to hold before then.
        case Retires():
            return slot.saying(fact.says(()))
        case Withdraws():
            return slot.saying(fact.says(())).showing(id_, shown=False)
        case Shows(shown):
            return slot.showing(id_, shown=shown)
        case Drops():
            return _without_dropped([*before, one], slot.known, timeless)


def _asserted(slot: _Slot, fact: Fact, said: Said, *, single: bool, timeless: bool) -> _Slot:
    id_ = fact.relation_id
    if id_ in slot.hidden:
        fact = Fact.new(id_, single=single)
    elif facts.repeats(fact, said):
        return slot
    elif timeless and single:
        wrong = facts.wrong(list(slot.known.values()), said, slot.hidden | {id_})
        starts = [one.validity.said[0].valid_from for one in wrong]
        said = replace(said, since=min([said.since, *starts]))
        slot = slot.saying(*(one.says(()) for one in wrong))
    added = replace(fact, single=single).says([*facts.but(fact, said.since), Period(said.since, said.until)])
    others = (one for one in slot.beginning(said.since) if one.relation_id != id_) if single else ()
    return slot.saying(added, *(one.says(facts.but(one, said.since)) for one in others)).showing(id_, shown=True)


def _without_dropped(told: Sequence[Statement], relation_ids: Iterable[UUID], timeless: bool) -> _Slot:
    """An event that was undone may be an undo."""
    dropped: set[UUID] = set()
    for one in reversed(told):
        if isinstance(one.change, Drops) and one.event_id not in dropped:
            dropped.add(one.change.event_id)
    slot = _Slot.empty(relation_ids)
    for one in told:
        if one.event_id not in dropped and not isinstance(one.change, Drops):
            slot = _after(slot, one, (), timeless)
    return slot


@dataclass(slots=True)
class _Believed:
    """What has been believed of one fact so far. `learned`: since when each start of it is known."""

    known: list[Belief] = field(default_factory=list)
    learned: Mapping[datetime, datetime] = field(default_factory=dict)

    def change(self, periods: Iterable[Period], told: datetime, *, shown: bool) -> None:
        """Close the beliefs that are no longer held, and open those that are new."""
        spans = [(one.valid_from, one.valid_to) for one in periods]
        self.learned = {start: self.learned.get(start, told) for start, _ in spans}
        open_ = {(one.valid_from, one.valid_to) for one in self.known if one.known_to is None}
        held = spans if shown else []
        self.known = [
            replace(one, known_to=told) if one.known_to is None and (one.valid_from, one.valid_to) not in held else one
            for one in self.known
        ]
        new = [span for span in held if span not in open_]
        self.known += [Belief(start, end, told, None, self.learned[start]) for start, end in new]
