"""Limits on concurrent reads per caller (design §7)."""

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from math import inf

from mnemolog.domain.errors import InvalidInput, TooManyRequests
from mnemolog.projections.reads.moment import Moment

# Of the twenty connections for readers.
RUNNING = 12
# Of each caller while others read, too: enough to keep the process busy. One processor serves all of them, so beside a
# dozen reads of somebody else another one would take a dozen times as long.
SHARING = 3
# Who read so lately, in seconds, finds its share free when it reads again.
LATELY = 10.0


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


class CallerReads:
    """The reads of one caller. A read that waits for a write counts, but holds no connection.

    `share` says how many may hold one at the moment.
    """

    def __init__(self, limits: ReadLimits, share: Callable[[], int]) -> None:
        self._limits, self._share = limits, share
        self._open = self._waiting = self._as_of = self._running = 0
        self._last = -inf
        self._queue: deque[asyncio.Future[None]] = deque()

    @property
    def active(self) -> bool:
        """Whether it reads, or did so lately."""
        return self._open > 0 or time.monotonic() - self._last < LATELY

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

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """While a connection is held: a caller's reads take turns, so that connections remain for others."""
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
        waiting = [place for place in self._queue if not place.done()]
        for place in waiting[: max(0, self._share() - self._running)]:
            self._queue.remove(place)
            self._running += 1
            place.set_result(None)

    def _require(self, count: int, most: int, field: str, setting: str) -> None:
        if count >= most:
            what = {"": "reads", "after": "reads that wait for a write", "as_of": "reads of an earlier moment"}[field]
            raise TooManyRequests(
                f"this caller has {count:,} {what} open already",
                field=field,
                fix=f"wait for some of them to finish, then retry; the limit is the setting `{setting}`",
            )


class Unlimited(CallerReads):
    """For the owner of the engine, who takes nothing away from other callers."""

    def __init__(self) -> None:
        pass

    @asynccontextmanager
    async def read(self, moment: Moment) -> AsyncIterator[None]:
        yield

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        yield


class Callers:
    """The reads of each caller, by tenant and name; nothing is kept for callers that have not read lately."""

    def __init__(self, limits: ReadLimits) -> None:
        self.limits = limits
        self._callers: dict[tuple[str, str], CallerReads] = {}

    def of(self, tenant: str, name: str) -> CallerReads:
        """Two keys with the same name are one caller."""
        found = self._callers.get((tenant, name))
        if found is None:
            self._callers = {key: caller for key, caller in self._callers.items() if caller.active}
            found = self._callers[tenant, name] = CallerReads(self.limits, self._share)
        return found

    def _share(self) -> int:
        """How many reads of one caller may run at the moment."""
        active = sum(caller.active for caller in self._callers.values())
        return RUNNING if active <= 1 else SHARING
