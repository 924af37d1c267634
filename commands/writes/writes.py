"""The writes of an engine: every command goes through here, whoever asks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from mnemolog.commands.being import BEING, PutEntry
from mnemolog.commands.decider import Command
from mnemolog.commands.extraction import EXTRACTION
from mnemolog.commands.extraction_requests import ExtractTurn
from mnemolog.commands.fact_changes import StatedChange
from mnemolog.commands.handler import C, Handler, Keyed
from mnemolog.commands.heard import HEARD, HearTurn, TurnRefused, together
from mnemolog.commands.memories import MEMORIES, CreateMemory, MemoryCommand, PutMemory, UndoChange, UpdateMemory
from mnemolog.commands.messages import MESSAGES, MessageCommand
from mnemolog.commands.minds import MINDS, RunMind
from mnemolog.commands.rollback import Rollback
from mnemolog.commands.windows import WINDOWS, ExtractWindow
from mnemolog.commands.writes.batches import BatchWrites
from mnemolog.commands.writes.deciders import decider_of
from mnemolog.commands.writes.ports import Neighbours, Sightings
from mnemolog.commands.writes.seeding import SeedWrites
from mnemolog.commands.writes.sources import traced
from mnemolog.domain.category import CategoryPolicy
from mnemolog.domain.errors import AmbiguousEntity, IdempotencyConflict, MnemologError
from mnemolog.domain.message import labels_of
from mnemolog.domain.origin import Origin
from mnemolog.domain.predicates import DEFAULT_PREDICATES, PredicatePolicy
from mnemolog.domain.principal import Principal, Role
from mnemolog.domain.profile import DEFAULT_PROFILE, ProfilePolicy
from mnemolog.events.being import BeingEntryEvent
from mnemolog.events.conversation import TurnRecorded, turn_tag
from mnemolog.events.envelope import Receipt, StreamId
from mnemolog.events.erasure import MemoryErased
from mnemolog.events.event import Event
from mnemolog.events.fields import validated
from mnemolog.events.log import EventLog, Outcome, event_of
from mnemolog.events.memory_fold import MEMORY


@dataclass(frozen=True, slots=True)
class Added:
    """The messages that are recorded."""

    message_ids: tuple[str, ...]
    receipt: Receipt


class Writes(SeedWrites, BatchWrites):
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

    @property
    def handler(self) -> Handler:
        """What runs the commands, for what is more than an append: erasing, forgetting a scope."""
        return self._handler

    def may(self, role: Role) -> bool:
        return self._handler.may(role)

    def admitted(self, command: C) -> C:
        """The command in its principal's name; NotPermitted or NotFound when it reaches further than that."""
        return self._handler.admitted(command)

    def new_id(self) -> UUID:
        return self._handler.new_id()

    def now(self) -> datetime:
        return self._handler.now()

    def new_turn_id(self) -> str:
        return str(self._handler.new_id())

    async def record_turn(self, fields: Mapping[str, Any]) -> Receipt:
        """One turn of a conversation; the same turn_id again changes nothing."""
        try:
            return (await self.add([fields])).receipt
        except TurnRefused as refused:
            raise refused.error from refused

    async def add(self, turns: Sequence[Mapping[str, Any]], *, keyed: bool = False) -> Added:
        """Turns of one user in one append, all or none; TurnRefused names the first that is refused.

        A turn whose id is recorded changes nothing. `keyed`: one idempotency key gave all the ids, so that either all
        of them are recorded, or none.
        """
        commands = await self._commands(turns, keyed=keyed)
        async with self._handler.turn():
            receipts = await self._together(commands)
        whole = await self._marked(_combined(receipts))
        return Added(tuple(turn.turn_id for turn in commands), whole)

    async def rehearse(self, turns: Sequence[Mapping[str, Any]], *, keyed: bool = False) -> Sequence[HearTurn]:
        """The commands of these turns; TurnRefused or IdempotencyConflict where `add` would refuse them now.

        Nothing is written.
        """
        commands = await self._commands(turns, keyed=keyed)
        for place, turn in enumerate(commands):
            state, beside = await self._handler.read(HEARD, turn), await self._beside(turn)
            try:
                try:
                    HEARD.decide(state, beside)
                except AmbiguousEntity as error:
                    HEARD.decide(state, await self._seeing(beside, error))
            except MnemologError as error:
                raise TurnRefused(place, error) from error
        return commands

    async def recorded(self, turns: Sequence[Mapping[str, Any]]) -> Sequence[TurnRecorded | None]:
        """What is recorded under the ids of these turns."""
        known = await self._recorded(commands := await self._commands(turns))
        return [known.get(turn.turn_id) for turn in commands]

    async def _commands(self, turns: Sequence[Mapping[str, Any]], *, keyed: bool = False) -> Sequence[HearTurn]:
        commands, now = list[HearTurn](), self.now()
        for place, fields in enumerate(turns):
            try:
                commands.append(self.turn({"occurred_at": now, **fields}))
            except MnemologError as error:
                raise TurnRefused(place, error) from error
        if keyed and 0 < len(await self._recorded(commands)) < len(commands):
            raise IdempotencyConflict(field="idempotency_key", fix="use a new key for other messages")
        return commands

    async def _together(self, turns: Sequence[HearTurn]) -> Sequence[Receipt]:
        """All in one append, or none. A turn with a name that several bear is tried once more, as `_seeing` has it."""
        stream = turns[0].stream()
        if len(turns) == 1:
            [outcome] = await self.record_turns(stream, [(turns[0], turns[0].occurred_at)])
            if isinstance(outcome, MnemologError):
                raise TurnRefused(0, outcome)
            return [outcome]
        beside = [await self._beside(turn) for turn in turns]
        seen = set[int]()
        while True:
            try:
                orders = [(turn, turn.occurred_at) for turn in beside]
                outcomes = await self._handler.handle_all(together(beside), stream, orders)
            except TurnRefused as refused:
                place, error = refused.place, refused.error
                if not isinstance(error, AmbiguousEntity) or place in seen:
                    raise
                beside[place] = await self._seeing(beside[place], error)
                seen.add(place)
            else:
                return [outcome for outcome in outcomes if isinstance(outcome, Receipt)]

    async def _recorded(self, turns: Sequence[HearTurn]) -> Mapping[str, TurnRecorded]:
        """Those of these turns that are recorded already, by their ids."""
        events = await self._log.read(turns[0].stream(), tags=[turn_tag(turn.turn_id) for turn in turns])
        return {event.payload.turn_id: event.payload for event in events if isinstance(event.payload, TurnRecorded)}

    def turn(self, fields: Mapping[str, Any]) -> HearTurn:
        """The command of a turn in its principal's name, with what was extracted from it: `memories` and `facts`."""
        generated = {"entity_id": self._handler.new_id()}
        plain = {name: value for name, value in fields.items() if name not in ("memories", "facts")}
        plain_turn = self._handler.admitted(validated(HearTurn, {**plain, **generated}))
        # A clock that is ahead would keep the session open, and outrank what is said later.
        said_at = min(plain_turn.occurred_at, self.now())
        text = plain_turn.text or labels_of([(one.type, one.url) for one in plain_turn.attachments])
        own = {"turn_id": self._handler.turn_id(plain_turn.turn_id), "occurred_at": said_at, "text": text}
        turn = plain_turn.model_copy(update=own)
        if not (fields.get("memories") or fields.get("facts")):
            return turn
        about = {**turn.model_dump(include=set(Command.model_fields)), "source_turn_ids": (turn.turn_id,)}
        memories = [self._extracted(about, one) for one in fields.get("memories", ())]
        said = {"at": turn.occurred_at, "told_at": turn.occurred_at}
        facts = [self.fact({**about, **said, **one}) for one in fields.get("facts", ())]
        of_turn = {"origin": Origin.of_role(turn.role)}  # A conclusion is no more trusted than what was said.
        if of_turn["origin"].external:
            memories = [one.model_copy(update=of_turn) for one in memories]
            facts = [one.model_copy(update=of_turn) for one in facts]
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
        """With what it mentions, and what the memories that were extracted from it are like."""
        if self._sightings is not None:
            mentioned = tuple(await self._sightings.mentioned(turn, turn.text))
            turn = turn.model_copy(update={"mentioned_ids": mentioned})
        if self._neighbours is None or not turn.memories:
            return turn
        similar = [await self._neighbours.beside(one) for one in turn.memories]
        return turn.model_copy(update={"memories": tuple(similar)})

    async def _heard_again(self, turn: HearTurn, error: AmbiguousEntity) -> Outcome:
        """With who of several that bear a name is spoken of; the error where that does not tell either."""
        if self._sightings is None:
            return error
        again = await self._seeing(turn, error)
        [outcome] = await self._handler.handle_all(HEARD, turn.stream(), [(again, turn.occurred_at)])
        return outcome

    async def _seeing(self, turn: HearTurn, error: AmbiguousEntity) -> HearTurn:
        """With what was seen lately of those that bear the name."""
        if self._sightings is None:
            return turn
        seen = tuple(await self._sightings.of(self._handler.admitted(turn), error))
        facts_seen = tuple(fact.model_copy(update={"seen": (*fact.seen, *seen)}) for fact in turn.facts)
        return turn.model_copy(update={"facts": facts_seen})

    async def change_message(self, command: MessageCommand, idempotency_key: str | None = None) -> Receipt:
        """Hide a message, or show it again."""
        return await self._marked(await self._handler.handle(MESSAGES, command, idempotency_key=idempotency_key))

    async def create(self, fields: Mapping[str, Any], idempotency_key: str | None = None) -> tuple[UUID, Receipt]:
        """A memory; its id is generated unless it is given. A retry with the same idempotency key gives the first id.

        Where one of its memory key is known, or with `merge_similar` one that says the same, the id is that one's.
        """
        command = validated(CreateMemory, {"memory_id": self._handler.new_id(), **fields})
        return await self._created(command, idempotency_key, named="memory_id" in fields)

    async def _created(
        self, command: CreateMemory, idempotency_key: str | None, *, named: bool = False
    ) -> tuple[UUID, Receipt]:
        receipt = await self.execute(command, idempotency_key)
        if command.key or command.merge_similar or (receipt.already and not named):
            # The memory that it was written to: a new one, the one that it met, or a retry's first.
            ids = MEMORY.touched(await event_of(self._log, receipt))
            return command.memory_id if not ids or command.memory_id in ids else ids[0], receipt
        return command.memory_id, receipt

    async def execute(
        self, command: MemoryCommand, idempotency_key: str | None = None, occurred_at: datetime | None = None
    ) -> Receipt:
        """Anything that is asked of a memory; `occurred_at` when it was asked elsewhere before."""
        if isinstance(command, CreateMemory | UpdateMemory) and command.category:
            self._policy.known(command.category)
        if isinstance(command, CreateMemory):
            command = await traced(self._log, self._handler, command)
        compared = not isinstance(command, PutMemory)
        async with self._handler.turn():
            if self._neighbours and compared and isinstance(command, CreateMemory | UpdateMemory):
                command = await self._neighbours.beside(self._handler.admitted(command))
            receipt = await self._handler.handle(
                MEMORIES, command, occurred_at=occurred_at, idempotency_key=idempotency_key
            )
        return await self._marked(receipt)

    async def _marked(self, receipt: Receipt) -> Receipt:
        """A receipt of something that was written before says so when its text was erased since (design §3)."""
        if not receipt.already:
            return receipt
        events = [await self._log.find(receipt.stream, event_id) for event_id in receipt.event_ids]
        gone = any(event and (event.erased or isinstance(event.payload, MemoryErased)) for event in events)
        return replace(receipt, erased=gone)

    async def undo_event(
        self, stream: StreamId, event_id: UUID, idempotency_key: str | None = None, **context: str | None
    ) -> Receipt:
        """Undo the change of one event, on all that it changed (X03)."""
        about = {"tenant": stream.tenant, "user_id": stream.owner, "at": self.now(), "of_event": event_id}
        return await self.rollback(validated(Rollback, {**about, **context}), idempotency_key)

    async def undo_last(
        self, stream: StreamId, memory_id: UUID, idempotency_key: str | None = None, **context: str | None
    ) -> Receipt:
        """Undo the last change that is in force on a memory. Without a key, a retry goes one change further back."""
        about = {"tenant": stream.tenant, "user_id": stream.owner, "at": self.now()}
        return await self.execute(validated(UndoChange, {**about, "memory_id": memory_id, **context}), idempotency_key)

    async def put_entry(self, fields: Mapping[str, Any], idempotency_key: str | None = None) -> tuple[UUID, Receipt]:
        """An entry of a store, in place of the one with its key; its id, and a receipt."""
        command = validated(PutEntry, {"entry_id": self._handler.new_id(), **fields})
        receipt = await self._handler.handle(BEING, command, idempotency_key=idempotency_key)
        put = await event_of(self._log, receipt)
        assert isinstance(put, BeingEntryEvent)
        return put.entry_id, receipt

    async def handle(self, command: Command, idempotency_key: str | Keyed | None = None) -> Receipt:
        """Run a command that needs nothing from the read side."""
        told_at = command.told_at if isinstance(command, StatedChange) else None
        return await self._handler.handle(
            decider_of(command), command, occurred_at=told_at, idempotency_key=idempotency_key
        )

    async def extract(self, stream: StreamId, commands: Sequence[ExtractTurn]) -> int:
        """Record what messages to one stream state, in one append; how many events that took (B13)."""
        timed = [(command, command.said_at) for command in commands]
        written = 0
        for outcome in await self._handler.handle_all(EXTRACTION, stream, timed):
            if isinstance(outcome, MnemologError):
                raise outcome
            written += 0 if outcome.already else len(outcome.event_ids)
        return written

    async def extract_window(self, command: ExtractWindow) -> Receipt:
        """Record what a model proposed to remember of a window of messages (B13)."""
        if self._neighbours is not None:
            beside = [
                one.model_copy(update={"memory": await self._neighbours.beside(one.memory)}) if one.memory else one
                for one in command.proposed
            ]
            command = command.model_copy(update={"proposed": tuple(beside)})
        return await self._handler.handle(WINDOWS, command)

    async def run_mind(self, command: RunMind) -> Receipt:
        """Record what a mind proposed (A17)."""
        return await self._handler.handle(MINDS, await self._beside_all(command))

    async def plan_mind(self, command: RunMind) -> Sequence[Event]:
        """The events that `run_mind` would write."""
        command = await self._beside_all(command)
        return MINDS.decide(await self._handler.read(MINDS, command), command)

    async def _beside_all(self, command: RunMind) -> RunMind:
        """With what the memories that are to be created are like."""
        neighbours = self._neighbours
        if neighbours is None:
            return command
        changes = [
            change.model_copy(
                update={
                    "commands": tuple(
                        [
                            await neighbours.beside(one) if isinstance(one, CreateMemory) else one
                            for one in change.commands
                        ]
                    )
                }
            )
            for change in command.changes
        ]
        return command.model_copy(update={"changes": tuple(changes)})


def _combined(receipts: Sequence[Receipt]) -> Receipt:
    """One receipt for what was recorded together, and for what was recorded before."""
    if len(receipts) == 1:
        return receipts[0]
    event_ids = tuple(dict.fromkeys(id_ for one in receipts for id_ in one.event_ids))
    first, last = min(one.first_seq for one in receipts), max(one.last_seq for one in receipts)
    return Receipt(receipts[0].stream, event_ids, first, last, already=all(one.already for one in receipts))
