"""Writers of one stream that got in each other's way take turns, and those that wait are decided on together."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Generic, TypeVar

from mnemolog.commands.decider import Command, Decider
from mnemolog.events.envelope import StreamId
from mnemolog.events.log import Outcome

C = TypeVar("C", bound=Command)

LARGEST_GROUP = 100


@dataclass(frozen=True, slots=True)
class Order(Generic[C]):
    """A command and when what it tells of happened."""

    command: C
    occurred_at: datetime


@dataclass(frozen=True, slots=True)
class Ticket:
    """An order that waits, and its outcome."""

    order: Order[Any]
    outcome: "asyncio.Future[Outcome]" = field(default_factory=lambda: asyncio.get_running_loop().create_future())


class TurnTaking:
    """A lock and a queue for each stream that several writers of this process want at once, and for no other."""

    def __init__(self) -> None:
        self._locks: dict[StreamId, asyncio.Lock] = {}
        self._users: Counter[StreamId] = Counter()
        self._waiting: dict[tuple[StreamId, int], list[Ticket]] = {}

    @asynccontextmanager
    async def of(self, stream: StreamId, *, waiting: bool) -> AsyncIterator[None]:
        """Take a turn when one is `waiting`, or others are; else go ahead at once."""
        if not waiting and stream not in self._locks:
            yield
            return
        lock = self._locks.setdefault(stream, asyncio.Lock())
        self._users[stream] += 1
        try:
            async with lock:
                yield
        finally:
            self._users[stream] -= 1
            if not self._users[stream]:
                del self._locks[stream], self._users[stream]

    def taken(self, stream: StreamId) -> bool:
        """Whether others wait there already."""
        return stream in self._locks

    def queue(self, stream: StreamId, decider: Decider[Any, Any], tickets: Sequence[Ticket]) -> None:
        """Let these wait; those that came first come first."""
        self._waiting.setdefault((stream, id(decider)), []).extend(tickets)

    def drain(self, stream: StreamId, decider: Decider[Any, Any]) -> Sequence[Ticket]:
        """Those that waited longest and still do, so many as go together."""
        waiting = self._waiting.pop((stream, id(decider)), [])
        still = [ticket for ticket in waiting if not ticket.outcome.done()]
        if still[LARGEST_GROUP:]:
            self._waiting[stream, id(decider)] = still[LARGEST_GROUP:]
        return still[:LARGEST_GROUP]
