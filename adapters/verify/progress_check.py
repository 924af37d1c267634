"""Verifies a projection's progress, stops and skipped events."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from sqlalchemy import CompoundSelect, Table, bindparam, literal, select, tuple_, union_all
from sqlalchemy.ext.asyncio import AsyncConnection

from mnemolog.adapters.postgres.progress import is_stopped, progress_table, skipped_table
from mnemolog.adapters.postgres.sqlalchemy import in_schema
from mnemolog.adapters.postgres.store import PostgresStore
from mnemolog.adapters.verify.damage import Damage, DamageKind, Part, Report
from mnemolog.events.envelope import StreamId
from mnemolog.projections.seal import key_of, seal_of

Row = Mapping[str, Any]
_STORE = "store"  # No column of these tables.
_STREAMS = "streams"


@dataclass(frozen=True, slots=True)
class AppliedProgress:
    """The last seq applied by stream, the stopped streams, and the events that operators skipped."""

    reached: Mapping[StreamId, int]
    stopped: Collection[StreamId]
    skipped: Collection[tuple[StreamId, int]]

    def applied(self, stream: StreamId, seq: int) -> bool:
        """Whether the projection's rows must show this event."""
        return seq <= self.reached.get(stream, 0) and (stream, seq) not in self.skipped


async def applied_progress(
    connection: AsyncConnection, stores: Sequence[PostgresStore], streams: Sequence[StreamId], report: Report
) -> Mapping[str, AppliedProgress]:
    """By store, from its tables; a stop or a skip without a valid seal is ignored and reported."""
    progress = await rows_by_store(connection, stores, progress_table, streams)
    skipped = await rows_by_store(connection, stores, skipped_table, streams)
    return {
        store.name: _applied(connection, store, progress[store.name], skipped[store.name], report) for store in stores
    }


def _applied(
    connection: AsyncConnection, store: PostgresStore, progress: Sequence[Row], skipped: Sequence[Row], report: Report
) -> AppliedProgress:
    seal = seal_of(connection)
    genuine = [row for row in skipped if row["projection"] == store.name and seal.fits(skipped_table, row)]
    stopped = [row for row in progress if is_stopped(seal, store.schema, row)]
    for row in skipped:
        if row not in genuine:
            report.add(_forged(store, skipped_table, row, "no operator skipped this event", row["seq"]))
    for row in progress:
        if row["stopped_at"] is not None and row not in stopped:
            report.add(_forged(store, progress_table, row, "no engine stopped the stream here", row["stopped_at"]))
    reached = {_stream(row): row["seq"] for row in progress}
    return AppliedProgress(reached, {_stream(row) for row in stopped}, {(_stream(row), row["seq"]) for row in genuine})


def live(table: Table, store: PostgresStore) -> Table:
    """The table in the schema that readers see, ignoring schema translation."""
    return in_schema(table, store.schema)


async def rows_by_store(
    connection: AsyncConnection, stores: Sequence[PostgresStore], table: Table, streams: Sequence[StreamId]
) -> Mapping[str, Sequence[Row]]:
    """The rows of this table of every store, in one statement."""
    found: dict[str, list[Row]] = {store.name: [] for store in stores}
    if not found or not streams:
        return found
    statement = _of_all(tuple((store.name, live(table, store)) for store in stores))
    places = [(stream.tenant, stream.name) for stream in streams]
    for row in (await connection.execute(statement, {_STREAMS: places})).mappings():
        found[row[_STORE]].append({name: value for name, value in row.items() if name != _STORE})
    return found


@lru_cache(32)
def _of_all(tables: Sequence[tuple[str, Table]]) -> CompoundSelect[Any]:
    return union_all(
        *(
            select(literal(name).label(_STORE), here).where(
                tuple_(here.c.tenant, here.c.stream).in_(bindparam(_STREAMS, expanding=True))
            )
            for name, here in tables
        )
    )


def _forged(store: PostgresStore, table: Table, row: Row, detail: str, seq: int) -> Damage:
    event_id, key = str(row.get("event_id", "")), key_of(table, row)
    return Damage(Part.ROW, DamageKind.FORGED, _stream(row), detail, seq, event_id, store.name, table.name, key)


def _stream(row: Row) -> StreamId:
    return StreamId(row["tenant"], row["stream"])
