"""Limits on concurrent reads and writes per caller (design §7)."""

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass
from math import inf

from mnemolog.domain.errors import InvalidInput, TooManyRequests
from mnemolog.projections.reads.moment import Moment

# Of the twenty connections for readers.
RUNNING = 12
# Two groups of appends. All of them are decided at once, and another caller's write that comes then waits for them.
WRITING = 128
# Of the reads and of the writes of each caller while others ask, too: enough to keep the process busy. One processor
# serves all of them, so beside a dozen reads of somebody else another one would take a dozen times as long.
SHARING = 3
# Who asked so lately, in seconds, finds its share free when it asks again.
LATELY = 10.0

# Who has a turn to write, which covers the writes that belong to it.
_writer = ContextVar["Caller | None"]("writer", default=None)


@dataclass(frozen=True, slots=True)
class ReadLimits:
    """The settings for reads: default and maximum deadline in seconds, and how many a caller may have open.

    `reads` limits all of a caller's reads; `waiting` those that wait for a write; `as_of` those as of a moment.
    """

    deadline: float
    longest: float
    reads: int
    waiting: int
    as_of: int

    def require(self, moment: Moment) -> None:
        """InvalidInput for a deadline above the maximum."""
        if moment.deadline is not None and moment.deadline > self.longest:
            raise InvalidInput(
                f"{moment.deadline:g} seconds is above the maximum",
                field="deadline",
                fix=f"give at most {self.longest:g}, or raise the setting `max_deadline`",
            )


class Turns:
    """At most `share` at a time, in the order in which they came."""

    def __init__(self, share: Callable[[], int]) -> None:
        self._share, self._running = share, 0
        self._queue: deque[asyncio.Future[None]] = deque()

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        await self._take()
        try:
            yield
        finally:
            self._give_back()

    async def _take(self) -> None:
        if self._running < self._share() and all(place.done() for place in self._queue):
            self._running += 1
            return
        place = asyncio.get_running_loop().create_future()
        self._queue.append(place)
        try:
            await place
        except asyncio.CancelledError:
            if place.cancelled():
                self._queue.remove(place)
            else:  # Its turn came together with the cancellation.
                self._give_back()
            raise

    def _give_back(self) -> None:
        self._running -= 1
        for place in [place for place in self._queue if not place.done()]:
            if self._running >= self._share():
                break
            self._queue.remove(place)
            self._running += 1
            place.set_result(None)


class Caller:
    """The reads and writes of one caller. A read that waits for a write counts, but holds no connection.

    `alone` says whether no other caller asks at the moment.
    """

    def __init__(self, limits: ReadLimits, alone: Callable[[], bool]) -> None:
        self._limits = limits
        self._open = self._waiting = self._as_of = self._writes = 0
        self._last = -inf
        self._reading = Turns(lambda: RUNNING if alone() else SHARING)
        self._writing = Turns(lambda: WRITING if alone() else SHARING)

    @property
    def active(self) -> bool:
        """Whether it reads or writes, or did so lately."""
        return self._open + self._writes > 0 or time.monotonic() - self._last < LATELY

    @asynccontextmanager
    async def read(self, moment: Moment) -> AsyncIterator[None]:
        """Covers one read from start to end; TooManyRequests, at once, if the caller has too many open."""
        limits, waits, earlier = self._limits, moment.after is not None, moment.as_of is not None
        self._require(self._open, limits.reads, "", "max_reads")
        if waits:
            self._require(self._waiting, limits.waiting, "after", "max_waiting_reads")
        if earlier:
            self._require(self._as_of, limits.as_of, "as_of", "max_as_of_reads")
        self._open, self._waiting, self._as_of = self._open + 1, self._waiting + waits, self._as_of + earlier
        try:
            yield
        finally:
            self._open, self._waiting, self._as_of = self._open - 1, self._waiting - waits, self._as_of - earlier
            self._last = time.monotonic()

    def turn(self) -> AbstractAsyncContextManager[None]:
        """While a connection is held: a caller's reads take turns, so that connections remain for others."""
        return self._reading.turn()

    @asynccontextmanager
    async def write(self) -> AsyncIterator[None]:
        """While a write is prepared, decided and appended, in one turn. There are fewer while others ask, too."""
        if _writer.get() is self:
            yield
            return
        self._writes += 1
        try:
            async with self._writing.turn():
                token = _writer.set(self)
                try:
                    yield
                finally:
                    _writer.reset(token)
        finally:
            self._writes -= 1
            self._last = time.monotonic()

    def _require(self, count: int, most: int, field: str, setting: str) -> None:
        if count >= most:
            what = {"": "reads", "after": "reads that wait for a write", "as_of": "reads of an earlier moment"}[field]
            raise TooManyRequests(
                f"this caller has {count:,} {what} open already",
                field=field,
                fix=f"wait for some of them to finish, then retry; the limit is the setting `{setting}`",
            )


class Unlimited(Caller):
    """For the engine's own work, and for its owner, who takes nothing away from other callers."""

    def __init__(self) -> None:
        pass

    @asynccontextmanager
    async def read(self, moment: Moment) -> AsyncIterator[None]:
        yield

    def turn(self) -> AbstractAsyncContextManager[None]:
        return nullcontext()

    @asynccontextmanager
    async def write(self) -> AsyncIterator[None]:
        yield


class Callers:
    """Each caller, by tenant and name; nothing is kept for those that have not asked lately."""

    def __init__(self, limits: ReadLimits) -> None:
        self.limits = limits
        self._callers: dict[tuple[str, str], Caller] = {}

    def of(self, tenant: str, name: str) -> Caller:
        """Two keys with the same name are one caller."""
        found = self._callers.get((tenant, name))
        if found is None:
            self._callers = {key: caller for key, caller in self._callers.items() if caller.active}
            found = self._callers[tenant, name] = Caller(self.limits, self._alone)
        return found

    def _alone(self) -> bool:
        """Whether at most one caller asks at the moment."""
        return sum(caller.active for caller in self._callers.values()) <= 1
