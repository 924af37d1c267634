"""The Python face: an embedded engine behind a few verbs, which are awaited."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from mnemolog.adapters.engine.reads import Changes
from mnemolog.adapters.engine.why import Why
from mnemolog.commands.memories import (
    ChangeStatus,
    LinkMemories,
    MergeMemories,
    RestoreMemory,
    SoftDeleteMemory,
    UpdateMemory,
)
from mnemolog.commands.rollback import Plan
from mnemolog.domain.errors import InvalidInput
from mnemolog.domain.identity import parse_uuid
from mnemolog.domain.memory import Status
from mnemolog.erasing import ErasureVerbs
from mnemolog.events.envelope import Receipt
from mnemolog.events.fields import validated
from mnemolog.graph import GraphVerbs
from mnemolog.graph_changes import GraphChangeVerbs
from mnemolog.profile import ProfileVerbs
from mnemolog.projections.context import AgentContext, ContextRequest
from mnemolog.projections.query import MemoryQuery
from mnemolog.results import Added, Found
from mnemolog.transfer import TransferVerbs
from mnemolog.undertakings import UndertakingVerbs


class AsyncMemory(GraphVerbs, GraphChangeVerbs, ProfileVerbs, UndertakingVerbs, ErasureVerbs, TransferVerbs):
    """Memory for agents, on servers that start at the first use and stop at `close`.

    `data_dir` defaults to ~/.mnemolog; other keywords are the settings that `mnemolog config` lists. Every write is
    durable when it returns, and a read sees every write that this object made before it. All ids are text; a memory
    id may be given as a UUID or its text. Everything raises `MnemologError`, which names the field and the fix.

    Example:
        async with AsyncMemory() as memory:
            await memory.add("I moved to Lisbon", user_id="ana")
            found = await memory.search("where does Ana live?", user_id="ana")
    """

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
        category: str | None = None,
        kind: str = "fact",
        importance: float | None = None,
        importance_scale: Literal["unit", "level3", "level5"] = "unit",
        confidence: float = 1.0,
        pinned: bool = False,
        scope: Literal["global", "agent"] = "global",
        type: Literal["PROFILE", "PEOPLE", "PROJECT"] | None = None,
        fact_type: Literal["fact", "preference", "relationship", "friction", "habit"] | None = None,
        memory_key: str = "",
        entity_refs: Sequence[str] = (),
        entity_ids: Sequence[UUID | str] = (),
        entity_label: str = "",
        topics: Sequence[str] = (),
        source_turn_ids: Sequence[str] = (),
        merge_similar: bool = False,
        idempotency_key: str | None = None,
    ) -> Added:
        """Write one memory as it is. Scope `agent` hides it from other agents.

        `importance` lies in [0, 1], or on the scale that is named: D's 0 to 3, B's 1 to 5. With a `memory_key`, or
        with `type`, `fact_type` and `entity_refs` (`person:ana_silva`), which make one, the memory of that key is
        updated or observed instead; with `merge_similar`, one that says the same. The id returned is that one's then.
        `entity_ids` are entities that it is about, beside those that its references name.

        Example:
            memory.create("Prefers tea", user_id="ana", category="preferences", importance=0.8)
        """
        engine = await self._engine()
        identity = {
            "memory_key": memory_key,
            "entity_refs": tuple(entity_refs),
            "entity_ids": tuple(entity_ids),
            "entity_label": entity_label,
        }
        optional = {"category": category, "importance": importance, "type": type, "fact_type": fact_type}
        command = {
            **self._who(user_id),
            **identity,
            **{name: value for name, value in optional.items() if value is not None},
            "text": text,
            "kind": kind,
            "importance_scale": importance_scale,
            "confidence": confidence,
            "pinned": pinned,
            "scope": scope,
            "topics": tuple(topics),
            "source_turn_ids": tuple(source_turn_ids),
            "merge_similar": merge_similar,
        }
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
        engine = await self._engine()
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
        answer = await engine.reads.query(request, await self._moment(request.stream, as_of, after, deadline))
        return [Found.of(hit) for hit in answer.hits]

    async def context(
        self,
        query: str,
        *,
        user_id: str,
        categories: Sequence[str] = (),
        budget_tokens: int | None = None,
        as_of: datetime | str | int | None = None,
        after: Receipt | str | None = None,
        deadline: float | None = None,
    ) -> AgentContext:
        """What an agent is told before it answers: pinned memories, and each category in its mode (B §5).

        Example:
            print("\\n".join(memory.context("where to eat?", user_id="ana").bullets))
        """
        fields = {"query": query, "categories": tuple(categories), "budget_tokens": budget_tokens}
        request = validated(ContextRequest, fields)
        engine, viewer = await self._engine(), self._viewer(user_id)
        moment = await self._moment(self._stream(user_id), as_of, after, deadline)
        return await engine.reads.context(viewer, request, moment)

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
        return await engine.reads.memory(self._viewer(user_id), id_, moment)

    async def history(
        self,
        id_: UUID | str,
        *,
        user_id: str,
        limit: int = 100,
        after: Receipt | str | None = None,
        deadline: float | None = None,
    ) -> Sequence[Mapping[str, Any]]:
        """What happened to a memory, an entity or a fact, newest first (B §8).

        Example:
            [row["event"] for row in memory.history(added.memory_id, user_id="ana")]
        """
        engine, stream = await self._engine(), self._stream(user_id)
        moment = await self._moment(stream, None, after, deadline)
        return await engine.reads.history(self._viewer(user_id), parse_uuid(id_, "id"), limit, moment)

    async def why(
        self,
        id_: UUID | str,
        *,
        user_id: str,
        as_of: datetime | str | int | None = None,
        after: Receipt | str | None = None,
        deadline: float | None = None,
    ) -> Why:
        """Why a memory, an entity, a fact, a todo or a profile field is known: its events and the turns behind (X04).

        Example:
            [turn.text for turn in memory.why(added.memory_id, user_id="ana").turns]
        """
        engine, viewer = await self._engine(), self._viewer(user_id)
        moment = await self._moment(self._stream(user_id), as_of, after, deadline)
        return await engine.reads.why(viewer, str(id_), moment)

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
        return await engine.reads.changes(self._viewer(user_id), self._thread_id, since, moment)

    async def update(
        self,
        memory_id: UUID | str,
        *,
        user_id: str,
        text: str | None = None,
        category: str | None = None,
        importance: float | None = None,
        importance_scale: Literal["unit", "level3", "level5"] = "unit",
        confidence: float | None = None,
        pinned: bool | None = None,
    ) -> Receipt:
        """Change what is given and leave the rest. What is pinned is of the highest importance.

        Example:
            memory.update(added.memory_id, user_id="ana", text="Moved to Porto")
        """
        asked = {"text": text, "category": category, "importance": importance, "confidence": confidence}
        fields = {**asked, "importance_scale": importance_scale, "pinned": pinned}
        return await self._execute(UpdateMemory, user_id, memory_id, **fields)

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

    async def links(self, memory_id: UUID | str, *, user_id: str) -> Sequence[Mapping[str, Any]]:
        """What a memory is linked to, the strongest link first.

        Example:
            [link["text"] for link in memory.links(added.memory_id, user_id="ana")]
        """
        engine, id_ = await self._engine(), parse_uuid(memory_id, "memory_id")
        moment = await self._moment(self._stream(user_id), None)
        return await engine.reads.links(self._viewer(user_id), id_, moment)

    async def archive(self, memory_id: UUID | str, *, user_id: str) -> Receipt:
        """Keep a memory out of sight, until `restore` or `undo` brings it back. What is pinned is never archived.

        Example:
            memory.archive(added.memory_id, user_id="ana")
        """
        return await self._execute(ChangeStatus, user_id, memory_id, status=Status.DORMANT)

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

    async def undo(
        self,
        memory_id: UUID | str | None = None,
        *,
        user_id: str,
        event_id: UUID | str | None = None,
        idempotency_key: str | None = None,
    ) -> Receipt:
        """Undo the last change of a memory, or one change of anything by its event: a merge of entities, an undo.

        Each call on a memory goes one change further back; a retry with the same idempotency key does not.

        Example:
            memory.undo(added.memory_id, user_id="ana")
        """
        _require_one(memory_id, event_id)
        writes, stream = (await self._engine()).writes, self._stream(user_id)
        who = {"agent_id": self._agent_id, "thread_id": self._thread_id}
        if memory_id is not None:
            wanted = parse_uuid(memory_id, "memory_id")
            return self._noted(await writes.undo_last(stream, wanted, idempotency_key, **who))
        return self._noted(await writes.undo_event(stream, parse_uuid(event_id, "event_id"), idempotency_key, **who))

    async def undo_plan(
        self, memory_id: UUID | str | None = None, *, user_id: str, event_id: UUID | str | None = None
    ) -> Plan:
        """What `undo` would write (`changes`), and which later changes stand in its way; nothing is changed.

        Example:
            memory.undo_plan(added.memory_id, user_id="ana").changes
        """
        _require_one(memory_id, event_id)
        engine, who = await self._engine(), {"agent_id": self._agent_id, "thread_id": self._thread_id}
        wanted = None if memory_id is None else parse_uuid(memory_id, "memory_id")
        event = None if event_id is None else parse_uuid(event_id, "event_id")
        return await engine.writes.undo_plan(self._stream(user_id), wanted, event, **who)


def _require_one(memory_id: object, event_id: object) -> None:
    if (memory_id is None) == (event_id is None):
        raise InvalidInput("one thing at a time is undone", field="memory_id", fix="give a memory_id or an event_id")
