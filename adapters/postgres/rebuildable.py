"""A Postgres projection that can be rebuilt beside itself."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from sqlalchemy.ext.asyncio import AsyncConnection

from mnemolog.adapters.postgres.store import PostgresStore, advisory_lock, differing_rows, swap

SHADOW = "shadow"


class RebuildablePostgres:
    """Implements `mnemolog.projections.rebuild.Rebuildable`."""

    def __init__(self, live: PostgresStore) -> None:
        self._live = live
        self._shadow = PostgresStore(live.engine, live.projector, SHADOW)
        self._quiet: AsyncConnection | None = None
        self.name = live.name

    async def shadow(self) -> PostgresStore:
        await self._shadow.create()
        return self._shadow

    @asynccontextmanager
    async def quiet(self) -> AsyncIterator[None]:
        async with self._live.engine.begin() as connection:
            await connection.execute(advisory_lock(self._live.schema))
            self._quiet = connection
            try:
                yield
            finally:
                self._quiet = None

    async def differences(self) -> Mapping[str, int]:
        return await differing_rows(self._held(), self._live, self._shadow)

    async def swap(self) -> None:
        await swap(self._shadow, self._live, self._held())

    def _held(self) -> AsyncConnection:
        assert self._quiet is not None, "inside quiet() only"
        return self._quiet
