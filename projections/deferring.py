"""A connection whose writes wait for the next statement that somebody waits for, or for the commit.

Round trips are what a small batch costs: what leaves no answer is sent along with what does.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Self

from psycopg import AsyncConnection, AsyncCopy, AsyncCursor
from psycopg.pq import TransactionStatus

Values = Sequence[Any] | Mapping[str, Any]


class DeferringConnection(AsyncConnection[Any]):
    """In one transaction, and in its order. An error of a deferred statement shows with what it was sent along with."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.cursor_factory = DeferringCursor
        self._deferred: list[tuple[bytes, Values]] = []

    def defer(self, statement: bytes, values: Values) -> None:
        """Send it with the next statement."""
        self._deferred.append((statement, values))

    @asynccontextmanager
    async def along(self) -> AsyncIterator[None]:
        """What is executed within goes in one round trip with what was deferred."""
        deferred, self._deferred = self._deferred, []
        if not deferred:
            yield
            return
        async with self.pipeline():
            for statement, values in deferred:
                await AsyncCursor(self).execute(statement, values)
            yield

    async def commit(self) -> None:
        if self.pgconn.transaction_status == TransactionStatus.INTRANS and self._deferred:
            # As a statement: psycopg 3.3 waits for its own, in a pipeline, before all of what was deferred is sent.
            await self.cursor().execute(b"COMMIT", prepare=False)
            return
        async with self.along():
            pass
        await super().commit()

    async def rollback(self) -> None:
        self._deferred.clear()
        await super().rollback()


class DeferringCursor(AsyncCursor[Any]):
    """Every statement goes through here, SQLAlchemy's too, but for those of a server-side cursor."""

    async def execute(self, *args: Any, **kwargs: Any) -> Self:
        async with self._held().along():
            await super().execute(*args, **kwargs)
        return self

    async def executemany(self, *args: Any, **kwargs: Any) -> None:
        async with self._held().along():
            pass
        await super().executemany(*args, **kwargs)

    @asynccontextmanager
    async def copy(self, *args: Any, **kwargs: Any) -> AsyncIterator[AsyncCopy]:
        async with self._held().along():
            pass
        async with super().copy(*args, **kwargs) as copy:
            yield copy

    def _held(self) -> DeferringConnection:
        assert isinstance(self.connection, DeferringConnection)
        return self.connection
