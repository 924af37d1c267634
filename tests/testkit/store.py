"""A projection's store in memory: rows and progress change together or not at all, as the Store protocol asks."""

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager

from mnemolog.events.envelope import Recorded, StreamId
from mnemolog.events.log import EventLog
from mnemolog.projections.kinds import Need
from mnemolog.projections.projector import Lag, Skipped, Stop


class Unreachable(Exception):
    """The store cannot be reached for the moment."""


class MemorySession:
    """One step over some streams. What it writes is seen only once the session ends well."""

    def __init__(self, store: "MemoryStore", progress: Mapping[StreamId, int]) -> None:
        self._store, self._progress = store, progress
        self.written: list[Recorded] = []
        self.forgotten: list[StreamId] = []
        self.moved: dict[StreamId, int] = {}

    @property
    def progress(self) -> Mapping[StreamId, int]:
        return self._progress

    async def apply(self, events: Sequence[Recorded], reached: Mapping[StreamId, int] | None = None) -> None:
        for event in events:
            self.written.append(event)
            self._store.applying(event)
        self.moved.update(reached or {})

    async def reset(self, stream: StreamId) -> Collection[int]:
        self.forgotten.append(stream)
        return {event.seq for event in self._store.passed_over if event.stream == stream}

    async def move(self, stream: StreamId, seq: int) -> None:
        self.moved[stream] = seq


class MemoryStore:
    """Implements `mnemolog.projections.projector.Store`. `rows` are the events of each stream as they were applied.

    `applying` is called for each event and may raise, as a projector that meets poison does.
    """

    name = "memory"
    version = 1
    transient: tuple[type[Exception], ...] = (Unreachable,)

    def __init__(self, applying: Callable[[Recorded], None] = lambda event: None) -> None:
        self.applying = applying
        self.needs: dict[str, Need] = {}
        self.rows: dict[StreamId, list[Recorded]] = {}
        self._progress: dict[StreamId, int] = {}
        self._stopped: dict[StreamId, Stop] = {}
        self.passed_over: list[Skipped] = []
        self._lock = asyncio.Lock()

    def need(self, event_type: str) -> Need:
        return self.needs.get(event_type, Need.WHOLE)

    @asynccontextmanager
    async def session(self, streams: Sequence[StreamId]) -> AsyncIterator[MemorySession]:
        async with self._lock:
            progress = {one: self._progress.get(one, 0) for one in streams if one not in self._stopped}
            session = MemorySession(self, progress)
            yield session
            for stream in session.forgotten:
                self.rows[stream], self._progress[stream] = [], 0
                self._stopped.pop(stream, None)
            for event in session.written:
                self.rows.setdefault(event.stream, []).append(event)
                self._progress[event.stream] = event.seq
            self._progress.update(session.moved)

    async def progress(self, stream: StreamId) -> int:
        return (await self.progress_of([stream]))[stream]

    async def progress_of(self, streams: Sequence[StreamId]) -> Mapping[StreamId, int]:
        return {stream: self._progress.get(stream, 0) for stream in streams}

    async def all_progress(self) -> Mapping[StreamId, int]:
        return dict(self._progress)

    async def lags(self, log: EventLog) -> bool:
        return any([bool(batch) async for batch in self.lagging(log)])

    async def lagging(self, log: EventLog) -> AsyncIterator[Sequence[Lag]]:
        async for heads in log.heads():
            compared = [Lag(head.stream, self._progress.get(head.stream, 0), head.seq) for head in heads]
            yield [one for one in compared if one.events > 0 and one.stream not in self._stopped]

    async def stop(self, stream: StreamId, seq: int, reason: str) -> None:
        self._stopped[stream] = Stop(seq, reason)

    async def stopped(self) -> Mapping[StreamId, Stop]:
        return dict(self._stopped)

    async def resume(self, streams: Collection[StreamId] | None = None) -> None:
        for stream in list(self._stopped) if streams is None else streams:
            self._stopped.pop(stream, None)

    async def skip(self, event: Skipped) -> bool:
        if self._progress.get(event.stream, 0) != event.seq - 1:
            return False
        self._progress[event.stream] = event.seq
        self._stopped.pop(event.stream, None)
        self.passed_over.insert(0, event)
        return True

    async def skipped(self, limit: int = 100) -> Sequence[Skipped]:
        return self.passed_over[:limit]

    async def count_skipped(self) -> int:
        return len(self.passed_over)
