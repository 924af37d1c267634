"""Statistics of new tables. Postgres gathers them itself, but by default only after up to a minute.

Until then plans are guesses: one that looks up a row by its key may read all rows of its owner.
"""

from collections.abc import Collection, Iterable

from sqlalchemy import Table, text
from sqlalchemy.ext.asyncio import AsyncConnection

from mnemolog.adapters.postgres.ddl import Ddl

# With fewer rows any plan is fast, and autovacuum waits for as many changes.
_LEAST_ROWS = 50
# Enough to tell a small table from a large one, and a rare value from a frequent one; autovacuum completes it.
_SMALL_SAMPLE = text("SET LOCAL default_statistics_target = 20")
_UNKNOWN = text("""
SELECT schemaname || '.' || relname FROM pg_stat_user_tables
WHERE schemaname = ANY(:schemas) AND n_live_tup >= :least AND last_analyze IS NULL AND last_autoanalyze IS NULL
""")


async def unknown(connection: AsyncConnection, schemas: Collection[str]) -> Collection[str]:
    """The tables of these schemas, each with its schema, that were filled and have no statistics yet."""
    given = {"schemas": list(schemas), "least": _LEAST_ROWS}
    return set((await connection.execute(_UNKNOWN, given)).scalars())


async def gather(connection: AsyncConnection, schema: str, tables: Iterable[Table]) -> None:
    """Gather those of the key columns of these tables."""
    await connection.execute(_SMALL_SAMPLE)
    for one in tables:
        indexed = {column.name for index in one.indexes for column in index.columns}
        columns = sorted(indexed.union(column.name for column in one.primary_key.columns))
        await connection.execute(Ddl("ANALYZE {} ({})", (schema, one.name), columns))
