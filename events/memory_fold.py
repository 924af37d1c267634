"""The folds of memories and links."""

from collections.abc import Sequence
from dataclasses import replace
from uuid import UUID

from mnemolog.domain.link import Ends, Link
from mnemolog.domain.memory import Memory, no_such_memory
from mnemolog.events import memory as events
from mnemolog.events.erasure import MemoryErased
from mnemolog.events.subject import Subject


def _ids(event: events.MemoryEvent | MemoryErased) -> Sequence[UUID]:
    return (event.memory_id, *event.absorbed_ids) if isinstance(event, events.MemoriesMerged) else (event.memory_id,)


def _created(_: Memory | None, event: events.MemoryCreated) -> Memory:
    return Memory(
        event.memory_id,
        event.kind,
        event.scope,
        event.agent_id,
        event.content,
        identity=event.identity,
        origin=event.origin,
    )


def _rewritten(memory: Memory, event: events.MemoryUpdated) -> Memory:
    return memory.rewritten(event.content, event.origin)


def _merged(memory: Memory, event: events.MemoriesMerged) -> Memory:
    own = memory.memory_id == event.memory_id
    return memory.rewritten(event.content, event.origin) if own else memory.absorbed(event.memory_id)


def _observed(memory: Memory, event: events.MemoryObserved) -> Memory:
    return memory.rewritten(replace(memory.content, confidence=event.confidence, importance=event.importance))


def _reverted(memory: Memory, event: events.MemoryReverted) -> Memory:
    return replace(
        memory,
        content=event.content,
        origin=event.origin or memory.origin,
        status=event.status,
        merged_into=event.merged_into,
        purge_at=event.purge_at,
        cause=event.cause,
    )


MEMORY: Subject[UUID, Memory] = Subject(
    name="memory",
    read_id=UUID,
    ids=_ids,
    begins=frozenset({events.MemoryCreated}),
    folds={
        events.MemoryCreated: _created,
        events.MemoryUpdated: _rewritten,
        events.MemoriesMerged: _merged,
        events.MemoryObserved: _observed,
        events.SceneMoved: lambda memory, event: memory.placed(event.cluster),
        events.MemorySoftDeleted: lambda memory, event: memory.soft_deleted(event.purge_at, event.cause),
        events.MemoryStatusChanged: lambda memory, event: memory.turned(event.status, event.cause),
        events.MemoryRestored: lambda memory, event: memory.restored(),
        events.MemoryReverted: _reverted,
        MemoryErased: lambda memory, event: memory.erased(event.cause),
    },
    erased=Memory.erased,
    erase=lambda memory_id: MemoryErased(memory_id=memory_id),
    missing=no_such_memory,
)


def _linked(_: Link | None, event: events.MemoriesLinked | events.LinkReverted) -> Link | None:
    if event.relation_type is None or event.strength is None:
        return None
    return Link(event.relation_type, event.strength)


# None: the link was removed.
LINK: Subject[Ends, Link | None] = Subject(
    name="link",
    read_id=Ends.read,
    ids=lambda event: (Ends(event.memory_id, event.to_id),),
    begins=frozenset({events.MemoriesLinked, events.LinkReverted}),
    folds={events.MemoriesLinked: _linked, events.LinkReverted: _linked},
    erased=lambda link: link,  # A link has no text and is erased with its memories.
    erase=None,
    missing=lambda user_id, ends: no_such_memory(user_id, ends.from_id),
)
