"""Reads wait until projections show a write, or fail with the reason (X10).

Who waits holds no connection. One loop asks for the progress of all projections in Postgres and all streams that are
waited for, in one query at a time, however many wait; each other store has a loop of its own.
"""

import asyncio
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil

from sqlalchemy.ext.asyncio import AsyncEngine

from mnemolog.adapters.cancellation import set_within
from mnemolog.adapters.deadline import extend_read
from mnemolog.adapters.postgres.pauses import paused
from mnemolog.adapters.postgres.store import PostgresStore, progress_in, progress_written
from mnemolog.domain.errors import MnemologError, ProjectionPaused, ProjectionPoisoned, ReadTimeout
from mnemolog.events.chain import gone
from mnemolog.events.envelope import Position, StreamId
from mnemolog.events.log import EventLog
from mnemolog.projections.projector import Store

POLL_SECONDS = 0.002
SLOWEST_POLL_SECONDS = 0.05
# An engine that stops does not wait longer for a server that hangs.
LONGEST_QUERY_SECONDS = 5.0


class Waits:
    """A wait has a deadline in seconds. Without one it has `deadline`; if the projections advance within it, in this
    stream or in others before it, twice as long again, and so on up to `longest`: what was imported takes its time, and
    what stands still is soon reported.
    """

    def __init__(
        self, stores: Mapping[str, Store], log: EventLog, engine: AsyncEngine, deadline: float, longest: float
    ) -> None:
        postgres: Mapping[str, Store] = {
            name: store for name, store in stores.items() if isinstance(store, PostgresStore)
        }
        groups = [postgres, *({name: store} for name, store in stores.items() if name not in postgres)]
        self._watches = [Watch(group, engine) for group in groups if group]
        self._names = list(stores)
        self._log, self._deadline, self._longest = log, deadline, longest

    async def aclose(self) -> None:
        """End the polling: a running query holds a connection, which would be lost to its pool."""
        for watch in self._watches:
            await watch.aclose()

    @property
    def open(self) -> int:
        """How many reads are waiting."""
        return sum(watch.waiting for watch in self._watches)

    async def shown(self, stream: StreamId, names: Collection[str]) -> int:
        """The last seq of a stream that all of these projections, which are in Postgres, show now."""
        stores = [store for watch in self._watches for name, store in watch.stores.items() if name in names]
        reached = await progress_in([one for one in stores if isinstance(one, PostgresStore)], [stream])
        return min(progress[stream] for progress in reached.values())

    async def held_up(self, position: Position) -> Mapping[str, MnemologError]:
        """Wait until all projections show the write; returns why not for those that miss the deadline."""
        waits = [self._why_not(position, name) for name in self._names]
        found = zip(self._names, await asyncio.gather(*waits), strict=True)
        return {name: error for name, error in found if error}

    async def _why_not(self, position: Position, name: str) -> MnemologError | None:
        try:
            await self.until(position, [name])
        except (ReadTimeout, ProjectionPoisoned) as error:
            return error
        return None

    async def until(self, position: Position, names: Collection[str], deadline: float | None = None) -> None:
        """Return once all of these projections show the write; ReadTimeout after `deadline` seconds.

        ProjectionPaused and ProjectionPoisoned, at once, if one of them is not applying events.
        """
        await self._until(position, names, deadline)
        # TamperedEvent if the log lost the write, which a projection may have applied before.
        if (head := await self._log.head(position.stream)) < position.seq:
            raise gone(position.stream, head + 1)

    async def until_current(self, stream: StreamId, names: Collection[str], deadline: float | None = None) -> None:
        """Like `until`, for everything in the stream now: every acknowledged write to it, by any process."""
        if head := await self._log.head(stream):
            await self._until(Position(stream, head), names, deadline)

    async def until_logged(self, position: Position, deadline: float | None = None) -> None:
        """Like `until`, for reads of the log itself: return once the write is in it."""
        until, pause = time.monotonic() + (deadline or self._deadline), POLL_SECONDS
        while (head := await self._log.head(position.stream)) < position.seq:
            if (left := until - time.monotonic()) <= 0:
                raise _unwritten(position, head)
            await asyncio.sleep(min(pause, left))
            pause = min(2 * pause, SLOWEST_POLL_SECONDS)

    async def _until(self, position: Position, names: Collection[str], deadline: float | None) -> None:
        step = deadline or self._deadline
        until = (began := time.monotonic()) + step
        last = until if deadline else began + self._longest
        for watch in self._watches:
            if wanted := [name for name in names if name in watch.names]:
                while (wait := await watch.waited(position, wanted, until - time.monotonic())).behind:
                    if until >= last or not wait.advances:
                        raise await self._late(wait.behind[0], wait.reached[wait.behind[0]], position)
                    step = min(2 * step, last - until)
                    until += step
                    extend_read(step)

    async def _late(self, name: str, progress: int, position: Position) -> ReadTimeout:
        if position.seq > (head := await self._log.head(position.stream)):
            return _unwritten(position, head)
        return ReadTimeout(
            f"{name} is at seq {progress} of {position.stream}, not yet at {position.seq}",
            field="projection",
            fix="read again later, with a longer deadline, or with `eventual` consistency",
        )


