"""Appends that arrive together, written together: a queue in front of one transaction a group (design §3).

A group is whatever waited while the group before it was written. So a lone writer waits for nobody, and many writers
share the cost of a commit. Streams keep to one lane each, which keeps the order within a stream.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from zlib import crc32

from mnemolog.domain.errors import AppendTimeout, Overloaded
from mnemolog.events.log import Append, Outcome

LANES = 2
LARGEST_GROUP = 256
ROOM = 4096

Unreachable = Callable[[Exception], bool]
Write = Callable[[Sequence[Append]], Awaitable[Sequence[Outcome]]]


class Entry:
    """An append that waits, and the future of its outcome."""

    __slots__ = ("append", "outcome", "started")

    def __init__(self, append: Append) -> None:
        self.append, self.started = append, False
        self.outcome: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()


class Lane:
    """Some of the streams: one group at a time."""

    def __init__(self, write: Write, unreachable: Unreachable, room: int) -> None:
        self._write, self._unreachable = write, unreachable
        self._waiting: deque[Entry] = deque()
        self._room = asyncio.Semaphore(room)
        self._task: asyncio.Task[None] | None = None

    async def append(self, append: Append, deadline: float | None) -> Outcome:
        entry: Entry | None = None
        try:
            async with asyncio.timeout(deadline), self._room:
                entry = Entry(append)
                self._put(entry)
                return await self._outcome(entry)
        except TimeoutError as error:
            raise _too_late(entry, deadline) from error

    async def _outcome(self, entry: Entry) -> Outcome:
        try:
            return await asyncio.shield(entry.outcome)
        except asyncio.CancelledError:
            if not entry.started:
                entry.outcome.cancel()  # Then it is never written.
            raise

    def _put(self, entry: Entry) -> None:
        self._waiting.append(entry)
        if self._task is None:
            self._task = asyncio.create_task(self._drain())

    async def _drain(self) -> None:
        try:
            while group := self._next():
                await self._settle(group)
        finally:
            self._task = None

    def _next(self) -> list[Entry]:
        group: list[Entry] = []
        while self._waiting and len(group) < LARGEST_GROUP:
            entry = self._waiting.popleft()
            if not entry.outcome.done():
                entry.started = True
                group.append(entry)
        return group

    async def _settle(self, group: Sequence[Entry]) -> None:
        try:
            outcomes = await self._write([entry.append for entry in group])
        except Exception as error:  # noqa: BLE001  Whatever one of them met must not fail its neighbours.
            if len(group) == 1 or self._unreachable(error):
                _fail(group, error)
                return
            for entry in group:
                await self._settle([entry])
        except asyncio.CancelledError:
            for entry in group:
                entry.outcome.cancel()
            raise
        else:
            for entry, outcome in zip(group, outcomes, strict=True):
                if not entry.outcome.done():
                    entry.outcome.set_result(outcome)


class Appender:
    """Back-pressure: once `room` appends of a lane wait, callers wait until there is room or their deadline.

    `unreachable` tells the errors of `write` that mean that there is no server: these fail the whole group.
    """

    def __init__(self, write: Write, unreachable: Unreachable, lanes: int = LANES, room: int = ROOM) -> None:
        self._lanes = [Lane(write, unreachable, room) for _ in range(lanes)]

    async def append(self, appends: Sequence[Append], deadline: float | None = None) -> Sequence[Outcome]:
        """The outcome of each, in order. `deadline` in seconds; Overloaded and AppendTimeout say what was reached."""
        if len(appends) == 1:
            return [await self._lane(appends[0]).append(appends[0], deadline)]
        return await asyncio.gather(*(self._lane(append).append(append, deadline) for append in appends))

    def _lane(self, append: Append) -> Lane:
        return self._lanes[crc32(str(append.stream).encode()) % len(self._lanes)]


def _fail(group: Sequence[Entry], error: Exception) -> None:
    for entry in group:
        if not entry.outcome.done():
            entry.outcome.set_exception(error)


def _too_late(entry: Entry | None, deadline: float | None) -> Overloaded | AppendTimeout:
    if entry is None or not entry.started:
        return Overloaded(
            f"the log took nothing for {deadline} s: nothing was written", field="deadline", fix="try again later"
        )
    return AppendTimeout(
        f"the log did not confirm this write within {deadline} s: it may or may not be written",
        field="deadline",
        fix="send it again with the same idempotency key or turn id: that changes nothing if it was written",
    )
