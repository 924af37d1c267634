"""Methods of the Python API that read memories."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from mnemolog.asking import After, Asking, Id, Moment
from mnemolog.deferred import Deferred

if TYPE_CHECKING:
    from datetime import datetime

    from mnemolog.adapters.operations import memories, results, stats
    from mnemolog.adapters.operations.results import (
        CardView,
        Changes,
        Context,
        HistoryEntry,
        LinkView,
        MemoryView,
        Page,
        SearchResult,
        WhyView,
    )
    from mnemolog.adapters.operations.stats import OperationCount
else:
    memories = Deferred("mnemolog.adapters.operations.memories")
    results = Deferred("mnemolog.adapters.operations.results")
    stats = Deferred("mnemolog.adapters.operations.stats")


class ReadVerbs(Asking):
    """A part of `AsyncMemory`."""

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
        """List a user's memories, most recently changed first.

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
        """Search a user's memories, best first; with `as_of`, with the results of that time.

        `filters` are those of B §6 (`run_id`, `role`, `category`, `pinned`, `importance_min`, `updated_after`, ...).
        `as_of` is a time with its offset, or a sequence number of the user's stream. `after` is a write, or its token,
        that the result must include, waiting at most `deadline` seconds (ReadTimeout).

        Example:
            memory.search("where does Ana live?", user_id="ana", top_k=3)
        """
        found = await self._ask(memories.search, {**locals(), "return": "full"})
        assert isinstance(found, results.SearchResult)
        return found

    async def context(
        self,
        query: str,
        *,
        categories: Sequence[str] | None = None,
        budget_tokens: int | None = None,
        thread_id: str | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
        as_of: Moment | None = None,
        after: After | None = None,
        deadline: float | None = None,
        consistency: Literal["strong", "eventual"] | None = None,
    ) -> Context:
        """Read the context for an agent's answer: pinned memories, and each category in its mode (B §5).

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
        """List a memory's links, strongest first.

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
            for entry in memory.history(added.memory_id, user_id="ana"):
                [(change.field, change.old, change.new) for change in entry.changes]
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

    async def stats(
        self,
        *,
        over: Literal["agent", "user", "tenant"] | None = None,
        by: Literal["hour", "day", "total"] | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        node: Literal["hotpath", "context", "episodic", "worker"] | None = None,
        op: str | None = None,
        status: Literal["ok", "skipped", "error"] | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
        as_of: Moment | None = None,
        after: After | None = None,
        deadline: float | None = None,
        consistency: Literal["strong", "eventual"] | None = None,
    ) -> Page[OperationCount]:
        """Count operations by node and kind, over time: of this agent, of all agents of a user, or of the tenant.

        Example:
            [(one.op, one.count) for one in memory.stats(by="total", user_id="ana")]
        """
        return await self._ask(stats.stats, locals())