@dataclass(eq=False, slots=True)
class Wait:
    """A waiting read: its projections, their progress when it began and now, and when to poll next.

    `writing` and `written` are the progress in all streams, counted when the wait became long and lately.
    """

    position: Position
    names: Collection[str]
    future: asyncio.Future[None]
    due: float
    found: Mapping[str, int] = field(default_factory=dict)
    reached: Mapping[str, int] = field(default_factory=dict)
    writing: Mapping[str, int] = field(default_factory=dict)
    written: Mapping[str, int] = field(default_factory=dict)
    pause: float = POLL_SECONDS

    @property
    def behind(self) -> list[str]:
        return [name for name in self.names if self.reached.get(name, -1) < self.position.seq]

    @property
    def advances(self) -> bool:
        """Whether each projection that is behind has applied something since it began."""
        return all(
            self.reached[name] > self.found[name] or self.written.get(name, 0) > self.writing.get(name, 0)
            for name in self.behind
        )

    def put_off(self, now: float) -> None:
        """Long waits are polled at the same time, so that one query serves them all."""
        self.due = now + self.pause
        self.pause = min(2 * self.pause, SLOWEST_POLL_SECONDS)
        if self.long:
            self.due = ceil(self.due / SLOWEST_POLL_SECONDS) * SLOWEST_POLL_SECONDS

    @property
    def long(self) -> bool:
        return self.pause == SLOWEST_POLL_SECONDS


