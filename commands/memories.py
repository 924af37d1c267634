"""Create, update, merge, soft-delete, restore, link and undo: everything that is asked of memories."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import singledispatch
from typing import ClassVar
from uuid import UUID

from mnemolog.commands.decider import Command, Decider
from mnemolog.commands.steps import Steps
from mnemolog.domain import importance, memory
from mnemolog.domain.errors import IdempotencyConflict, InvalidInput
from mnemolog.domain.memory import Content, Kind, Memory, Status
from mnemolog.domain.scope import Scope, readable, require_owner
from mnemolog.domain.turn import Role
from mnemolog.events import memory as events
from mnemolog.events.envelope import Happened
from mnemolog.events.erasure import USER
from mnemolog.events.event import Event, memory_tag
from mnemolog.events.fields import Flag, Id, Instant, Label, Text, Unit, Uuid


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
    """The change `event_id` of a memory or of one of its links; without it, the last one that stands on the memory."""

    event_id: Uuid | None = None
    at: Instant

    drawn: ClassVar[frozenset[str]] = frozenset({"at"})


Edge = tuple[str, float]


@dataclass(frozen=True, slots=True)
class Memories:
    """The memories of a decision and the links between them, as they are, as they began, and every change of them."""

    known: Mapping[UUID, Memory] = field(default_factory=dict)
    created: Mapping[UUID, events.MemoryCreated] = field(default_factory=dict)
    links: Mapping[tuple[UUID, UUID], Edge] = field(default_factory=dict)
    changes: Steps[Memory | Edge] = field(default_factory=Steps)


def evolve(state: Memories, event: Happened) -> Memories:
    payload = event.payload
    match payload:
        case events.MemoriesLinked() | events.LinkReverted():
            return _linked(state, event, payload)
        case events.MemoryCreated():
            state = replace(state, created={**state.created, payload.memory_id: payload})
    changed = events.evolve(state.known, payload)
    befores = {memory_tag(id_): state.known.get(id_) for id_ in events.touched(payload)}
    undoes = payload.undoes if isinstance(payload, events.MemoryReverted) else None
    changes = state.changes.and_then(event, befores, undoes)
    return replace(state, known={**state.known, **changed}, changes=changes)


def _linked(state: Memories, event: Happened, link: events.MemoriesLinked | events.LinkReverted) -> Memories:
    ends = (link.memory_id, link.to_id)
    links = {place: edge for place, edge in state.links.items() if place != ends}
    if link.relation_type is not None and link.strength is not None:
        links[ends] = (link.relation_type, link.strength)
    undoes = link.undoes if isinstance(link, events.LinkReverted) else None
    changes = state.changes.and_then(event, {link_tag(*ends): state.links.get(ends)}, undoes)
    return replace(state, links=links, changes=changes)


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
    if state.created[command.memory_id] != created:
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
    """Compensate, so that all that the change touched is as it was before it (X03). Undone already: nothing."""
    event_id = _meant(command, state)
    for memory_id in _ends(state.changes.subjects(event_id)):
        _get(state, memory_id, command, "event_id")
    if state.changes.undone(event_id):
        return []
    befores = state.changes.befores(event_id)
    return [_reverted(state, command, event_id, subject, before) for subject, before in befores.items()]


def _meant(command: UndoChange, state: Memories) -> UUID:
    event_id = command.event_id or state.changes.last(memory_tag(command.memory_id))
    if event_id is None:
        raise memory.no_such_memory(command.user_id, command.memory_id)
    return event_id


def _reverted(
    state: Memories, command: UndoChange, event_id: UUID, subject: str, before: Memory | Edge | None
) -> Event:
    if is_link(subject):
        from_id, to_id = _ends([subject])
        relation_type, strength = before if isinstance(before, tuple) else (None, None)
        return events.LinkReverted(
            memory_id=from_id, to_id=to_id, undoes=event_id, relation_type=relation_type, strength=strength
        )
    [memory_id] = _ends([subject])
    now = state.known[memory_id]
    # A memory that began with the change goes as any memory does: softly.
    then = before if isinstance(before, Memory) else now.soft_deleted(command.at + memory.PURGE_AFTER)
    return events.MemoryReverted.of(
        memory_id,
        then.content,
        undoes=event_id,
        was=now.status,
        status=then.status,
        merged_into=then.merged_into,
        purge_at=then.purge_at,
    )


def _ends(subjects: Iterable[str]) -> list[UUID]:
    """The memories that some subjects are of: the memory itself, or both ends of a link."""
    return [UUID(part) for subject in subjects for part in subject.split(":")[1:]]


def link_tag(from_id: UUID, to_id: UUID) -> str:
    return f"link:{from_id}:{to_id}"


def is_link(subject: str) -> bool:
    return subject.startswith("link:")


def _tags(state: Memories, command: MemoryCommand) -> frozenset[str]:
    reads = set(command.reads())
    if isinstance(command, UndoChange):
        event_id = command.event_id or state.changes.last(memory_tag(command.memory_id))
        reads |= set(_ends(state.changes.subjects(event_id))) if event_id else set()
    return frozenset({USER, *map(memory_tag, reads)})


MEMORIES: Decider[MemoryCommand, Memories] = Decider(
    initial=Memories(),
    subject=lambda command: memory_tag(command.memory_id),
    tags=_tags,
    evolve=evolve,
    decide=decide,
)
