"""Undo one change, or a whole batch: a run, an import, a consolidation, a part of a thread (X03, X15).

Each change is undone like a single one, newest first, all in one append. Items that were changed again later are
reported as conflicts, and nothing is undone unless the caller chooses to skip conflicts.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Generic, Protocol, TypeVar
from uuid import UUID, uuid5

from pydantic import Field

from mnemolog.commands.change_history import ChangeHistory, no_such_change
from mnemolog.commands.decider import Command, Decider, Placed
from mnemolog.commands.steps import Steps, in_one_go
from mnemolog.domain.errors import MnemologError, NotFound, UndoConflict
from mnemolog.events.envelope import Happened, NewEvent
from mnemolog.events.erasure import USER
from mnemolog.events.event import Event
from mnemolog.events.fields import Flag, Id, Instant, Uuid
from mnemolog.events.subject import Subject

WHO = ("tenant", "user_id", "agent_id", "thread_id", "actor", "consenting", "at")
# What can be rolled back.
NAMED = ("of_event", "of_run", "of_batch", "of_thread")


class Changing(Protocol):
    """A state with the change history of its subjects."""

    @property
    def changes(self) -> ChangeHistory[Any]: ...


S = TypeVar("S", bound=Changing)


@dataclass(frozen=True, slots=True)
class Undoable(Generic[S]):
    """How one decider undoes changes of subjects of these `kinds`.

    `undo(who, event_id, subjects)` is the command that undoes one event. `who` contains the common fields of a command:
    user, agent and time (`at`).
    """

    decider: Decider[Any, S]
    undo: Callable[[Mapping[str, Any], UUID, Sequence[str]], Command]
    kinds: tuple[Subject[Any, Any], ...] = ()


class Rollback(Command):
    """Undoes the changes of a run, batch or thread. `event_ids` (oldest first) and the tags of their subjects are read
    from the log.
    """

    generated: ClassVar[frozenset[str]] = frozenset({"event_ids", "touched", "at", "correlation_id"})

    of_event: Uuid | None = None
    of_run: Annotated[Id | None, Field(description="Undo everything changed in this run.")] = None
    of_batch: Annotated[Uuid | None, Field(description="Undo this batch: an import, a `forget`, or a rollback.")] = None
    of_thread: Annotated[Id | None, Field(description="Undo everything changed in this thread.")] = None
    since: Annotated[Instant | None, Field(description="With `of_thread`: only changes from this time on.")] = None
    until: Annotated[Instant | None, Field(description="With `of_thread`: only changes before this time.")] = None
    skip_conflicts: Annotated[Flag, Field(description="Skip items that were changed again later.")] = False
    event_ids: tuple[Uuid, ...] = ()
    touched: tuple[str, ...] = ()
    at: Instant


@dataclass(frozen=True, slots=True)
class UndoRefusal:
    """An event that cannot be undone, and why."""

    event_id: UUID
    error: MnemologError

    def as_dict(self) -> dict[str, str]:
        return {"event_id": str(self.event_id), **self.error.as_dict()}


@dataclass(frozen=True, slots=True)
class Plan:
    """The plan of a rollback: the events it undoes, newest first, the events it writes, and the conflicts."""

    undone: tuple[UUID, ...] = ()
    events: tuple[Event, ...] = ()
    conflicts: tuple[UndoRefusal, ...] = ()

    @property
    def changes(self) -> Sequence[Mapping[str, str]]:
        """The events to be written, in order, as subject and event type."""
        return [{"subject": event.key_scope(), "type": event.type_name()} for event in self.events]


@dataclass(frozen=True, slots=True)
class UndoState:
    """All undoable kinds, by decider."""

    of: Mapping[str, Changing] = field(default_factory=dict)


class Rollbacks:
    """Decides rollbacks; `planning` is the dry run. One may concern 20,000 changes, so they go in steps."""

    def __init__(self, undoable: Mapping[str, Undoable[Any]]) -> None:
        self._undoable = undoable
        self.decider: Decider[Rollback, UndoState] = Decider(
            initial=UndoState({name: one.decider.initial for name, one in undoable.items()}),
            subject=lambda command: USER,
            tags=lambda state, command: in_one_go(self._tags(state, command)),
            evolve=self._evolve,
            decide=lambda state, command: in_one_go(self._decide(state, command)),
            written=_written,
            deciding=self._decide,
            reading=self._tags,
        )

    def planning(self, state: UndoState, command: Rollback) -> Steps[Plan]:
        """Undo the newest first; each undo sees the previous ones."""
        undone, written, conflicts = list[UUID](), list[Event](), list[UndoRefusal]()
        for event_id in reversed(command.event_ids):
            yield
            name = self._of(state, event_id)
            if name is None or self._undone(state, event_id):
                continue
            try:
                before, undoable = state.of[name], self._undoable[name]
                reverts = undoable.decider.decide(before, _undo(before, undoable, command, event_id))
            except MnemologError as error:
                conflicts.append(UndoRefusal(event_id, error))
                continue
            undone.append(event_id)
            written += reverts
            for place, revert in enumerate(reverts):
                happened = NewEvent(uuid5(event_id, str(place)), revert, command.meta(), command.at)
                state = self._evolve(state, happened)
        return Plan(tuple(undone), tuple(written), tuple(conflicts))

    def require_change(self, state: UndoState, command: Rollback) -> None:
        """Raises NotFound if there is no change to undo."""
        if not any(self._of(state, event_id) for event_id in command.event_ids):
            if command.of_event:
                raise no_such_change(command.of_event)
            raise NotFound(
                "there is no change to undo",
                field=next((name for name in NAMED if getattr(command, name) is not None), "of_run"),
                fix="give a run, batch or thread with changes, as shown in history",
            )

    def _tags(self, state: UndoState, command: Rollback) -> Steps[frozenset[str]]:
        """The tags of the changed subjects, and everything that the undos depend on."""
        tags = {USER, *command.touched}
        for event_id in command.event_ids:
            yield
            if name := self._of(state, event_id):
                undoable, before = self._undoable[name], state.of[name]
                tags |= undoable.decider.tags(before, _undo(before, undoable, command, event_id))
        return frozenset(tags)

    def _undone(self, state: UndoState, event_id: UUID) -> bool:
        name = self._of(state, event_id)
        return name is not None and state.of[name].changes.undone(event_id)

    def _evolve(self, state: UndoState, event: Happened) -> UndoState:
        return UndoState({name: self._undoable[name].decider.evolve(one, event) for name, one in state.of.items()})

    def _decide(self, state: UndoState, command: Rollback) -> Steps[Sequence[Event]]:
        plan = yield from self.planning(state, command)
        if plan.conflicts and command.of_event:
            raise plan.conflicts[0].error
        if plan.conflicts and not command.skip_conflicts:
            raise _conflict(plan.conflicts)
        self.require_change(state, command)
        undone = any(self._undone(state, event_id) for event_id in command.event_ids)
        if plan.conflicts and not plan.events and not undone:
            raise _conflict(plan.conflicts)  # There is nothing to skip.
        return plan.events

    def _of(self, state: UndoState, event_id: UUID) -> str | None:
        """The decider for an event's changes; None if it has no undoable change, such as a turn."""
        return next((name for name, one in state.of.items() if one.changes.subjects(event_id)), None)


def _undo(state: S, undoable: Undoable[S], command: Rollback, event_id: UUID) -> Command:
    context = {name: getattr(command, name) for name in WHO}
    return undoable.undo(context, event_id, state.changes.subjects(event_id))


def _conflict(conflicts: Sequence[UndoRefusal]) -> UndoConflict:
    more = f"; and {len(conflicts) - 1} more" if len(conflicts) > 1 else ""
    return UndoConflict(
        f"{conflicts[0].event_id} cannot be undone: {conflicts[0].error.message}{more}",
        field="event_id",
        fix="see a dry run; undo the later changes first, or use skip_conflicts",
    )


def _written(command: Rollback, placed: Sequence[Placed]) -> Sequence[Placed]:
    """The events that already undid these events."""
    ids = frozenset(command.event_ids)
    return [one for one in placed if getattr(one[1].payload, "undoes", None) in ids]


def touched(events: Iterable[Happened]) -> tuple[str, ...]:
    """The tags of the subjects that some events changed."""
    return tuple(sorted({tag for event in events for tag in event.payload.tags()}))
