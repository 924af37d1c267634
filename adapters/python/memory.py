"""The Python face: an embedded engine behind a few verbs, sync (`Memory`) and async (`AsyncMemory`)."""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self, TypeVar
from uuid import UUID

from mnemolog.adapters.config import load
from mnemolog.adapters.engine.engine import Engine, open_engine
from mnemolog.adapters.engine.erasing import Erasure, erase
from mnemolog.adapters.engine.reads import Changes, Moment
from mnemolog.commands.erasure import Erase, EraseMemory, EraseThread, EraseUser
from mnemolog.commands.memories import (
    LinkMemories,
    MemoryCommand,
    MergeMemories,
    RestoreMemory,
    SoftDeleteMemory,
    UpdateMemory,
)
from mnemolog.domain.errors import InvalidInput
from mnemolog.domain.identity import aware, identifier, parse_uuid
from mnemolog.events.envelope import Position, Receipt, StreamId
from mnemolog.events.fields import validated
from mnemolog.mirror import EventLoopThread, mirrored
from mnemolog.projections.query import Hit, MemoryQuery

CommandType = TypeVar("CommandType", bound=MemoryCommand)


@dataclass(frozen=True, slots=True)
class Added:
    """What `add` and `create` return: the memory's id, and the receipt of the durable write."""

    memory_id: UUID
    receipt: Receipt


@dataclass(frozen=True, slots=True)
class Found:
    """One memory that answers. `score` in [0, 1]; `similarity` is the cosine, None when only the words matched."""

    memory_id: UUID
    text: str
    category: str
    score: float
    similarity: float | None
    metadata: Mapping[str, Any]

    def __str__(self) -> str:
        return self.text

    @classmethod
    def of(cls, hit: Hit) -> Self:
        return cls(hit.memory_id, hit.text, hit.category, hit.score, hit.similarity, hit.row)


