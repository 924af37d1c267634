"""The projections of an engine: projectors, stores, runtimes and rebuilds."""

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from datetime import datetime
from functools import partial

from sqlalchemy.ext.asyncio import AsyncEngine

from mnemolog.adapters import telemetry
from mnemolog.adapters.pgvector import PgVectorIndex
from mnemolog.adapters.postgres import lagging, pauses, statistics, upgrades
from mnemolog.adapters.postgres.claims import nothing
from mnemolog.adapters.postgres.former import formers_of
from mnemolog.adapters.postgres.locks import advisory_lock, lock_if_free
from mnemolog.adapters.postgres.log import PostgresLog
from mnemolog.adapters.postgres.pauses import Pause
from mnemolog.adapters.postgres.pool import UNREACHABLE
from mnemolog.adapters.postgres.rebuildable import RebuildablePostgres
from mnemolog.adapters.postgres.sqlalchemy import alone
from mnemolog.adapters.postgres.store import PostgresStore, absent, created, sessions
from mnemolog.adapters.postgres.upgrades import Upgrade
from mnemolog.adapters.projecting.filling import EVENTS_A_PROCESS, FillProcesses
from mnemolog.adapters.projecting.status import ProjectionStatus, status
from mnemolog.adapters.redis.client import RedisClient
from mnemolog.adapters.redis.rebuildable import RebuildableWorking
from mnemolog.adapters.redis.working import WorkingStore
from mnemolog.adapters.verify.missing_keys import MissingKeyCheck, RequireKeys
from mnemolog.domain.errors import Conflict, InvalidInput, MnemologError, ProjectionPoisoned
from mnemolog.events.envelope import StoredEvent, StreamId
from mnemolog.projections.applying import to_read
from mnemolog.projections.artifacts.projector import ArtifactsProjector
from mnemolog.projections.being.projector import BeingProjector
from mnemolog.projections.changes.projector import ChangesProjector
from mnemolog.projections.conversation.projector import ConversationProjector
from mnemolog.projections.episodes.projector import EpisodesProjector
from mnemolog.projections.filling import EVERYTHING, Share, fill, one_by_one
from mnemolog.projections.graph.projector import GraphProjector
from mnemolog.projections.history.projector import HistoryProjector
from mnemolog.projections.knowledge.projector import KnowledgeProjector
from mnemolog.projections.mem0.tables import NAME as MEM0
from mnemolog.projections.memories.projector import MemoriesProjector
from mnemolog.projections.operations.projector import OperationsProjector
from mnemolog.projections.profile.projector import ProfileProjector
from mnemolog.projections.projector import Projector, Session, Skipped, Stop, Store
from mnemolog.projections.raw_sql import live_key
from mnemolog.projections.rebuild import Rebuildable, Rebuilt, Target, rebuild_all
from mnemolog.projections.rule import Delivered, Unread
from mnemolog.projections.runtime import Projection
from mnemolog.projections.shared_transaction import Opened, SharedTransaction, each_alone
from mnemolog.projections.strategy import FAIL, Strategy
from mnemolog.projections.summaries.projector import SummariesProjector
from mnemolog.projections.vectors.embedder import Embedder
from mnemolog.projections.vectors.index import VectorIndex
from mnemolog.projections.vectors.projector import NAME as VECTORS
from mnemolog.projections.vectors.projector import VectorsProjector, variant_of

_logger = logging.getLogger("mnemolog.projections")

INDEXING = "index vectors"
LOOK_SECONDS = 0.2


async def unknown() -> None:
    """No heads are known except the log's."""


async def all_there(streams: Sequence[StreamId]) -> None:
    """Missing keys are not checked."""


async def unheard(name: str) -> None:
    """Nobody is told of dropped tables."""


