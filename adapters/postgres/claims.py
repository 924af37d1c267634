"""The two ends of a projecting transaction: hold streams against other workers, and save how far they came.

Straight through psycopg and pipelined, for any number of projections at once: each end is one round trip, and round
trips are what a small batch costs.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache
from typing import Any, LiteralString

import psycopg
from psycopg.sql import SQL, Identifier
from sqlalchemy.ext.asyncio import AsyncConnection

from mnemolog.adapters.postgres.progress import is_stopped
from mnemolog.events.envelope import StreamId
from mnemolog.projections.seal import MAC, seal_of
from mnemolog.projections.straight import Driver, driver_of

Progress = dict[StreamId, int]

# A swap of schemas takes this lock alone, so that no write goes to tables that were just replaced.
_HOLD_SCHEMA = SQL("SELECT pg_advisory_xact_lock_shared(hashtextextended('mnemolog ' || %(schema)s::text, 0))")
# In one order for all workers, so that they cannot deadlock.
_CLAIM: LiteralString = """
SELECT held.tenant, held.stream, held.seq, held.stopped_at, held.reason, held.mac FROM {progress} AS held
JOIN unnest(%(tenants)s::text[], %(streams)s::text[]) AS wanted (tenant, stream) USING (tenant, stream)
ORDER BY held.tenant, held.stream FOR UPDATE OF held
"""
_BEGIN: LiteralString = """
INSERT INTO {progress} (tenant, stream, seq)
SELECT tenant, stream, 0 FROM unnest(%(tenants)s::text[], %(streams)s::text[]) AS begun (tenant, stream)
ORDER BY tenant, stream ON CONFLICT DO NOTHING
"""
_SAVE: LiteralString = """
UPDATE {progress} AS held SET seq = reached.seq, stopped_at = NULL, reason = NULL, mac = NULL
FROM unnest(%(tenants)s::text[], %(streams)s::text[], %(seqs)s::bigint[]) AS reached (tenant, stream, seq)
WHERE (held.tenant, held.stream) = (reached.tenant, reached.stream)
"""


async def claim(
    connection: AsyncConnection, schemas: Sequence[str], streams: Collection[StreamId]
) -> Sequence[Progress]:
    """The progress of these streams in each schema, held until the end of the transaction; not of those stopped."""
    driver = driver_of(connection)
    held = [await _fetched(cursor) for cursor in await _claimed(driver, schemas, streams)]
    new = [set(streams) - {StreamId(*row[:2]) for row in rows} for rows in held]
    if any(new):
        async with driver.pipeline():
            for schema, begun in zip(schemas, new, strict=True):
                await driver.execute(_on(_BEGIN, schema), _names(begun))
        held = [await _fetched(cursor) for cursor in await _claimed(driver, schemas, streams)]
    seal = seal_of(connection)
    return [
        {StreamId(*row[:2]): row[2] for row in rows if row[3] is None or not is_stopped(seal, schema, _named(row))}
        for schema, rows in zip(schemas, held, strict=True)
    ]


async def save(connection: AsyncConnection, reached: Mapping[str, Progress]) -> None:
    """Save the progress of streams that this transaction holds, by schema, and commit."""
    driver = driver_of(connection)
    async with driver.pipeline():
        for schema, progress in reached.items():
            if progress:
                await driver.execute(_on(_SAVE, schema), {**_names(progress), "seqs": list(progress.values())})
        await driver.commit()


def _named(row: tuple[Any, ...]) -> dict[str, Any]:
    return dict(zip(("tenant", "stream", "seq", "stopped_at", "reason", MAC), row, strict=True))


async def _claimed(
    driver: Driver, schemas: Sequence[str], streams: Collection[StreamId]
) -> Sequence[psycopg.AsyncCursor[Any]]:
    cursors = []
    async with driver.pipeline():
        for schema in schemas:
            await driver.execute(_HOLD_SCHEMA, {"schema": schema})
            cursors.append(await driver.execute(_on(_CLAIM, schema), _names(streams)))
    return cursors


async def _fetched(cursor: psycopg.AsyncCursor[Any]) -> Sequence[tuple[Any, ...]]:
    return await cursor.fetchall()


@cache
def _on(statement: LiteralString, schema: str) -> bytes:
    """As bytes, which psycopg remembers how to convert; the schemas are few."""
    return SQL(statement).format(progress=Identifier(schema, "progress")).as_bytes()


def _names(streams: Iterable[StreamId]) -> dict[str, list[Any]]:
    ordered = list(streams)
    return {"tenants": [one.tenant for one in ordered], "streams": [one.name for one in ordered]}
