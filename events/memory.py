"""What happens to a memory, and what each event leaves of it: `evolve` is the one fold of write and read side."""

from collections.abc import Mapping
from datetime import datetime
from typing import Self
from uuid import UUID

from mnemolog.domain.memory import Content, Kind, Memory, Status
from mnemolog.domain.scope import Scope
from mnemolog.domain.turn import Role
from mnemolog.events.conversation import turn_tag
from mnemolog.events.erasure import MemoryErased, UserErased
from mnemolog.events.event import Event, PersonalText, memory_tag


class MemoryEvent(Event):
    """An event whose subject is one memory, sealed with that memory's key."""

    memory_id: UUID

    def tags(self) -> frozenset[str]:
        return frozenset({memory_tag(self.memory_id)})

    def key_scope(self) -> str:
        return memory_tag(self.memory_id)


class ContentEvent(MemoryEvent):
    """Carries the whole content that the memory has afterwards, so that no earlier event is needed to read it."""

    category: str
    importance: float
    confidence: float
    pinned: bool
    text: PersonalText = ""

    @property
    def content(self) -> Content:
        return Content(self.text, self.category, self.importance, self.confidence, self.pinned)

    @classmethod
    def of(cls, memory_id: UUID, content: Content, **fields: object) -> Self:
        return cls.model_validate(
            {
                "memory_id": memory_id,
                "category": content.category,
                "importance": content.importance,
                "confidence": content.confidence,
                "pinned": content.pinned,
                "text": content.text,
                **fields,
            }
        )


class MemoryCreated(ContentEvent):
    """A memory begins. `source_turn_ids` are the turns that it was drawn from (A10, X04)."""

    kind: Kind
    scope: Scope
    agent_id: str | None = None
    role: Role | None = None
    run_id: str | None = None
    source_turn_ids: tuple[str, ...] = ()
    entity_ids: tuple[UUID, ...] = ()

    def tags(self) -> frozenset[str]:
        return super().tags() | {turn_tag(turn_id) for turn_id in self.source_turn_ids}


class MemoryUpdated(ContentEvent):
    """A memory reads differently from now on. `changed` names the fields that the caller set."""

    changed: tuple[str, ...]


class MemoriesMerged(ContentEvent):
    """`memory_id` survives with this content; the absorbed are hidden and point to it."""

    absorbed_ids: tuple[UUID, ...]

    def tags(self) -> frozenset[str]:
        return frozenset(map(memory_tag, (self.memory_id, *self.absorbed_ids)))


class MemorySoftDeleted(MemoryEvent):
    """A memory is hidden and will be purged at `purge_at` unless it is restored (B §7)."""

    purge_at: datetime
    reason: PersonalText = ""


class MemoryRestored(MemoryEvent):
    """A hidden memory is active again."""


class MemoryReverted(ContentEvent):
    """Undo: one memory is as it was before the event `undoes`; `was` is its status until now (X03).

    An undone merge leaves one of these for each of its memories.
    """

    undoes: UUID
    was: Status
    status: Status
    merged_into: UUID | None = None
    purge_at: datetime | None = None


class MemoriesLinked(MemoryEvent):
    """An edge from `memory_id` to `to_id`; `strength` in [0, 1] (B §2)."""

    to_id: UUID
    relation_type: str = "related_to"
    strength: float

    def tags(self) -> frozenset[str]:
        return frozenset({memory_tag(self.memory_id), memory_tag(self.to_id)})


class LinkReverted(MemoryEvent):
    """Undo: the edge from `memory_id` to `to_id` is as it was before the event `undoes`; None where there was none."""

    to_id: UUID
    undoes: UUID
    relation_type: str | None = None
    strength: float | None = None

    def tags(self) -> frozenset[str]:
        return frozenset({memory_tag(self.memory_id), memory_tag(self.to_id)})


def touched(event: Event) -> tuple[UUID, ...]:
    """The memories whose state the event changes, its subject first."""
    match event:
        case MemoriesMerged():
            return (event.memory_id, *event.absorbed_ids)
        case MemoriesLinked() | LinkReverted():
            return ()
        case MemoryEvent() | MemoryErased():
            return (event.memory_id,)
        case _:
            return ()


def evolve(memories: Mapping[UUID, Memory], event: Event) -> dict[UUID, Memory]:
    """The memories that the event changes, as it leaves them; of those that are not in `memories` nothing is said."""
    if isinstance(event, UserErased):
        return {id_: memory.erased() for id_, memory in memories.items()}
    if isinstance(event, MemoryCreated):
        return {event.memory_id: Memory(event.memory_id, event.kind, event.scope, event.agent_id, event.content)}
    return {id_: _changed(memories[id_], event) for id_ in touched(event) if id_ in memories}


def _changed(memory: Memory, event: Event) -> Memory:
    match event:
        case MemoryUpdated():
            return memory.rewritten(event.content)
        case MemoriesMerged() if event.memory_id == memory.memory_id:
            return memory.rewritten(event.content)
        case MemoriesMerged():
            return memory.absorbed(event.memory_id)
        case MemorySoftDeleted():
            return memory.soft_deleted(event.purge_at)
        case MemoryRestored():
            return memory.restored()
        case MemoryReverted():
            return _reverted(memory, event)
        case MemoryErased():
            return memory.erased()
        case _:
            return memory


def _reverted(memory: Memory, event: MemoryReverted) -> Memory:
    return Memory(
        memory.memory_id,
        memory.kind,
        memory.scope,
        memory.agent_id,
        event.content,
        event.status,
        event.merged_into,
        event.purge_at,
    )
