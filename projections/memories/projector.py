"""Folds memory events into rows. Exactly once: rows and progress share a transaction."""

from collections.abc import Collection, Sequence

from sqlalchemy import MetaData, delete, tuple_
from sqlalchemy.ext.asyncio import AsyncConnection

from mnemolog.domain.memory import Content, Kind, Memory, Status
from mnemolog.domain.scope import Scope
from mnemolog.domain.text import search_document
from mnemolog.events import memory as events
from mnemolog.events.envelope import Recorded
from mnemolog.events.erasure import MemoryErased
from mnemolog.projections.memories.tables import NAME, links, memories, metadata
from mnemolog.projections.rows import Key, Row, load, owner, remove, upsert


class MemoriesProjector:
    name = NAME
    version = 2
    variant = ""
    tables: MetaData = metadata

    async def apply(self, connection: AsyncConnection, batch: Sequence[Recorded]) -> None:
        keys = {(*owner(event), memory_id) for event in batch for memory_id in events.touched(event.payload)}
        known = await load(connection, memories, keys)
        rows = dict(known)
        changed: dict[Key, Row] = {}
        edges: dict[Key, Row | None] = {}
        for event in batch:
            if isinstance(event.payload, events.MemoriesLinked | events.LinkReverted):
                edges[*owner(event), event.payload.memory_id, event.payload.to_id] = _edge(event, event.payload)
            after = _changed(rows, event)
            changed.update(after)
            rows.update(after)
        gone = {(*owner(event), event.payload.memory_id) for event in batch if isinstance(event.payload, MemoryErased)}
        await upsert(connection, memories, list(changed.values()), known)
        await upsert(connection, links, [edge for key, edge in edges.items() if edge and _stands(key, gone)])
        await remove(connection, links, [key for key, edge in edges.items() if edge is None])
        await _unlink(connection, gone)


def _stands(edge: Key, gone: Collection[Key]) -> bool:
    tenant, user_id, from_id, to_id = edge
    return (tenant, user_id, from_id) not in gone and (tenant, user_id, to_id) not in gone


async def _unlink(connection: AsyncConnection, gone: Collection[Key]) -> None:
    """No edge leads to an erased memory, or from it."""
    for end in (links.c.from_id, links.c.to_id):
        if gone:
            edges = tuple_(links.c.tenant, links.c.user_id, end).in_(sorted(gone))
            await connection.execute(delete(links).where(edges))


def _changed(rows: dict[Key, Row], event: Recorded) -> dict[Key, Row]:
    known = {
        memory_id: as_memory(rows[*owner(event), memory_id])
        for memory_id in events.touched(event.payload)
        if (*owner(event), memory_id) in rows
    }
    changed = events.evolve(known, event.payload)
    return {
        (*owner(event), memory_id): _row(memory, event, rows.get((*owner(event), memory_id)))
        for memory_id, memory in changed.items()
    }


def _row(memory: Memory, event: Recorded, before: Row | None) -> Row:
    tenant, user_id = owner(event)
    content = memory.content
    return {
        **(before or _birth(event)),
        "tenant": tenant,
        "user_id": user_id,
        "memory_id": memory.memory_id,
        "kind": memory.kind,
        "scope": memory.scope,
        "agent_id": memory.agent_id,
        "text": content.text,
        "category": content.category,
        "importance": content.importance,
        "confidence": content.confidence,
        "pinned": content.pinned,
        "status": memory.status,
        "merged_into": memory.merged_into,
        "purge_at": memory.purge_at,
        "updated_at": event.recorded_at,
        "seq": event.seq,
        "document": before["document"] if before and before["text"] == content.text else search_document(content.text),
    }


def _birth(event: Recorded) -> Row:
    """What a memory keeps for life."""
    created = event.payload
    assert isinstance(created, events.MemoryCreated)
    return {
        "role": created.role,
        "run_id": created.run_id,
        "actor_id": event.meta.actor,
        "thread_id": event.meta.thread_id,
        "source_turn_ids": list(created.source_turn_ids),
        "entity_ids": list(created.entity_ids),
        "occurred_at": event.occurred_at,
        "created_at": event.recorded_at,
    }


def as_memory(row: Row) -> Memory:
    """A row as the domain sees it."""
    content = Content(row["text"], row["category"], row["importance"], row["confidence"], row["pinned"])
    return Memory(
        row["memory_id"],
        Kind(row["kind"]),
        Scope(row["scope"]),
        row["agent_id"],
        content,
        Status(row["status"]),
        row["merged_into"],
        row["purge_at"],
    )


def _edge(event: Recorded, link: events.MemoriesLinked | events.LinkReverted) -> Row | None:
    """None where there is no edge any more."""
    if link.relation_type is None:
        return None
    tenant, user_id = owner(event)
    return {
        "tenant": tenant,
        "user_id": user_id,
        "from_id": link.memory_id,
        "to_id": link.to_id,
        "relation_type": link.relation_type,
        "strength": link.strength,
        "created_at": event.recorded_at,
    }
