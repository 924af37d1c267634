"""Limits on concurrent reads per caller (design §7)."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from mnemolog.domain.errors import InvalidInput, TooManyRequests
from mnemolog.projections.reads.moment import Moment

# Of the twenty connections for readers.
RUNNING = 12


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
    """The reads of one caller. A read that waits for a write counts, but holds no connection."""

    def __init__(self, limits: ReadLimits) -> None:
        self._limits = limits
        self._open = self._waiting = self._as_of = 0
        self._turns = asyncio.Semaphore(RUNNING)

    @property
    def idle(self) -> bool:
        return self._open == 0

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

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """While a connection is held: a caller's reads take turns, so that connections remain for others."""
        async with self._turns:
            yield

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
    """The reads of each caller, by tenant and name; nothing is kept for callers without open reads."""

    def __init__(self, limits: ReadLimits) -> None:
        self.limits = limits
        self._callers: dict[tuple[str, str], CallerReads] = {}

    def of(self, tenant: str, name: str) -> CallerReads:
        """Two keys with the same name are one caller."""
        found = self._callers.get((tenant, name))
        if found is None:
            self._callers = {key: caller for key, caller in self._callers.items() if not caller.idle}
            found = self._callers[tenant, name] = CallerReads(self.limits)
        return found
