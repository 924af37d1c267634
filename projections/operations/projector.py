"""Counts operations by hour. Exactly once: rows and progress share a transaction.

A count names no memory and holds no text, so it outlives an erasure, except that of its user.
"""

from collections.abc import Sequence
from datetime import UTC

from sqlalchemy import MetaData
from sqlalchemy.ext.asyncio import AsyncConnection

from mnemolog.events.envelope import Recorded
from mnemolog.projections.kinds import Kinds
from mnemolog.projections.operations.counted import COUNTED, operations_of
from mnemolog.projections.operations.tables import NAME, READABLE_FROM, VERSION, metadata, operations
from mnemolog.projections.owner import owner_row
from mnemolog.projections.rows import Key, Row, load, primary_key, upsert


class OperationsProjector:
    name = NAME
    version = VERSION
    readable_from = READABLE_FROM
    variant = ""
    tables: MetaData = metadata
    kinds = Kinds(whole=(), shapes=COUNTED)

    async def apply(self, connection: AsyncConnection, batch: Sequence[Recorded]) -> None:
        counts: dict[Key, Row] = {}
        for row in (row for event in batch for row in _rows(event)):
            _add(counts, row)
        known = await load(connection, operations, counts.keys())
        for row in known.values():
            _add(counts, row)
        await upsert(connection, operations, list(counts.values()), known.keys())


def _add(counts: dict[Key, Row], row: Row) -> None:
    key = primary_key(operations)(row)
    if before := counts.get(key):
        row = {**row, **{name: row[name] + before[name] for name in ("count", "compared", "similarity_sum")}}
    counts[key] = row


def _rows(event: Recorded) -> Sequence[Row]:
    hour = event.recorded_at.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
    return [
        {
            **owner_row(event),
            "hour": hour,
            "agent_id": event.meta.agent_id,
            "node": one.node,
            "op": one.op,
            "status": one.status,
            "subject": one.subject,
            "count": one.times,
            "compared": int(one.similarity is not None),
            "similarity_sum": round((one.similarity or 0) * 1_000_000),
        }
        for one in operations_of(event)
    ]
