"""The store of the working-memory projection: sessions and progress in Redis, changed atomically.

Both live in the same append-only file, so a Redis that loses its last second loses the progress of that second too,
and the runtime heals it from the log like any gap (docs/decisions/0004). In a cluster, this holds for each part of the
streams (docs/decisions/0085).
"""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from redis.asyncio import RedisCluster
from redis.exceptions import RedisError, ResponseError

from mnemolog.adapters.redis import scripts
from mnemolog.adapters.redis.client import ERRORS, RedisClient
from mnemolog.adapters.redis.slots import Slot, Slots
from mnemolog.domain.affect import Affect
from mnemolog.domain.errors import TamperedEvent, TamperedRow
from mnemolog.domain.session import Session
from mnemolog.events.envelope import Recorded, StreamId
from mnemolog.events.log import EventLog, Head
from mnemolog.events.stored_json import read_json
from mnemolog.projections.kinds import Need
from mnemolog.projections.projector import Lag, Skipped, Stop, reached_by
from mnemolog.projections.working.projector import AFFECT, KINDS, NAME, Kept, SessionPlace, erases, fold, place_of

# How much longer a session stays than it can be read, for slow projectors: whether a turn continues it or begins a new
# one depends on the turn's own time, so that a rebuild in batches ends like the live projection.
GRACE = timedelta(hours=1)

# What incidents call them, in place of a table.
SESSIONS = "sessions"

# What reading JSON of another shape may raise.
UNREADABLE = (ValueError, RecursionError, TypeError, KeyError, AttributeError)

# Prefix for keys of complete sessions, including what was deleted from them.
WHOLE = "forgotten:"
# How the keys of all sessions and affects begin, in the default tenant and in others.
_OF_SESSIONS = ("sess", "tenant:*:sess")
OWN_KEYS = (*_OF_SESSIONS, *(WHOLE + name for name in _OF_SESSIONS), AFFECT, f"tenant:*:{AFFECT}")
# How Redis begins its error about a key of another type.
WRONG_TYPE = "WRONGTYPE"


class OtherWorker(RedisError):
    """Another worker advanced a stream, or a rebuild is about to swap: repeat the delivery."""


class RedisSession:
    """One step over some streams; `apply` writes at once and atomically, after `reset` everything at the end."""

    def __init__(self, store: "WorkingStore", progress: Mapping[StreamId, int]) -> None:
        self._store, self._progress = store, dict(progress)
        self._rebuilt: dict[SessionPlace, Kept] | None = None
        self._gone: Sequence[SessionPlace] = ()
        self._reached: dict[StreamId, int] = {}

    @property
    def progress(self) -> Mapping[StreamId, int]:
        return self._progress

    async def apply(self, events: Sequence[Recorded], reached: Mapping[StreamId, int] | None = None) -> None:
        new = reached_by(events) if reached is None else reached
        if self._rebuilt is not None:
            self._rebuilt.update(fold({place: kept[0] for place, kept in self._rebuilt.items() if kept}, events))
            self._reached.update(new)
            return
        places = {place for event in events if (place := place_of(event))}
        for stream in {event.stream for event in events if erases(event)}:
            places |= set(await self._store.places_of(stream))
        before = await self._store.read_all(sorted(places))
        await self._store.save(fold(before, events), self._progress, new)

    async def reset(self, stream: StreamId) -> Collection[int]:
        self._progress[stream] = await self._store.progress(stream)
        self._rebuilt, self._reached = {}, {stream: 0}
        self._gone = await self._store.places_of(stream)
        return {skipped.seq for skipped in await self._store.skipped(-1) if skipped.stream == stream}

    async def move(self, stream: StreamId, seq: int) -> None:
        self._reached[stream] = seq

    async def end(self) -> None:
        """Write what was rebuilt, in one step."""
        if self._rebuilt is not None:
            await self._store.save(self._rebuilt, self._progress, self._reached, self._gone)
            await self._store.resume(self._reached)


