"""The working-memory projection as one that can be rebuilt beside itself."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from redis.asyncio import Redis

from mnemolog.adapters.redis.working import WorkingStore

SHADOW = "shadow:"


class RebuildableWorking:
    """Implements `mnemolog.projections.rebuild.Rebuildable`. The swap is one atomic step."""

    def __init__(self, redis: Redis, live: WorkingStore) -> None:
        self._redis, self._live = redis, live
        self._shadow = WorkingStore(redis, SHADOW)
        self.name = live.name

    async def shadow(self) -> WorkingStore:
        return self._shadow

    @asynccontextmanager
    async def quiet(self) -> AsyncIterator[None]:
        async with self._live.writing:
            yield

    async def differences(self) -> Mapping[str, int]:
        live, shadow = await asyncio.gather(self._live.blobs(), self._shadow.blobs())
        return {"sessions": len(set(live.items()) ^ set(shadow.items()))}

    async def swap(self) -> None:
        sources = [SHADOW + key for key in await self._shadow.every_key()]
        stale = await self._live.every_key()
        async with self._redis.pipeline(transaction=True) as pipeline:
            if stale:
                pipeline.delete(*stale)
            for source in sources:
                pipeline.rename(source, source.removeprefix(SHADOW))
            await pipeline.execute()
