"""The reads of an engine: query, history, changes, sessions; live, or as of an earlier moment."""

import logging
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any, TypeVar
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from mnemolog.adapters.engine.as_of import replayed, session_at
from mnemolog.adapters.engine.waiting import Waits
from mnemolog.adapters.redis.working import WorkingStore
from mnemolog.domain import delta
from mnemolog.domain.category import CategoryPolicy
from mnemolog.domain.errors import InvalidInput, MnemologError, NotFound, TamperedRow
from mnemolog.domain.session import Session
from mnemolog.events.envelope import Position, StreamId
from mnemolog.events.log import EventLog
from mnemolog.projections import query
from mnemolog.projections.changes import reader as changes
from mnemolog.projections.graph import reader as graph
from mnemolog.projections.history import reader as history
from mnemolog.projections.memories import reader as memories
from mnemolog.projections.projector import Projector, Store
from mnemolog.projections.runtime import Projection
from mnemolog.projections.vectors.embedder import Embedder
from mnemolog.projections.working.projector import Place

_logger = logging.getLogger("mnemolog.reads")

T = TypeVar("T")

MEMORIES, GRAPH, CHANGES, HISTORY, VECTORS = "memories", "graph", "changes", "history", "vectors"

LONGEST_DEADLINE = 600.0


@dataclass(frozen=True, slots=True)
class Moment:
    """When to read: live; or as of a time or a seq of the stream.

    `after` is a write that a live read must see; it waits for that at most `deadline` seconds, else `read_deadline`.
    """

    as_of: datetime | int | None = None
    after: Position | None = None
    deadline: float | None = None

    def __post_init__(self) -> None:
        if self.deadline is not None and not 0 < self.deadline <= LONGEST_DEADLINE:
            raise InvalidInput(
                f"{self.deadline!r} is no deadline",
                field="deadline",
                fix=f"give seconds, more than 0 and at most {LONGEST_DEADLINE:.0f}",
            )


NOW = Moment()


@dataclass(frozen=True, slots=True)
class Changes:
    """What a delta header tells, and the revision that the next one starts from."""

    header: str
    rev: int
    entries: Sequence[delta.Entry]


