"""The working-memory projection, rebuilt next to itself."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from uuid import uuid4

from mnemolog.adapters.redis.client import ERRORS, RedisClient
from mnemolog.adapters.redis.slots import Slot
from mnemolog.adapters.redis.working import OtherWorker, WorkingStore

SHADOW = "shadow:"
# A rebuild that was killed blocks writers no longer than this.
QUIET_SECONDS = 5.0
RENEW_SECONDS = 1.0
LOOK_SECONDS = 0.1

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
# KEYS: quiet. ARGV: token, milliseconds.
_RENEW = "if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end"


class RebuildableWorking:
    """Implements `mnemolog.projections.rebuild.Rebuildable`. The swap is atomic, in a cluster for each slot."""

    def __init__(self, redis: RedisClient, live: WorkingStore) -> None:
        self._redis, self._live = redis, live
        self._shadow = WorkingStore(redis, SHADOW)
        self._swap, self._release = redis.register_script(_SWAP), redis.register_script(_RELEASE)
        self._renew = redis.register_script(_RENEW)
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
        self._token, held = uuid4().hex, list[Slot]()
        async with self._live.writing:
            renewing = asyncio.create_task(self._keep(held))
            try:
                for slot in self._live.slots.every:
                    await self._hold(slot)
                    held.append(slot)
                yield
            finally:
                renewing.cancel()
                await asyncio.gather(renewing, return_exceptions=True)
                for slot in held:
                    await self._release(keys=[slot.quiet], args=[self._token])

    async def _hold(self, slot: Slot) -> None:
        """A hold that a killed rebuild left is waited for."""
        for _ in range(round(2 * QUIET_SECONDS / LOOK_SECONDS)):
            if await self._redis.set(slot.quiet, self._token, nx=True, px=_milliseconds()):
                return
            await asyncio.sleep(LOOK_SECONDS)
        raise OtherWorker("another rebuild holds working memory quiet")

    async def _keep(self, held: Sequence[Slot]) -> None:
        """Until cancelled. A hold that is lost nevertheless, as by a pause of this process, makes the swap fail."""
        while True:
            await asyncio.sleep(RENEW_SECONDS)
            with suppress(*ERRORS, OSError):
                for slot in tuple(held):
                    await self._renew(keys=[slot.quiet], args=[self._token, _milliseconds()])

    async def differences(self) -> Mapping[str, Counter[str]]:
        live, shadow = await asyncio.gather(self._live.blobs(), self._shadow.blobs())
        return {"sessions": Counter(name for name, _ in live.items() ^ shadow.items())}

    async def swap(self) -> None:
        for live, shadow in zip(self._live.slots.every, self._shadow.slots.every, strict=True):
            stale, new = await self._live.every_key(live), await self._shadow.every_key(shadow)
            arguments: list[str | int] = [self._token, len(stale), SHADOW]
            if not await self._swap(keys=[live.quiet, *stale, *new], args=arguments):
                raise OtherWorker("the swap came too late: writes were no longer held back")


def _milliseconds() -> int:
    return round(1000 * QUIET_SECONDS)
