"""Leases on partitions: which of the processes that share a Postgres applies the events of which partition.

A lease is a session-level advisory lock, so it ends with its session: at once when the process dies, and after
SILENCE when the process or its machine hangs, because it then lets the server's `idle_session_timeout` pass. No clock
is compared with another, and nothing is left to clean up (docs/decisions/0009).
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from contextlib import asynccontextmanager

import psycopg
from psycopg.rows import dict_row

from mnemolog.adapters.postgres.pool import Connection
from mnemolog.adapters.postgres.queries import query

_logger = logging.getLogger("mnemolog.leases")

Changed = Callable[[frozenset[int]], Awaitable[None]]

LOOK_SECONDS = 0.5
SILENCE = "10s"
NOBODY = -1


class Leases:
    """A fair share of `count` partitions, for as long as this process lives and answers."""

    def __init__(self, postgres_dsn: str, count: int) -> None:
        self._dsn, self._count = postgres_dsn, count

    async def run(self, changed: Changed) -> None:
        """Take and give back until cancelled; `changed` is told each time which partitions are this process's own."""
        while True:
            try:
                async with self._session() as connection:
                    await self._hold(connection, changed)
            except Exception as error:  # noqa: BLE001  A process without leases would project nothing more.
                _logger.warning("leases: %s, trying again", type(error).__name__)
            await changed(frozenset())
            await asyncio.sleep(LOOK_SECONDS)

    @asynccontextmanager
    async def _session(self) -> AsyncIterator[Connection]:
        connection = await psycopg.AsyncConnection.connect(
            self._dsn, row_factory=dict_row, autocommit=True, tcp_user_timeout=10_000
        )
        async with connection:
            await connection.execute(query("end_when_silent"), {"silence": SILENCE})
            await connection.execute(query("join_workers"))
            yield connection

    async def _hold(self, connection: Connection, changed: Changed) -> None:
        own: frozenset[int] = frozenset()
        while True:
            wanted, free = await self._look(connection, own)
            if surplus := sorted(own)[wanted:]:
                own = own.difference(surplus)
                await changed(own)
                await connection.execute(query("give_partitions"), {"partitions": surplus})
            elif taken := await self._take(connection, free[: wanted - len(own)]):
                own |= taken
                await changed(own)
            await asyncio.sleep(LOOK_SECONDS)

    async def _look(self, connection: Connection, own: frozenset[int]) -> tuple[int, list[int]]:
        """How many partitions are a fair share of this process, and which nobody holds."""
        rows = await (await connection.execute(query("look_at_leases"))).fetchall()
        workers = sorted(row["pid"] for row in rows if row["partition"] == NOBODY)
        held = {row["partition"] for row in rows}
        share, rest = divmod(self._count, len(workers))
        wanted = share + (workers.index(connection.info.backend_pid) < rest)
        return wanted, [one for one in range(self._count) if one not in held | own]

    async def _take(self, connection: Connection, free: Collection[int]) -> frozenset[int]:
        if not free:
            return frozenset()
        rows = await (await connection.execute(query("take_partitions"), {"partitions": list(free)})).fetchall()
        return frozenset(row["partition"] for row in rows if row["taken"])
