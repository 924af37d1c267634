"""The handler: read what a decision depends on, decide, append under a guard, and retry on a conflict."""

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from copy import copy
from dataclasses import dataclass
from datetime import datetime
from operator import itemgetter
from typing import Self, TypeVar
from uuid import UUID

from mnemolog.commands.decider import Command, Decider, Placed
from mnemolog.commands.draft import Draft, folding
from mnemolog.commands.read_memory import FEW_EVENTS, ReadMemory
from mnemolog.commands.steps import in_steps
from mnemolog.commands.turn_taking import Order, TurnTaking
from mnemolog.domain.errors import ConcurrencyConflict, MnemologError
from mnemolog.domain.identity import identifier
from mnemolog.domain.principal import Principal, Role
from mnemolog.events.envelope import DEFAULT_POLICY, NewEvent, Receipt, StreamId
from mnemolog.events.log import NOTHING_IGNORED, Append, EventLog, Guard, Ignored, Outcome

C = TypeVar("C", bound=Command)
S = TypeVar("S")

ATTEMPTS = 8


@dataclass(frozen=True, slots=True)
class Keyed:
    """An idempotency key as stored in the log, and the fingerprint of its command."""

    key: str
    fingerprint: bytes


class Handler:
    """Runs deciders. `now` is the clock and `new_id` the source of UUIDv7 ids.

    `policy_version` is recorded in every event (X04). `decided` is called with events before they are appended, which
    may still fail.
    """

    def __init__(
        self,
        log: EventLog,
        now: Callable[[], datetime],
        new_id: Callable[[], UUID],
        policy_version: str = DEFAULT_POLICY,
        decided: Callable[[Sequence[NewEvent]], None] = lambda events: None,
    ) -> None:
        self._log, self.now, self.new_id, self._policy_version = log, now, new_id, policy_version
        self._decided = decided
        self._turns, self._reads = TurnTaking(), ReadMemory()
        self._principal: Principal | None = None

    def by(self, principal: Principal | None) -> Self:
        """A handler that acts as this principal, with its rights; None means without restrictions."""
        bound = copy(self)
        bound._principal = principal
        return bound

    def admitted(self, command: C) -> C:
        """The command, attributed to the principal; raises NotPermitted or NotFound outside the principal's scope."""
        if self._principal is None:
            claimed = command.consenting or command.agents is not None
            return command.model_copy(update={"consenting": False, "agents": None}) if claimed else command
        self._principal.require(command.needs)
        command.require_scope(self._principal)
        actor, consenting = self._principal.actor(command.agent_id), self._principal.may(Role.CONSENT)
        agents = self._principal.bound_agents
        return command.model_copy(update={"actor": actor, "consenting": consenting, "agents": agents})

    def turn(self) -> AbstractAsyncContextManager[None]:
        """Held while a command is prepared and handled, so that one caller's many leave room for those of others."""
        return nullcontext()

    def may(self, role: Role) -> bool:
        return self._principal is None or self._principal.may(role)

    def turn_id(self, message_id: str) -> str:
        """The id under which a message of the principal is recorded."""
        return self._principal.turn_id(message_id) if self._principal else message_id

    async def handle(
        self,
        decider: Decider[C, S],
        command: C,
        *,
        occurred_at: datetime | None = None,
        idempotency_key: str | Keyed | None = None,
    ) -> Receipt:
        """Run one command or raise its error. A repeated idempotency key returns the original receipt.

        A `Keyed` key covers more than this command, such as a batch that ends with it.
        """
        command = self.admitted(command)
        stream = command.stream()
        keyed = self._keyed(command, idempotency_key) if isinstance(idempotency_key, str) else idempotency_key
        if keyed and (earlier := await self.earlier(stream, keyed)):
            return earlier
        order = Order(command, occurred_at or self.now())
        [outcome] = await self._run(decider, stream, [order], keyed)
        if isinstance(outcome, MnemologError):
            raise outcome
        return outcome

    async def handle_all(
        self,
        decider: Decider[C, S],
        stream: StreamId,
        commands: Sequence[tuple[C, datetime]],
        keyed: Keyed | None = None,
    ) -> Sequence[Outcome]:
        """Run commands to one stream in order, in one append. Each has its own outcome; a refused one does not affect
        others.
        """
        return await self._run(decider, stream, [Order(self.admitted(command), at) for command, at in commands], keyed)

    def keyed(self, command: Command, idempotency_key: str) -> Keyed:
        """The key under which a command of several appends is kept."""
        return self._keyed(self.admitted(command), idempotency_key)

    def _keyed(self, command: Command, idempotency_key: str) -> Keyed:
        """Keys are separate per principal and agent. Ids contain no line breaks."""
        key = identifier(idempotency_key, "idempotency_key")
        return Keyed(f"{command.actor}\n{key}" if self._principal else key, command.fingerprint())

    async def earlier(self, stream: StreamId, keyed: Keyed) -> Receipt | None:
        """The original receipt for this key."""
        return await self._log.receipt(stream, keyed.key, keyed.fingerprint)

    async def read(self, decider: Decider[C, S], command: C) -> S:
        """The current state for a command's decision."""
        command = self.admitted(command)
        tags, state = frozenset[str](), decider.initial
        history: Sequence[Placed] = ()
        while lacking := await in_steps(decider.tags_in_steps(state, command)) - tags:
            tags |= lacking
            found = await self._beside(decider, command.stream(), tags, history)
            history, state = await self._merged(decider, found, history, state)
        return state

    async def _run(
        self, decider: Decider[C, S], stream: StreamId, orders: Sequence[Order[C]], keyed: Keyed | None
    ) -> Sequence[Outcome]:
        """First without waiting; after a conflict, writers take turns, because otherwise most of many would never
        succeed.
        """
        alone = keyed is None and len(orders) == 1
        if not self._turns.taken(stream):
            outcomes = await self._tried(decider, stream, orders, keyed, remembering=True)
            if not isinstance(outcomes, ConcurrencyConflict):
                return outcomes
        if alone:

            async def settle(together: Sequence[Order[C]]) -> Sequence[Outcome]:
                return await self._persisted(decider, stream, together, None)

            return [await self._turns.together(stream, decider, orders[0], settle)]
        async with self._turns.of(stream):
            return await self._persisted(decider, stream, orders, keyed)

    async def _persisted(
        self, decider: Decider[C, S], stream: StreamId, orders: Sequence[Order[C]], keyed: Keyed | None
    ) -> Sequence[Outcome]:
        """Retried when writers of other processes come first, a limited number of times.

        A conflict leaves nothing remembered of the stream, so that what follows it is decided on a new read.
        """
        for _ in range(ATTEMPTS - 1):
            outcomes = await self._tried(decider, stream, orders, keyed, remembering=self._reads.knows(stream))
            if not isinstance(outcomes, ConcurrencyConflict):
                return outcomes
            conflict = outcomes
        raise conflict

    async def _tried(
        self,
        decider: Decider[C, S],
        stream: StreamId,
        orders: Sequence[Order[C]],
        keyed: Keyed | None,
        *,
        remembering: bool = False,
    ) -> Sequence[Outcome] | ConcurrencyConflict:
        """`remembering`: decided on what was read for earlier commands, if that is enough; the guard checks it."""
        fresh = frozenset().union(*(decider.fresh(order.command) for order in orders))
        draft = await self._recalled(decider, stream, orders, fresh) if remembering and fresh else None
        draft = draft or await self._drafted(decider, stream, orders)
        existing = draft.existing() if keyed else None
        if not draft.events and not existing:
            return draft.outcomes(first_seq=0)
        key, fingerprint = (keyed.key, keyed.fingerprint) if keyed else (None, b"")
        append = Append(stream, tuple(draft.events), draft.guard, key, fingerprint, existing)
        self._decided(draft.events)
        [outcome] = await self._log.append([append])
        if isinstance(outcome, Receipt):
            if outcome.already:
                return [outcome]
            self._reads.keep(stream, draft, fresh, outcome)
            return draft.outcomes(outcome.first_seq)
        self._reads.forget(stream)
        if isinstance(outcome, ConcurrencyConflict):
            return outcome
        raise outcome

    async def _recalled(
        self, decider: Decider[C, S], stream: StreamId, orders: Sequence[Order[C]], fresh: frozenset[str]
    ) -> Draft[C, S] | None:
        """The draft on what is remembered and one read of what that lacks.

        None if it is out of date, or if anything but appends follows from it.
        """
        read = self._reads.find(stream)
        guard, known = Guard(read.tags, read.seq, fresh - read.tags), read.states.get(decider.evolve)
        draft = Draft(decider, stream, read.history, guard, self.new_id, self._policy_version, known)
        read.states[decider.evolve] = draft.state
        while True:
            try:
                lacking = await in_steps(draft.take(orders))
            except Exception:  # noqa: BLE001  A refusal may come from what is out of date: it is decided on a new read.
                return None
            if not lacking:
                return draft if draft.appends_all else None
            if not read.tags:
                return None
            found = await self._beside(decider, stream, lacking, draft.history)
            if found and (found[-1][0] > read.seq or len(draft.history) > FEW_EVENTS):
                return None
            history, state = await self._merged(decider, found, draft.history, draft.state)
            guard = Guard(draft.guard.tags | lacking, read.seq, draft.guard.unwritten - lacking)
            draft = Draft(decider, stream, history, guard, self.new_id, self._policy_version, state)

    async def _drafted(self, decider: Decider[C, S], stream: StreamId, orders: Sequence[Order[C]]) -> Draft[C, S]:
        """The draft on a new read, without the events that no command depends on as long as it appends something."""
        each = [decider.ignored(order.command) for order in orders]
        types = frozenset.intersection(*(one.types for one in each)) if each else frozenset[str]()
        ignored = Ignored(types, between=any(one.between for one in each))
        draft = await self._read_for(decider, stream, orders, ignored)
        return await self._read_for(decider, stream, orders) if ignored.types and not draft.appends_all else draft

    async def _read_for(
        self,
        decider: Decider[C, S],
        stream: StreamId,
        orders: Sequence[Order[C]],
        ignored: Ignored = NOTHING_IGNORED,
    ) -> Draft[C, S]:
        """The draft on one read of all dependencies; the read is repeated until it contains all of them."""
        draft = Draft(decider, stream, [], Guard(frozenset(), 0), self.new_id, self._policy_version)
        while lacking := await in_steps(draft.take(orders)):
            tags = draft.guard.tags | lacking
            found = await self._beside(decider, stream, tags, draft.history, ignored)
            history, state = await self._merged(decider, found, draft.history, draft.state)
            guard = Guard(tags, history[-1][0] if history else 0)
            draft = Draft(
                decider, stream, history, guard, self.new_id, self._policy_version, state, whole=not ignored.types
            )
        return draft

    async def _beside(
        self,
        decider: Decider[C, S],
        stream: StreamId,
        tags: frozenset[str],
        history: Sequence[Placed],
        ignored: Ignored = NOTHING_IGNORED,
    ) -> Sequence[Placed]:
        """The events with one of these tags that are not in the history."""
        known = [seq for seq, _ in history]
        read = await self._log.read(stream, tags=tags, unread=decider.unread, known=known, ignored=ignored)
        return [(one.seq, one) for one in read]

    async def _merged(
        self, decider: Decider[C, S], found: Sequence[Placed], history: Sequence[Placed], state: S
    ) -> tuple[Sequence[Placed], S]:
        """The history with these events, and the state that follows from it."""
        if not found:
            return history, state
        if not history or found[0][0] > history[-1][0]:
            return [*history, *found], await in_steps(folding(decider, found, state))
        merged = sorted([*history, *found], key=itemgetter(0))
        return merged, await in_steps(folding(decider, merged, decider.initial))
