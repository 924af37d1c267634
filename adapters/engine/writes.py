"""The writes of an engine: every command goes through here, whoever asks."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any
from uuid import UUID

from mnemolog.adapters.engine.graph_writes import GraphWrites
from mnemolog.adapters.engine.neighbours import Neighbours
from mnemolog.adapters.engine.profile_writes import ProfileWrites
from mnemolog.adapters.engine.sightings import Sightings
from mnemolog.adapters.engine.undertaking_writes import UndertakingWrites
from mnemolog.commands.decider import Command
from mnemolog.commands.erasure import ERASURE, USER_ERASURE, Erase, EraseUser
from mnemolog.commands.erasure_state import Written
from mnemolog.commands.handler import C, Handler
from mnemolog.commands.heard import HEARD, HearTurn
from mnemolog.commands.memories import MEMORIES, CreateMemory, MemoryCommand, UndoChange, UpdateMemory
from mnemolog.commands.patrol import PATROL, CloseCycle
from mnemolog.commands.recalls import RECALLING, RecordRecalls
from mnemolog.commands.rollback import Rollback
from mnemolog.domain.category import CategoryPolicy
from mnemolog.domain.errors import AmbiguousEntity, MnemologError, NotFound
from mnemolog.domain.predicates import DEFAULT_PREDICATES, PredicatePolicy
from mnemolog.domain.principal import Principal, Role
from mnemolog.domain.profile import DEFAULT_PROFILE, ProfilePolicy
from mnemolog.events.conversation import turn_tag
from mnemolog.events.envelope import Receipt, StreamId
from mnemolog.events.erasure import MemoryErased, UserErased
from mnemolog.events.fields import validated
from mnemolog.events.log import EventLog, Outcome
from mnemolog.events.memory import MemoryCreated
from mnemolog.events.memory_fold import MEMORY


class Writes(ProfileWrites, GraphWrites, UndertakingWrites):
    def __init__(
        self,
        handler: Handler,
        log: EventLog,
        policy: CategoryPolicy,
        profile: ProfilePolicy = DEFAULT_PROFILE,
        neighbours: Neighbours | None = None,
        predicates: PredicatePolicy = DEFAULT_PREDICATES,
        sightings: Sightings | None = None,
    ) -> None:
        self._handler, self._log, self._policy, self._profile = handler, log, policy, profile
        self._neighbours, self._predicates, self._sightings = neighbours, predicates, sightings

    def by(self, principal: Principal | None) -> "Writes":
        """The same writes, in this principal's name and no further than it reaches."""
        # Neighbours are looked for once the command is admitted, also for who may write and not read.
        handler = self._handler.by(principal)
        return Writes(
            handler, self._log, self._policy, self._profile, self._neighbours, self._predicates, self._sightings
        )

    def may(self, role: Role) -> bool:
        """Whether its principal may do this."""
        return self._handler.may(role)

    def admitted(self, command: C) -> C:
        """The command in its principal's name; NotPermitted or NotFound when it reaches further than that."""
        return self._handler.admitted(command)

    def new_id(self) -> UUID:
        return self._handler.new_id()

    def now(self) -> datetime:
        return self._handler.now()

    def new_turn_id(self) -> str:
        """An id for a turn that came without one."""
        return str(self._handler.new_id())

    async def record_turn(self, fields: Mapping[str, Any]) -> tuple[UUID, Receipt]:
        """One turn of a conversation, and the memory that it left; the same turn_id again changes nothing."""
        command = self.turn({"occurred_at": self.now(), **fields})
        [outcome] = await self.record_turns(command.stream(), [(command, command.occurred_at)])
        if isinstance(outcome, MnemologError):
            raise outcome
        receipt = await self._marked(outcome)
        if not receipt.already:
            return command.memory_id, receipt
        events = await self._log.read(receipt.stream, tags=[turn_tag(command.turn_id)])
        # The first: later memories may be extracted from the same turn.
        created = next(event.payload for event in events if isinstance(event.payload, MemoryCreated))
        return created.memory_id, receipt

    def turn(self, fields: Mapping[str, Any]) -> HearTurn:
        """The command of a turn in its principal's name, with what was extracted from it: `memories` and `facts`."""
        generated = {"memory_id": self._handler.new_id(), "entity_id": self._handler.new_id()}
        plain = {name: value for name, value in fields.items() if name not in ("memories", "facts")}
        asked = self._handler.admitted(validated(HearTurn, {**plain, **generated}))
        turn = asked.model_copy(update={"turn_id": self._handler.turn_id(asked.turn_id)})
        about = {**turn.model_dump(include=set(Command.model_fields)), "source_turn_ids": (turn.turn_id,)}
        memories = [self._extracted(about, one) for one in fields.get("memories", ())]
        facts = [self.fact({**about, "at": turn.occurred_at, **one}) for one in fields.get("facts", ())]
        return turn.model_copy(update={"memories": tuple(memories), "facts": tuple(facts)})

    def _extracted(self, about: Mapping[str, Any], fields: Mapping[str, Any]) -> CreateMemory:
        command = validated(CreateMemory, {**about, **fields, "memory_id": self._handler.new_id()})
        self._policy.known(command.category)
        return command

    async def record_turns(self, stream: StreamId, commands: Sequence[tuple[HearTurn, datetime]]) -> Sequence[Outcome]:
        """Turns of one stream, each with when it was said, in one append; each has its own outcome."""
        beside = [(await self._beside(turn), at) for turn, at in commands]
        outcomes = await self._handler.handle_all(HEARD, stream, beside)
        return [
            await self._heard_again(turn, outcome) if isinstance(outcome, AmbiguousEntity) else outcome
            for (turn, _), outcome in zip(beside, outcomes, strict=True)
        ]

    async def _beside(self, turn: HearTurn) -> HearTurn:
        """With what the memories that were extracted from it are like; they are admitted with it."""
        if self._neighbours is None or not turn.memories:
            return turn
        similar = [await self._neighbours.beside(one) for one in turn.memories]
        return turn.model_copy(update={"memories": tuple(similar)})

    async def _heard_again(self, turn: HearTurn, error: AmbiguousEntity) -> Outcome:
        """With who of several that bear a name is spoken of; the error where that does not tell either."""
        if self._sightings is None:
            return error
        seen = tuple(await self._sightings.of(self._handler.admitted(turn), error))
        told = tuple(fact.model_copy(update={"seen": (*fact.seen, *seen)}) for fact in turn.facts)
        again = turn.model_copy(update={"facts": told})
        [outcome] = await self._handler.handle_all(HEARD, turn.stream(), [(again, turn.occurred_at)])
        return outcome

    async def create(self, fields: Mapping[str, Any], idempotency_key: str | None = None) -> tuple[UUID, Receipt]:
        """A memory; its id is generated unless it is given. A retry with the same idempotency key gives the first id.

        Where one of its memory key is known, or with `merge_similar` one that says the same, the id is that one's.
        """
        command = validated(CreateMemory, {"memory_id": self._handler.new_id(), **fields})
        receipt = await self.execute(command, idempotency_key)
        if command.key or command.merge_similar or (receipt.already and "memory_id" not in fields):
            return await self._written_to(command, receipt), receipt
        return command.memory_id, receipt

    async def execute(
        self, command: MemoryCommand, idempotency_key: str | None = None, occurred_at: datetime | None = None
    ) -> Receipt:
        """Anything that is asked of a memory; `occurred_at` when it was asked elsewhere before."""
        if isinstance(command, CreateMemory | UpdateMemory) and command.category:
            self._policy.known(command.category)
        if self._neighbours and isinstance(command, CreateMemory | UpdateMemory):
            command = await self._neighbours.beside(self._handler.admitted(command))
        receipt = await self._handler.handle(
            MEMORIES, command, occurred_at=occurred_at, idempotency_key=idempotency_key
        )
        return await self._marked(receipt)

    async def erase(self, command: Erase, idempotency_key: str | None = None) -> Receipt:
        """Erase a memory or a thread: its keys are destroyed when this returns, projections follow (X07)."""
        return await self._handler.handle(ERASURE, command, idempotency_key=idempotency_key)

    async def erase_user(self, command: EraseUser) -> Receipt:
        """Erase a user; nothing new is written where the last event is his erasure."""
        stream = self._handler.admitted(command).stream()
        head = await self._log.head(stream)
        if not head:
            raise NotFound(f"there is no user {stream.owner!r}", field="user_id", fix="name a user with memories")
        [[last]] = [batch async for batch in self._log.scan(stream, after=head - 1, until=head)]
        if last.header.type == UserErased.type_name():  # By its header: a user whose events nobody can read goes, too.
            return Receipt(stream, (last.header.event_id,), head, head, already=True)
        return await self._handler.handle(USER_ERASURE, command)

    async def written(self, command: Erase) -> Written:
        """All that an erasure would be decided on now."""
        return await self._handler.read(ERASURE, command)

    async def _marked(self, receipt: Receipt) -> Receipt:
        """A receipt of something that was written before says so when its text was erased since (design §3)."""
        if not receipt.already:
            return receipt
        events = [await self._log.find(receipt.stream, event_id) for event_id in receipt.event_ids]
        gone = any(event and (event.erased or isinstance(event.payload, MemoryErased)) for event in events)
        return replace(receipt, erased=gone)

    async def undo_event(
        self, stream: StreamId, event_id: UUID, idempotency_key: str | None = None, **who: str | None
    ) -> Receipt:
        """Undo the change of one event, on all that it changed (X03)."""
        about = {"tenant": stream.tenant, "user_id": stream.owner, "at": self.now(), "of_event": event_id}
        return await self.rollback(validated(Rollback, {**about, **who}), idempotency_key)

    async def undo_last(
        self, stream: StreamId, memory_id: UUID, idempotency_key: str | None = None, **who: str | None
    ) -> Receipt:
        """Undo the last change that is in force on a memory. Without a key, a retry goes one change further back."""
        return await self._undo(stream, {"memory_id": memory_id, **who}, idempotency_key)

    async def _undo(self, stream: StreamId, fields: Mapping[str, Any], idempotency_key: str | None) -> Receipt:
        about = {"tenant": stream.tenant, "user_id": stream.owner, "at": self.now()}
        return await self.execute(validated(UndoChange, {**about, **fields}), idempotency_key)

    async def _written_to(self, command: CreateMemory, receipt: Receipt) -> UUID:
        """The memory that a creation was written to: a new one, the one that it met, or a retry's first."""
        first = await self._log.find(receipt.stream, receipt.event_ids[0])
        assert first
        ids = MEMORY.touched(first.payload)
        return command.memory_id if not ids or command.memory_id in ids else ids[0]

    async def close_cycle(self, command: CloseCycle, idempotency_key: str | None = None) -> Receipt:
        """A patrol cycle of a being ends (C)."""
        return await self._handler.handle(PATROL, command, idempotency_key=idempotency_key)

    async def record_recalls(self, command: RecordRecalls) -> Receipt:
        """That memories were found."""
        return await self._handler.handle(RECALLING, command)
