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
    slot = _Slot(relation_ids, timeless)
    found = {id_: _Believed() for id_ in slot.known}
    told = in_order(statements)
    vain: dict[type[Change], set[int]] = {Asserts: set(), Ends: set()}
    for place, one in enumerate(told):
        if isinstance(one.change, Drops):
            later = _without_dropped(told[: place + 1], slot.known, timeless)
            altered, slot = later.differing(slot), later
        else:
            if not slot.tell(one):
                vain[type(one.change)].add(one.number)
            altered = slot.altered()
        for id_ in altered:
            found[id_].change(slot.known[id_].validity.periods, one.told, shown=id_ not in slot.hidden)
    beliefs = {id_: Beliefs(id_, tuple(one.known)) for id_, one in found.items()}
    hidden = frozenset(slot.hidden)
    return History(list(slot.known.values()), hidden, beliefs, frozenset(vain[Asserts]), frozenset(vain[Ends]))


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


class _Slot:
    """Facts with their periods, to which statements are told one after another.

    There may be many, so that one settles only the facts next to it.
    """

    def __init__(self, relation_ids: Iterable[UUID], timeless: bool) -> None:
        self.known = {id_: Fact.new(id_, single=False) for id_ in relation_ids}
        self.hidden: set[UUID] = set()
        self._timeless = timeless
        self._ids = list(self.known)
        self._places = {id_: place for place, id_ in enumerate(self._ids)}
        # Of all single-valued facts, in order.
        self._starts: list[Start] = []
        # Those with a value, and those of them that end no others.
        self._stated: set[UUID] = set()
        self._beside: set[UUID] = set()
        # What was shown before the last statement of the facts that it concerned.
        self._before: dict[UUID, tuple[tuple[Period, ...], bool]] = {}

    def tell(self, one: Statement) -> bool:
        """Whether it says something new."""
        id_ = one.relation_id
        fact = self.known[id_]
        match one.change:
            case Asserts(said, single):
                return self._assert(fact, said, single=fact.single if single is None else single)
            case Ends(at, holding):
                if holding and not any(period.lasts_beyond(at) for period in fact.validity.periods):
                    return False
                try:
                    self._say(facts.ended([fact], fact, at)[0])
                except InvalidInput:
                    return False  # It was not known to hold before then.
            case Retires():
                self._say(fact.says(()))
            case Withdraws():
                self._say(fact.says(()))
                self._show(id_, shown=False)
            case Shows(shown):
                self._show(id_, shown=shown)
        return True

    def altered(self) -> Sequence[UUID]:
        """The facts that hold at other times since the last statement, or were hidden or shown by it."""
        found = [id_ for id_, before in self._before.items() if before != self._seen(id_)]
        self._before.clear()
        return found

    def differing(self, before: "_Slot") -> Sequence[UUID]:
        """The facts that hold at other times than in another slot, or are hidden or shown."""
        return [id_ for id_ in self.known if self._seen(id_) != before._seen(id_)]

    def _seen(self, relation_id: UUID) -> tuple[tuple[Period, ...], bool]:
        return self.known[relation_id].validity.periods, relation_id in self.hidden

    def _assert(self, fact: Fact, said: Said, *, single: bool) -> bool:
        id_ = fact.relation_id
        if id_ in self.hidden:
            fact = Fact.new(id_, single=single)
        elif facts.repeats(fact, said):
            return False
        elif self._timeless and single:
            wrong = facts.wrong([self.known[one] for one in self._stated], said, self.hidden | {id_})
            starts = [one.validity.said[0].valid_from for one in wrong]
            said = replace(said, since=min([said.since, *starts]))
            self._say(*(one.says(()) for one in wrong))
        added = replace(fact, single=single).says([*facts.but(fact, said.since), Period(said.since, said.until)])
        others = (one for one in self._beginning(said.since) if one.relation_id != id_) if single else ()
        self._say(added, *(one.says(facts.but(one, said.since)) for one in others))
        self._show(id_, shown=True)
        return True

    def _say(self, *changed: Fact) -> None:
        """Take other statements of some facts."""
        moved = list[Start]()
        for one in changed:
            was, now = self._starts_of(self.known[one.relation_id]), self._starts_of(one)
            for start in was - now:
                del self._starts[bisect_left(self._starts, start)]
            for start in now - was:
                insort(self._starts, start)
            moved += was ^ now
            self._note(one.relation_id)
            self.known[one.relation_id] = one
            self._keep(self._stated, one.relation_id, bool(one.validity.said))
            self._keep(self._beside, one.relation_id, bool(one.validity.said) and not one.single)
        before = (place for start in moved if (place := bisect_left(self._starts, start) - 1) >= 0)
        next_to = {one.relation_id for one in changed} | {self._ids[self._starts[place][1]] for place in before}
        for id_ in self._ids if self._is_mixed() else next_to:
            fact = self.known[id_]
            periods = facts.periods(fact, self._places[id_], self._starts)
            if periods != fact.validity.periods:
                self._note(id_)
                self.known[id_] = replace(fact, validity=replace(fact.validity, periods=periods))

    def _show(self, relation_id: UUID, *, shown: bool) -> None:
        self._note(relation_id)
        self._keep(self.hidden, relation_id, not shown)

    def _note(self, relation_id: UUID) -> None:
        self._before.setdefault(relation_id, self._seen(relation_id))

    def _beginning(self, at: datetime) -> Sequence[Fact]:
        """The facts with a value from then on."""
        if self._is_mixed():
            return [one for one in self.known.values() if any(said.valid_from == at for said in one.validity.said)]
        first = bisect_left(self._starts, (at, 0))
        same = takewhile(lambda start: start[0] == at, self._starts[first:])
        return [self.known[self._ids[place]] for _, place in same]

    def _is_mixed(self) -> bool:
        """Whether single-valued facts end others that are not: the predicate was configured otherwise."""
        return len(self.known) > 1 and bool(self._beside)

    def _starts_of(self, fact: Fact) -> set[Start]:
        place = self._places[fact.relation_id]
        return {(one.valid_from, place) for one in fact.validity.said} if fact.single else set()

    @staticmethod
    def _keep(ids: set[UUID], relation_id: UUID, kept: bool) -> None:
        (ids.add if kept else ids.discard)(relation_id)


def _without_dropped(told: Sequence[Statement], relation_ids: Iterable[UUID], timeless: bool) -> _Slot:
    """An event that was undone may be an undo."""
    dropped: set[UUID] = set()
    for one in reversed(told):
        if isinstance(one.change, Drops) and one.event_id not in dropped:
            dropped.add(one.change.event_id)
    slot = _Slot(relation_ids, timeless)
    for one in told:
        if one.event_id not in dropped and not isinstance(one.change, Drops):
            slot.tell(one)
    slot.altered()
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
        held = dict.fromkeys(spans) if shown else {}
        self.known = [
            replace(one, known_to=told) if one.known_to is None and (one.valid_from, one.valid_to) not in held else one
            for one in self.known
        ]
        new = [span for span in held if span not in open_]
        self.known += [Belief(start, end, told, None, self.learned[start]) for start, end in new]
