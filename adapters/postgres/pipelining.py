"""A connection whose writes wait for the next statement that somebody waits for, or for the commit.

Round trips are what a small batch costs: what leaves no answer is sent along with what does, and what several ask for
at the same time is sent at once.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, Self

import psycopg
from psycopg import AsyncCopy, AsyncCursor
from psycopg.pq import TransactionStatus
from sqlalchemy.ext.asyncio import AsyncConnection

from mnemolog.adapters.postgres.statements import Question, Rows, Statement, Values
from mnemolog.projections.raw_sql import driver_of


class PipeliningConnection(psycopg.AsyncConnection[Any]):
    """In one transaction, and in its order. An error of a deferred statement shows with what it was sent along with.

    Several tasks may use it side by side. Who ends the transaction, or closes it, has waited for them or has cancelled
    them: what they asked is given up then.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.cursor_factory = PipeliningCursor
        self._deferred: list[tuple[bytes, Values]] = []
        self._asked: list[tuple[Question, asyncio.Future[Rows]]] = []
        self._answering: asyncio.Task[None] | None = None  # Takes more questions, until it begins.
        self._unanswered: set[asyncio.Task[None]] = set()
        self._turn = asyncio.Lock()

    def defer(self, statement: bytes, values: Values) -> None:
        """Send it with the next statement."""
        self._deferred.append((statement, values))

    async def ask(self, statement: Statement, values: Values) -> Rows:
        """What a statement gives: one round trip for all that tasks ask for before the loop comes round again."""
        # Whoever asked may be cancelled, and the others not.
        answer: asyncio.Future[Rows] = asyncio.get_running_loop().create_future()
        self._asked.append(((statement, values), answer))
        if self._answering is None:
            self._answering = asyncio.create_task(self._answer())
            self._unanswered.add(self._answering)
            self._answering.add_done_callback(self._unanswered.discard)
        return await answer

    async def ask_all(self, questions: Sequence[Question]) -> list[Rows]:
        """What some statements give, in one round trip and in their order."""
        async with self.turn(several=len(questions) > 1):
            cursors = [await AsyncCursor(self).execute(*one) for one in questions]
        return [await cursor.fetchall() for cursor in cursors]

    async def _answer(self) -> None:
        asked, self._asked, self._answering = self._asked, [], None
        waiting = [answer for _, answer in asked]
        try:
            for answer, rows in zip(waiting, await self.ask_all([question for question, _ in asked]), strict=True):
                if not answer.done():
                    answer.set_result(rows)
        except Exception as error:  # noqa: BLE001  Who asked is told; who waits no longer, has no use for it.
            for answer in waiting:
                if not answer.done():
                    answer.set_exception(error)
        finally:
            for answer in waiting:
                answer.cancel()

    @asynccontextmanager
    async def turn(self, *, several: bool = False) -> AsyncIterator[None]:
        """No other task's statement comes between. What was deferred goes in one round trip with what is within.

        With `several` so do those within: their answers are there at the end.
        """
        async with self._turn, AsyncExitStack() as stack:
            if self._deferred or several:
                await stack.enter_async_context(self.pipeline())
            await self._send()
            yield

    @asynccontextmanager
    async def alone(self) -> AsyncIterator[None]:
        """As `turn`, for what Postgres takes in no pipeline."""
        async with self._turn:
            if self._deferred:
                async with self.pipeline():
                    await self._send()
            yield

    async def _send(self) -> None:
        deferred, self._deferred = self._deferred, []
        for statement, values in deferred:
            await AsyncCursor(self).execute(statement, values)

    async def commit(self) -> None:
        if self.pgconn.transaction_status == TransactionStatus.INTRANS and self._deferred:
            # As a statement: psycopg 3.3 waits for its own, in a pipeline, before all of what was deferred is sent.
            await self.cursor().execute(b"COMMIT", prepare=False)
            return
        async with self.alone():
            await super().commit()

    async def rollback(self) -> None:
        self._give_up()
        async with self._turn:
            self._deferred.clear()
            await super().rollback()

    async def close(self) -> None:
        # Not while a statement is under way in another task: libpq would go on with what is freed.
        self._give_up()
        async with self._turn:
            await super().close()

    def _give_up(self) -> None:
        """Cancel what was asked, at the server as well."""
        for _, answer in self._asked:
            answer.cancel()
        self._asked.clear()
        self._answering = None
        for answering in self._unanswered:
            answering.cancel()


class PipeliningCursor(AsyncCursor[Any]):
    """Every statement goes through here, SQLAlchemy's too, but for those of a server-side cursor."""

    async def execute(self, *args: Any, **kwargs: Any) -> Self:
        async with self._held().turn():
            await super().execute(*args, **kwargs)
        return self

    async def executemany(self, *args: Any, **kwargs: Any) -> None:
        async with self._held().alone():
            await super().executemany(*args, **kwargs)

    @asynccontextmanager
    async def copy(self, *args: Any, **kwargs: Any) -> AsyncIterator[AsyncCopy]:
        async with self._held().alone(), super().copy(*args, **kwargs) as copy:
            yield copy

    def _held(self) -> PipeliningConnection:
        assert isinstance(self.connection, PipeliningConnection)
        return self.connection


def pipelining(connection: AsyncConnection) -> PipeliningConnection:
    """The driver's connection under SQLAlchemy's."""
    driver = driver_of(connection)
    assert isinstance(driver, PipeliningConnection)
    return driver
