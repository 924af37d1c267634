"""The store of the working-memory projection: sessions and progress in one Redis, changed in one atomic step.

Both live in the same append-only file, so a Redis that loses its last second loses the progress of that second too,
and the runtime heals it from the log like any gap (docs/decisions/0004).
"""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

from redis.asyncio import Redis
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import RedisError
from redis.exceptions import TimeoutError as RedisTimeoutError

from mnemolog.domain.session import Session
from mnemolog.events.envelope import Recorded, StreamId
from mnemolog.projections.working.projector import NAME, Place, fold, place_of

# A session stays this much longer than it can be read, for projectors that come late: whether a turn goes on with it or
# begins a new one is decided by the turn's own time, so that a rebuild in batches ends like the live projection.
GRACE = timedelta(hours=1)

# KEYS: progress, quiet, index, a session each.
# ARGV: how many streams; field, expected, new for each; blob, expiry for each session; now, prefix.
_SAVE = """
local streams = tonumber(ARGV[1])
if redis.call('EXISTS', KEYS[2]) == 1 then return 0 end
for i = 0, streams - 1 do
  if (redis.call('HGET', KEYS[1], ARGV[3 * i + 2]) or '0') ~= ARGV[3 * i + 3] then return 0 end
end
for i = 0, streams - 1 do redis.call('HSET', KEYS[1], ARGV[3 * i + 2], ARGV[3 * i + 4]) end
for i = 4, #KEYS do
  local at = 3 * streams + 2 * (i - 4) + 2
  redis.call('SET', KEYS[i], ARGV[at], 'PXAT', ARGV[at + 1])
  redis.call('ZADD', KEYS[3], ARGV[at + 1], string.sub(KEYS[i], #ARGV[#ARGV] + 1))
end
redis.call('ZREMRANGEBYSCORE', KEYS[3], '-inf', ARGV[#ARGV - 1])
return 1
"""


class OtherWorker(RedisError):
    """Another worker moved a stream on, or a rebuild is about to swap: the delivery is to be repeated."""


class RedisSession:
    """One step over some streams; `apply` writes at once, atomically."""

    def __init__(self, store: "WorkingStore", progress: Mapping[StreamId, int]) -> None:
        self._store, self._progress = store, dict(progress)

    @property
    def progress(self) -> Mapping[StreamId, int]:
        return self._progress

    async def apply(self, events: Sequence[Recorded]) -> None:
        places = sorted({place for event in events if (place := place_of(event))})
        before = await self._store.read_all(places)
        new = {event.stream: event.seq for event in events}
        await self._store.save(fold(before, events), self._progress, new)


class WorkingStore:
    """Implements `mnemolog.projections.projector.Store`. `prefix` sets a shadow apart from the live keys."""

    name = NAME
    version = 1
    transient: tuple[type[Exception], ...] = (RedisConnectionError, RedisTimeoutError, OtherWorker)

    def __init__(self, redis: Redis, prefix: str = "", now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._redis, self.prefix, self._now = redis, prefix, now
        self._save = redis.register_script(_SAVE)
        self.writing = asyncio.Lock()

    @property
    def _progress_key(self) -> str:
        return f"{self.prefix}mnemolog:working:{self.version}:progress"

    @property
    def _stopped_key(self) -> str:
        return f"{self.prefix}mnemolog:working:{self.version}:stopped"

    @property
    def _index_key(self) -> str:
        return f"{self.prefix}mnemolog:working:{self.version}:keys"

    @property
    def quiet_key(self) -> str:
        """While it exists, nothing is written."""
        return f"{self.prefix}mnemolog:working:{self.version}:quiet"

    async def read(self, place: Place) -> Session | None:
        """The session of a place, in one round trip; None when there is none or it expired."""
        session = (await self.read_all([place])).get(place)
        return None if session is None or session.expired(self._now()) else session

    async def read_all(self, places: Sequence[Place]) -> dict[Place, Session]:
        """Sessions as they were left, those in their grace included."""
        if not places:
            return {}
        blobs = await self._redis.mget([self.prefix + place.key for place in places])
        found = zip(places, blobs, strict=True)
        return {place: Session.from_dict(json.loads(blob)) for place, blob in found if blob is not None}

    async def save(
        self,
        sessions: Mapping[Place, tuple[Session, datetime]],
        expected: Mapping[StreamId, int],
        new: Mapping[StreamId, int],
    ) -> None:
        keys = [self._progress_key, self.quiet_key, self._index_key, *(self.prefix + place.key for place in sessions)]
        arguments: list[str | int] = [len(new)]
        for stream, seq in new.items():
            arguments += [str(stream), expected[stream], seq]
        for session, ends_at in sessions.values():
            gone_at = max(ends_at, self._now()) + GRACE
            arguments += [json.dumps(session.as_dict(), ensure_ascii=False), int(gone_at.timestamp() * 1000)]
        arguments += [int(self._now().timestamp() * 1000), self.prefix]
        if not await self._save(keys=keys, args=arguments):
            raise OtherWorker("another worker applied these events, or a rebuild holds them back")

    @asynccontextmanager
    async def session(self, streams: Sequence[StreamId]) -> AsyncIterator[RedisSession]:
        async with self.writing:
            stopped = await self.stopped()
            wanted = [stream for stream in streams if stream not in stopped]
            known = await self._redis.hmget(self._progress_key, [str(stream) for stream in wanted]) if wanted else []
            yield RedisSession(self, {stream: int(seq or 0) for stream, seq in zip(wanted, known, strict=True)})

    async def progress(self, stream: StreamId) -> int:
        return int(await self._redis.hget(self._progress_key, str(stream)) or 0)

    async def all_progress(self) -> Mapping[StreamId, int]:
        return {_stream(name): int(seq) for name, seq in (await self._redis.hgetall(self._progress_key)).items()}

    async def stop(self, stream: StreamId, seq: int, reason: str) -> None:
        await self._redis.hset(self._stopped_key, str(stream), f"seq {seq}: {reason}")

    async def stopped(self) -> Mapping[StreamId, str]:
        reasons = await self._redis.hgetall(self._stopped_key)
        return {_stream(name): _text(reason) for name, reason in reasons.items()}

    async def resume(self) -> None:
        await self._redis.delete(self._stopped_key)

    async def keys(self) -> Sequence[str]:
        """Every session key of this store, without its prefix. From its own index: others may use this Redis too."""
        found: Any = await self._redis.zrange(self._index_key, 0, -1)
        return sorted(map(_text, found))

    async def blobs(self) -> Mapping[str, str]:
        """Every session that can be read, as it is stored, by key."""
        names, now = await self.keys(), self._now()
        values = await self._redis.mget([self.prefix + name for name in names]) if names else []
        stored = {name: _text(value) for name, value in zip(names, values, strict=True) if value is not None}
        return {name: blob for name, blob in stored.items() if not Session.from_dict(json.loads(blob)).expired(now)}

    async def every_key(self) -> Sequence[str]:
        """The sessions and the progress, such as exist, without the prefix."""
        own = [name.removeprefix(self.prefix) for name in (self._progress_key, self._stopped_key, self._index_key)]
        existing = [name for name in own if await self._redis.exists(self.prefix + name)]
        return [*existing, *await self.keys()]

    async def drop(self) -> None:
        """Forget everything that this store holds."""
        await self._redis.delete(*(self.prefix + name for name in await self.every_key()), "")


def _text(value: bytes | str) -> str:
    return value.decode() if isinstance(value, bytes) else value


def _stream(name: bytes | str) -> StreamId:
    tenant, _, stream = _text(name).partition("/")
    return StreamId(tenant, stream)
