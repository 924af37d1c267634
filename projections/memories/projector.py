"""Folds memory events into rows. Exactly once: rows and progress share a transaction."""

from collections import Counter
from collections.abc import Collection, Sequence
from uuid import UUID

from sqlalchemy import MetaData, delete, select, tuple_
from sqlalchemy.ext.asyncio import AsyncConnection

from mnemolog.domain.corroboration import USES
from mnemolog.domain.memory import VISIBLE, Memory, Status
from mnemolog.domain.patrol import ACTIVATED, Node, is_node
from mnemolog.domain.text import search_document
from mnemolog.events import memory as events
from mnemolog.events.envelope import Recorded
from mnemolog.events.erasure import MemoryErased
from mnemolog.events.event import Event, sources_of
from mnemolog.events.memory_fold import MEMORY
from mnemolog.events.patrol import CycleClosed, Purpose, ScenesReviewed
from mnemolog.projections import words
from mnemolog.projections.forgetting import NOT_FORGOTTEN
from mnemolog.projections.kinds import Kinds
from mnemolog.projections.memories.nodes import nodes_of
from mnemolog.projections.memories.stored import as_memory, of_memory
from mnemolog.projections.memories.tables import NAME, READABLE_FROM, VERSION, links, memories, metadata
from mnemolog.projections.memories.tables import words as WORDS
from mnemolog.projections.owner import indexed, owner, owner_row
from mnemolog.projections.rows import Key, Row, fetch, load, primary_key, remove, stored, upsert


class MemoriesProjector:
    name = NAME
    version = VERSION
    readable_from = READABLE_FROM
    variant = ""
    tables: MetaData = metadata
    kinds = Kinds(events.MemoryEvent | events.MemoriesRecalled | CycleClosed | ScenesReviewed | MemoryErased)

    async def apply(self, connection: AsyncConnection, batch: Sequence[Recorded]) -> None:
        keys = {(*owner(event), memory_id) for event in batch for memory_id in _concerned(event)}
        known = {**await _nodes(connection, batch), **await load(connection, memories, keys)}
        rows = dict(known)
        changed: dict[Key, Row] = {}
        edges: dict[Key, Row | None] = {}
        for event in batch:
            if isinstance(event.payload, events.MemoriesLinked | events.LinkReverted):
                edges[*owner(event), event.payload.memory_id, event.payload.to_id] = _edge(event, event.payload)
            after = _changed(rows, event)
            changed.update(after)
            rows.update(after)
        erased_keys = {
            (*owner(event), event.payload.memory_id) for event in batch if isinstance(event.payload, MemoryErased)
        }
        before, now = ({key for key, row in one.items() if _found_by(row)} for one in (known, changed))
        same = {key for key in before & now if _found_by(known[key]) == _found_by(changed[key])}
        words.remove(connection, WORDS, (before & changed.keys()) - same)
        await upsert(connection, memories, [_documented(row, known.get(key)) for key, row in changed.items()], known)
        words.add(connection, WORDS, now - same)
        await upsert(connection, links, [edge for key, edge in edges.items() if edge and _is_kept(key, erased_keys)])
        await remove(connection, links, [key for key, edge in edges.items() if edge is None])
        await _unlink(connection, erased_keys)


async def _nodes(connection: AsyncConnection, batch: Sequence[Recorded]) -> dict[Key, Row]:
    """All scenes of the beings whose cycles end in this batch."""
    beings = {(*owner(event), event.payload.agent_id) for event in batch if isinstance(event.payload, CycleClosed)}
    if not beings:
        return {}
    rows = await fetch(connection, memories, select(*stored(memories)).where(nodes_of(beings)))
    return {primary_key(memories)(row): row for row in rows}


def _is_kept(edge: Key, erased_keys: Collection[Key]) -> bool:
    *whose, from_id, to_id = edge
    return (*whose, from_id) not in erased_keys and (*whose, to_id) not in erased_keys


async def _unlink(connection: AsyncConnection, erased_keys: Collection[Key]) -> None:
    """Delete the edges from and to erased memories."""
    for end in (links.c.from_id, links.c.to_id):
        if erased_keys:
            edges = tuple_(*indexed(links), end).in_(sorted(erased_keys))
            await connection.execute(delete(links).where(edges))


def _concerned(event: Recorded) -> Sequence[UUID]:
    payload = event.payload
    return (
        payload.memory_ids if isinstance(payload, events.MemoriesRecalled | ScenesReviewed) else MEMORY.touched(payload)
    )


def _changed(rows: dict[Key, Row], event: Recorded) -> dict[Key, Row]:
    if isinstance(event.payload, events.MemoriesRecalled):
        return _recalled(rows, event, event.payload)
    if isinstance(event.payload, CycleClosed):
        return _older(rows, event, event.payload)
    if isinstance(event.payload, ScenesReviewed):
        reviewed = event.payload.memory_ids if event.payload.purpose is Purpose.CONSOLIDATE else ()
        places = ((*owner(event), id_) for id_ in reviewed)
        return {place: {**rows[place], "fresh": False} for place in places if place in rows}
    keys = {memory_id: (*owner(event), memory_id) for memory_id in MEMORY.touched(event.payload)}
    known = {memory_id: as_memory(rows[key]) for memory_id, key in keys.items() if key in rows}
    changed = MEMORY.evolve(known, event.payload)
    return {(key := keys[memory_id]): _row(memory, event, rows.get(key)) for memory_id, memory in changed.items()}


