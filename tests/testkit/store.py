"""A projection's store in memory: rows and progress change together or not at all, as the Store protocol asks."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager

from mnemolog.events.envelope import Recorded, StreamId


class Unreachable(Exception):
    """The store cannot be reached for the moment."""


class MemorySession:
    """One step over some streams. What it writes is seen only once the session ends well."""

    def __init__(self, store: "MemoryStore", progress: Mapping[StreamId, int]) -> None:
        self._store, self._progress = store, progress
        self.written: list[Recorded] = []

    @property
    def progress(self) -> Mapping[StreamId, int]:
        return self._progress

    async def apply(self, events: Sequence[Recorded]) -> None:
        for event in events:
            self.written.append(event)
            self._store.applying(event)


class MemoryStore:
    """Implements `mnemolog.projections.projector.Store`. `rows` are the events of each stream as they were applied.

    `applying` is called for each event and may raise, as a projector that meets poison does.
    """

    name = "memory"
    transient: tuple[type[Exception], ...] = (Unreachable,)

    def __init__(self, applying: Callable[[Recorded], None] = lambda event: None) -> None:
        self.applying = applying
        self.rows: dict[StreamId, list[Recorded]] = {}
        self._progress: dict[StreamId, int] = {}
        self._stopped: dict[StreamId, str] = {}
        self._lock = asyncio.Lock()

    @asynccontextmanager
    async def session(self, streams: Sequence[StreamId]) -> AsyncIterator[MemorySession]:
        async with self._lock:
            progress = {one: self._progress.get(one, 0) for one in streams if one not in self._stopped}
            session = MemorySession(self, progress)
            yield session
            for event in session.written:
                self.rows.setdefault(event.stream, []).append(event)
                self._progress[event.stream] = event.seq

    async def progress(self, stream: StreamId) -> int:
        return self._progress.get(stream, 0)

    async def all_progress(self) -> Mapping[StreamId, int]:
        return dict(self._progress)

    async def stop(self, stream: StreamId, seq: int, reason: str) -> None:
        self._stopped[stream] = f"seq {seq}: {reason}"

    async def stopped(self) -> Mapping[StreamId, str]:
        return dict(self._stopped)

    async def resume(self) -> None:
        self._stopped.clear()
