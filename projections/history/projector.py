"""Writes a row for each memory that an event touches. Exactly once: rows and progress share a transaction.

A reference is `<memory id>@<seq>`: the memory as the stream's event `seq` left it, which `as-of` can show.
"""

from collections.abc import Sequence
from functools import cache
from typing import Any
from uuid import UUID, uuid5

from psycopg.sql import SQL, Identifier
from sqlalchemy import MetaData, select, tuple_
from sqlalchemy.ext.asyncio import AsyncConnection

from mnemolog.domain.memory import VISIBLE
from mnemolog.events import memory as events
from mnemolog.events.envelope import Recorded
from mnemolog.events.erasure import MemoryErased
from mnemolog.events.event import Event
from mnemolog.projections.history.tables import NAME, history, metadata
from mnemolog.projections.rows import Key, Row, fetch, owner, stored, upsert
from mnemolog.projections.straight import fetch_all, keyed, names, relation, schema_of


class HistoryProjector:
    name = NAME
    version = 2
    variant = ""
    tables: MetaData = metadata

    async def apply(self, connection: AsyncConnection, batch: Sequence[Recorded]) -> None:
        keys = {(*owner(event), memory_id) for event in batch for memory_id in _subjects(event.payload)}
        last = await _last_seqs(connection, keys)
        rows: list[Row] = []
        for event in batch:
            for memory_id in _subjects(event.payload):
                key = (*owner(event), memory_id)
                rows.append(_row(event, memory_id, last.get(key)))
                last[key] = event.seq
        await upsert(connection, history, rows, known=())
        await _forget_reasons(connection, batch)


async def _last_seqs(connection: AsyncConnection, keys: set[Key]) -> dict[Key, int]:
    if not keys:
        return {}
    found = await fetch_all(connection, _last(schema_of(connection, history)), [keyed(_SUBJECT, keys)])
    return {(row[0], row[1], row[2]): row[3] for row in found if row[3] is not None}


_SUBJECT = (history.c.tenant, history.c.user_id, history.c.memory_id)


@cache
def _last(schema: str) -> bytes:
    statement = SQL("SELECT *, (SELECT max(seq) FROM {} AS held WHERE ({}) = ({})) FROM {}")
    place, held, wanted = Identifier(schema, history.name), names(_SUBJECT, "held"), names(_SUBJECT, "wanted")
    return statement.format(place, held, wanted, relation(_SUBJECT, "wanted")).as_bytes()


async def _forget_reasons(connection: AsyncConnection, batch: Sequence[Recorded]) -> None:
    """A reason is personal: of an erased memory the rows stay, and their reasons read as a rebuild reads them."""
    gone = {(*owner(event), event.payload.memory_id) for event in batch if isinstance(event.payload, MemoryErased)}
    if not gone:
        return
    columns = (history.c.tenant, history.c.user_id, history.c.memory_id)
    wanted = select(*stored(history)).where(tuple_(*columns).in_(sorted(gone)), history.c.meta.has_key("reason"))
    rows = await fetch(connection, history, wanted)
    await upsert(connection, history, [{**row, "meta": {**row["meta"], "reason": ""}} for row in rows])


def _subjects(payload: Event) -> tuple[UUID, ...]:
    if isinstance(payload, events.MemoriesLinked | events.LinkReverted):
        return (payload.memory_id,)
    return events.touched(payload)


def _row(event: Recorded, memory_id: UUID, last_seq: int | None) -> Row:
    tenant, user_id = owner(event)
    name, meta = _told(event.payload)
    survivor = event.payload.memory_id if isinstance(event.payload, events.MemoriesMerged) else memory_id
    return {
        "tenant": tenant,
        "user_id": user_id,
        "id": uuid5(event.event_id, str(memory_id)),
        "memory_id": memory_id,
        "event": name,
        "old_ref": f"{memory_id}@{last_seq}" if last_seq else None,
        "new_ref": f"{survivor}@{event.seq}",
        "actor": event.meta.actor,
        "meta": {"event_id": str(event.event_id), "type": event.header.type, **meta},
        "seq": event.seq,
        "ts": event.recorded_at,
    }


def _told(payload: Event) -> tuple[str, dict[str, Any]]:
    """The word of B §8 for an event, and what else its row says."""
    match payload:
        case events.MemoryCreated():
            return "ADD", {"source_turn_ids": list(payload.source_turn_ids)}
        case events.MemoryUpdated():
            return "UPDATE", {"changed": list(payload.changed)}
        case events.MemoriesMerged():
            absorbed = [str(memory_id) for memory_id in payload.absorbed_ids]
            return "MERGE", {"survivor": str(payload.memory_id), "absorbed": absorbed}
        case events.MemorySoftDeleted():
            return "DELETE", {"reason": payload.reason, "purge_at": payload.purge_at.isoformat()}
        case MemoryErased():
            return "DELETE", {"erased": True, "turns": [turn.turn_id for turn in payload.turns]}
        case events.MemoryReverted() if payload.status not in VISIBLE:
            return "DELETE", {"undoes": str(payload.undoes)}
        case events.MemoryReverted() if payload.was in VISIBLE:
            return "UPDATE", {"undoes": str(payload.undoes)}
        case events.MemoryReverted():
            return "RESTORE", {"undoes": str(payload.undoes)}
        case events.LinkReverted():
            return "LINK", {"to": str(payload.to_id), "strength": payload.strength, "undoes": str(payload.undoes)}
        case events.MemoriesLinked():
            return "LINK", {"to": str(payload.to_id), "strength": payload.strength}
        case _:
            return "RESTORE", {}
