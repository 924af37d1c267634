"""A lease: held by one of all processes on a database as long as it sends heartbeats (docs/decisions/0035).

It is a session-level advisory lock. Its holder is heard of every two seconds (the heartbeat); Postgres ends a session
that it hears nothing of for ten, by its own clock (`idle_session_timeout`), and the lock with it. So a process that is
killed is replaced at once, and one that hangs within seconds.

What the holder changes in the database goes through that very session: once the lease is lost, it changes nothing. What
it does elsewhere asks `require` first, which goes by the moment the last heartbeat was sent.
"""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping
from contextlib import asynccontextmanager
from typing import Any

from psycopg import AsyncCursor
from psycopg.conninfo import make_conninfo
from psycopg.rows import DictRow, dict_row

from mnemolog.adapters.postgres.cancellable import CancellableConnection
from mnemolog.adapters.postgres.pool import CONNECT_SECONDS, NOTICE_SILENCE, Connection
from mnemolog.adapters.postgres.queries import HERE, query
from mnemolog.domain.errors import LeaseLost

_logger = logging.getLogger("mnemolog.leases")

RELAY = "relay 0"

HEARTBEAT_SECONDS = 2.0
SILENCE_SECONDS = 10
# The holder gives a lease up before the server does.
VALID_SECONDS = 8.0
FOLLOW_SECONDS = 1.0
CANCEL_SECONDS = 0.2


class Lease:
    """A session that holds leases, or waits for one."""

    def __init__(self, connection: Connection) -> None:
        self._connection, self._heard = connection, time.monotonic()

    @property
    def pid(self) -> int:
        """The session's backend pid in Postgres."""
        return self._connection.info.backend_pid

    async def take(self, name: str) -> bool:
        """Whether the lease was acquired; False if another session holds it."""
        row = await (await self.execute("lead", {"name": name})).fetchone()
        return bool(row and row["leads"])

    async def execute(
        self, name: str, values: Mapping[str, Any] | None = None, package: str = HERE
    ) -> AsyncCursor[DictRow]:
        """Run a named query in the session itself; fails once the session has ended."""
        sent = time.monotonic()
        cursor = await self._connection.execute(query(name, package), values)
        self._heard = max(self._heard, sent)
        return cursor

    def require(self) -> None:
        """LeaseLost if the last heartbeat is so old that another session may hold the lease."""
        if time.monotonic() - self._heard > VALID_SECONDS:
            raise LeaseLost

    async def hold(self, work: Awaitable[None]) -> None:
        """Run the work with a heartbeat; it is cancelled, and LeaseLost raised, if the lease is lost."""
        working, beating = asyncio.ensure_future(work), asyncio.create_task(self._beat())
        tasks = {working, beating}
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            await _end(tasks)
        for task in done:
            task.result()

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(HEARTBEAT_SECONDS)
            self.require()
            async with asyncio.timeout(VALID_SECONDS):
                await self.execute("heartbeat")


async def _end(tasks: Collection[asyncio.Future[None]]) -> None:
    """Cancel until each has ended: a driver in the middle of a query may turn a cancellation into an error.

    If the caller is cancelled meanwhile, that is raised at the end: the session closes only after its work.
    """
    cancelled: asyncio.CancelledError | None = None
    while pending := [task for task in tasks if not task.done()]:
        for task in pending:
            task.cancel()
        try:
            await asyncio.wait(pending, timeout=CANCEL_SECONDS)
        except asyncio.CancelledError as error:
            cancelled = error
    for task in tasks:
        if not task.cancelled():
            task.exception()  # Asked for, so that asyncio does not report it.
    if cancelled:
        raise cancelled


@asynccontextmanager
async def lease_session(postgres_dsn: str) -> AsyncIterator[Lease]:
    """A session outside any pool, which the server ends when it is silent."""
    dsn = make_conninfo(postgres_dsn, connect_timeout=CONNECT_SECONDS, **NOTICE_SILENCE)
    connection = await CancellableConnection.connect(dsn, row_factory=dict_row, autocommit=True)
    async with connection:
        await connection.execute(query("end_when_silent"), {"silence": f"{SILENCE_SECONDS}s"})
        yield Lease(connection)


async def lead(postgres_dsn: str, name: str, work: Callable[[Lease], Awaitable[None]]) -> None:
    """Run the leader's work whenever nobody else does, until cancelled.

    After a failure another process may lead: it may succeed.
    """
    while True:
        try:
            async with lease_session(postgres_dsn) as lease:
                while not await lease.take(name):  # noqa: ASYNC110  Its holder may be any process.
                    await asyncio.sleep(FOLLOW_SECONDS)
                await lease.hold(work(lease))
        except Exception as error:  # noqa: BLE001  Without a leader the work would stop.
            _logger.warning("%s: %r, trying again", name, error)
        await asyncio.sleep(FOLLOW_SECONDS)
