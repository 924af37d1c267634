"""The outbox: what is appended and not yet on JetStream. One relay at a time reads it."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

import psycopg
from psycopg.rows import dict_row

from mnemolog.adapters.postgres.log import stored
from mnemolog.adapters.postgres.pool import Connection, Pool
from mnemolog.adapters.postgres.queries import query
from mnemolog.events.envelope import StoredEvent


@dataclass(frozen=True, slots=True)
class Pending:
    """Outbox rows by id, and the events that they name, in the order of their streams."""

    ids: Sequence[int]
    events: Sequence[StoredEvent]


class Outbox:
    def __init__(self, pool: Pool, postgres_dsn: str) -> None:
        self._pool, self._dsn = pool, postgres_dsn

    @asynccontextmanager
    async def leadership(self, shard: str = "0") -> AsyncIterator[Connection | None]:
        """A connection that holds the relay's lock while it lives; None when another relay leads.

        The lock belongs to the session, not to a transaction, so a leader never holds one open.
        """
        connection = await psycopg.AsyncConnection.connect(self._dsn, row_factory=dict_row, autocommit=True)
        async with connection:
            cursor = await connection.execute(query("lead"), {"shard": shard})
            row = await cursor.fetchone()
            yield connection if row and row["leads"] else None

    async def pending(self, batch: int) -> Pending:
        async with self._pool.connection() as connection:
            cursor = await connection.execute(query("pending"), {"batch": batch})
            ids = [row["id"] for row in await cursor.fetchall()]
            if not ids:
                return Pending([], [])
            cursor = await connection.execute(query("pending_events"), {"ids": ids})
            return Pending(ids, [stored(row) for row in await cursor.fetchall()])

    async def delivered(self, ids: Sequence[int]) -> None:
        async with self._pool.connection() as connection:
            await connection.execute(query("delivered"), {"ids": list(ids)})

    async def size(self) -> int:
        """How many appends wait for delivery."""
        async with self._pool.connection() as connection:
            row = await (await connection.execute(query("outbox_size"))).fetchone()
            return int(row["count"]) if row else 0
