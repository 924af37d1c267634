"""The writes of an engine: every command goes through here, whoever asks."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any
from uuid import UUID

from mnemolog.commands.erasure import ERASURE, USER_ERASURE, Erase, EraseUser, Reach, reach
from mnemolog.commands.handler import Handler
from mnemolog.commands.memories import MEMORIES, CreateMemory, MemoryCommand, UndoChange, UpdateMemory
from mnemolog.commands.steps import no_such_change
from mnemolog.commands.turns import TURNS, RecordTurn
from mnemolog.domain.category import CategoryPolicy
from mnemolog.domain.errors import NotFound
from mnemolog.events.conversation import turn_tag
from mnemolog.events.envelope import Receipt, StreamId
from mnemolog.events.erasure import MemoryErased, UserErased
from mnemolog.events.fields import validated
from mnemolog.events.log import EventLog, Outcome
from mnemolog.events.memory import MemoryCreated, MemoryEvent, touched


class Writes:
    def __init__(self, handler: Handler, log: EventLog, policy: CategoryPolicy) -> None:
        self._handler, self._log, self._policy = handler, log, policy

    def now(self) -> datetime:
        return self._handler.now()

    def new_turn_id(self) -> str:
        """An id for a turn that came without one."""
        return str(self._handler.new_id())

    async def record_turn(self, fields: Mapping[str, Any]) -> tuple[UUID, Receipt]:
        """One turn of a conversation, and the memory that it left; the same turn_id again changes nothing."""
        drawn = {"memory_id": self._handler.new_id(), "entity_id": self._handler.new_id()}
        command = validated(RecordTurn, {"occurred_at": self.now(), **fields, **drawn})
        receipt = await self._marked(await self._handler.handle(TURNS, command, occurred_at=command.occurred_at))
        if not receipt.already:
            return command.memory_id, receipt
        events = await self._log.read(receipt.stream, tags=[turn_tag(command.turn_id)])
        # The first: later memories may be drawn from the same turn.
        created = next(event.payload for event in events if isinstance(event.payload, MemoryCreated))
        return created.memory_id, receipt

    async def record_turns(
        self, stream: StreamId, commands: Sequence[tuple[RecordTurn, datetime]]
    ) -> Sequence[Outcome]:
        """Turns of one stream, each with when it was said, in one append; each has its own outcome."""
        return await self._handler.handle_all(TURNS, stream, commands)

    async def create(self, fields: Mapping[str, Any], idempotency_key: str | None = None) -> tuple[UUID, Receipt]:
        """A memory; its id is drawn unless it is given. A retry with the same key gives the first id."""
        command = validated(CreateMemory, {"memory_id": self._handler.new_id(), **fields})
        receipt = await self.execute(command, idempotency_key)
        if receipt.already and "memory_id" not in fields:
            return await self._first_drawn(receipt), receipt
        return command.memory_id, receipt

    async def execute(self, command: MemoryCommand, idempotency_key: str | None = None) -> Receipt:
        """Anything that is asked of a memory."""
        if isinstance(command, CreateMemory | UpdateMemory) and command.category:
            self._policy.known(command.category)
        return await self._marked(await self._handler.handle(MEMORIES, command, idempotency_key=idempotency_key))

    async def erase(self, command: Erase, idempotency_key: str | None = None) -> Receipt:
        """Erase a memory or a thread: its keys are destroyed when this returns, projections follow (X07)."""
        return await self._handler.handle(ERASURE, command, idempotency_key=idempotency_key)

    async def erase_user(self, command: EraseUser) -> Receipt:
        """Erase a user; nothing new is written where the last event is his erasure."""
        stream = command.stream()
        head = await self._log.head(stream)
        if not head:
            raise NotFound(f"there is no user {stream.owner!r}", field="user_id", fix="name a user with memories")
        [last] = await self._log.read(stream, after=head - 1, until=head)
        if isinstance(last.payload, UserErased):
            return Receipt(stream, (last.event_id,), head, head, already=True)
        return await self._handler.handle(USER_ERASURE, command)

    async def reach(self, command: Erase) -> Reach:
        """What an erasure would take along now."""
        return reach(await self._handler.read(ERASURE, command), command)

    async def _marked(self, receipt: Receipt) -> Receipt:
        """A receipt of something that was written before says so when its text was erased since (design §3)."""
        if not receipt.already:
            return receipt
        events = [await self._log.find(receipt.stream, event_id) for event_id in receipt.event_ids]
        gone = any(event and (event.erased or isinstance(event.payload, MemoryErased)) for event in events)
        return replace(receipt, erased=gone)

    async def undo_event(
        self, stream: StreamId, event_id: UUID, idempotency_key: str | None = None, **who: str
    ) -> Receipt:
        """Undo the change of one event, on all that it changed (X03)."""
        event = await self._log.find(stream, event_id)
        if event is None or not isinstance(event.payload, MemoryEvent):
            raise no_such_change(event_id)
        fields = {"memory_id": event.payload.memory_id, "event_id": event_id, **who}
        return await self._undo(stream, fields, idempotency_key)

    async def undo_last(
        self, stream: StreamId, memory_id: UUID, idempotency_key: str | None = None, **who: str
    ) -> Receipt:
        """Undo the last change that is in force on a memory. Without a key, a retry goes one change further back."""
        return await self._undo(stream, {"memory_id": memory_id, **who}, idempotency_key)

    async def _undo(self, stream: StreamId, fields: Mapping[str, Any], idempotency_key: str | None) -> Receipt:
        about = {"tenant": stream.tenant, "user_id": stream.owner, "at": self.now()}
        return await self.execute(validated(UndoChange, {**about, **fields}), idempotency_key)

    async def _first_drawn(self, receipt: Receipt) -> UUID:
        """The id that was drawn when the idempotency key was first used."""
        first = await self._log.find(receipt.stream, receipt.event_ids[0])
        assert first
        return touched(first.payload)[0]
