"""The reads of an engine: query, history, changes, sessions; live, or as of an earlier moment."""

import asyncio
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from mnemolog.adapters.engine.as_of import replayed, session_at
from mnemolog.adapters.redis.working import WorkingStore
from mnemolog.domain import delta
from mnemolog.domain.category import CategoryPolicy
from mnemolog.domain.errors import InvalidInput, NotFound, ProjectionPoisoned, ReadTimeout
from mnemolog.domain.session import Session
from mnemolog.events.envelope import Position, StreamId
from mnemolog.events.log import EventLog
from mnemolog.projections import query
from mnemolog.projections.changes import reader as changes
from mnemolog.projections.graph import reader as graph
from mnemolog.projections.history import reader as history
from mnemolog.projections.memories import reader as memories
from mnemolog.projections.projector import Projector, Store
from mnemolog.projections.vectors.embedder import Embedder
from mnemolog.projections.working.projector import Place

MEMORIES, GRAPH, CHANGES, HISTORY, VECTORS = "memories", "graph", "changes", "history", "vectors"

POLL_SECONDS = 0.002
SLOWEST_POLL_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class Moment:
    """When to read: live; or as of a time or a seq of the stream. `after` is a write that a live read must see."""

    as_of: datetime | int | None = None
    after: Position | None = None


NOW = Moment()


@dataclass(frozen=True, slots=True)
class Changes:
    """What a delta header tells, and the revision that the next one starts from."""

    header: str
    rev: int
    entries: Sequence[delta.Entry]


class Reads:
    """Every read names the stream of one user and the agent that asks: nothing crosses either."""

    def __init__(
        self,
        engine: AsyncEngine,
        log: EventLog,
        stores: Mapping[str, Store],
        projectors: Sequence[Projector],
        working: WorkingStore,
        embedder: Embedder,
        policy: CategoryPolicy,
        deadline: float,
    ) -> None:
        self._engine, self._log, self._stores, self._projectors = engine, log, stores, projectors
        # A read that waits for a swap holds no lock that the swap waits for; it also saves 1 ms of a query's 6.
        self._each_statement_alone = engine.execution_options(isolation_level="AUTOCOMMIT")
        self._working, self._embedder, self._policy, self._deadline = working, embedder, policy, deadline

    async def query(self, request: query.MemoryQuery, moment: Moment = NOW) -> query.Answer:
        """memory.query (B §6)."""
        async with self._at(request.stream, moment, MEMORIES, VECTORS, CHANGES) as connection:
            return await query.answer(connection, request, self._policy, self._embedder)

    async def memory(self, stream: StreamId, agent_id: str, memory_id: UUID, moment: Moment = NOW) -> Mapping[str, Any]:
        """One memory, hidden or not."""
        async with self._at(stream, moment, MEMORIES) as connection:
            return await memories.one(connection, stream, agent_id, memory_id, self._policy.readable(agent_id))

    async def newest(
        self, stream: StreamId, agent_id: str, limit: int, moment: Moment = NOW
    ) -> Sequence[Mapping[str, Any]]:
        """The memories that changed last."""
        async with self._at(stream, moment, MEMORIES) as connection:
            return await memories.newest(connection, stream, agent_id, limit, self._policy.readable(agent_id))

    async def history(
        self, stream: StreamId, agent_id: str, memory_id: UUID, limit: int = 100, moment: Moment = NOW
    ) -> Sequence[Mapping[str, Any]]:
        """What happened to a memory, newest first (B §8)."""
        async with self._at(stream, moment, MEMORIES, HISTORY) as connection:
            readable = self._policy.readable(agent_id)
            return await history.of_memory(connection, stream, memory_id, agent_id, limit, readable)

    async def changes(
        self, stream: StreamId, agent_id: str, thread_id: str, since: int, moment: Moment = NOW
    ) -> Changes:
        """What changed in a thread since a revision (B §1)."""
        readable = self._policy.readable(agent_id)
        async with self._at(stream, moment, MEMORIES, CHANGES) as connection:
            rev = await changes.revision(connection, stream, thread_id)
            entries = await changes.between(connection, stream, thread_id, agent_id, since, rev, categories=readable)
            return Changes(delta.header(since, entries), rev, entries)

    async def entities(self, stream: StreamId, agent_id: str, moment: Moment = NOW) -> Sequence[Mapping[str, Any]]:
        """Whom and what the user speaks of, last seen first."""
        async with self._at(stream, moment, GRAPH) as connection:
            return await graph.known(connection, stream, agent_id)

    async def session(self, place: Place, moment: Moment = NOW) -> Session:
        """The working memory of a chat (A §3.1); NotFound when nothing was said lately."""
        if moment.after:
            _require_own(moment.after, place.stream)
            await self._wait(moment.after, [self._working.name])
        found = await self._session(place, moment.as_of)
        if found is None:
            raise NotFound(
                f"no session of {place.user_id!r} with {place.agent_id!r} in {place.chat_id!r}",
                field="chat_id",
                fix="record a turn; a session ends after a day of silence",
            )
        return found

    async def _session(self, place: Place, as_of: datetime | int | None) -> Session | None:
        return await (self._working.read(place) if as_of is None else session_at(self._log, place, as_of))

    @asynccontextmanager
    async def _at(self, stream: StreamId, moment: Moment, *names: str) -> AsyncIterator[AsyncConnection]:
        """A connection on which the projections `names` show that moment of the stream."""
        if moment.as_of is not None:
            async with replayed(self._engine, self._log, self._projectors, stream, moment.as_of) as connection:
                yield connection
            return
        if moment.after:
            _require_own(moment.after, stream)
            await self._wait(moment.after, names)
        async with self._each_statement_alone.connect() as connection:
            yield connection

    async def _wait(self, position: Position, names: Sequence[str]) -> None:
        until = time.monotonic() + self._deadline
        for name in names:
            pause = POLL_SECONDS
            while (progress := await self._stores[name].progress(position.stream)) < position.seq:
                if pause == SLOWEST_POLL_SECONDS:  # Nearly every wait is over before; only a long one asks why.
                    await self._require_running(name, position.stream)
                if time.monotonic() > until:
                    raise ReadTimeout(
                        f"{name} is at seq {progress} of {position.stream}, not yet at {position.seq}",
                        field="after",
                        fix="read again later, or raise read_deadline in the settings",
                    )
                await asyncio.sleep(pause)
                pause = min(2 * pause, SLOWEST_POLL_SECONDS)

    async def _require_running(self, name: str, stream: StreamId) -> None:
        reason = (await self._stores[name].stopped()).get(stream)
        if reason:
            raise ProjectionPoisoned(
                f"{name} stopped {stream} at {reason}",
                field="after",
                fix="see `mnemolog doctor`, then restart or replay",
            )


def _require_own(after: Position, stream: StreamId) -> None:
    if after.stream != stream:
        raise InvalidInput("this token is of another user's write", field="after", fix="pass a receipt of this user's")