class Projections:
    """`live` is the engine whose connections see the live tables of every Postgres projection.

    `beside_log` connects to the tables beside the log, if that is another database. `optional` are projectors that no
    read needs, such as that of mem0: a read as of a moment does without them.
    """

    def __init__(
        self,
        engine: AsyncEngine,
        redis: RedisClient,
        log: PostgresLog,
        embedder: Embedder,
        strategies: Callable[[str], Strategy] = lambda name: FAIL,
        writing: AsyncEngine | None = None,
        processes: FillProcesses | None = None,
        former_embedders: Sequence[Embedder] = (),
        beside_log: AsyncEngine | None = None,
        index: VectorIndex | None = None,
        optional: Sequence[Projector] = (),
    ) -> None:
        self._log, self._engine, self._processes = log, engine, processes
        self.split, self.beside_log = beside_log is not None, beside_log or engine
        self.index = index or PgVectorIndex()
        self.projectors: Sequence[Projector] = (
            MemoriesProjector(),
            GraphProjector(),
            ChangesProjector(),
            HistoryProjector(),
            ProfileProjector(),
            ArtifactsProjector(),
            KnowledgeProjector(),
            BeingProjector(),
            ConversationProjector(),
            EpisodesProjector(),
            SummariesProjector(),
            OperationsProjector(),
            VectorsProjector(embedder, self.index),
        )
        # Vectors of these models are read until those of the current one are complete.
        others = {VECTORS: [VectorsProjector(one, self.index) for one in former_embedders]}
        kept: Sequence[Projector] = (*self.projectors, *optional)
        self._postgres = {
            one.name: PostgresStore(
                engine, one, writing=writing, others=others.get(one.name, ()), beside_log=beside_log
            )
            for one in kept
        }
        self._embedders = {variant_of(one): one for one in (*former_embedders, embedder)}
        self._embedder = embedder
        self.working = WorkingStore(redis, log_size=partial(lagging.size, self.beside_log))
        self.stores: Mapping[str, Store] = {**self._postgres, self.working.name: self.working}
        self.running = {
            name: Projection(store, log, UNREACHABLE, strategies(name)) for name, store in self.stores.items()
        }
        beside = {name: RebuildablePostgres(store) for name, store in self._postgres.items()}
        self._shadows = {name: one.place for name, one in beside.items()}
        working = RebuildableWorking(redis, self.working)
        self._rebuildable: Mapping[str, Rebuildable] = {**beside, working.name: working}
        self._shared_transaction = SharedTransaction(self._opened)
        # Raises TamperedEvent if the log lacks a known head: nothing is built from the rest.
        self.require_whole_log: Callable[[], Awaitable[None]] = unknown
        # Raises KeyMissing if a text of these streams lost its key without an erasure: it is not rebuilt without it.
        self.require_keys: RequireKeys = all_there
        # How many events wait for a projection of this process, which may run none.
        self.waiting: Callable[[], int] = int
        # Told of a projection whose tables were dropped while the engine ran.
        self.dropped: Callable[[str], Awaitable[None]] = unheard
        self.live = self.seen_on(engine)

    @property
    def groups(self) -> Sequence[Sequence[Projection]]:
        """Projections that share deliveries. Those with a model or another server go alone: they take longer."""
        alone = {VECTORS, MEM0, self.working.name}
        together = [one for name, one in self.running.items() if name not in alone]
        return [together, *([self.running[name]] for name in sorted(alone & self.running.keys()))]

    @property
    def kept(self) -> str:
        """The tables of this process, by name: projections with their versions and variants."""
        schemas = sorted(store.schema for store in self._postgres.values())
        return " ".join((*schemas, f"{self.working.name}_v{self.working.version}"))

    def seen_on(self, engine: AsyncEngine) -> AsyncEngine:
        """The live tables of every Postgres projection, on this engine's connections."""
        schemas = {key: store.schema for name, store in self._postgres.items() for key in (name, live_key(name))}
        return engine.execution_options(schema_translate_map=schemas)

    async def deliver(
        self, projections: Sequence[Projection], events: Sequence[Delivered], share: int | None = None
    ) -> Sequence[Unread]:
        """Apply a delivery to the projections of a group, as `Projection.deliver` does."""
        with telemetry.step("project", projections=" ".join(one.name for one in projections), events=len(events)):
            if all(one.name in self._postgres for one in projections):
                return await self._shared_transaction.deliver(projections, events, share)
            return await each_alone(projections, events, share)

    def _opened(
        self, projections: Sequence[Projection], streams: Sequence[StreamId], events: Sequence[StoredEvent]
    ) -> AbstractAsyncContextManager[Opened]:
        stores = [self._postgres[one.name] for one in projections]
        read, shapes = to_read(stores, events)
        decode = self._log.decode_after if self.split else self._log.decode_beside
        return sessions(stores, streams, partial(decode, stored=read, shapes=shapes))

    async def create(self) -> None:
        """Create the tables of each projection if missing; one statement finds those that have theirs."""
        async with alone(self._engine) as connection:
            there = await created(connection, list(self._postgres.values()))
        for store in self._postgres.values():
            if store not in there:
                await store.create()

    async def look(self) -> None:
        """Find out which projections show a previous version, for an engine that does not create them."""
        stores = self._postgres.values()
        async with alone(self._engine) as connection:
            shown = await formers_of(connection, {store.schema: store.projector.name for store in stores})
        for store in stores:
            store.former = shown.get(store.schema)

    async def embedder(self) -> Embedder:
        """The embedder of the vectors that readers see: the previous model's, until the new ones are complete."""
        former = await self._postgres[VECTORS].look()
        return self._embedders[former.variant] if former else self._embedder

    async def dimensions(self) -> int | None:
        """How many numbers the embedder's vectors in the index have; None if there are none yet."""
        if await self._postgres[VECTORS].look():
            return None
        async with alone(self.live) as connection:
            return await self.index.dimensions(connection, self._embedder.model)

    async def create_missing(self) -> None:
        """Recreate tables that were dropped while the engine runs; the workers fill them."""
        for name in await self.missing():
            _logger.error("the tables of %s are gone: they are rebuilt from the log", name)
            await self._postgres[name].recreate()
            await self.dropped(name)

    async def gather_statistics(self) -> None:
        """Gather those of new tables that were filled since they were made."""
        async with alone(self._engine) as connection:
            unknown = await statistics.unknown(connection, [store.schema for store in self._postgres.values()])
        for store in self._postgres.values():
            for table in store.projector.tables.sorted_tables:
                if f"{store.schema}.{table.name}" in unknown:
                    # One transaction each: a swap locks the tables in another order.
                    async with self._engine.begin() as connection:
                        await statistics.gather(connection, store.schema, [table])

    async def missing(self) -> list[str]:
        """The projections that no engine on this database keeps in this version and variant."""
        async with alone(self._engine) as connection:
            gone = await absent(connection, [table for store in self._postgres.values() for table in store.tables])
        return [name for name, store in self._postgres.items() if not set(gone).isdisjoint(store.tables)]

    async def rebuild(self, name: str, progressed: Callable[[int], None] = lambda count: None) -> Rebuilt:
        """Rebuild one projection in a shadow, compare and swap; InvalidInput if the name is unknown."""
        [rebuilt] = await self.rebuild_all([name], progressed)
        return rebuilt

    async def rebuild_all(
        self, names: Sequence[str] = (), progressed: Callable[[int], None] = lambda count: None
    ) -> list[Rebuilt]:
        """Rebuild these projections, or all, in one pass over the log, with one process per core."""
        wanted = list(dict.fromkeys(names or self.running))
        for name in wanted:
            self.require(name)
        await self.require_whole_log()
        async with self._alone(wanted):
            targets = [await self._target(name) for name in wanted]
            rebuilt = await self._built(targets, progressed)
        if VECTORS in wanted:
            await self.settle_vectors(rebuilt=True)
            await self.index_vectors()
        if MEM0 in wanted:
            # Begin every stream again, so that the workers write to the store outside what it may have lost.
            store = self._postgres[MEM0]
            for stream in await store.all_progress():
                async with store.session([stream]) as session:
                    await session.reset(stream)
        return rebuilt

    async def upgrade(self, now: Callable[[], datetime]) -> list[Rebuilt]:
        """Build the current version of each projection that shows a previous one, and swap it in; returns them."""
        wanted = [name for name, store in self._postgres.items() if await store.look()]
        if not wanted:
            return []
        await self.require_whole_log()
        async with self._alone(wanted):
            targets = [one for name in wanted if (one := await self._target(name)).upgrade]
            names = [one.beside.name for one in targets]
            for name in names:
                await self._rebuildable[name].shadow()
                await upgrades.begin(self._shadows[name], now())
            try:
                return await self._built(targets)
            except MnemologError as error:
                for name in names:
                    if await self._postgres[name].look():
                        await upgrades.fail(self._shadows[name], error.message)
                raise

    async def settle_vectors(self, *, rebuilt: bool = False) -> None:
        """Keep no embedding that stands in the index of vectors: shadows are filled before what is live goes."""
        async with self.live.connect() as connection:
            await self.index.settle(connection, rebuilt=rebuilt)

    async def resettle_vectors(self) -> None:
        """Copy the vectors again to an index outside Postgres that lost them while the engine runs.

        Not while readers see a previous version, whose vectors are not copied.
        """
        if not await self.index.is_settled(self.live) and not await self._postgres[VECTORS].look():
            await self.settle_vectors()

    async def index_vectors(self) -> int:
        """Make searches of users fast whose vectors became many; returns how many users.

        0 while another process does it, while the vectors are rebuilt, and while readers see a previous version, whose
        views take no index. A rebuild waits for it.
        """
        if await self._postgres[VECTORS].look():
            return 0
        async with alone(self.live) as connection, lock_if_free(connection, INDEXING) as free:
            return await self.index.maintain(connection) if free else 0

    async def _built(
        self, targets: Sequence[Target], progressed: Callable[[int], None] = lambda count: None
    ) -> list[Rebuilt]:
        """A rebuild fails at an event that it cannot apply, whatever the live projection's strategy."""
        keys = MissingKeyCheck(self.require_keys)
        log = self._log.asking(keys)
        try:
            return await rebuild_all(targets, lambda store: Projection(store, log, UNREACHABLE), self._fill, progressed)
        except ProjectionPoisoned as stopped:
            raise keys.missing or stopped from None

    async def upgrading(self, now: datetime) -> Mapping[str, Upgrade]:
        """The projections whose readers see a previous version, and the progress of their upgrades."""
        found = {
            name: await upgrades.upgrade_of(store, self._shadows[name], self.beside_log, now)
            for name, store in self._postgres.items()
        }
        return {name: one for name, one in found.items() if one}

    async def _target(self, name: str) -> Target:
        store = self._postgres.get(name)
        former = await store.look() if store else None
        return Target(self.running[name], self._rebuildable[name], upgrade=former is not None)

    async def drop_former(self, names: Sequence[str] = ()) -> list[str]:
        """Drop the tables of other versions of these projections, or of all; returns their schemas."""
        return [schema for name in names or self.running for schema in await self._rebuildable[name].drop_former()]

    async def size(self) -> int:
        """The number of events in the log."""
        return await lagging.size(self.beside_log)

    async def shadow(self, name: str) -> Store:
        return await self._rebuildable[name].shadow()

    async def _fill(self, shadows: Sequence[Store], progressed: Callable[[int], None]) -> Mapping[str, int]:
        processes = min(os.cpu_count() or 1, await self.size() // EVENTS_A_PROCESS)
        if self._processes and processes > 1:
            return await self._processes.fill([shadow.name for shadow in shadows], processes, progressed)
        return await self.fill(shadows, progressed=progressed)

    async def fill(
        self,
        stores: Sequence[Store],
        share: Share = EVERYTHING,
        progressed: Callable[[int], None] = lambda count: None,
    ) -> Mapping[str, int]:
        """Apply to some stores the events of a share that they lack, in this process; returns the number for each."""
        return await fill(
            self._log.asking(MissingKeyCheck(self.require_keys)), stores, share, progressed, UNREACHABLE, _sessions
        )

    def require(self, name: str) -> None:
        """InvalidInput for an unknown name."""
        if name not in self.running:
            raise InvalidInput(
                f"there is no projection {name!r}", field="projection", fix=f"use one of {', '.join(self.running)}"
            )

    @asynccontextmanager
    async def _alone(self, names: Sequence[str]) -> AsyncIterator[None]:
        """One rebuild of a projection at a time, in all processes: others wait."""
        async with AsyncExitStack() as stack:
            if VECTORS in names:
                await self._no_indexing(stack)
            connection = await stack.enter_async_context(self.live.begin())
            for name in sorted(names):  # Always in the same order, so that two of them cannot deadlock.
                await connection.execute(advisory_lock(f"rebuild {name}"))
            yield

    async def _no_indexing(self, stack: AsyncExitStack) -> None:
        """Nobody indexes the vectors of users until the stack is closed."""
        connection = await stack.enter_async_context(alone(self.live))
        while not await stack.enter_async_context(lock_if_free(connection, INDEXING)):  # noqa: ASYNC110  no notification
            await asyncio.sleep(LOOK_SECONDS)

    async def lag(self, without: Collection[str] = ()) -> Mapping[str, int]:
        """How many events each projection is behind the log: one statement tells of all without stopped streams."""
        lacking = await self._lacking(without)
        counted = {name: events for name, events in lacking.items() if events is not None and events >= 0}
        asked = [name for name in self.running if name not in without]
        return {name: counted[name] if name in counted else await self.running[name].lag() for name in asked}

    async def behind(self) -> Collection[str]:
        """The projections that may lack events, or have stopped streams: one statement finds those that do not."""
        lacking = await self._lacking()
        return [name for name in self.running if (lacking[name] != 0 if name in lacking else await self._lags(name))]

    async def _lacking(self, without: Collection[str] = ()) -> Mapping[str, int | None]:
        """How many events each projection in Postgres lacks; None if it has stopped streams: then `_lags` tells."""
        schemas = {name: store.schema for name, store in self._postgres.items() if name not in without}
        return await lagging.missing_in_each(self._engine, self.beside_log, schemas)

    async def settled(self) -> bool:
        """Whether every projection has applied the whole log, except for paused projections and stopped streams."""
        lacking = await self._lacking()
        short = {name for name, events in lacking.items() if events}
        if short and not short <= (await self.paused()).keys():
            return False
        unsure = [name for name in self.running if lacking.get(name) is None]
        behind = {name for name in unsure if await self._lags(name)}
        return not behind or behind <= (await self.paused()).keys()

    async def _lags(self, name: str) -> bool:
        return await self.running[name].lags()

    async def paused(self) -> Mapping[str, Pause]:
        """The projections that an operator paused, by name."""
        return await pauses.paused(self.beside_log)

    async def status(self, now: datetime) -> Sequence[ProjectionStatus]:
        paused, upgrading = await self.paused(), await self.upgrading(now)
        behind = {*await self.behind(), self.working.name}
        return [
            await status(one, self._log, self.beside_log, paused, upgrading, now, level=one.name not in behind)
            for one in self.running.values()
        ]

    async def pause(self, name: str, pause: Pause) -> None:
        """Stop applying events to a projection, in every process, until it is resumed; readers see its current rows."""
        self.require(name)
        await pauses.pause(self.beside_log, name, pause)

    async def resume(self, name: str) -> None:
        """Resume a paused projection from its progress."""
        self.require(name)
        await pauses.resume(self.beside_log, name)

    async def retry(self, name: str, stream: StreamId | None = None) -> Mapping[StreamId, Stop | None]:
        """Retry one stopped stream, or all; returns where each stopped again, or None."""
        await self._require_going(name)
        stopped = await self.stores[name].stopped()
        if stream is not None and stream not in stopped:
            raise Conflict(f"{name} is not stopped in {stream}", field="stream", fix="there is nothing to retry")
        return {one: await self.running[name].retry(one) for one in ([stream] if stream else sorted(stopped))}

    async def skip(self, name: str, stream: StreamId, by: str) -> Skipped:
        """Skip exactly the event at which a stream stopped; Conflict if it has not stopped."""
        await self._require_going(name)
        return await self.running[name].skip(stream, by)

    async def _require_going(self, name: str) -> None:
        self.require(name)
        if name in await self.paused():
            raise Conflict(
                f"{name} is paused", field="projection", fix=f"run `mnemolog projection resume {name}` first"
            )

    async def stopped(self) -> Mapping[str, Mapping[str, str]]:
        """By projection, the streams that stopped at a poisoned event, with the reason."""
        behind = {*await self.behind(), self.working.name}
        found = {name: await store.stopped() for name, store in self.stores.items() if name in behind}
        return {
            name: {str(stream): str(stop) for stream, stop in streams.items()}
            for name, streams in found.items()
            if streams
        }


@asynccontextmanager
async def _sessions(stores: Sequence[Store], streams: Sequence[StreamId]) -> AsyncIterator[Sequence[Session]]:
    """A session of each store; those on Postgres share a transaction."""
    on_postgres = [store for store in stores if isinstance(store, PostgresStore)]
    others = [store for store in stores if not isinstance(store, PostgresStore)]
    async with AsyncExitStack() as stack:
        opened: list[Session] = list(await stack.enter_async_context(one_by_one(others, streams)))
        if on_postgres:
            together, _ = await stack.enter_async_context(sessions(on_postgres, streams, nothing))
            opened += together
        by_name = {store.name: session for store, session in zip([*others, *on_postgres], opened, strict=True)}
        yield [by_name[store.name] for store in stores]