def _recalled(rows: dict[Key, Row], event: Recorded, recalled: events.MemoriesRecalled) -> dict[Key, Row]:
    """Recalled memories are in use. They read as before, so this is not a change: `updated_at` and `seq` stay."""
    weights: Counter[Key] = Counter()
    for memory_id, weight in zip(recalled.memory_ids, recalled.weights, strict=True):
        weights[*owner(event), memory_id] += weight
    return {
        key: {
            **rows[key],
            "last_accessed": event.recorded_at,
            "reactivation_count": rows[key]["reactivation_count"] + weight,
            "recalls": rows[key]["recalls"] + weight,
            "session_count": ACTIVATED,
        }
        for key, weight in weights.items()
        if key in rows and rows[key]["status"] != Status.PURGED
    }


def _older(rows: dict[Key, Row], event: Recorded, closed: CycleClosed) -> dict[Key, Row]:
    """Each scene of the being after one more cycle. They read as before, so this is not a change either.

    Separate events record which of them are now dying or active again.
    """
    aged: dict[Key, Row] = {}
    for key, row in rows.items():
        memory = as_memory(row)
        of_being = is_node(memory.kind, memory.scope) and memory.agent_id == closed.agent_id
        if of_being and memory.visible and key[: len(owner(event))] == owner(event):
            counted = Node.of(memory, row["session_count"]).counted()
            aged[key] = {**row, "session_count": counted.session_count}
    return aged


def _row(memory: Memory, event: Recorded, before: Row | None) -> Row:
    born = before or _birth(event)
    return {
        **born,
        **owner_row(event),
        **of_memory(memory),
        **_life(memory, event, born),
        "updated_at": event.recorded_at,
        "seq": event.seq,
    }


def _documented(row: Row, before: Row | None) -> Row:
    """With its search document, made from its last text only, however often a batch rewrites it."""
    if before is not None and before["text"] == row["text"]:
        return {**row, "document": before["document"]}
    return {**row, "document": search_document(row["text"])}


def _found_by(row: Row) -> tuple[str, ...]:
    """What its words are counted by; empty if a search does not find it."""
    if row["status"] not in VISIBLE or not row["text"]:
        return ()
    return row["text"], row["category"], row["scope"], row["agent_id"] or ""


def _birth(event: Recorded) -> Row:
    """The columns of a memory that never change, and the initial values of the others."""
    created = event.payload
    assert isinstance(created, events.MemoryCreated)
    return {
        "role": created.role,
        "run_id": created.run_id,
        "actor_id": event.meta.actor,
        "thread_id": event.meta.thread_id,
        "source_turn_ids": [],
        "entity_ids": [],
        "occurred_at": event.occurred_at,
        "created_at": event.recorded_at,
        "observations": 0,
        "last_accessed": event.recorded_at,
        "reactivation_count": 0,
        "recalls": 0,
        "fresh": is_node(created.kind, created.scope),
        "session_count": ACTIVATED,
        **NOT_FORGOTTEN,
    }


def _life(memory: Memory, event: Recorded, before: Row) -> Row:
    """How often it was stated, when it was last used, and since when it is hidden."""
    payload, turns = event.payload, before["source_turn_ids"]
    own = isinstance(payload, events.MemoryEvent) and payload.memory_id == memory.memory_id
    extracted = [turn_id for turn_id in sources_of(payload) or () if own and turn_id not in turns]
    used = isinstance(payload, events.MemoryObserved) and payload.cause is events.Observation.USE
    activated = memory.status is Status.ACTIVE and before.get("status") != Status.ACTIVE
    fades = isinstance(payload, events.MemoryStatusChanged) and memory.status is Status.DYING
    used_now = memory.visible and not fades and not isinstance(payload, events.SceneMoved)
    return {
        "source_turn_ids": [*turns, *extracted],
        "entity_ids": [*before["entity_ids"], *_mentioned(payload, memory, before)],
        "forget_reason": _reason(payload, memory, before),
        "observations": before["observations"] + (own and _is_observation(payload)),
        "recalls": max(0, before["recalls"] - USES) if used else before["recalls"],
        "session_count": ACTIVATED if activated else before["session_count"],
        "last_accessed": event.recorded_at if used_now else before["last_accessed"],
        "forgotten_at": None if memory.visible else before["forgotten_at"] or event.recorded_at,
    }


def _mentioned(payload: Event, memory: Memory, before: Row) -> list[UUID]:
    """The entities that its own event names, and that were not among its subjects before."""
    own = isinstance(payload, events.MemoryEvent) and payload.memory_id == memory.memory_id
    return [id_ for id_ in getattr(payload, "entity_ids", ()) if own and id_ not in before["entity_ids"]]


def _reason(payload: Event, memory: Memory, before: Row) -> str:
    """Why it was deleted, as long as it is (A19)."""
    if memory.visible or memory.status is Status.PURGED:
        return ""
    return payload.reason if isinstance(payload, events.MemorySoftDeleted) else str(before["forget_reason"])


def _is_observation(payload: Event) -> bool:
    """Whether an event means that somebody said it."""
    match payload:
        case events.MemoryObserved():
            return payload.cause is events.Observation.REPEAT
        case events.MemoryUpdated():
            return payload.match is not None
        case _:
            return isinstance(payload, events.MemoryCreated)


def _edge(event: Recorded, link: events.MemoriesLinked | events.LinkReverted) -> Row | None:
    """None if the edge no longer exists."""
    if link.relation_type is None:
        return None
    return {
        **owner_row(event),
        "from_id": link.memory_id,
        "to_id": link.to_id,
        "relation_type": link.relation_type,
        "strength": link.strength,
        "created_at": event.recorded_at,
    }
