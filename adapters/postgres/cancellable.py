"""A connection that its next user can rely on, and a cursor that is closed, wherever somebody was cancelled."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, Self, TypeVar

import psycopg
from psycopg import AsyncCursor, AsyncPipeline, AsyncServerCursor
from psycopg.pq import TransactionStatus
from psycopg.rows import Row

T = TypeVar("T")


class CancellableConnection(psycopg.AsyncConnection[Row]):
    """psycopg 3.3 stays in a pipeline that it has just entered if it is cancelled then, with nothing sent."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.cursor_factory = ReplanningCursor

    @asynccontextmanager
    async def pipeline(self) -> AsyncIterator[AsyncPipeline]:
        outer = self._pipeline
        try:
            async with super().pipeline() as pipeline:
                yield pipeline
        except BaseException:
            if outer is None and self._pipeline is not None:
                self._leave_pipeline()
            raise

    def _leave_pipeline(self) -> None:
        self._pipeline = None
        try:
            self.pgconn.exit_pipeline_mode()
        except psycopg.OperationalError:
            self.pgconn.finish()  # Something was sent: nobody may take its answer for that of another statement.


class ReplanningCursor(AsyncCursor[Row]):
    """Postgres refuses what was prepared before a column was added that it selects; only a rollback forgets it."""

    async def execute(self, *args: Any, **kwargs: Any) -> Self:
        return await self._replanned(partial(super().execute, *args, **kwargs))

    async def executemany(self, *args: Any, **kwargs: Any) -> None:
        await self._replanned(partial(super().executemany, *args, **kwargs))

    async def _replanned(self, send: Callable[[], Awaitable[T]]) -> T:
        try:
            return await send()
        except psycopg.errors.FeatureNotSupported:
            if self._conn.info.transaction_status == TransactionStatus.INERROR:
                raise
            await super().execute("DEALLOCATE ALL", prepare=False)  # psycopg forgets them with it.
            return await send()


@asynccontextmanager
async def server_cursor(connection: psycopg.AsyncConnection[Row], name: str) -> AsyncIterator[AsyncServerCursor[Row]]:
    """psycopg 3.3 leaves a cursor open if its caller is cancelled, or the connection lost, while it is being closed."""
    cursor = connection.cursor(name)
    try:
        yield cursor
    finally:
        try:
            await cursor.close()
        finally:
            await AsyncCursor.close(cursor)
