"""Folds the entries of beings into rows. Exactly once: rows and progress share a transaction."""

from collections.abc import Sequence

from sqlalchemy import MetaData
from sqlalchemy.ext.asyncio import AsyncConnection

from mnemolog.events.being import BeingEntryErased, BeingEntryEvent, BeingEntryRead, BeingEntryRemoved, BeingEntrySet
from mnemolog.events.envelope import Recorded
from mnemolog.projections.being.tables import NAME, READABLE_FROM, VERSION, entries, metadata
from mnemolog.projections.kinds import Kinds
from mnemolog.projections.owner import owner, owner_row
from mnemolog.projections.rows import Row, load, upsert


class BeingProjector:
    name = NAME
    version = VERSION
    readable_from = READABLE_FROM
    variant = ""
    tables: MetaData = metadata
    kinds = Kinds(BeingEntryEvent)

    async def apply(self, connection: AsyncConnection, batch: Sequence[Recorded]) -> None:
        own = [(event, event.payload) for event in batch if isinstance(event.payload, BeingEntryEvent)]
        rows = await load(connection, entries, {(*owner(event), one.entry_id) for event, one in own})
        for event, payload in own:
            key = (*owner(event), payload.entry_id)
            row = _after(event, payload, rows.get(key))
            if row is not None:
                rows[key] = row
        await upsert(connection, entries, list(rows.values()))


def _after(event: Recorded, payload: BeingEntryEvent, before: Row | None) -> Row | None:
    """The row after an event; None for an entry whose first event was skipped."""
    if isinstance(payload, BeingEntrySet):
        return _set(event, payload, before)
    if before is None:
        return None
    now = {**before, "updated_at": event.recorded_at, "seq": event.seq}
    match payload:
        case BeingEntryRead(read=read):
            return {**now, "read": read}
        case BeingEntryRemoved():
            return {**now, "removed": True}
        case BeingEntryErased():
            return {**now, "key": "", "body": {}}
        case _:
            return None


def _set(event: Recorded, payload: BeingEntrySet, before: Row | None) -> Row:
    same = ("entry_id", "agent_id", "store", "key", "body", "read", "origin")
    return {
        **owner_row(event),
        **{name: getattr(payload, name) for name in same},
        "removed": False,
        "source_turn_ids": list(payload.source_turn_ids),
        "actor_id": event.meta.actor,
        "run_id": event.meta.run_id,
        "created_at": before["created_at"] if before else event.recorded_at,
        "updated_at": event.recorded_at,
        "seq": event.seq,
    }
