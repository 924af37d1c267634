"""A draft: the decisions and outcomes of a group of commands on one read of a stream."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, Generic, TypeVar
from uuid import UUID

from mnemolog.commands.decider import Command, Decider, Evolve, Placed
from mnemolog.commands.steps import Steps, in_one_go
from mnemolog.commands.turn_taking import Order
from mnemolog.domain.errors import MnemologError
from mnemolog.events.envelope import NewEvent, Receipt, StreamId
from mnemolog.events.event import Event
from mnemolog.events.log import Guard, Outcome

C = TypeVar("C", bound=Command)
S = TypeVar("S")


@dataclass(frozen=True, slots=True)
class Again:
    """A command whose effect an earlier command of its group already has, with the events concerned."""

    events: slice


# The outcome of a command: its events, an earlier command's, a refusal, or events already in the log.
Part = slice | Again | MnemologError | Receipt


def folding(decider: Decider[C, S], events: Sequence[Placed], state: S) -> Steps[S]:
    """The state after some more events."""
    for _, event in events:
        state = decider.evolve(state, event)
        yield
    return state


class Draft(Generic[C, S]):
    """The decisions of a group of commands on one read of the stream.

    `history` is what was read, and `guard` says by which tags and up to where; `state` is what follows from it.
    `whole`: no event with these tags was left out.
    """

    def __init__(
        self,
        decider: Decider[C, S],
        stream: StreamId,
        history: Sequence[Placed],
        guard: Guard,
        new_id: Callable[[], UUID],
        policy_version: str,
        state: S | None = None,
        *,
        whole: bool = True,
    ) -> None:
        self._decider, self._stream, self._new_id = decider, stream, new_id
        self._policy_version = policy_version
        self._parts: list[Part] = []
        self.guard, self.history, self.whole = guard, history, whole
        self.events: list[NewEvent] = []
        self.state = in_one_go(folding(decider, history, decider.initial)) if state is None else state
        self._now, self._folded = self.state, 0

    def take(self, orders: Sequence[Order[C]]) -> Steps[frozenset[str]]:
        """Decide all commands; or return the tags that a decision depends on and that were not read yet."""
        known = self.guard.all_tags
        for order in orders:
            self._now = reduce(self._decider.evolve, self.events[self._folded :], self._now)
            self._folded = len(self.events)
            if not (yield from self._decider.tags_in_steps(self._now, order.command)) <= known:
                wanted = set[str]()
                for one in orders:
                    wanted |= yield from self._decider.tags_in_steps(self._now, one.command)
                return frozenset(wanted - known)
            yield from self._decide(order)
        return frozenset()

    def _decide(self, order: Order[C]) -> Steps[None]:
        try:
            payloads = yield from self._decider.decide_in_steps(self._now, order.command)
        except MnemologError as error:
            self._parts.append(error)
            return
        self._parts.append(self._taken(payloads, order) if payloads else self._existing(order.command))

    def _taken(self, payloads: Sequence[Event], order: Order[C]) -> slice:
        first = len(self.events)
        meta = replace(order.command.meta(), policy_version=self._policy_version)
        self.events += [NewEvent(self._new_id(), payload, meta, order.occurred_at) for payload in payloads]
        return slice(first, len(self.events))

    def _existing(self, command: C) -> Receipt | Again:
        """Where a command's effect was written before: in the log, or earlier in this group."""
        earlier = self._written(command, self.history)
        if earlier:
            ids = tuple(event.event_id for _, event in earlier)
            return Receipt(self._stream, ids, earlier[0][0], earlier[-1][0], already=True)
        found = self._written(command, list(enumerate(self.events)))
        return Again(slice(found[0][0], found[-1][0] + 1))

    def _written(self, command: C, placed: Sequence[Placed]) -> Sequence[Placed]:
        if self._decider.written:
            return self._decider.written(command, placed)
        tag = self._decider.subject(command)
        return [one for one in placed if tag in one[1].payload.tags()][-1:]

    @property
    def states(self) -> Mapping[Evolve, Any]:
        """The state, by what folded it."""
        return {self._decider.evolve: self.state}

    @property
    def appends_all(self) -> bool:
        """Whether each command appends events, so that the guard holds for all that was decided."""
        return all(isinstance(part, slice) for part in self._parts)

    def existing(self) -> Receipt | None:
        """The receipt of a command that changes nothing, to be stored under its idempotency key."""
        return next((part for part in reversed(self._parts) if isinstance(part, Receipt)), None)

    def outcomes(self, first_seq: int) -> Sequence[Outcome]:
        return [self._outcome(part, first_seq) for part in self._parts]

    def _outcome(self, part: Part, first_seq: int) -> Outcome:
        match part:
            case slice():
                events, first, last = self.events[part], first_seq + part.start, first_seq + part.stop - 1
                ids, written = zip(*((event.event_id, event.payload) for event in events), strict=True)
                return Receipt(self._stream, ids, first, last, written=written)
            case Again(again):
                ids = tuple(event.event_id for event in self.events[again])
                return Receipt(self._stream, ids, first_seq + again.start, first_seq + again.stop - 1, already=True)
            case Receipt() | MnemologError():
                return part
