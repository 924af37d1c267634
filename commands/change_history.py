"""The changes of each subject that a decision reads: in effect, undone, undoable (X03).

A change can be undone if, on each of its subjects, all later changes are undone too, or the same is in effect as right
after it. An undo is itself a change and can be undone, which restores the original change. Observations never block an
undo and are kept.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from typing import Any, Generic, TypeVar
from uuid import UUID

from mnemolog.domain.errors import NotFound, UndoConflict
from mnemolog.domain.updated import updated, without
from mnemolog.events.envelope import Happened

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class RecordedChange(Generic[T]):
    """One change of one subject. `before`: its previous state, or None if it was created by this change.

    `observation`: it was only stated or used again. `then`: what was in effect after it. `undone`: the change that it
    took out of that.
    """

    event_id: UUID
    name: str
    before: T | None
    undoes: UUID | None = None
    observation: bool = False
    then: "_InEffect" = field(default_factory=lambda: _nothing(), compare=False, repr=False)
    undone: UUID | None = None


@dataclass(frozen=True, slots=True, eq=False)
class _Sequence:
    """Changes in the order in which they are in effect: there is one object for the same ones of a subject."""

    last: UUID | None = None
    _longer: dict[UUID, "_Sequence"] = field(default_factory=dict)

    def longer(self, last: UUID) -> "_Sequence":
        return self._longer.setdefault(last, _Sequence(last))


@dataclass(frozen=True, slots=True, eq=False)
class _InEffect:
    """The last change that is in effect, and those below it. In `sequence`, a restored one has its first id."""

    event_id: UUID | None
    observation: bool
    below: "_InEffect | None"
    sequence: _Sequence

    def then(self, change: RecordedChange[Any], first_id: UUID) -> "_InEffect":
        return _InEffect(change.event_id, change.observation, self, self.sequence.longer(first_id))

    def without(self, event_id: UUID) -> "tuple[_InEffect, UUID] | None":
        """Without this change, and its first id, if it is the last one or an observation behind that."""
        above, found = list[_InEffect](), self
        while event_id not in (found.event_id, found.sequence.last):
            if not (found.observation and found.below):
                return None
            above.append(found)
            found = found.below
        assert found.below
        assert found.sequence.last
        return reduce(_over, reversed(above), found.below), found.sequence.last


def _over(below: _InEffect, one: _InEffect) -> _InEffect:
    assert one.sequence.last
    return replace(one, below=below, sequence=below.sequence.longer(one.sequence.last))


def _nothing() -> _InEffect:
    return _InEffect(None, False, None, _Sequence())


@dataclass(frozen=True, slots=True)
class ChangeHistory(Generic[T]):
    """Every change of every subject, oldest first, by the subject's tag.

    `changed`: for each event that can be undone, its place among the changes of each of its subjects.
    """

    of: Mapping[str, tuple[RecordedChange[T], ...]] = field(default_factory=dict)
    changed: Mapping[UUID, Mapping[str, int]] = field(default_factory=dict)
    undone_by: Mapping[UUID, frozenset[UUID]] = field(default_factory=dict)

    def with_change(
        self, event: Happened, befores: Mapping[str, T | None], undoes: UUID | None = None, *, observation: bool = False
    ) -> "ChangeHistory[T]":
        """With another event, which changed these subjects in this order."""
        id_, name = event.event_id, event.payload.type_name()
        added, places = dict[str, tuple[RecordedChange[T], ...]](), dict[str, int]()
        for subject, before in befores.items():
            changes = self.of.get(subject, ())
            change = RecordedChange(id_, name, before, undoes, observation)
            placed = _placed(change, self._current(subject), partial(self._change, subject))
            added[subject], places[subject] = (*changes, placed), len(changes)
        takers = {undoes: self.undone_by.get(undoes, frozenset()) | {id_}} if undoes else {}
        changed = updated(self.changed, {id_: places})
        return ChangeHistory(updated(self.of, added), changed, updated(self.undone_by, takers))

    def _current(self, subject: str) -> _InEffect:
        changes = self.of.get(subject)
        return changes[-1].then if changes else _nothing()

    def _change(self, subject: str, event_id: UUID) -> RecordedChange[T] | None:
        place = self.changed.get(event_id, {}).get(subject)
        return None if place is None else self.of[subject][place]

    def irreversible(self, event_id: UUID) -> "ChangeHistory[T]":
        """With a change that cannot be undone, and so blocks the undo of earlier ones."""
        return replace(self, changed=without(self.changed, [event_id]))

    def without(self, subject: str) -> "ChangeHistory[T]":
        """Without the changes of this subject."""
        of = {one: changes for one, changes in self.of.items() if one != subject}
        changed = {id_: subjects for id_, subjects in self.changed.items() if subject not in subjects}
        return replace(self, of=of, changed=changed)

    def subjects(self, event_id: UUID) -> tuple[str, ...]:
        return tuple(self.changed.get(event_id, ()))

    def undone(self, event_id: UUID) -> bool:
        # An event undoes one other, so that the undos of undos are a tree, as deep as often as somebody undid the last.
        undone, path = set[UUID](), [event_id]
        below = {event_id: iter(self.undone_by.get(event_id, ()))}
        while path:
            one = path[-1]
            taker = next(below[one], None)
            if taker is None:
                path.pop()
                if path and one not in undone:
                    undone.add(path[-1])
            elif taker not in below:
                below[taker] = iter(self.undone_by.get(taker, ()))
                path.append(taker)
        return event_id in undone

    def last(self, subject: str) -> UUID | None:
        """The last change of a subject that is in effect and not an observation."""
        return [*_last(self._current(subject))][-1].event_id

    def observed_since(self, subject: str, event_id: UUID) -> int:
        """The number of observations in effect after a change."""
        if (observed := self._only_observed_since(subject, event_id)) is not None:
            return observed
        return sum(one.observation for one in self._after(subject, event_id))

    def _only_observed_since(self, subject: str, event_id: UUID) -> int | None:
        """The number of observations in effect after a change, if nothing else is. None says nothing."""
        if (change := self._change(subject, event_id)) is None:
            return None
        for observed, one in enumerate(_last(self._current(subject))):
            if one.sequence is change.then.sequence:
                return observed
        return None

    def befores(self, event_id: UUID) -> Mapping[str, T | None]:
        """The state of each subject before a change; raises UndoConflict if a later change depends on it."""
        found = {subject: self._before(subject, event_id) for subject in self.subjects(event_id)}
        if not found:
            raise no_such_change(event_id)
        return found

    def _before(self, subject: str, event_id: UUID) -> T | None:
        change = self.of[subject][self.changed[event_id][subject]]
        if self._only_observed_since(subject, event_id) is not None:
            return change.before
        if later := [one for one in self._after(subject, event_id) if not one.observation]:
            final = next((one for one in later if one.event_id not in self.changed), None)
            stands = final or later[-1]
            raise UndoConflict(
                f"{subject.replace(':', ' ', 1)} was changed later by {stands.name} {stands.event_id}",
                field="event_id",
                fix=_FINAL if final else "undo that change first",
            )
        return change.before

    def _after(self, subject: str, event_id: UUID) -> list[RecordedChange[T]]:
        """Later changes that are in effect."""
        changes = self.of[subject]
        place = next(place for place, one in enumerate(changes) if one.event_id == event_id)
        return _in_effect(changes[place + 1 :])


_FINAL = "that change cannot be undone: write it again"


def no_such_change(event_id: UUID) -> NotFound:
    return NotFound(
        f"{event_id} is not a change that can be undone",
        field="event_id",
        fix="take the event_id from a receipt or from `mnemolog history`",
    )


def _last(one: _InEffect) -> Iterator[_InEffect]:
    """The last observations in effect, newest first, and the change before them."""
    yield one
    while one.observation and one.below:
        one = one.below
        yield one


def _placed(
    change: RecordedChange[T], current: _InEffect, find: Callable[[UUID], RecordedChange[T] | None]
) -> RecordedChange[T]:
    """The change with what is in effect after it. `find` gives an earlier one.

    A change that was restored by undoing its undo counts as made by that undo.
    """
    if change.undoes and (found := current.without(change.undoes)):
        return replace(change, then=found[0], undone=found[1])
    undo = find(change.undoes) if change.undoes else None
    first_id = undo.undone if undo and undo.undone else change.event_id
    return replace(change, then=current.then(change, first_id), undone=None)


def _in_effect(changes: Iterable[RecordedChange[T]]) -> list[RecordedChange[T]]:
    """The given changes without those that were undone, and without their undos."""
    known, last = dict[UUID, RecordedChange[T]](), _nothing()
    for one in changes:
        placed = known[one.event_id] = _placed(one, last, known.get)
        last = placed.then
    found = list[RecordedChange[T]]()
    while last.event_id and last.below:
        found.append(known[last.event_id])
        last = last.below
    return found[::-1]
