"""A connection that its next user can rely on, and a cursor that is closed, wherever somebody was cancelled."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import psycopg
from psycopg import AsyncCursor, AsyncPipeline, AsyncServerCursor
from psycopg.rows import Row


class CancellableConnection(psycopg.AsyncConnection[Row]):
    """psycopg 3.3 stays in a pipeline that it has just entered if it is cancelled then, with nothing sent."""

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
