"""The projections of an engine: their projectors, their stores, their runtimes, and how each is rebuilt."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager

import psycopg
from psycopg_pool import PoolTimeout
from redis.asyncio import Redis
from sqlalchemy.ext.asyncio import AsyncEngine

from mnemolog.adapters.postgres.rebuildable import RebuildablePostgres
from mnemolog.adapters.postgres.store import PostgresStore, advisory_lock
from mnemolog.adapters.redis.rebuildable import RebuildableWorking
from mnemolog.adapters.redis.working import WorkingStore
from mnemolog.domain.errors import InvalidInput
from mnemolog.events.log import EventLog
from mnemolog.projections.changes.projector import ChangesProjector
from mnemolog.projections.graph.projector import GraphProjector
from mnemolog.projections.history.projector import HistoryProjector
from mnemolog.projections.memories.projector import MemoriesProjector
from mnemolog.projections.projector import Projector, Store
from mnemolog.projections.rebuild import Rebuildable, Rebuilt, rebuild
from mnemolog.projections.runtime import Projection
from mnemolog.projections.vectors.embedder import Embedder
from mnemolog.projections.vectors.projector import VectorsProjector

LOG_ERRORS = (psycopg.OperationalError, psycopg.InterfaceError, PoolTimeout, OSError)


class Projections:
    """`live` is the engine whose connections see the live tables of every Postgres projection."""

    def __init__(self, engine: AsyncEngine, redis: Redis, log: EventLog, embedder: Embedder) -> None:
        self._log = log
        self.projectors: Sequence[Projector] = (
            MemoriesProjector(),
            GraphProjector(),
            ChangesProjector(),
            HistoryProjector(),
            VectorsProjector(embedder),
        )
        self._postgres = {projector.name: PostgresStore(engine, projector) for projector in self.projectors}
        self.working = WorkingStore(redis)
        self.stores: Mapping[str, Store] = {**self._postgres, self.working.name: self.working}
        self.running = {name: self._projection(store) for name, store in self.stores.items()}
        self._rebuildable: Mapping[str, Rebuildable] = {
            **{name: RebuildablePostgres(store) for name, store in self._postgres.items()},
            self.working.name: RebuildableWorking(redis, self.working),
        }
        schemas = {name: store.schema for name, store in self._postgres.items()}
        self.live = engine.execution_options(schema_translate_map=schemas)

    async def create(self) -> None:
        """Make the tables of each projection where they are not yet."""
        for store in self._postgres.values():
            await store.create()

    async def rebuild(self, name: str, progressed: Callable[[int], None] = lambda count: None) -> Rebuilt:
        """Rebuild one projection beside itself, compare and swap; InvalidInput when there is none of this name."""
        self.require(name)
        async with self._alone(name):
            return await rebuild(self.running[name], self._rebuildable[name], self._projection, progressed)

    def require(self, name: str) -> None:
        """Refuse a name that no projection has."""
        if name not in self.running:
            raise InvalidInput(
                f"there is no projection {name!r}", field="projection", fix=f"use one of {', '.join(self.running)}"
            )

    def _projection(self, store: Store) -> Projection:
        return Projection(store, self._log, LOG_ERRORS)

    @asynccontextmanager
    async def _alone(self, name: str) -> AsyncIterator[None]:
        """One rebuild of a projection at a time, in whatever process: another waits for its end."""
        async with self.live.begin() as connection:
            await connection.execute(advisory_lock(f"rebuild {name}"))
            yield

    async def lag(self) -> Mapping[str, int]:
        """How many events each projection is behind the log."""
        return {name: await projection.lag() for name, projection in self.running.items()}

    async def stopped(self) -> Mapping[str, Mapping[str, str]]:
        """By projection, the streams that were set aside at a poisoned event, with the reason."""
        found = {name: await store.stopped() for name, store in self.stores.items()}
        return {
            name: {str(stream): reason for stream, reason in streams.items()}
            for name, streams in found.items()
            if streams
        }
