"""The working-memory projection, rebuilt next to itself."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from uuid import uuid4

from mnemolog.adapters.redis.client import RedisClient
from mnemolog.adapters.redis.working import OtherWorker, WorkingStore

SHADOW = "shadow:"
# A rebuild that dies blocks the writers of other processes no longer than this.
QUIET_SECONDS = 60

# KEYS: quiet, then the old ones, then the new ones. ARGV: token, number of old ones, the shadow's prefix.
_SWAP = """
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
local stale = tonumber(ARGV[2])
for i = 2, stale + 1 do redis.call('DEL', KEYS[i]) end
for i = stale + 2, #KEYS do
  if redis.call('EXISTS', KEYS[i]) == 1 then redis.call('RENAME', KEYS[i], string.sub(KEYS[i], #ARGV[3] + 1)) end
end
return 1
"""
_RELEASE = "if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end"


class RebuildableWorking:
    """Implements `mnemolog.projections.rebuild.Rebuildable`. The swap is atomic, in a cluster for each slot."""

    def __init__(self, redis: RedisClient, live: WorkingStore) -> None:
        self._redis, self._live = redis, live
        self._shadow = WorkingStore(redis, SHADOW)
        self._swap, self._release = redis.register_script(_SWAP), redis.register_script(_RELEASE)
        self._token = ""
        self.name = live.name

    async def shadow(self) -> WorkingStore:
        return self._shadow

    async def drop_former(self) -> Sequence[str]:
        """There has been one version of it so far."""
        return []

    async def compare(self) -> None:
        """Not needed: `differences` reads what has not expired."""

    @asynccontextmanager
    async def quiet(self) -> AsyncIterator[None]:
        """Workers of this process wait; those of other processes have to retry."""
        self._token, held = uuid4().hex, list[str]()
        async with self._live.writing:
            try:
                for slot in self._live.slots.every:
                    if not await self._redis.set(slot.quiet, self._token, nx=True, ex=QUIET_SECONDS):
                        raise OtherWorker("another rebuild holds working memory quiet")
                    held.append(slot.quiet)
                yield
            finally:
                for key in held:
                    await self._release(keys=[key], args=[self._token])

    async def differences(self) -> Mapping[str, Counter[str]]:
        live, shadow = await asyncio.gather(self._live.blobs(), self._shadow.blobs())
        return {"sessions": Counter(name for name, _ in live.items() ^ shadow.items())}

    async def swap(self) -> None:
        for live, shadow in zip(self._live.slots.every, self._shadow.slots.every, strict=True):
            stale, new = await self._live.every_key(live), await self._shadow.every_key(shadow)
            arguments: list[str | int] = [self._token, len(stale), SHADOW]
            if not await self._swap(keys=[live.quiet, *stale, *new], args=arguments):
                raise OtherWorker(f"the swap came later than {QUIET_SECONDS} s after the last write")
