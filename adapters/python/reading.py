"""Methods of the Python API that read memories."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from mnemolog.asking import After, Asking, Id, Moment
from mnemolog.deferred import Deferred

if TYPE_CHECKING:
    from datetime import datetime

    from mnemolog.adapters.operations import envelope as envelopes
    from mnemolog.adapters.operations import memories, results, serving, stats
    from mnemolog.adapters.operations.envelope import Checked, EnvelopeView
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
    from mnemolog.adapters.operations.serving import Serving
    from mnemolog.adapters.operations.stats import OperationCount
    from mnemolog.projections.slots import Envelope
else:
    envelopes = Deferred("mnemolog.adapters.operations.envelope")
    memories = Deferred("mnemolog.adapters.operations.memories")
    results = Deferred("mnemolog.adapters.operations.results")
    serving = Deferred("mnemolog.adapters.operations.serving")
    stats = Deferred("mnemolog.adapters.operations.stats")


class ReadVerbs(Asking):
    """A part of `Verbs`."""

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
        profile: Literal["default", "twin", "delta", "being", "persona"] | None = None,
        cutoff: Literal["none", "relative", "floor"] | None = None,
        kinds: Sequence[str] | None = None,
        superseded: Literal["include", "exclude"] | None = None,
        trusted_only: bool | None = None,
        thread_id: str | None = None,
        asked_at: datetime | str | None = None,
        since_rev: int | None = None,
        record: bool | None = None,
        message_id: str | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
        as_of: Moment | None = None,
        after: After | None = None,
        deadline: float | None = None,
        consistency: Literal["strong", "eventual"] | None = None,
    ) -> SearchResult:
        """Search everything known about a user, best first; with `as_of`, as it was known at that time.

        A hit is a memory, a message, a fact (kind `relation`), an entity, a profile field, a todo, a summary or an
        artifact, with its `date`, whether it is `current`, and the `parts` of its score; `kinds` chooses some. What was
        superseded stands below what is current, or is left out with `superseded="exclude"`. `unknown` are the names in
        the query that are not known, and what is not known of whom it asks about.
        With `record`, the search is an event (`served`), counted by `stats`.

        Times in the query, such as "last week", count from `asked_at`; what was said then comes first.

        `profile` chooses how hits are ranked, `cutoff` whether those far below the best are left out; `nothing` says
        what was looked for if there is none. `filters` narrow it (`run_id`, `role`, `category`, `pinned`,
        `importance_min`, `updated_after`, ...), and when and where it was said (`since`, `until`, `thread_id`,
        `session_id`, `episode_id`).

        `as_of` is a time with its offset, or a sequence number of the user's stream. `after` is a write, or its token,
        that the result must include, waiting at most `deadline` seconds (ReadTimeout).

        Example:
            memory.search("where does Ana live?", user_id="ana", top_k=3)
        """
        found = await self._ask(memories.search, {**locals(), "return": "full"})
        assert isinstance(found, results.SearchResult)
        return found

    async def envelope(
        self,
        message: str,
        *,
        trusted_only: bool | None = None,
        thread_id: str | None = None,
        edges: int | None = None,
        record: bool | None = None,
        message_id: str | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
        as_of: Moment | None = None,
        after: After | None = None,
        deadline: float | None = None,
        consistency: Literal["strong", "eventual"] | None = None,
    ) -> EnvelopeView:
        """Assemble the inference envelope for a message: AFFECT, GRAPH, EPISODE and KNOWLEDGE.

        `gate` says whether episodes and knowledge were searched, and why. Where slots contradict each other, the one
        with less authority says in `overruled_by` what is right. With `record`, `served` finds it by the `message_id`.

        Example:
            memory.envelope("Do you remember where I live?", user_id="ana").envelope.GRAPH.relations
        """
        return await self._ask(envelopes.envelope, locals())

    async def validate_envelope(
        self,
        envelope: Mapping[str, Any],
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
    ) -> Envelope:
        """Validate an inference envelope; EnvelopeInvalid has the path of the first fault.

        Example:
            found = memory.envelope("What should I cook?", user_id="ana")
            memory.validate_envelope(found.envelope.model_dump(mode="json"), user_id="ana")
        """
        return await self._ask(envelopes.validate_envelope, locals())

    async def check_claims(
        self,
        text: str,
        *,
        thread_id: str | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
        as_of: Moment | None = None,
        after: After | None = None,
        deadline: float | None = None,
        consistency: Literal["strong", "eventual"] | None = None,
    ) -> Checked:
        """Check the claims of an answer against what is known: supported, contradicted or unsupported.

        One that is not supported has the `question` to ask instead. The comparison is by words, not by meaning.

        Example:
            [claim.question for claim in memory.check_claims("You live in Berlin.", user_id="ana").claims]
        """
        return await self._ask(envelopes.check_claims, locals())

    async def context(
        self,
        query: str,
        *,
        categories: Sequence[str] | None = None,
        filters: Mapping[str, Any] | None = None,
        profile: Literal["default", "twin", "delta", "being", "persona"] | None = None,
        cutoff: Literal["none", "relative", "floor"] | None = None,
        budget_tokens: int | None = None,
        recent: int | None = None,
        since_rev: int | None = None,
        trusted_only: bool | None = None,
        thread_id: str | None = None,
        record: bool | None = None,
        message_id: str | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
        as_of: Moment | None = None,
        after: After | None = None,
        deadline: float | None = None,
        consistency: Literal["strong", "eventual"] | None = None,
    ) -> Context:
        """Read the context for an agent's answer: pinned memories, and each category in its mode.

        `filters` are those of `search`; critical facts, pinned memories and cards are in it whatever they say. With
        `recent`, so many of the last messages of the thread are in it, and the agent's open todos. With `since_rev`, it
        begins with what changed in the thread since then.

        Example:
            print("\\n".join(memory.context("where to eat?", user_id="ana").lines))
        """
        return await self._ask(memories.context, locals())

    async def served(
        self,
        message_id: str | None = None,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
        as_of: Moment | None = None,
        after: After | None = None,
        deadline: float | None = None,
        consistency: Literal["strong", "eventual"] | None = None,
    ) -> Page[Serving]:
        """Read what the agent knew when it answered a message, or when it wrote an answer, the latest first.

        Without a message, all that it was given.

        Example:
            said = memory.add("Do you remember my allergy?", user_id="ana").message_id
            memory.envelope("Do you remember my allergy?", user_id="ana", record=True, message_id=said)
            [one.kind for one in memory.served(said, user_id="ana")[0].items]
        """
        return await self._ask(serving.served, locals())

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
        """Read what matters most about people, places and things, by references such as `person:ana_silva`.

        Example:
            memory.cards(["person:ana_silva"], user_id="ana")
        """
        return await self._ask(memories.cards, locals())

    async def links(
        self,
        memory_id: Id,
        *,
        limit: int | None = None,
        cursor: str | None = None,
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
        """Read the history of a memory, an entity or a fact, newest first.

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
        """Explain why anything that a search finds, or a profile field, is known: its events and turns.

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
        """Read what changed in a thread since a revision: the delta header, and the next revision.

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
