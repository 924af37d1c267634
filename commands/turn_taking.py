"""Conflicting writers of one stream take turns, and waiting ones are decided together."""

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
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
    """A command and its `occurred_at`."""

    command: C
    occurred_at: datetime


@dataclass(frozen=True, slots=True)
class Ticket:
    """A waiting order and the future of its outcome. If that is cancelled before its turn, the order is dropped."""

    order: Order[Any]
    outcome: "asyncio.Future[Outcome]" = field(default_factory=lambda: asyncio.get_running_loop().create_future())


Settle = Callable[[Sequence[Order[Any]]], Awaitable[Sequence[Outcome]]]


class TurnTaking:
    """A lock and a queue for each stream with concurrent writers in this process.

    Queued orders are settled by the queue's own task, so a cancelled caller does not stop others, and no order is
    started twice.
    """

    def __init__(self) -> None:
        self._locks: dict[StreamId, asyncio.Lock] = {}
        self._users: Counter[StreamId] = Counter()
        self._waiting: dict[tuple[StreamId, int], deque[Ticket]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def of(self, stream: StreamId) -> AsyncIterator[None]:
        """Take a turn, after those already waiting."""
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
        """Whether others are waiting."""
        return stream in self._locks

    async def together(
        self, stream: StreamId, decider: Decider[Any, Any], order: Order[Any], settle: Settle
    ) -> Outcome:
        """Wait for a turn; the order is settled together with all waiting orders for the same decider."""
        key, ticket = (stream, id(decider)), Ticket(order)
        if key in self._waiting:
            self._waiting[key].append(ticket)
        else:
            self._waiting[key] = deque([ticket])
            task = asyncio.create_task(self._settle_all(key, settle))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        return await ticket.outcome

    async def _settle_all(self, key: tuple[StreamId, int], settle: Settle) -> None:
        """Settle group after group, each in its own turn, until none is waiting."""
        waiting, group = self._waiting[key], list[Ticket]()
        try:
            while waiting:
                async with self.of(key[0]):
                    group = _next(waiting)
                    if group:
                        await _settled(group, settle)
        finally:
            del self._waiting[key]
            for ticket in (*group, *waiting):  # Still open only when the event loop ends.
                ticket.outcome.cancel()


def _next(waiting: deque[Ticket]) -> list[Ticket]:
    """The longest-waiting orders that can be settled together."""
    group: list[Ticket] = []
    while waiting and len(group) < LARGEST_GROUP:
        ticket = waiting.popleft()
        if not ticket.outcome.done():
            group.append(ticket)
    return group


async def _settled(group: Sequence[Ticket], settle: Settle) -> None:
    try:
        outcomes = await settle([ticket.order for ticket in group])
    except Exception as error:  # noqa: BLE001  Each caller is told what happened to its own.
        for ticket in group:
            if not ticket.outcome.done():
                ticket.outcome.set_exception(error)
        return
    for ticket, outcome in zip(group, outcomes, strict=True):
        if not ticket.outcome.done():
            ticket.outcome.set_result(outcome)