class WorkingStore:
    """Implements `mnemolog.projections.projector.Store`. `prefix` separates a shadow from the live keys.

    `log_size` returns the number of events in the log: while it equals the sum of all progress, nothing lags, and no
    head needs to be read. No error of Redis is an event's fault, so all of them are transient.
    """

    name = NAME
    version = 1
    transient: tuple[type[Exception], ...] = (*ERRORS, OSError)

    def __init__(
        self,
        redis: RedisClient,
        prefix: str = "",
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        log_size: Callable[[], Awaitable[int]] | None = None,
    ) -> None:
        self._redis, self.prefix, self._now, self._log_size = redis, prefix, now, log_size
        self.slots = Slots(prefix, self.version, clustered=isinstance(redis, RedisCluster))
        self._save, self._read, self._total, self._skip = (
            redis.register_script(one) for one in (scripts.SAVE, scripts.READ, scripts.TOTAL, scripts.SKIP)
        )
        self._mend, self._forget = redis.register_script(scripts.MEND), redis.register_script(scripts.FORGET)
        self.writing = asyncio.Lock()

    def need(self, event_type: str) -> Need:
        return KINDS.need(event_type)

    async def read(self, place: SessionPlace) -> Session | None:
        """The session of a place and its affect, in one round trip; None if expired, deleted, or never there.

        TamperedRow if Redis lost one of them, or somebody else wrote it or the index.
        """
        slot = self.slots.of(place.stream)
        try:
            blob, affect = await self._blobs_of(slot, [place.key, place.affect_key])
        except ResponseError as error:
            if WRONG_TYPE not in str(error):
                raise
            raise TamperedRow(NAME, SESSIONS, {"key": slot.index}) from error
        return _session(place, blob, affect).read_at(self._now()) if blob is not None else None

    async def read_all(self, places: Sequence[SessionPlace]) -> dict[SessionPlace, Session]:
        """Sessions as stored, including deleted ones and those in their grace period."""
        parts = self.slots.grouped(places, lambda place: place.stream)
        found: dict[SessionPlace, Session] = {}
        for read in await asyncio.gather(*(self._read_part(slot, theirs) for slot, theirs in parts.items())):
            found |= read
        return found

    async def _read_part(self, slot: Slot, places: Sequence[SessionPlace]) -> Mapping[SessionPlace, Session]:
        names = [name for place in places for name in (WHOLE + place.key, place.key, place.affect_key)]
        blobs = await self._blobs_of(slot, names)
        found = zip(places, blobs[::3], blobs[1::3], blobs[2::3], strict=True)
        return {
            place: _session(place, blob, affect) for place, whole, shown, affect in found if (blob := whole or shown)
        }

    async def _blobs_of(self, slot: Slot, names: Sequence[str]) -> Sequence[bytes | str | None]:
        async with self._mended():
            keys = [slot.progress, slot.index, slot.total, *(slot.prefix + name for name in names)]
            found: Any = await self._read(keys=keys, args=[slot.prefix])
        blobs, gone = found
        if gone is not None:
            raise TamperedRow(NAME, SESSIONS, {"key": _text(gone)}, missing=True)
        return blobs  # type: ignore[no-any-return]

    async def save(
        self,
        sessions: Mapping[SessionPlace, Kept],
        expected: Mapping[StreamId, int],
        new: Mapping[StreamId, int],
        gone: Sequence[SessionPlace] = (),
    ) -> None:
        """Save sessions and progress, atomically for each part of the streams."""
        kept = self.slots.grouped(sessions.items(), lambda item: item[0].stream)
        left = self.slots.grouped(gone, lambda place: place.stream)
        reached = self.slots.grouped(new, lambda stream: stream)
        for slot in {**kept, **left, **reached}:
            progress = {stream: (expected[stream], new[stream]) for stream in reached.get(slot, ())}
            await self._save_part(slot, dict(kept.get(slot, ())), progress, left.get(slot, ()))

    async def _save_part(
        self,
        slot: Slot,
        sessions: Mapping[SessionPlace, Kept],
        progress: Mapping[StreamId, tuple[int, int]],
        gone: Sequence[SessionPlace],
    ) -> None:
        kept: dict[str, tuple[str, datetime]] = {}
        for place, (session, ends_at) in ((place, one) for place, one in sessions.items() if one):
            if shown := session.shown():
                kept[place.key] = json.dumps(shown.as_dict(), ensure_ascii=False), ends_at
            if session.forgotten:
                kept[WHOLE + place.key] = json.dumps(session.stored(), ensure_ascii=False), ends_at
            if session.affect:
                mood = json.dumps(session.affect_shown(session.affect.ts), ensure_ascii=False)
                kept[place.affect_key] = mood, session.affect.decay_at
        former = {*gone, *sessions}
        stale = sorted({name for one in former for name in (one.key, WHOLE + one.key, one.affect_key)} - kept.keys())
        own = [slot.progress, slot.quiet, slot.index, slot.total]
        keys = [*own, *(slot.prefix + name for name in (*kept, *stale))]
        arguments: list[str | int] = [len(progress)]
        for stream, (before, after) in progress.items():
            arguments += [str(stream), before, after]
        for blob, ends_at in kept.values():
            gone_at = max(ends_at, self._now()) + GRACE
            arguments += [blob, int(gone_at.timestamp() * 1000)]
        arguments += ["", 0] * len(stale)
        arguments += [int(self._now().timestamp() * 1000), slot.prefix]
        if not await self._save(keys=keys, args=arguments):
            raise OtherWorker("another worker applied these events, or a rebuild holds them back")

    @asynccontextmanager
    async def session(self, streams: Sequence[StreamId]) -> AsyncIterator[RedisSession]:
        async with self.writing, self._mended():
            stopped = await self._stopped_in([self.slots.of(stream) for stream in streams])
            wanted = [stream for stream in streams if stream not in stopped]
            progress = await self.progress_of(wanted)
            await self._forget_all({self.slots.of(stream) for stream, seq in progress.items() if not seq})
            session = RedisSession(self, progress)
            yield session
            await session.end()

    async def _forget_all(self, slots: Collection[Slot]) -> None:
        """Delete the sessions and affects whose progress is lost: their turns would be applied twice.

        They are looked for by their names too, because the index may be lost as well.
        """
        for slot in slots:
            if await self._redis.exists(slot.progress):
                continue
            indexed = [slot.prefix + name for name in await self._indexed(slot)]
            await self._forget(keys=[slot.progress, slot.total, slot.index, *indexed])
            for begin in OWN_KEYS:
                async for name in self._redis.scan_iter(match=f"{slot.prefix}{begin}*", count=1000):
                    [blob] = await self._redis.mget([name])
                    if blob is not None and _is_own(blob):
                        await self._forget(keys=[slot.progress, name])

    @asynccontextmanager
    async def _mended(self) -> AsyncIterator[None]:
        """Deletes keys of ours that are of another type: they, and all that follows from them, are rebuilt."""
        try:
            yield
        except ResponseError as error:
            if WRONG_TYPE in str(error):
                for slot in self.slots.every:
                    own = [slot.progress, slot.total, slot.index, slot.stopped, slot.skipped, slot.quiet]
                    await self._mend(keys=own)
            raise

    async def progress(self, stream: StreamId) -> int:
        return (await self.progress_of([stream]))[stream]

    async def ping(self) -> None:
        """Return if Redis answers."""
        await self._redis.ping()

    async def progress_of(self, streams: Sequence[StreamId]) -> Mapping[StreamId, int]:
        parts = self.slots.grouped(streams, lambda stream: stream)

        async def read() -> Sequence[Sequence[bytes | str | None]]:
            async with self._mended():
                return await asyncio.gather(
                    *(self._redis.hmget(slot.progress, list(map(str, theirs))) for slot, theirs in parts.items())
                )

        try:
            known = await read()
        except ResponseError as error:
            if WRONG_TYPE not in str(error):
                raise
            known = await read()  # There is none since it was mended: everything is applied again.
        found = zip(parts.values(), known, strict=True)
        return {stream: int(seq or 0) for theirs, values in found for stream, seq in zip(theirs, values, strict=True)}

    async def all_progress(self) -> Mapping[StreamId, int]:
        known = await asyncio.gather(*(self._redis.hgetall(slot.progress) for slot in self.slots.every))
        return {_stream(name): int(seq) for one in known for name, seq in one.items()}

    async def lags(self, log: EventLog) -> bool:
        return any([bool(batch) async for batch in self.lagging(log)])

    async def _differs(self, log: EventLog) -> bool:
        """Whether it may lag. After the database was rolled back, more is applied than the log has."""
        if self._log_size is None:
            return True
        # The total first: events applied in between can only make the log look longer.
        totals = await asyncio.gather(
            *(self._total(keys=[one.progress, one.index, one.total]) for one in self.slots.every)
        )
        try:
            aside = [await log.head(stream) - await self.progress(stream) for stream in await self.stopped()]
        except TamperedEvent:
            return True
        return sum(map(int, totals)) + sum(aside) != await self._log_size()

    async def lagging(self, log: EventLog) -> AsyncIterator[Sequence[Lag]]:
        async with self._mended():
            if not await self._differs(log):
                return
        stopped, headless = await self.stopped(), dict(await self.all_progress())
        async for heads in log.heads():
            for head in heads:
                headless.pop(head.stream, None)
            yield [one for one in await self._compared(heads) if one.events and one.stream not in stopped]
        yield [Lag(stream, seq, 0) for stream, seq in headless.items() if seq and stream not in stopped]

    async def _compared(self, heads: Sequence[Head]) -> Sequence[Lag]:
        known = await self.progress_of([head.stream for head in heads])
        return [Lag(head.stream, known[head.stream], head.seq) for head in heads]

    async def stop(self, stream: StreamId, seq: int, reason: str) -> None:
        await self._redis.hset(self.slots.of(stream).stopped, str(stream), f"{seq} {reason}")

    async def stopped(self) -> Mapping[StreamId, Stop]:
        return await self._stopped_in(self.slots.every)

    async def _stopped_in(self, slots: Collection[Slot]) -> Mapping[StreamId, Stop]:
        found = await asyncio.gather(*(self._redis.hgetall(slot.stopped) for slot in set(slots)))
        return {_stream(name): _stop(_text(value)) for one in found for name, value in one.items()}

    async def resume(self, streams: Collection[StreamId] | None = None) -> None:
        if streams is None:
            await self._delete([slot.stopped for slot in self.slots.every])
            return
        for slot, theirs in self.slots.grouped(streams, lambda stream: stream).items():
            await self._redis.hdel(slot.stopped, *map(str, theirs))

    async def skip(self, event: Skipped) -> bool:
        slot = self.slots.of(event.stream)
        keys = [slot.progress, slot.stopped, slot.skipped, slot.total, slot.index]
        about = {"event_id": str(event.event_id), "type": event.type, "reason": event.reason, "by": event.by}
        record = json.dumps({"stream": str(event.stream), "seq": event.seq, "at": event.at.isoformat(), **about})
        return bool(await self._skip(keys=keys, args=[str(event.stream), event.seq, record]))

    async def skipped(self, limit: int = 100) -> Sequence[Skipped]:
        """The newest first."""
        last = limit - 1 if limit > 0 else -1
        found: Any = await asyncio.gather(*(self._redis.lrange(one.skipped, 0, last) for one in self.slots.every))
        every = [_skipped(json.loads(record)) for records in found for record in records]
        every.sort(key=lambda one: one.at, reverse=True)
        return every[:limit] if limit > 0 else every

    async def count_skipped(self) -> int:
        return sum(await asyncio.gather(*(self._redis.llen(slot.skipped) for slot in self.slots.every)))

    async def keys_of(self, stream: StreamId) -> Sequence[str]:
        """The session keys of one stream, without the prefix."""
        theirs = SessionPlace.keys_begin(stream)
        return [name for name in _sessions(await self._indexed(self.slots.of(stream))) if name.startswith(theirs)]

    async def places_of(self, stream: StreamId) -> Sequence[SessionPlace]:
        """The places in one stream that have sessions."""
        return [SessionPlace.of_key(stream, name) for name in await self.keys_of(stream)]

    async def keys(self) -> Sequence[str]:
        """The keys of all sessions and affects, including deleted ones, without the prefix."""
        return sorted({name for slot in self.slots.every for name in _sessions(await self._indexed(slot))})

    async def _indexed(self, slot: Slot) -> Sequence[str]:
        """All keys of sessions in this part, from the store's own index: others may use this Redis too."""
        found: Any = await self._redis.zrange(slot.index, 0, -1)
        return [_text(name) for name in found if name]

    async def blobs(self) -> Mapping[str, str]:
        """All readable sessions and affects, as readers see them, by key."""
        stored: dict[str, str] = {}
        for slot in self.slots.every:
            names = _sessions(await self._indexed(slot))
            values = await self._redis.mget([slot.prefix + name for name in names]) if names else []
            stored |= {name: _text(value) for name, value in zip(names, values, strict=True) if value is not None}
        now = self._now()
        return {name: blob for name, blob in stored.items() if not _over(blob, now)}

    async def every_key(self, slot: Slot) -> Sequence[str]:
        """The existing keys of sessions and progress in this part."""
        own = (slot.progress, slot.stopped, slot.index, slot.total, slot.skipped)
        existing = [name for name in own if await self._redis.exists(name)]
        return [*existing, *(slot.prefix + name for name in await self._indexed(slot))]

    async def drop(self) -> None:
        """Delete everything in this store."""
        for slot in self.slots.every:
            await self._delete(await self.every_key(slot))

    async def _delete(self, names: Sequence[str]) -> None:
        if names:
            await self._redis.delete(*names)


