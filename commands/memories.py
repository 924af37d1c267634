"""Create, update, merge, soft-delete, restore, link and undo: everything that is asked of memories."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import singledispatch
from typing import ClassVar
from uuid import UUID

from mnemolog.commands.decider import Command, Decider
from mnemolog.domain import importance, memory
from mnemolog.domain.errors import IdempotencyConflict, InvalidInput, NotFound, TransitionRefused, UndoConflict
from mnemolog.domain.memory import Content, Kind, Memory, Status
from mnemolog.domain.scope import Scope, readable, require_owner
from mnemolog.domain.turn import Role
from mnemolog.events import memory as events
from mnemolog.events.envelope import Happened
from mnemolog.events.erasure import USER
from mnemolog.events.event import Event, memory_tag
from mnemolog.events.fields import Flag, Id, Instant, Label, Text, Unit, Uuid

UNDOABLE = (events.MemoryUpdated, events.MemoriesMerged, events.MemorySoftDeleted, events.MemoryRestored)


class MemoryCommand(Command):
    """A request about one memory."""

    memory_id: Uuid

    def reads(self) -> tuple[UUID, ...]:
        """The memories that the decision depends on, the subject first."""
        return (self.memory_id,)


class CreateMemory(MemoryCommand):
    drawn: ClassVar[frozenset[str]] = frozenset({"memory_id"})

    text: Text
    kind: Kind = Kind.FACT
    category: Id = "note"
    importance: Unit = importance.DEFAULT
    confidence: Unit = 1.0
    pinned: Flag = False
    scope: Scope = Scope.GLOBAL
    role: Role | None = None
    run_id: Id | None = None


class UpdateMemory(MemoryCommand):
    """Fields that are None stay as they are."""

    text: Text | None = None
    category: Id | None = None
    importance: Unit | None = None
    confidence: Unit | None = None
    pinned: Flag | None = None


class MergeMemories(MemoryCommand):
    """`memory_id` survives and absorbs the others. Without a text it keeps its own."""

    absorbed_ids: tuple[Uuid, ...]
    text: Text | None = None

    def reads(self) -> tuple[UUID, ...]:
        return (self.memory_id, *self.absorbed_ids)


class SoftDeleteMemory(MemoryCommand):
    reason: Label = ""
    at: Instant

    drawn: ClassVar[frozenset[str]] = frozenset({"at"})


class RestoreMemory(MemoryCommand):
    pass


class LinkMemories(MemoryCommand):
    to_id: Uuid
    relation_type: Id = "related_to"
    strength: Unit = 1.0

    def reads(self) -> tuple[UUID, ...]:
        return (self.memory_id, self.to_id)


class UndoChange(MemoryCommand):
    """`event_id` is the change to undo and `touched` the memories that it changed."""

    event_id: Uuid
    touched: tuple[Uuid, ...]

    def reads(self) -> tuple[UUID, ...]:
        return (self.memory_id, *self.touched)


class UndoLastChange(UndoChange):
    """Undo whatever changed `memory_id` last: a retry may find another change and is still the same request."""

    drawn: ClassVar[frozenset[str]] = frozenset({"event_id", "touched"})


@dataclass(frozen=True, slots=True)
class Step:
    """One change in force: its event, and the memory before it (None when it was created then)."""

    event: Happened
    before: Memory | None


@dataclass(frozen=True, slots=True)
class Memories:
    """The memories of a decision, the changes in force on each (oldest first), those undone, and the links between."""

    known: Mapping[UUID, Memory] = field(default_factory=dict)
    steps: Mapping[UUID, tuple[Step, ...]] = field(default_factory=dict)
    undone: frozenset[UUID] = frozenset()
    links: Mapping[tuple[UUID, UUID], tuple[str, float]] = field(default_factory=dict)


def evolve(state: Memories, event: Happened) -> Memories:
    payload = event.payload
    if isinstance(payload, events.MemoriesLinked):
        link = {(payload.memory_id, payload.to_id): (payload.relation_type, payload.strength)}
        return replace(state, links={**state.links, **link})
    changed = events.evolve(state.known, payload)
    steps = {id_: _steps(state, id_, event) for id_ in changed}
    undone = {payload.undoes} if isinstance(payload, events.MemoryReverted) else set()
    return Memories({**state.known, **changed}, {**state.steps, **steps}, state.undone | undone, state.links)


def _steps(state: Memories, memory_id: UUID, event: Happened) -> tuple[Step, ...]:
    before = state.steps.get(memory_id, ())
    if isinstance(event.payload, events.MemoryReverted):
        return before[:-1]
    return (*before, Step(event, state.known.get(memory_id)))


@singledispatch
def _decide(command: MemoryCommand, state: Memories) -> Sequence[Event]:
    raise TypeError(f"no decision for {type(command).__name__}")


def decide(state: Memories, command: MemoryCommand) -> Sequence[Event]:
    """The events of a command; none when what it asks for already holds."""
    return _decide(command, state)


def _get(state: Memories, memory_id: UUID, command: MemoryCommand, path: str = "memory_id") -> Memory:
    """A memory that the asking agent may see; for any other the answer is that there is none (A01)."""
    found = state.known.get(memory_id)
    if found is None or not readable(found.scope, found.agent_id, command.agent_id):
        raise memory.no_such_memory(command.user_id, memory_id, path)
    if found.status is Status.PURGED:
        raise memory.erased_memory(memory_id, path)
    return found


@_decide.register
def _create(command: CreateMemory, state: Memories) -> Sequence[Event]:
    agent_id = command.agent_id if command.scope is Scope.AGENT else None
    require_owner(command.scope, agent_id)
    content = Content(command.text, command.category, command.importance, command.confidence, command.pinned)
    created = events.MemoryCreated.of(
        command.memory_id,
        content,
        kind=command.kind,
        scope=command.scope,
        agent_id=agent_id,
        role=command.role,
        run_id=command.run_id,
    )
    if command.memory_id not in state.known:
        return [created]
    if state.known[command.memory_id].status is Status.PURGED:
        return []  # Of erased words nobody can tell whether these are the same: they are not written again.
    if state.steps[command.memory_id][0].event.payload != created:
        raise IdempotencyConflict(
            f"memory {command.memory_id} was created before with other content",
            field="memory_id",
            fix="draw a new id, or update the memory",
        )
    return []


@_decide.register
def _update(command: UpdateMemory, state: Memories) -> Sequence[Event]:
    found = _get(state, command.memory_id, command)
    memory.require_visible(found, "updated")
    asked = command.model_dump(include=set(Content.__slots__), exclude_none=True)
    if not asked:
        raise InvalidInput(
            "nothing to change is named", field="text", fix=f"give at least one of {', '.join(Content.__slots__)}"
        )
    content = replace(found.content, **asked)
    if content == found.content:
        return []
    return [events.MemoryUpdated.of(command.memory_id, content, changed=tuple(sorted(asked)))]


@_decide.register
def _merge(command: MergeMemories, state: Memories) -> Sequence[Event]:
    survivor = _get(state, command.memory_id, command)
    absorbed = tuple(_get(state, id_, command, f"absorbed_ids[{i}]") for i, id_ in enumerate(command.absorbed_ids))
    reads_so = command.text in (None, survivor.content.text)
    if absorbed and reads_so and all(one.merged_into == survivor.memory_id for one in absorbed):
        return []
    memory.require_visible(survivor, "merged")
    memory.require_mergeable(survivor, absorbed)
    contents = [survivor.content, *(one.content for one in absorbed)]
    merged = replace(
        survivor.content,
        text=command.text or survivor.content.text,
        importance=max(content.importance for content in contents),
        confidence=max(content.confidence for content in contents),
        pinned=any(content.pinned for content in contents),
    )
    return [events.MemoriesMerged.of(command.memory_id, merged, absorbed_ids=command.absorbed_ids)]


@_decide.register
def _soft_delete(command: SoftDeleteMemory, state: Memories) -> Sequence[Event]:
    found = _get(state, command.memory_id, command)
    if found.status is Status.SOFT_DELETED:
        return []
    memory.require_visible(found, "deleted")
    purge_at = command.at + memory.PURGE_AFTER
    return [events.MemorySoftDeleted(memory_id=command.memory_id, purge_at=purge_at, reason=command.reason)]


@_decide.register
def _restore(command: RestoreMemory, state: Memories) -> Sequence[Event]:
    found = _get(state, command.memory_id, command)
    if found.visible:
        return []
    return [events.MemoryRestored(memory_id=command.memory_id)]


@_decide.register
def _link(command: LinkMemories, state: Memories) -> Sequence[Event]:
    if command.memory_id == command.to_id:
        raise InvalidInput("a memory cannot be linked to itself", field="to_id", fix="name another memory")
    for id_, path in ((command.memory_id, "memory_id"), (command.to_id, "to_id")):
        memory.require_visible(_get(state, id_, command, path), "linked", path)
    if state.links.get((command.memory_id, command.to_id)) == (command.relation_type, command.strength):
        return []
    return [
        events.MemoriesLinked(
            memory_id=command.memory_id,
            to_id=command.to_id,
            relation_type=command.relation_type,
            strength=command.strength,
        )
    ]


@_decide.register
def _undo(command: UndoChange, state: Memories) -> Sequence[Event]:
    """Compensate, so that every memory of the change is as it was before it (X03). Undone already: nothing."""
    for index, memory_id in enumerate(command.touched):
        _get(state, memory_id, command, f"touched[{index}]")
    if command.event_id in state.undone:
        return []
    changed = events.touched(_in_force(state, command).event.payload)
    if set(changed) != set(command.touched):
        raise InvalidInput("are not the memories that the event changed", field="touched", fix="name them all")
    for memory_id in changed:
        _require_last(state, memory_id, command.event_id)
    return [_reverted(state, memory_id, command.event_id) for memory_id in changed]


def _in_force(state: Memories, command: UndoChange) -> Step:
    for memory_id in command.touched:
        for step in state.steps[memory_id]:
            if step.event.event_id == command.event_id:
                return step
    raise NotFound(
        f"{command.event_id} is no change of these memories that could be undone",
        field="event_id",
        fix="take the event_id from `mnemolog history`; an undo cannot be undone",
    )


def _require_last(state: Memories, memory_id: UUID, event_id: UUID) -> None:
    last = state.steps[memory_id][-1]
    if last.event.event_id != event_id:
        raise UndoConflict(
            f"memory {memory_id} was changed later by {last.event.payload.type_name()} {last.event.event_id}",
            field="event_id",
            fix="undo that change first",
        )


def _reverted(state: Memories, memory_id: UUID, event_id: UUID) -> Event:
    step = state.steps[memory_id][-1]
    if step.before is None or not isinstance(step.event.payload, UNDOABLE):
        raise TransitionRefused(
            f"{step.event.payload.type_name()} {event_id} cannot be undone",
            field="event_id",
            fix="updates, merges, deletions and restorations can be undone; delete what should not have been created",
        )
    before = step.before
    return events.MemoryReverted.of(
        before.memory_id,
        before.content,
        undoes=event_id,
        was=state.known[memory_id].status,
        status=before.status,
        merged_into=before.merged_into,
        purge_at=before.purge_at,
    )


MEMORIES: Decider[MemoryCommand, Memories] = Decider(
    initial=Memories(),
    subject=lambda command: memory_tag(command.memory_id),
    tags=lambda command: frozenset({USER, *map(memory_tag, command.reads())}),
    evolve=evolve,
    decide=decide,
)