class Reads:
    """Every read names the stream of one user and the agent that asks: nothing crosses either.

    A row that its projector did not write is never shown: it is reported (`tampered` counts them by projection), the
    stream is healed from the log in that projection, and the read is done once more.
    """

    def __init__(
        self,
        engine: AsyncEngine,
        log: EventLog,
        running: Mapping[str, Projection],
        projectors: Sequence[Projector],
        working: WorkingStore,
        embedder: Embedder,
        policy: CategoryPolicy,
        deadline: float,
    ) -> None:
        self._engine, self._log, self._running, self._projectors = engine, log, running, projectors
        self._stores: Mapping[str, Store] = {name: projection.store for name, projection in running.items()}
        self._waits = Waits(self._stores, log, engine, deadline)
        self.tampered: Counter[str] = Counter()
        # A read that waits for a swap holds no lock that the swap waits for; it also saves 1 ms of a query's 6.
        self._each_statement_alone = engine.execution_options(isolation_level="AUTOCOMMIT")
        self._working, self._embedder, self._policy = working, embedder, policy

    async def query(self, request: query.MemoryQuery, moment: Moment = NOW) -> query.Answer:
        """memory.query (B §6)."""

        async def ask(connection: AsyncConnection) -> query.Answer:
            return await query.answer(connection, request, self._policy, self._embedder)

        return await self._read(request.stream, moment, (MEMORIES, VECTORS, CHANGES), ask)

    async def memory(self, stream: StreamId, agent_id: str, memory_id: UUID, moment: Moment = NOW) -> Mapping[str, Any]:
        """One memory, hidden or not."""
        readable = self._policy.readable(agent_id)
        ask = partial(memories.one, stream=stream, agent_id=agent_id, memory_id=memory_id, categories=readable)
        return await self._read(stream, moment, (MEMORIES,), ask)

    async def newest(
        self, stream: StreamId, agent_id: str, limit: int, moment: Moment = NOW
    ) -> Sequence[Mapping[str, Any]]:
        """The memories that changed last."""
        readable = self._policy.readable(agent_id)
        ask = partial(memories.newest, stream=stream, agent_id=agent_id, limit=limit, categories=readable)
        return await self._read(stream, moment, (MEMORIES,), ask)

    async def history(
        self, stream: StreamId, agent_id: str, memory_id: UUID, limit: int = 100, moment: Moment = NOW
    ) -> Sequence[Mapping[str, Any]]:
        """What happened to a memory, newest first (B §8)."""
        ask = partial(
            history.of_memory,
            stream=stream,
            memory_id=memory_id,
            agent_id=agent_id,
            limit=limit,
            categories=self._policy.readable(agent_id),
        )
        return await self._read(stream, moment, (MEMORIES, HISTORY), ask)

    async def changes(
        self, stream: StreamId, agent_id: str, thread_id: str, since: int, moment: Moment = NOW
    ) -> Changes:
        """What changed in a thread since a revision (B §1)."""
        readable = self._policy.readable(agent_id)

        async def ask(connection: AsyncConnection) -> Changes:
            rev = await changes.revision(connection, stream, thread_id)
            entries = await changes.between(connection, stream, thread_id, agent_id, since, rev, categories=readable)
            return Changes(delta.header(since, entries), rev, entries)

        return await self._read(stream, moment, (MEMORIES, CHANGES), ask)

    async def entities(self, stream: StreamId, agent_id: str, moment: Moment = NOW) -> Sequence[Mapping[str, Any]]:
        """Whom and what the user speaks of, last seen first."""
        return await self._read(stream, moment, (GRAPH,), partial(graph.known, stream=stream, agent_id=agent_id))

    async def session(self, place: Place, moment: Moment = NOW) -> Session:
        """The working memory of a chat (A §3.1); NotFound when nothing was said lately."""
        if moment.after:
            _require_own(moment.after, place.stream)
            await self._waits.until(moment.after, [self._working.name], moment.deadline)
        found = await self._session(place, moment.as_of)
        if found is None:
            raise NotFound(
                f"no session of {place.user_id!r} with {place.agent_id!r} in {place.chat_id!r}",
                field="chat_id",
                fix="record a turn; a session ends after a day of silence",
            )
        return found

    async def held_up(self, position: Position) -> Mapping[str, MnemologError]:
        """Wait until every projection shows a write; those that do not within the deadline of reads, and why."""
        return await self._waits.held_up(position)

    async def _session(self, place: Place, as_of: datetime | int | None) -> Session | None:
        return await (self._working.read(place) if as_of is None else session_at(self._log, place, as_of))

    async def _read(
        self, stream: StreamId, moment: Moment, names: Sequence[str], ask: Callable[[AsyncConnection], Awaitable[T]]
    ) -> T:
        """What `ask` gives at that moment; each projection in which it meets a forged row is healed once."""
        healed: set[str] = set()
        while True:
            try:
                async with self._at(stream, moment, names) as connection:
                    return await ask(connection)
            except TamperedRow as damage:
                if moment.as_of is not None or damage.projection in healed:
                    raise
                await self._heal(damage, stream)
                healed.add(damage.projection)

    async def _heal(self, damage: TamperedRow, stream: StreamId) -> None:
        _logger.error("%s; %s is healed from the log", damage.message, stream)
        self.tampered[damage.projection] += 1
        await self._running[damage.projection].heal(stream)

    @asynccontextmanager
    async def _at(self, stream: StreamId, moment: Moment, names: Sequence[str]) -> AsyncIterator[AsyncConnection]:
        """A connection on which the projections `names` show that moment of the stream."""
        if moment.as_of is not None:
            async with replayed(self._engine, self._log, self._projectors, stream, moment.as_of) as connection:
                yield connection
            return
        if moment.after:
            _require_own(moment.after, stream)
            await self._waits.until(moment.after, names, moment.deadline)
        async with self._each_statement_alone.connect() as connection:
            yield connection


def _require_own(after: Position, stream: StreamId) -> None:
    if after.stream != stream:
        raise InvalidInput("this token is of another user's write", field="after", fix="pass a receipt of this user's")
