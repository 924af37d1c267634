"""The Python face: an engine behind a few verbs, which are awaited."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from mnemolog.adapters.operations import memories
from mnemolog.adapters.operations.results import (
    CardView,
    Changes,
    Context,
    Created,
    HistoryEntry,
    LinkView,
    MemoryView,
    Page,
    SearchResult,
    Undone,
    WhyView,
    Written,
)
from mnemolog.asking import After, Asking, Id, Moment
from mnemolog.batches import BatchVerbs
from mnemolog.conversation import ConversationVerbs
from mnemolog.erasing import ErasureVerbs
from mnemolog.graph import GraphVerbs
from mnemolog.profile import ProfileVerbs
from mnemolog.transfer import TransferVerbs


class AsyncMemory(
    ConversationVerbs,
    GraphVerbs,
    ProfileVerbs,
    BatchVerbs,
    ErasureVerbs,
    TransferVerbs,
    Asking,
):
    """Memory for agents, on servers that start at the first use.

    `data_dir` defaults to ~/.mnemolog; `user_id`, `agent_id` and `thread_id` are the defaults of every verb; other
    keywords are the settings that `mnemolog config` lists. Every write is durable when it returns, and a read sees
    every write that this object made before it. Ids may be given as a UUID or as text. All errors are `MnemologError`,
    which names the field and the fix.

    Example:
        async with AsyncMemory(user_id="ana") as memory:
            await memory.add("I moved to Lisbon")
            found = await memory.search("where does Ana live?")
    """

    async def create(
        self,
        text: str,
        *,
        category: str | None = None,
        kind: Literal["fact", "episode", "insight", "procedure", "scene", "summary"] | None = None,
        importance: float | None = None,
        importance_scale: Literal["unit", "level3", "level5"] | None = None,
        confidence: float | None = None,
        pinned: bool | None = None,
        scope: Literal["global", "agent"] | None = None,
        role: Literal["user", "assistant", "system", "tool"] | None = None,
        type: Literal["PROFILE", "PEOPLE", "PROJECT"] | None = None,
        entity_type: Literal["person", "place", "org", "project"] | None = None,
        fact_type: Literal["fact", "preference", "relationship", "friction", "habit"] | None = None,
        source: str | None = None,
        memory_key: str | None = None,
        entity_refs: Sequence[str] | None = None,
        entity_ids: Sequence[Id] | None = None,
        entity_label: str | None = None,
        topics: Sequence[str] | None = None,
        source_turn_ids: Sequence[str] | None = None,
        metadata: Mapping[str, Any] | None = None,
        merge_similar: bool | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
        thread_id: str | None = None,
        run_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> Created:
        """Create a memory.

        `importance` is in [0, 1], or on the scale that is named: D's 0 to 3, B's 1 to 5. Scope `agent` hides the
        memory from other agents. With a `memory_key`, or with `type`, `fact_type` and `entity_refs`
        (`person:ana_silva`), which make one, the memory with that key is updated or observed instead; with
        `merge_similar`, one that says the same. The id returned is that one's then.

        Example:
            memory.create("Prefers tea", user_id="ana", category="preferences", importance=0.8)
        """
        return await self._ask(memories.create, locals())

    async def get(
        self,
        memory_id: Id,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        as_of: Moment | None = None,
        after: After | None = None,
        deadline: float | None = None,
        consistency: Literal["strong", "eventual"] | None = None,
    ) -> MemoryView:
        """Read one memory, hidden or not.

        Example:
            memory.get(added.memory_id, user_id="ana").text
        """
        return await self._ask(memories.get, locals())

    async def list(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
        as_of: Moment | None = None,
        after: After | None = None,
        deadline: float | None = None,
        consistency: Literal["strong", "eventual"] | None = None,
    ) -> Page[MemoryView]:
        """List a user's memories, the most recently changed first.

        Example:
            [one.text for one in memory.list(user_id="ana")]
        """
        return await self._ask(memories.list_, locals())

    async def search(
        self,
        query: str,
        *,
        top_k: int | None = None,
        categories: Sequence[str] | None = None,
        filters: Mapping[str, Any] | None = None,
        budget_tokens: int | None = None,
        threshold: float | None = None,
        thread_id: str | None = None,
        since_rev: int | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
        as_of: Moment | None = None,
        after: After | None = None,
        deadline: float | None = None,
        consistency: Literal["strong", "eventual"] | None = None,
    ) -> SearchResult:
        """Search a user's memories, the best first; with `as_of`, as it would have been answered then.

        `filters` are those of B §6 (`run_id`, `role`, `category`, `pinned`, `importance_min`, `updated_after`, ...).
        `as_of` is a time with its offset, or a sequence number of the user's stream; `after` is a write, or its token,
        that the answer must include, for which at most `deadline` seconds are waited (ReadTimeout).

        Example:
            memory.search("where does Ana live?", user_id="ana", top_k=3)
        """
        found = await self._ask(memories.search, {**locals(), "return": "full"})
        assert isinstance(found, SearchResult)
        return found

    async def context(
        self,
        query: str,
        *,
        categories: Sequence[str] | None = None,
        budget_tokens: int | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
        as_of: Moment | None = None,
        after: After | None = None,
        deadline: float | None = None,
        consistency: Literal["strong", "eventual"] | None = None,
    ) -> Context:
        """Read what an agent should know before it answers: pinned memories, and each category in its mode (B §5).

        Example:
            print("\\n".join(memory.context("where to eat?", user_id="ana").lines))
        """
        return await self._ask(memories.context, locals())

    async def cards(
        self,
        refs: Sequence[str],
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        as_of: Moment | None = None,
        after: After | None = None,
        deadline: float | None = None,
        consistency: Literal["strong", "eventual"] | None = None,
    ) -> Page[CardView]:
        """Read what matters most about people, places and things, by references such as `person:ana_silva` (D06).

        Example:
            memory.cards(["person:ana_silva"], user_id="ana")
        """
        return await self._ask(memories.cards, locals())

    async def links(
        self,
        memory_id: Id,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        as_of: Moment | None = None,
        after: After | None = None,
        deadline: float | None = None,
        consistency: Literal["strong", "eventual"] | None = None,
    ) -> Page[LinkView]:
        """List what a memory is linked to, the strongest link first.

        Example:
            [link.text for link in memory.links(added.memory_id, user_id="ana")]
        """
        return await self._ask(memories.links, locals())

    async def history(
        self,
        id: Id,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
        as_of: Moment | None = None,
        after: After | None = None,
        deadline: float | None = None,
        consistency: Literal["strong", "eventual"] | None = None,
    ) -> Page[HistoryEntry]:
        """Read the history of a memory, an entity or a fact, newest first (B §8).

        Example:
            [entry.event for entry in memory.history(added.memory_id, user_id="ana")]
        """
        return await self._ask(memories.history, locals())

    async def why(
        self,
        id: Id,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        as_of: Moment | None = None,
        after: After | None = None,
        deadline: float | None = None,
        consistency: Literal["strong", "eventual"] | None = None,
    ) -> WhyView:
        """Explain why a memory, an entity, a fact, a todo or a profile field is known: its events and turns (X04).

        Example:
            [turn.text for turn in memory.why(added.memory_id, user_id="ana").turns]
        """
        return await self._ask(memories.why, locals())

    async def changes(
        self,
        *,
        since: int | None = None,
        thread_id: str | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
        as_of: Moment | None = None,
        after: After | None = None,
        deadline: float | None = None,
        consistency: Literal["strong", "eventual"] | None = None,
    ) -> Changes:
        """Read what changed in a thread since a revision: the delta header (B §1), and the next revision.

        Example:
            print(memory.changes(user_id="ana", since=0).header)
        """
        return await self._ask(memories.changes, locals())

    async def update(
        self,
        memory_id: Id,
        *,
        text: str | None = None,
        category: str | None = None,
        importance: float | None = None,
        importance_scale: Literal["unit", "level3", "level5"] | None = None,
        confidence: float | None = None,
        pinned: bool | None = None,
        metadata: Mapping[str, Any] | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
        thread_id: str | None = None,
        run_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> Written:
        """Update a memory; what is left out stays as it is. Pinned memories have the highest importance.

        Example:
            memory.update(added.memory_id, user_id="ana", text="Moved to Porto")
        """
        return await self._ask(memories.update, locals())

    async def merge(
        self,
        memory_id: Id,
        absorbed_ids: Sequence[Id],
        *,
        text: str | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
        thread_id: str | None = None,
        run_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> Written:
        """Merge other memories into this one; they are hidden, and `undo` brings them back.

        Example:
            memory.merge(first.memory_id, [second.memory_id], user_id="ana")
        """
        return await self._ask(memories.merge, locals())

    async def link(
        self,
        memory_id: Id,
        to_id: Id,
        *,
        relation_type: str | None = None,
        strength: float | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
        thread_id: str | None = None,
        run_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> Written:
        """Link one memory to another; `strength` is in [0, 1].

        Example:
            memory.link(first.memory_id, second.memory_id, user_id="ana", strength=0.8)
        """
        return await self._ask(memories.link, locals())

    async def archive(
        self,
        memory_id: Id,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        thread_id: str | None = None,
        run_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> Written:
        """Archive a memory: kept and hidden, until `restore` or `undo`. Pinned memories are never archived.

        Example:
            memory.archive(added.memory_id, user_id="ana")
        """
        return await self._ask(memories.archive, locals())

    async def delete(
        self,
        memory_id: Id,
        *,
        reason: str | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
        thread_id: str | None = None,
        run_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> Written:
        """Delete a memory: hidden at once, until `restore` or `undo`. `erase` destroys it for good.

        Example:
            memory.delete(added.memory_id, user_id="ana", reason="asked to")
        """
        return await self._ask(memories.delete, locals())

    async def restore(
        self,
        memory_id: Id,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        thread_id: str | None = None,
        run_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> Written:
        """Restore a deleted or archived memory.

        Example:
            memory.restore(added.memory_id, user_id="ana")
        """
        return await self._ask(memories.restore, locals())

    async def undo(
        self,
        memory_id: Id | None = None,
        *,
        event_id: Id | None = None,
        dry_run: bool | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
        thread_id: str | None = None,
        run_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> Undone:
        """Undo the last change of a memory, or one event on everything that it changed: a merge, an undo.

        Each call on a memory goes one change further back; a retry with the same idempotency key does not. With
        `dry_run`, nothing is written: `changes` and `conflicts` say what would be.

        Example:
            memory.undo(added.memory_id, user_id="ana")
        """
        return await self._ask(memories.undo, locals())
