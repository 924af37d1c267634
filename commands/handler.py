"""The handler: read what a decision depends on, decide, append under a guard, and try again when another came first."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import reduce
from typing import Generic, TypeVar
from uuid import UUID

from mnemolog.commands.decider import Command, Decider, Placed
from mnemolog.domain.errors import ConcurrencyConflict, MnemologError
from mnemolog.domain.identity import identifier
from mnemolog.events.envelope import NewEvent, Receipt, Recorded, StreamId
from mnemolog.events.event import Event
from mnemolog.events.log import Append, EventLog, Guard, Outcome

C = TypeVar("C", bound=Command)
S = TypeVar("S")

ATTEMPTS = 8


class Handler:
    """Runs deciders. `now` and `new_id` are its clock and its source of UUIDv7 ids."""

    def __init__(self, log: EventLog, now: Callable[[], datetime], new_id: Callable[[], UUID]) -> None:
        self._log, self.now, self.new_id = log, now, new_id
        self._turns = Turns()

    async def handle(
        self,
        decider: Decider[C, S],
        command: C,
        *,
        occurred_at: datetime | None = None,
        idempotency_key: str | None = None,
    ) -> Receipt:
        """One command, or its error. The same idempotency key again gives the first receipt."""
        stream = command.stream()
        if idempotency_key is not None:
            identifier(idempotency_key, "idempotency_key")
            earlier = await self._log.receipt(stream, idempotency_key, command.fingerprint())
            if earlier:
                return earlier
        order = Order(command, occurred_at or self.now())
        [outcome] = await self._run(decider, stream, [order], idempotency_key)
        if isinstance(outcome, MnemologError):
            raise outcome
        return outcome

    async def handle_all(
        self, decider: Decider[C, S], stream: StreamId, commands: Sequence[tuple[C, datetime]]
    ) -> Sequence[Outcome]:
        """Commands to one stream, in order, in one append. Each has its own outcome; a refused one harms no other."""
        return await self._run(decider, stream, [Order(command, at) for command, at in commands], None)

    async def read(self, decider: Decider[C, S], command: C) -> S:
        """All that a command would be decided on now."""
        tags = frozenset[str]()
        state = decider.initial
        while lacking := decider.tags(state, command) - tags:
            tags |= lacking
            history = await self._log.read(command.stream(), tags=tags)
            state = reduce(decider.evolve, history, decider.initial)
        return state

    async def _run(
        self, decider: Decider[C, S], stream: StreamId, orders: "list[Order[C]]", idempotency_key: str | None
    ) -> Sequence[Outcome]:
        for attempt in range(1, ATTEMPTS + 1):
            # Who met another writer takes turns from then on: else of many writers on one thing most would never win.
            async with self._turns.of(stream, waiting=attempt > 1):
                outcomes = await self._tried(decider, stream, orders, idempotency_key)
            if not isinstance(outcomes, ConcurrencyConflict):
                return outcomes
            conflict = outcomes
        raise conflict

    async def _tried(
        self, decider: Decider[C, S], stream: StreamId, orders: "list[Order[C]]", idempotency_key: str | None
    ) -> Sequence[Outcome] | ConcurrencyConflict:
        plan = await self._planned(decider, stream, orders)
        standing = plan.standing() if idempotency_key else None
        if not plan.events and not standing:
            return plan.outcomes(first_seq=0)
        fingerprint = orders[0].command.fingerprint() if idempotency_key else b""
        append = Append(stream, tuple(plan.events), plan.guard, idempotency_key, fingerprint, standing)
        [outcome] = await self._log.append([append])
        if isinstance(outcome, Receipt):
            return [outcome] if outcome.already else plan.outcomes(outcome.first_seq)
        if isinstance(outcome, ConcurrencyConflict):
            return outcome
        raise outcome

    async def _planned(self, decider: Decider[C, S], stream: StreamId, orders: "list[Order[C]]") -> "Plan[C, S]":
        """What is decided on one reading of all that it depends on; the reading is repeated until it holds all that."""
        tags = frozenset[str]()
        plan = Plan(decider, stream, [], tags, self.new_id)
        while lacking := plan.take(orders):
            tags |= lacking
            plan = Plan(decider, stream, await self._log.read(stream, tags=tags), tags, self.new_id)
        return plan


class Turns:
    """A lock for each stream that several writers of this process want at once, and for no other."""

    def __init__(self) -> None:
        self._locks: dict[StreamId, asyncio.Lock] = {}
        self._users: Counter[StreamId] = Counter()

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


@dataclass(frozen=True, slots=True)
class Order(Generic[C]):
    """A command and when what it tells of happened."""

    command: C
    occurred_at: datetime


@dataclass(frozen=True, slots=True)
class Again:
    """What a command asks for is what an earlier one of its group leaves, with these of its events."""

    events: slice


# What became of a command: its events, an earlier one's, a refusal, or what the log held already.
Part = slice | Again | MnemologError | Receipt


class Plan(Generic[C, S]):
    """What a group of commands decides on one reading of the stream."""

    def __init__(
        self,
        decider: Decider[C, S],
        stream: StreamId,
        history: Sequence[Recorded],
        tags: frozenset[str],
        new_id: Callable[[], UUID],
    ) -> None:
        self._decider, self._stream, self._history, self._new_id = decider, stream, history, new_id
        self._parts: list[Part] = []
        self.guard = Guard(tags, history[-1].seq if history else 0)
        self.events: list[NewEvent] = []
        self._state = reduce(decider.evolve, history, decider.initial)

    def take(self, orders: "Sequence[Order[C]]") -> frozenset[str]:
        """Decide them all; or, when a decision depends on more than was read, what that is."""
        for order in orders:
            if not self._decider.tags(self._state, order.command) <= self.guard.tags:
                wanted = (self._decider.tags(self._state, one.command) for one in orders)
                return frozenset().union(*wanted) - self.guard.tags
            self._decide(order)
        return frozenset()

    def _decide(self, order: Order[C]) -> None:
        try:
            payloads = self._decider.decide(self._state, order.command)
        except MnemologError as error:
            self._parts.append(error)
            return
        self._parts.append(self._taken(payloads, order) if payloads else self._standing(order.command))

    def _taken(self, payloads: Sequence[Event], order: Order[C]) -> slice:
        first = len(self.events)
        meta = order.command.meta()
        for payload in payloads:
            event = NewEvent(self._new_id(), payload, meta, order.occurred_at)
            self._state = self._decider.evolve(self._state, event)
            self.events.append(event)
        return slice(first, len(self.events))

    def _standing(self, command: C) -> "Receipt | Again":
        """Where what a command asks for was written before: in the log, or earlier in this very group."""
        earlier = self._written(command, [(event.seq, event) for event in self._history])
        if earlier:
            ids = tuple(event.event_id for _, event in earlier)
            return Receipt(self._stream, ids, earlier[0][0], earlier[-1][0], already=True)
        found = self._written(command, list(enumerate(self.events)))
        return Again(slice(found[0][0], found[-1][0] + 1))

    def _written(self, command: C, placed: Sequence[tuple[int, Recorded | NewEvent]]) -> Sequence[Placed]:
        if self._decider.written:
            return self._decider.written(command, placed)
        tag = self._decider.subject(command)
        return [one for one in placed if tag in one[1].payload.tags()][-1:]

    def standing(self) -> Receipt | None:
        """The receipt of a lone command that changes nothing, to be kept under its idempotency key."""
        [part] = self._parts
        return part if isinstance(part, Receipt) else None

    def outcomes(self, first_seq: int) -> Sequence[Outcome]:
        return [self._outcome(part, first_seq) for part in self._parts]

    def _outcome(self, part: "Part", first_seq: int) -> Outcome:
        match part:
            case slice():
                ids = tuple(event.event_id for event in self.events[part])
                return Receipt(self._stream, ids, first_seq + part.start, first_seq + part.stop - 1)
            case Again(again):
                ids = tuple(event.event_id for event in self.events[again])
                return Receipt(self._stream, ids, first_seq + again.start, first_seq + again.stop - 1, already=True)
            case _:
                return part