def _sessions(names: Sequence[str]) -> Sequence[str]:
    """The names of sessions and affects, whether complete or as shown, each once and in order."""
    return sorted({name.removeprefix(WHOLE) for name in names})


def _session(place: SessionPlace, blob: bytes | str, affect: bytes | str | None) -> Session:
    """TamperedRow if they are not what `_save_part` wrote."""
    try:
        session = Session.from_stored(read_json(blob))
        return replace(session, affect=Affect.from_dict(read_json(affect))) if affect is not None else session
    except UNREADABLE as error:
        raise TamperedRow(NAME, SESSIONS, {"key": place.key}) from error


def _decoded(blob: bytes | str) -> Session | Affect:
    """One of `UNREADABLE` if it is neither."""
    found = read_json(blob)
    return Affect.from_dict(found) if AFFECT in found else Session.from_stored(found)


def _is_own(blob: bytes | str) -> bool:
    """Whether it is a session or an affect of ours: others may use such names, too."""
    try:
        _decoded(blob)
    except UNREADABLE:
        return False
    return True


def _over(stored: str, now: datetime) -> bool:
    """Whether a session or an affect has expired. What cannot be read is shown as it is."""
    try:
        found = _decoded(stored)
        return found.decay_at < now if isinstance(found, Affect) else found.expired(now)
    except UNREADABLE:
        return False


def _text(value: bytes | str) -> str:
    return value.decode() if isinstance(value, bytes) else value


def _stream(name: bytes | str) -> StreamId:
    tenant, _, stream = _text(name).partition("/")
    return StreamId(tenant, stream)


def _stop(value: str) -> Stop:
    seq, _, reason = value.removeprefix("seq ").partition(" ")
    return Stop(int(seq.rstrip(":")), reason)


def _skipped(fields: Mapping[str, Any]) -> Skipped:
    event_id, at = UUID(fields["event_id"]), datetime.fromisoformat(fields["at"])
    about = (fields["type"], fields["reason"], at, fields["by"])
    return Skipped(_stream(fields["stream"]), fields["seq"], event_id, *about)