class Watch:
    """The waits for some projections: those in Postgres, or one elsewhere. Its loop runs while anyone waits."""

    def __init__(self, stores: Mapping[str, Store], engine: AsyncEngine) -> None:
        self.stores, self._engine = stores, engine
        self._waits: set[Wait] = set()
        self._changed = asyncio.Event()
        self._loop: asyncio.Task[None] | None = None
        self._asked_why = float("-inf")

    @property
    def names(self) -> Collection[str]:
        return self.stores.keys()

    @property
    def waiting(self) -> int:
        return len(self._waits)

    async def waited(self, position: Position, names: Collection[str], seconds: float) -> Wait:
        """A wait of so many seconds at most, which ends once all are there; or the reason why one is stuck.

        They are polled at least once, however short the time.
        """
        wait = Wait(position, names, asyncio.get_running_loop().create_future(), time.monotonic())
        self._waits.add(wait)
        self._changed.set()
        if self._loop is None or self._loop.done():
            self._loop = asyncio.create_task(self._run())
        try:
            done, _ = await asyncio.wait([wait.future], timeout=max(seconds, 0))
            if not done and not wait.reached:
                await self._ask([wait])
            if wait.future.done():
                wait.future.result()
            return wait
        finally:
            self._waits.discard(wait)
            if not wait.future.cancel() and not wait.future.cancelled():
                wait.future.exception()  # So that asyncio does not report it as never retrieved.
            self._changed.set()

    async def aclose(self) -> None:
        """Ends the loop, after its running query, or in the middle of one that takes too long."""
        self._waits.clear()
        self._changed.set()
        if self._loop:
            _, hanging = await asyncio.wait([self._loop], timeout=LONGEST_QUERY_SECONDS)
            if hanging:
                self._loop.cancel()
                await asyncio.wait(hanging)

    async def _run(self) -> None:
        while self._waits:
            self._changed.clear()
            now = time.monotonic()
            due = [wait for wait in self._waits if wait.due <= now]
            try:
                await self._ask(due)
            except Exception as error:  # noqa: BLE001  Any error is passed on to the waiting reads.
                for wait in due:
                    if not wait.future.done():
                        wait.future.set_exception(error)
            pending = [wait.due for wait in self._waits if not wait.future.done()]
            pause = max(POLL_SECONDS, min(pending, default=now) - time.monotonic())
            await set_within(self._changed, pause)

    async def _ask(self, due: Sequence[Wait]) -> None:
        """One query for all that are due, and occasionally one for what could be stuck."""
        if not due:
            return
        progress = await self._progress(due)
        now = time.monotonic()
        for wait in due:
            if wait.future.done():
                continue
            wait.reached = {name: progress[name][wait.position.stream] for name in wait.names}
            wait.found = wait.found or wait.reached
            if wait.behind:
                wait.put_off(now)
            else:
                wait.future.set_result(None)
        # Nearly every wait ends before this; only a long one asks why.
        long = [wait for wait in due if wait.long and not wait.future.done()]
        if long and now >= self._asked_why + SLOWEST_POLL_SECONDS:
            self._asked_why = now
            await self._tell_why(long)

    async def _progress(self, due: Sequence[Wait]) -> Mapping[str, Mapping[StreamId, int]]:
        asked = {name for wait in due for name in wait.names}
        streams = list({wait.position.stream for wait in due})
        stores = {name: store for name, store in self.stores.items() if name in asked}
        if postgres := [store for store in stores.values() if isinstance(store, PostgresStore)]:
            return await progress_in(postgres, streams)
        return {name: await store.progress_of(streams) for name, store in stores.items()}

    async def _tell_why(self, waits: Sequence[Wait]) -> None:
        pauses = await paused(self._engine)
        if postgres := [store for store in self.stores.values() if isinstance(store, PostgresStore)]:
            written = await progress_written(postgres)
            for wait in waits:
                wait.writing, wait.written = wait.writing or written, written
        for name in dict.fromkeys(name for wait in waits for name in wait.behind):
            pause = pauses.get(name)
            stopped = {} if pause else await self.stores[name].stopped()
            for wait in waits:
                stop, stream = stopped.get(wait.position.stream), wait.position.stream
                if wait.future.done() or name not in wait.behind or not (pause or stop):
                    continue
                if pause:
                    wait.future.set_exception(
                        ProjectionPaused(
                            f"{name} was paused by {pause.by} at {pause.at:%Y-%m-%d %H:%M:%SZ}",
                            field="projection",
                            fix=f"run `mnemolog projection resume {name}`, or read with `eventual` consistency",
                            projection=name,
                        )
                    )
                elif stop:
                    reason = f" ({stop.reason})" if stop.reason else ""
                    wait.future.set_exception(_stopped(name, stream, stop.seq, reason))


def _unwritten(position: Position, head: int) -> ReadTimeout:
    return ReadTimeout(
        f"{position.stream} ends at seq {head}: there was no {position.seq} in time",
        field="after",
        fix="pass the token of a receipt",
    )


def _stopped(name: str, stream: StreamId, seq: int, reason: str) -> ProjectionPoisoned:
    return ProjectionPoisoned(
        f"{name} stopped in {stream}: it cannot apply the event at seq {seq}{reason}",
        field="projection",
        fix=f"see `mnemolog projection status`, then run `mnemolog projection retry {name}`; a read with `eventual` "
        "consistency returns what was applied before",
        projection=name,
    )
