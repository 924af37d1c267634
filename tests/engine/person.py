"""A user of an engine, as tests write and read one: every verb takes only what the test is about."""

from collections.abc import Awaitable
from dataclasses import dataclass
from typing import Any, TypeVar
from uuid import UUID

from mnemolog.adapters.engine.engine import Engine, new_id, now
from mnemolog.commands.memories import (
    LinkMemories,
    MemoryCommand,
    MergeMemories,
    RestoreMemory,
    SoftDeleteMemory,
    UpdateMemory,
)
from mnemolog.commands.messages import DeleteMessage, RestoreMessage
from mnemolog.domain.errors import NotFound
from mnemolog.domain.viewer import Viewer
from mnemolog.events.envelope import DEFAULT_AGENT, DEFAULT_TENANT, DEFAULT_THREAD, Position, Receipt, StreamId
from mnemolog.events.memory import MemoryCreated
from mnemolog.events.memory_fold import MEMORY
from mnemolog.projections.query import Answer
from mnemolog.projections.reads.memories import Changes
from mnemolog.projections.reads.moment import NOW, Moment
from mnemolog.projections.requests import MemoryQuery

T = TypeVar("T")


@dataclass(frozen=True)
class Person:
    """Writes as `agent` in `thread`. Reads see every write that returned before, unless they are given a moment."""

    engine: Engine
    user: str
    tenant: str = DEFAULT_TENANT
    agent: str = DEFAULT_AGENT
    thread: str = DEFAULT_THREAD

    @property
    def stream(self) -> StreamId:
        return StreamId.of_user(self.user, self.tenant)

    @property
    def viewer(self) -> Viewer:
        return Viewer(self.tenant, self.user, self.agent)

    @property
    def _who(self) -> dict[str, Any]:
        return {"tenant": self.tenant, "user_id": self.user, "agent_id": self.agent, "thread_id": self.thread}

    async def says(self, text: str, **fields: Any) -> Receipt:
        turn = {"turn_id": str(new_id()), "speaker": "Ana", "text": text, **fields}
        return await self.engine.writes.record_turn({**self._who, **turn})

    async def remembers(self, text: str, **fields: Any) -> UUID:
        """A memory that was extracted from a message, and says the same; both in one append."""
        extracted = {"kind": "episode", "category": "activity", "text": f"{fields.get('speaker', 'Ana')}: {text}"}
        receipt = await self.says(text, memories=[extracted], **fields)
        events = await self.engine.log.read(self.stream, after=receipt.first_seq - 1, until=receipt.last_seq)
        return next(one.payload.memory_id for one in events if isinstance(one.payload, MemoryCreated))

    async def deletes_message(self, message_id: str, reason: str = "") -> Receipt:
        command = DeleteMessage(**self._who, message_id=message_id, reason=reason, at=now())
        return await self.engine.writes.change_message(command)

    async def restores_message(self, message_id: str) -> Receipt:
        return await self.engine.writes.change_message(RestoreMessage(**self._who, message_id=message_id))

    async def creates(self, text: str, **fields: Any) -> UUID:
        memory_id, _ = await self.engine.writes.create({**self._who, "text": text, **fields})
        return memory_id

    async def updates(self, memory_id: UUID, **fields: Any) -> Receipt:
        return await self._asks(UpdateMemory.model_validate({**self._who, "memory_id": memory_id, **fields}))

    async def merges(self, survivor: UUID, *absorbed: UUID, text: str | None = None) -> Receipt:
        return await self._asks(MergeMemories(**self._who, memory_id=survivor, absorbed_ids=absorbed, text=text))

    async def deletes(self, memory_id: UUID, reason: str = "") -> Receipt:
        return await self._asks(SoftDeleteMemory(**self._who, memory_id=memory_id, reason=reason, at=now()))

    async def restores(self, memory_id: UUID) -> Receipt:
        return await self._asks(RestoreMemory(**self._who, memory_id=memory_id))

    async def links(self, memory_id: UUID, to_id: UUID, strength: float = 1.0) -> Receipt:
        return await self._asks(LinkMemories(**self._who, memory_id=memory_id, to_id=to_id, strength=strength))

    async def undoes(self, memory_id: UUID) -> Receipt:
        return await self.engine.writes.undo_last(self.stream, memory_id, agent_id=self.agent, thread_id=self.thread)

    async def asks(self, query: str, moment: Moment | None = None, **fields: Any) -> Answer:
        return await self.engine.reads.query(self.question(query, **fields), moment or await self.caught_up())

    async def finds(self, query: str, moment: Moment | None = None, **fields: Any) -> list[str]:
        """The texts that answer, best first."""
        return [hit.text for hit in (await self.asks(query, moment, **fields)).hits]

    def question(self, query: str, **fields: Any) -> MemoryQuery:
        filters = {"user_id": self.user, **fields.pop("filters", {})}
        who = {"tenant": self.tenant, "agent": self.agent, "thread_id": self.thread}
        return MemoryQuery.model_validate({**who, "query": query, "filters": filters, "top_k": 50, **fields})

    async def changes(self, since: int = 0, moment: Moment | None = None) -> Changes:
        return await self.engine.reads.changes(self.viewer, self.thread, since, moment or await self.caught_up())

    async def caught_up(self) -> Moment:
        """Live, with everything that is in the log now."""
        return Moment(after=Position(self.stream, await self.engine.log.head(self.stream)))

    async def everything(self, moment: Moment = NOW, query: str = "lactose Lisbon tea") -> dict[str, Any]:
        """All that reads tell of this person, to compare one moment with another."""
        reads, viewer = self.engine.reads, self.viewer
        ids = await self.memory_ids()
        return {
            "messages": await reads.messages(viewer, None, 1000, moment),
            "newest": await reads.newest(viewer, 1000, moment),
            "memory": [await _or_none(reads.memory(viewer, id_, moment)) for id_ in ids],
            "history": [await _or_none(reads.history(viewer, id_, 1000, moment)) for id_ in ids],
            "changes": await self.changes(0, moment),
            "entities": await reads.entities(viewer, moment),
            "answer": await self.asks(query, moment, since_rev=0),
        }

    async def memory_ids(self) -> list[UUID]:
        """Every memory that the log tells of, whenever."""
        return sorted(
            {id_ for event in await self.engine.log.read(self.stream) for id_ in MEMORY.touched(event.payload)}
        )

    async def _asks(self, command: MemoryCommand) -> Receipt:
        return await self.engine.writes.execute(command)


async def _or_none(read: Awaitable[T]) -> T | None:
    try:
        return await read
    except NotFound:
        return None
