"""What each event leaves of a memory: `evolve` is the one fold of write and read side."""

from collections.abc import Mapping
from dataclasses import replace
from uuid import UUID

from mnemolog.domain.memory import Memory
from mnemolog.events.erasure import MemoryErased, UserErased
from mnemolog.events.event import Event
from mnemolog.events.memory import (
    LinkReverted,
    MemoriesLinked,
    MemoriesMerged,
    MemoryCreated,
    MemoryEvent,
    MemoryObserved,
    MemoryRestored,
    MemoryReverted,
    MemorySoftDeleted,
    MemoryStatusChanged,
    MemoryUpdated,
)


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
        id_, identity = event.memory_id, event.identity
        return {id_: Memory(id_, event.kind, event.scope, event.agent_id, event.content, identity=identity)}
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
            return memory.soft_deleted(event.purge_at, event.cause)
        case MemoryStatusChanged():
            return memory.turned(event.status, event.cause)
        case MemoryObserved():
            return memory.rewritten(replace(memory.content, confidence=event.confidence, importance=event.importance))
        case MemoryRestored():
            return memory.restored()
        case MemoryReverted():
            return _reverted(memory, event)
        case MemoryErased():
            return memory.erased(event.cause)
        case _:
            return memory


def _reverted(memory: Memory, event: MemoryReverted) -> Memory:
    return replace(
        memory,
        content=event.content,
        status=event.status,
        merged_into=event.merged_into,
        purge_at=event.purge_at,
        cause=event.cause,
    )
