"""The changes of each subject that a decision reads: in effect, undone, undoable (X03).

A change can be undone if, on each of its subjects, all later changes are undone too. An undo is itself a change and can
be undone, which restores the original change. Observations never block an undo and are kept.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Generic, TypeVar
from uuid import UUID

from mnemolog.domain.errors import NotFound, UndoConflict
from mnemolog.domain.updated import updated
from mnemolog.events.envelope import Happened

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class RecordedChange(Generic[T]):
    """One change of one subject. `before`: its previous state, or None if it was created by this change.

    `observation`: it was only stated or used again.
    """

    event_id: UUID
    name: str
    before: T | None
    undoes: UUID | None = None
    observation: bool = False


@dataclass(frozen=True, slots=True)
class ChangeHistory(Generic[T]):
    """Every change of every subject, oldest first, by the subject's tag."""

    of: Mapping[str, tuple[RecordedChange[T], ...]] = field(default_factory=dict)
    changed: Mapping[UUID, tuple[str, ...]] = field(default_factory=dict)
    undone_by: Mapping[UUID, frozenset[UUID]] = field(default_factory=dict)

    def with_change(
        self, event: Happened, befores: Mapping[str, T | None], undoes: UUID | None = None, *, observation: bool = False
    ) -> "ChangeHistory[T]":
        """With another event, which changed these subjects in this order."""
        id_, name = event.event_id, event.payload.type_name()
        added = {
            subject: (*self.of.get(subject, ()), RecordedChange(id_, name, before, undoes, observation))
            for subject, before in befores.items()
        }
        takers = {undoes: self.undone_by.get(undoes, frozenset()) | {id_}} if undoes else {}
        changed = updated(self.changed, {id_: tuple(befores)})
        return ChangeHistory(updated(self.of, added), changed, updated(self.undone_by, takers))

    def irreversible(self, event_id: UUID) -> "ChangeHistory[T]":
        """With a change that cannot be undone, and so blocks the undo of earlier ones."""
        return replace(self, changed={id_: subjects for id_, subjects in self.changed.items() if id_ != event_id})

    def without(self, subject: str) -> "ChangeHistory[T]":
        """Without the changes of this subject."""
        of = {one: changes for one, changes in self.of.items() if one != subject}
        changed = {id_: subjects for id_, subjects in self.changed.items() if subject not in subjects}
        return replace(self, of=of, changed=changed)

    def subjects(self, event_id: UUID) -> tuple[str, ...]:
        """The subjects that an event changed."""
        return self.changed.get(event_id, ())

    def undone(self, event_id: UUID) -> bool:
        """Whether an event is currently undone."""
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
        in_effect = [one for one in _in_effect(self.of.get(subject, ())) if not one.observation]
        return in_effect[-1].event_id if in_effect else None

    def observed_since(self, subject: str, event_id: UUID) -> int:
        """The number of observations in effect after a change."""
        return sum(one.observation for one in self._after(subject, event_id))

    def befores(self, event_id: UUID) -> Mapping[str, T | None]:
        """The state of each subject before a change; raises UndoConflict if a later change depends on it."""
        found = {subject: self._before(subject, event_id) for subject in self.subjects(event_id)}
        if not found:
            raise no_such_change(event_id)
        return found

    def _before(self, subject: str, event_id: UUID) -> T | None:
        if later := [one for one in self._after(subject, event_id) if not one.observation]:
            final = next((one for one in later if one.event_id not in self.changed), None)
            stands = final or later[-1]
            raise UndoConflict(
                f"{subject.replace(':', ' ', 1)} was changed later by {stands.name} {stands.event_id}",
                field="event_id",
                fix=_FINAL if final else "undo that change first",
            )
        return next(one.before for one in self.of[subject] if one.event_id == event_id)

    def _after(self, subject: str, event_id: UUID) -> list[RecordedChange[T]]:
        """Later changes that are in effect."""
        changes = self.of[subject]
        place = next(place for place, one in enumerate(changes) if one.event_id == event_id)
        return _in_effect(changes[place + 1 :])


_FINAL = "the erasure cannot be undone: write the value again"


def no_such_change(event_id: UUID) -> NotFound:
    return NotFound(
        f"{event_id} is not a change that can be undone",
        field="event_id",
        fix="take the event_id from a receipt or from `mnemolog history`",
    )


def _in_effect(changes: Sequence[RecordedChange[T]]) -> list[RecordedChange[T]]:
    """The given changes without those that were undone, and without their undos.

    A change that was restored by undoing its undo counts as made by that undo.
    """
    in_effect: list[tuple[UUID, RecordedChange[T]]] = []
    taken: dict[UUID, UUID] = {}
    for one in changes:
        place = _undone(in_effect, one.undoes)
        if place is not None:
            taken[one.event_id] = in_effect.pop(place)[0]
        else:
            in_effect.append((taken.get(one.undoes, one.event_id) if one.undoes else one.event_id, one))
    return [one for _, one in in_effect]


def _undone(in_effect: Sequence[tuple[UUID, RecordedChange[T]]], undoes: UUID | None) -> int | None:
    """The position of the change to undo, before any observations."""
    for place in reversed(range(len(in_effect))):
        id_, one = in_effect[place]
        if undoes in (id_, one.event_id):
            return place
        if not one.observation:
            return None
    return None
