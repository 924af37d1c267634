"""A connection whose writes wait for the next statement that somebody waits for, or for the commit.

Round trips are what a small batch costs: what leaves no answer is sent along with what does, and what several ask for
at the same time is sent at once.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, Self

from psycopg import AsyncCopy, AsyncCursor, AsyncRawCursor
from psycopg.pq import TransactionStatus
from sqlalchemy.ext.asyncio import AsyncConnection

from mnemolog.adapters.postgres.cancellable import CancellableConnection, ReplanningCursor
from mnemolog.adapters.postgres.statements import Question, Rows, Statement, Values
from mnemolog.projections.raw_sql import Numbered, driver_of

NESTED = 3
"""Iterations of the loop that a query waits for others: tasks begin tasks, which ask one iteration later each."""


class PipeliningConnection(CancellableConnection[Any]):
    """Sends statements of one transaction in order. An error of a deferred one is raised by the statement after it.

    Several tasks may use it concurrently. Whoever ends the transaction or closes the connection must have awaited or
    cancelled them: their pending queries are dropped.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.cursor_factory = PipeliningCursor
        self._deferred: list[tuple[bytes, Values]] = []
        self._asked: list[tuple[Question, asyncio.Future[Rows]]] = []
        self._answering: asyncio.Task[None] | None = None  # Accepts more queries until it begins.
        self._unanswered: set[asyncio.Task[None]] = set()
        self._turn = asyncio.Lock()

    def defer(self, statement: bytes, values: Values) -> None:
        """Send it with the next statement."""
        self._deferred.append((statement, values))

    async def ask(self, statement: Statement, values: Values) -> Rows:
        """The result of a statement: one round trip for all queries of tasks that began together."""
        # One task may be cancelled without the others.
        answer: asyncio.Future[Rows] = asyncio.get_running_loop().create_future()
        self._asked.append(((statement, values), answer))
        if self._answering is None:
            self._answering = asyncio.create_task(self._answer())
            self._unanswered.add(self._answering)
            self._answering.add_done_callback(self._unanswered.discard)
        return await answer

    async def ask_all(self, questions: Sequence[Question]) -> list[Rows]:
        """The results of several statements, in one round trip and in their order."""
        async with self.turn(several=len(questions) > 1):
            cursors = [
                await (AsyncRawCursor if isinstance(statement, Numbered) else AsyncCursor)(self).execute(
                    statement, values
                )
                for statement, values in questions
            ]
        return [await cursor.fetchall() for cursor in cursors]

    async def _answer(self) -> None:
        for _ in range(NESTED):
            await asyncio.sleep(0)
        asked, self._asked, self._answering = self._asked, [], None
        waiting = [answer for _, answer in asked]
        try:
            for answer, rows in zip(waiting, await self.ask_all([question for question, _ in asked]), strict=True):
                if not answer.done():
                    answer.set_result(rows)
        except Exception as error:  # noqa: BLE001  The waiting tasks get the error.
            for answer in waiting:
                if not answer.done():
                    answer.set_exception(error)
        finally:
            for answer in waiting:
                answer.cancel()

    @asynccontextmanager
    async def turn(self, *, several: bool = False) -> AsyncIterator[None]:
        """Excludes statements of other tasks. Deferred statements share the round trip of those inside.

        With `several`, those inside share one, too: their results are available at the end.
        """
        async with self._turn, AsyncExitStack() as stack:
            if self._deferred or several:
                await stack.enter_async_context(self._one_trip())
            await self._send()
            yield

    @asynccontextmanager
    async def alone(self) -> AsyncIterator[None]:
        """Like `turn`, for statements that Postgres does not accept in a pipeline."""
        async with self._turn:
            if self._deferred:
                async with self._one_trip():
                    await self._send()
            yield

    @asynccontextmanager
    async def _one_trip(self) -> AsyncIterator[None]:
        try:
            async with self.pipeline():
                yield
        except BaseException:
            # Postgres skipped what followed the error, but psycopg 3.3 takes the statements in it for prepared: outside
            # a transaction, whose rollback forgets them, they would fail on this connection from now on.
            self._prepared.clear()
            raise

    async def _send(self) -> None:
        deferred, self._deferred = self._deferred, []
        for statement, values in deferred:
            await AsyncCursor(self).execute(statement, values)

    async def commit(self) -> None:
        if self.pgconn.transaction_status == TransactionStatus.INTRANS and self._deferred:
            # As a statement: in a pipeline, psycopg 3.3 waits for its own commit before everything deferred is sent.
            await self.cursor().execute(b"COMMIT", prepare=False)
            return
        async with self.alone():
            await super().commit()

    async def rollback(self) -> None:
        self._give_up()
        async with self._turn:
            self._deferred.clear()
            # psycopg 3.3 would forget every prepared statement: one whose objects are gone is planned anew by Postgres.
            prepared = self._prepared
            if self.pgconn.transaction_status == TransactionStatus.INTRANS:
                self._prepared = type(prepared)()
            try:
                await super().rollback()
            finally:
                self._prepared = prepared

    async def close(self) -> None:
        # Not while a statement of another task is running: libpq would use freed memory.
        self._give_up()
        async with self._turn:
            await super().close()

    def _give_up(self) -> None:
        """Cancel pending queries, on the server as well."""
        for _, answer in self._asked:
            answer.cancel()
        self._asked.clear()
        self._answering = None
        for answering in self._unanswered:
            answering.cancel()


class PipeliningCursor(ReplanningCursor[Any]):
    """Handles every statement, including SQLAlchemy's, except those of server-side cursors."""

    async def execute(self, *args: Any, **kwargs: Any) -> Self:
        async with self._pipelining().turn():
            await super().execute(*args, **kwargs)
        return self

    async def executemany(self, *args: Any, **kwargs: Any) -> None:
        async with self._pipelining().alone():
            await super().executemany(*args, **kwargs)

    @asynccontextmanager
    async def copy(self, *args: Any, **kwargs: Any) -> AsyncIterator[AsyncCopy]:
        async with self._pipelining().alone(), super().copy(*args, **kwargs) as copy:
            yield copy

    def _pipelining(self) -> PipeliningConnection:
        assert isinstance(self.connection, PipeliningConnection)
        return self.connection


def pipelining(connection: AsyncConnection) -> PipeliningConnection:
    """The driver's connection below SQLAlchemy's."""
    driver = driver_of(connection)
    assert isinstance(driver, PipeliningConnection)
    return driver