class AsyncMemory:
    """Memory for agents, on servers that start at the first use and stop at `close`.

    `data_dir` defaults to ~/.mnemolog; other keywords are the settings that `mnemolog config` lists. Every write is
    durable when it returns, and a read sees every write that this object made before it. All ids are text; a memory
    id may be given as a UUID or its text. Everything raises `MnemologError`, which names the field and the fix.

    Example:
        async with AsyncMemory() as memory:
            await memory.add("I moved to Lisbon", user_id="ana")
            found = await memory.search("where does Ana live?", user_id="ana")
    """

    def __init__(
        self, data_dir: str | Path | None = None, *, agent_id: str = "default", thread_id: str = "main", **settings: Any
    ) -> None:
        self._settings = load(data_dir=data_dir, http_port=0, **settings)
        self._agent_id, self._thread_id = identifier(agent_id, "agent_id"), identifier(thread_id, "thread_id")
        self._stack = AsyncExitStack()
        self._opened: Engine | None = None
        self._opening = asyncio.Lock()
        self._written: dict[StreamId, int] = {}

    async def __aenter__(self) -> Self:
        await self._engine()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Stop the servers. Nothing is lost; the next use starts them again."""
        self._opened = None
        await self._stack.aclose()

    async def add(
        self,
        text: str,
        *,
        user_id: str,
        role: Literal["user", "assistant", "system", "tool"] = "user",
        speaker: str = "",
        turn_id: str | None = None,
        occurred_at: datetime | str | None = None,
        run_id: str | None = None,
    ) -> Added:
        """Record what was said, and remember it. With a `turn_id` of yours, adding it again changes nothing.

        Example:
            memory.add("I moved to Lisbon", user_id="ana")
        """
        engine = await self._engine()
        fields = {"text": text, "role": role, "speaker": speaker, "run_id": run_id, "actor": role}
        optional = {"turn_id": turn_id or engine.writes.new_turn_id(), "occurred_at": occurred_at}
        given = {name: value for name, value in optional.items() if value is not None}
        memory_id, receipt = await engine.writes.record_turn({**self._who(user_id), **fields, **given})
        return Added(memory_id, self._noted(receipt))

    async def create(
        self,
        text: str,
        *,
        user_id: str,
        category: str = "note",
        kind: str = "fact",
        importance: float = 0.5,
        pinned: bool = False,
        scope: Literal["global", "agent"] = "global",
        idempotency_key: str | None = None,
    ) -> Added:
        """Write one memory as it is. `importance` lies in [0, 1]; scope `agent` hides it from other agents.

        Example:
            memory.create("Prefers tea", user_id="ana", category="preferences", importance=0.8)
        """
        engine = await self._engine()
        fields = {"text": text, "category": category, "kind": kind, "importance": importance, "pinned": pinned}
        command = {**self._who(user_id), **fields, "scope": scope}
        memory_id, receipt = await engine.writes.create(command, idempotency_key)
        return Added(memory_id, self._noted(receipt))

    async def search(
        self,
        query: str,
        *,
        user_id: str,
        top_k: int = 5,
        categories: Sequence[str] = (),
        filters: Mapping[str, Any] | None = None,
        budget_tokens: int | None = None,
        threshold: float | None = None,
        as_of: datetime | str | int | None = None,
        after: Receipt | str | None = None,
        deadline: float | None = None,
    ) -> list[Found]:
        """The memories that answer a question, best first; with `as_of`, those that would have then.

        `filters` are those of B §6 (`run_id`, `role`, `category`, `pinned`, `importance_min`, `updated_after`, ...);
        `as_of` is a time with its offset, or a seq of the user's stream; `after` the receipt, or its token, of a write
        that was made elsewhere and must be seen, for which at most `deadline` seconds are waited (ReadTimeout).

        Example:
            memory.search("where does Ana live?", user_id="ana", top_k=3)
        """
        fields = {
            "tenant": self._settings.tenant,
            "agent": self._agent_id,
            "query": query,
            "top_k": top_k,
            "categories": tuple(categories),
            "filters": {**(filters or {}), "user_id": user_id},
            "budget_tokens": budget_tokens,
            "threshold": threshold,
            "thread_id": self._thread_id,
        }
        request = validated(MemoryQuery, fields)
        engine = await self._engine()
        answer = await engine.reads.query(request, await self._moment(request.stream, as_of, after, deadline))
        return [Found.of(hit) for hit in answer.hits]

    async def get(
        self,
        memory_id: UUID | str,
        *,
        user_id: str,
        as_of: datetime | str | int | None = None,
        after: Receipt | str | None = None,
        deadline: float | None = None,
    ) -> Mapping[str, Any]:
        """One memory with everything that is known of it, hidden or not.

        Example:
            memory.get(added.memory_id, user_id="ana")["text"]
        """
        engine, stream = await self._engine(), self._stream(user_id)
        id_ = parse_uuid(memory_id, "memory_id")
        moment = await self._moment(stream, as_of, after, deadline)
        return await engine.reads.memory(stream, self._agent_id, id_, moment)

    async def history(
        self,
        memory_id: UUID | str,
        *,
        user_id: str,
        limit: int = 100,
        after: Receipt | str | None = None,
        deadline: float | None = None,
    ) -> Sequence[Mapping[str, Any]]:
        """What happened to a memory, newest first (B §8).

        Example:
            [row["event"] for row in memory.history(added.memory_id, user_id="ana")]
        """
        engine, stream = await self._engine(), self._stream(user_id)
        id_ = parse_uuid(memory_id, "memory_id")
        moment = await self._moment(stream, None, after, deadline)
        return await engine.reads.history(stream, self._agent_id, id_, limit, moment)

    async def changes(
        self,
        *,
        user_id: str,
        since: int = 0,
        after: Receipt | str | None = None,
        deadline: float | None = None,
    ) -> Changes:
        """What changed in this thread since a revision: the delta header (B §1), and the revision to ask from next.

        Example:
            print(memory.changes(user_id="ana", since=0).header)
        """
        engine, stream = await self._engine(), self._stream(user_id)
        moment = await self._moment(stream, None, after, deadline)
        return await engine.reads.changes(stream, self._agent_id, self._thread_id, since, moment)

    async def update(
        self,
        memory_id: UUID | str,
        *,
        user_id: str,
        text: str | None = None,
        category: str | None = None,
        importance: float | None = None,
        confidence: float | None = None,
        pinned: bool | None = None,
    ) -> Receipt:
        """Change what is given and leave the rest.

        Example:
            memory.update(added.memory_id, user_id="ana", text="Moved to Porto")
        """
        asked = {"text": text, "category": category, "importance": importance, "confidence": confidence}
        return await self._execute(UpdateMemory, user_id, memory_id, **asked, pinned=pinned)

    async def merge(
        self, memory_id: UUID | str, absorbed_ids: Sequence[UUID | str], *, user_id: str, text: str | None = None
    ) -> Receipt:
        """Fold memories into one that survives; the others are hidden, and an undo brings them back.

        Example:
            memory.merge(first.memory_id, [second.memory_id], user_id="ana")
        """
        return await self._execute(MergeMemories, user_id, memory_id, absorbed_ids=tuple(absorbed_ids), text=text)

    async def link(self, memory_id: UUID | str, to_id: UUID | str, *, user_id: str, strength: float = 1.0) -> Receipt:
        """Link one memory to another.

        Example:
            memory.link(first.memory_id, second.memory_id, user_id="ana", strength=0.8)
        """
        return await self._execute(LinkMemories, user_id, memory_id, to_id=to_id, strength=strength)

    async def forget(self, memory_id: UUID | str, *, user_id: str, reason: str = "") -> Receipt:
        """Hide a memory, until `restore` or `undo` brings it back.

        Example:
            memory.forget(added.memory_id, user_id="ana", reason="asked to")
        """
        now = (await self._engine()).writes.now()
        return await self._execute(SoftDeleteMemory, user_id, memory_id, reason=reason, at=now)

    async def restore(self, memory_id: UUID | str, *, user_id: str) -> Receipt:
        """Bring back what was forgotten.

        Example:
            memory.restore(added.memory_id, user_id="ana")
        """
        return await self._execute(RestoreMemory, user_id, memory_id)

    async def undo(self, memory_id: UUID | str, *, user_id: str) -> Receipt:
        """Undo the last change of a memory: an update, a merge or a forgetting.

        Example:
            memory.undo(added.memory_id, user_id="ana")
        """
        engine, stream = await self._engine(), self._stream(user_id)
        id_ = parse_uuid(memory_id, "memory_id")
        who = {"agent_id": self._agent_id, "thread_id": self._thread_id}
        return self._noted(await engine.writes.undo_last(stream, id_, **who))

    async def erase(
        self,
        memory_id: UUID | str | None = None,
        *,
        user_id: str,
        thread_id: str | None = None,
        everything: bool = False,
        keep_turns: bool = False,
        with_survivors: bool = False,
    ) -> Erasure:
        """Destroy the text of a memory, of a thread or of everything of a user, for good: it cannot be undone.

        Example:
            memory.erase(added.memory_id, user_id="ana")
        """
        engine, who = await self._engine(), self._who(user_id)
        if [memory_id is not None, thread_id is not None, everything].count(True) != 1:
            raise InvalidInput(
                "one thing at a time is erased", field="memory_id", fix="give a memory_id, a thread_id or everything"
            )
        if memory_id is not None:
            options = {"keep_turns": keep_turns, "with_survivors": with_survivors}
            command: Erase | EraseUser = validated(EraseMemory, {**who, **options, "memory_id": memory_id})
        elif thread_id is not None:
            command = validated(EraseThread, {**who, "with_survivors": with_survivors, "thread_id": thread_id})
        else:
            command = validated(EraseUser, who)
        erasure = await erase(engine, command)
        self._noted(erasure.receipt)
        return erasure

    async def _engine(self) -> Engine:
        async with self._opening:
            if self._opened is None:
                self._opened = await self._stack.enter_async_context(open_engine(self._settings))
            return self._opened

    async def _execute(self, command: type[CommandType], user_id: str, memory_id: UUID | str, **fields: Any) -> Receipt:
        request = validated(command, {**self._who(user_id), "memory_id": memory_id, **fields})
        return self._noted(await (await self._engine()).writes.execute(request))

    def _who(self, user_id: str) -> dict[str, str]:
        return {
            "tenant": self._settings.tenant,
            "user_id": user_id,
            "agent_id": self._agent_id,
            "thread_id": self._thread_id,
        }

    def _stream(self, user_id: str) -> StreamId:
        return StreamId.of_user(identifier(user_id, "user_id"), self._settings.tenant)

    def _noted(self, receipt: Receipt) -> Receipt:
        self._written[receipt.stream] = max(receipt.last_seq, self._written.get(receipt.stream, 0))
        return receipt

    async def _moment(
        self,
        stream: StreamId,
        as_of: datetime | str | int | None,
        after: Receipt | str | None = None,
        deadline: float | None = None,
    ) -> Moment:
        if as_of is None:
            if stream not in self._written:  # What earlier processes wrote is seen too.
                self._written[stream] = await (await self._engine()).log.head(stream)
            seen = Position(stream, self._written[stream])
            asked = seen if after is None else Position.of_token(after if isinstance(after, str) else after.token)
            return Moment(after=seen if asked.stream == stream and asked.seq < seen.seq else asked, deadline=deadline)
        if isinstance(as_of, bool) or (isinstance(as_of, int) and as_of < 0):
            raise InvalidInput(f"{as_of!r} is no moment", field="as_of", fix="give a time with its offset, or a seq")
        return Moment(as_of=as_of if isinstance(as_of, int) else aware(as_of, "as_of"))


class Memory:
    """Memory for agents: `AsyncMemory` without the `await`. Safe to use from several threads.

    Example:
        memory = Memory()
        memory.add("I moved to Lisbon", user_id="ana")
        memory.search("where does Ana live?", user_id="ana")
    """

    def __init__(
        self, data_dir: str | Path | None = None, *, agent_id: str = "default", thread_id: str = "main", **settings: Any
    ) -> None:
        self.mirrored = AsyncMemory(data_dir, agent_id=agent_id, thread_id=thread_id, **settings)
        self.loop = EventLoopThread(self.mirrored.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stop the servers. Nothing is lost. Also done when the program ends."""
        self.loop.stop()

    add = mirrored(AsyncMemory.add)
    create = mirrored(AsyncMemory.create)
    search = mirrored(AsyncMemory.search)
    get = mirrored(AsyncMemory.get)
    history = mirrored(AsyncMemory.history)
    changes = mirrored(AsyncMemory.changes)
    update = mirrored(AsyncMemory.update)
    merge = mirrored(AsyncMemory.merge)
    link = mirrored(AsyncMemory.link)
    forget = mirrored(AsyncMemory.forget)
    restore = mirrored(AsyncMemory.restore)
    undo = mirrored(AsyncMemory.undo)
    erase = mirrored(AsyncMemory.erase)
