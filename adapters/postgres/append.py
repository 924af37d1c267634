"""Batches concurrent appends: a queue in front of one transaction per group (design §3).

A group is whatever waited while the group before it was written. So a lone writer waits for nobody, and many writers
share the cost of a commit. Streams keep to one lane each, which keeps the order within a stream.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass
from typing import Protocol
from zlib import crc32

from mnemolog.domain.errors import AppendTimeout, Overloaded
from mnemolog.events.envelope import StreamId
from mnemolog.events.log import Append, Outcome

LANES = 2
# The statement that writes a batch joins its lists by nested loops: 10 to 15 ms for 64, and 110 ms for 256.
LARGEST_GROUP = 64
ROOM = 4096


@dataclass(frozen=True, slots=True)
class Fault:
    """An append that could not be written, and why: raised to its caller only."""

    error: Exception


@dataclass(frozen=True, slots=True)
class Held:
    """An append that waits for a locked stream. `doubtful`: it was sent, and may be written."""

    doubtful: bool = False


Settled = Outcome | Fault | Held


class Write(Protocol):
    """Writes a batch. `wait` for locked streams, or return them. `doubtful`: some appends may be written."""

    def __call__(
        self, appends: Sequence[Append], wait: bool = True, *, doubtful: bool = False
    ) -> Awaitable[Sequence[Settled]]: ...


class Entry:
    """A waiting append and the future of its outcome. `doubtful` until it is known whether it is written."""

    __slots__ = ("append", "doubtful", "outcome", "started")

    def __init__(self, append: Append) -> None:
        self.append, self.started, self.doubtful = append, False, False
        self.outcome: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()

    def settle(self, outcome: Settled) -> None:
        if isinstance(outcome, Held):
            self.doubtful = outcome.doubtful
        elif self.outcome.done():
            return
        elif isinstance(outcome, Fault):
            self.outcome.set_exception(outcome.error)
            self.outcome.exception()  # A caller that has given up does not ask, and asyncio would report that.
        else:
            self.outcome.set_result(outcome)


class Lane:
    """A share of the streams, one batch at a time. An append to a locked stream is set aside, and delays no other."""

    def __init__(self, write: Write, room: int) -> None:
        self._write = write
        self._waiting: deque[Entry] = deque()
        self._aside: dict[StreamId, deque[Entry]] = {}
        self._room = asyncio.Semaphore(room)
        self._tasks: dict[StreamId | None, asyncio.Task[None]] = {}

    async def append(self, append: Append, deadline: float | None) -> Outcome:
        entry: Entry | None = None
        try:
            async with asyncio.timeout(deadline), self._room:
                entry = Entry(append)
                self._queue(entry).append(entry)
                if entry.append.stream not in self._aside:
                    self._run(None, self._waiting, wait=False)
                try:
                    return await asyncio.shield(entry.outcome)
                except asyncio.CancelledError:
                    if not entry.started:
                        self._queue(entry).remove(entry)  # Then it is never written.
                    raise
        except TimeoutError as error:
            raise _too_late(entry, deadline) from error

    def _queue(self, entry: Entry) -> deque[Entry]:
        return self._aside.get(entry.append.stream, self._waiting)

    def _run(self, stream: StreamId | None, queue: deque[Entry], *, wait: bool) -> None:
        if stream not in self._tasks:
            self._tasks[stream] = asyncio.create_task(self._drain(stream, queue, wait=wait))

    async def _drain(self, stream: StreamId | None, queue: deque[Entry], *, wait: bool) -> None:
        try:
            while group := _next(queue):
                await self._settle(group, wait=wait)
        finally:
            del self._tasks[stream]
            if stream is not None:
                del self._aside[stream]

    async def _settle(self, group: Sequence[Entry], *, wait: bool) -> None:
        try:
            doubtful = any(entry.doubtful for entry in group)
            outcomes = await self._write([entry.append for entry in group], wait, doubtful=doubtful)
        except Exception as error:  # noqa: BLE001  Each caller gets its own outcome.
            outcomes = [Fault(error)] * len(group)
        except asyncio.CancelledError:
            for entry in group:
                entry.outcome.cancel()
            raise
        for entry, outcome in zip(group, outcomes, strict=True):
            entry.settle(outcome)
        self._set_aside([entry for entry, outcome in zip(group, outcomes, strict=True) if isinstance(outcome, Held)])

    def _set_aside(self, held: Sequence[Entry]) -> None:
        """Let a locked stream wait separately, in its original order."""
        for stream in {entry.append.stream for entry in held}:
            later = [entry for entry in self._waiting if entry.append.stream == stream]
            for entry in later:
                self._waiting.remove(entry)
            first = [entry for entry in held if entry.append.stream == stream]
            self._aside[stream] = deque([*first, *later])
            self._run(stream, self._aside[stream], wait=True)


def _next(queue: deque[Entry]) -> list[Entry]:
    group: list[Entry] = []
    while queue and len(group) < LARGEST_GROUP:
        entry = queue.popleft()
        entry.started = True
        group.append(entry)
    return group


class Appender:
    """Applies back-pressure: once `room` appends of a lane wait, callers wait for room until their deadline."""

    def __init__(self, write: Write, lanes: int = LANES, room: int = ROOM) -> None:
        self._lanes = [Lane(write, room) for _ in range(lanes)]

    async def append(self, appends: Sequence[Append], deadline: float | None = None) -> Sequence[Outcome]:
        """The outcome of each, in order. `deadline` in seconds; after it, Overloaded or AppendTimeout."""
        if len(appends) == 1:
            return [await self._lane(appends[0]).append(appends[0], deadline)]
        return await asyncio.gather(*(self._lane(append).append(append, deadline) for append in appends))

    def _lane(self, append: Append) -> Lane:
        return self._lanes[crc32(str(append.stream).encode()) % len(self._lanes)]


def _too_late(entry: Entry | None, deadline: float | None) -> Overloaded | AppendTimeout:
    if entry is None or not entry.started:
        return Overloaded(
            f"the write waited in the queue for {deadline:.3g} s and was not written",
            field="deadline",
            fix="try again later",
        )
    return AppendTimeout(
        f"the log did not confirm this write within {deadline:.3g} s; it may or may not have been written",
        field="deadline",
        fix="send it again with the same idempotency key or turn id, which is safe; if it happens again, run "
        "`mnemolog doctor`",
    )
