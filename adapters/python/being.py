"""Methods of the Python API for what is kept for a being."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from mnemolog.asking import After, Asking, Id, Moment
from mnemolog.deferred import Deferred

if TYPE_CHECKING:
    from mnemolog.adapters.operations import being, patrol
    from mnemolog.adapters.operations.being import BeingContext, Entry, EntryPut, Recollection, Scenes
    from mnemolog.adapters.operations.patrol import ClusterView, PatrolResult
    from mnemolog.adapters.operations.results import HistoryEntry, Page, Written
else:
    being = Deferred("mnemolog.adapters.operations.being")
    patrol = Deferred("mnemolog.adapters.operations.patrol")

StoreName = Literal[
    "soul",
    "rule",
    "preference",
    "relationship",
    "tool",
    "map",
    "note",
    "knowledge",
    "diary",
    "snapshot",
    "party_message",
]


class BeingVerbs(Asking):
    """A part of `Verbs`. A being is an agent of one user: no other agent sees what is kept for it."""

    async def put_being_entry(
        self,
        store: StoreName,
        body: Mapping[str, Any],
        *,
        key: str | None = None,
        origin: Literal["user", "agent", "document", "tool", "other_agent", "import"] | None = None,
        source_turn_ids: Sequence[str] | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
        thread_id: str | None = None,
        run_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> EntryPut:
        """Put an entry into a store of this agent; one with the same key is replaced.

        Example:
            memory.put_being_entry("diary", {"date": "2026-01-03", "text": "Ana planned Rome."}, user_id="ana")
        """
        return await self._ask(being.put_being_entry, locals())

    async def list_being_entries(
        self,
        store: StoreName | None = None,
        *,
        read: bool | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
        as_of: Moment | None = None,
        after: After | None = None,
        deadline: float | None = None,
        consistency: Literal["strong", "eventual"] | None = None,
    ) -> Page[Entry]:
        """List the entries of this agent's stores, or of one, oldest first; with `read=False` only unread notes.

        Example:
            [entry.body for entry in memory.list_being_entries("diary", user_id="ana")]
        """
        return await self._ask(being.list_being_entries, locals())

    async def mark_note(
        self,
        entry_id: Id,
        *,
        read: bool | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
        thread_id: str | None = None,
        run_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> Written:
        """Mark a note as read, or with `read=False` as unread again; only unread notes are shown to the model.

        Example:
            note = memory.put_being_entry("note", {"type": "todo", "text": "Ask about Rome"}, user_id="ana")
            memory.mark_note(note.entry_id, user_id="ana")
        """
        return await self._ask(being.mark_note, locals())

    async def remove_being_entry(
        self,
        entry_id: Id,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        thread_id: str | None = None,
        run_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> Written:
        """Remove an entry from its store; `undo` restores it.

        Example:
            rule = memory.put_being_entry("rule", {"text": "Answer briefly."}, user_id="ana")
            memory.remove_being_entry(rule.entry_id, user_id="ana")
        """
        return await self._ask(being.remove_being_entry, locals())

    async def being_context(
        self,
        *,
        instructions: str | None = None,
        since_rev: int | None = None,
        trusted_only: bool | None = None,
        record: bool | None = None,
        message_id: str | None = None,
        thread_id: str | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
        as_of: Moment | None = None,
        after: After | None = None,
        deadline: float | None = None,
        consistency: Literal["strong", "eventual"] | None = None,
    ) -> BeingContext:
        """Assemble what precedes a conversation: the agent's stores and its last scenes, as blocks of a prompt.

        `messages` are ready for a chat model. Those that rarely change come first, for a provider's prompt cache. The
        system message also has critical facts, such as allergies, the profile and pinned memories.

        Example:
            memory.being_context(user_id="ana").messages
        """
        return await self._ask(being.being_context, locals())

    async def recall(
        self,
        query: str,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        as_of: Moment | None = None,
        after: After | None = None,
        deadline: float | None = None,
        consistency: Literal["strong", "eventual"] | None = None,
    ) -> Recollection:
        """Recall up to three scenes that resemble a text, as shuffled fragments; `block` is a part of a prompt.

        Example:
            memory.recall("the race on Friday", user_id="ana").block
        """
        return await self._ask(being.recall, locals())

    async def recall_memory(
        self,
        cluster: str,
        *,
        limit: int | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
        as_of: Moment | None = None,
        after: After | None = None,
        deadline: float | None = None,
        consistency: Literal["strong", "eventual"] | None = None,
    ) -> Scenes:
        """Recall all scenes of a cluster, dead ones too.

        Example:
            [scene.text for scene in memory.recall_memory("Private", user_id="ana").items]
        """
        return await self._ask(being.recall_memory, locals())

    async def search_memory(
        self,
        query: str,
        *,
        mode: Literal["or", "and"] | None = None,
        limit: int | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
        as_of: Moment | None = None,
        after: After | None = None,
        deadline: float | None = None,
        consistency: Literal["strong", "eventual"] | None = None,
    ) -> Scenes:
        """Search this agent's scenes by words, or parts of words, in any script; dead ones too.

        Example:
            [scene.text for scene in memory.search_memory("race", user_id="ana").items]
        """
        return await self._ask(being.search_memory, locals())

    async def being_entry_history(
        self,
        entry_id: Id,
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
        """Read the history of an entry, newest first: what it contained, and when it was read and removed.

        Example:
            rule = memory.put_being_entry("rule", {"text": "Answer briefly."}, user_id="ana")
            [entry.meta for entry in memory.being_entry_history(rule.entry_id, user_id="ana")]
        """
        return await self._ask(being.being_entry_history, locals())

    async def run_patrol(
        self,
        *,
        run_id: str | None = None,
        dry_run: bool | None = None,
        idempotency_key: str | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
    ) -> PatrolResult:
        """Run a patrol over this agent's scenes; the engine runs one by itself after each of its sessions.

        Example:
            memory.create("Mika won", user_id="ana", agent_id="mika", kind="scene", scope="agent")
            memory.run_patrol(user_id="ana", agent_id="mika", dry_run=True).steps
        """
        return await self._ask(patrol.run_patrol, locals())

    async def list_clusters(
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
    ) -> Page[ClusterView]:
        """List the clusters of this agent's scenes, dead ones included.

        Example:
            [one.label for one in memory.list_clusters(user_id="ana", agent_id="mika")]
        """
        return await self._ask(patrol.list_clusters, locals())
