"""Methods of the Python API that write memories."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from mnemolog.asking import Asking, Id
from mnemolog.deferred import Deferred

if TYPE_CHECKING:
    from mnemolog.adapters.operations import memories
    from mnemolog.adapters.operations.results import Created, Undone, Written
else:
    memories = Deferred("mnemolog.adapters.operations.memories")


class WriteVerbs(Asking):
    """A part of `Verbs`."""

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
        experience: Mapping[str, Any] | None = None,
        merge_similar: bool | None = None,
        origin: Literal["user", "agent", "document", "tool", "other_agent", "import"] | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
        thread_id: str | None = None,
        run_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> Created:
        """Create a memory.

        `importance` is in [0, 1], or on the scale that is named: `level3` is 0 to 3, `level5` 1 to 5. Scope `agent`
        hides the memory from other agents. With a `memory_key`, or with `type`, `fact_type` and `entity_refs`
        (`person:ana_silva`), which make one, the memory with that key is updated or observed instead; with
        `merge_similar`, one that says the same. The id returned is that one's then. `origin` says that it comes from
        outside: then it can neither be pinned, nor a procedure, nor change what the user said.

        Example:
            memory.create("Prefers tea", user_id="ana", category="preferences", importance=0.8)
        """
        return await self._ask(memories.create, locals())

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
        experience: Mapping[str, Any] | None = None,
        origin: Literal["user", "agent", "document", "tool", "other_agent", "import"] | None = None,
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
        origin: Literal["user", "agent", "document", "tool", "other_agent", "import"] | None = None,
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
        origin: Literal["user", "agent", "document", "tool", "other_agent", "import"] | None = None,
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

    async def confirm(
        self,
        memory_id: Id,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        thread_id: str | None = None,
        run_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> Written:
        """Confirm a memory in the user's name: one from a document or a tool is then trusted like the user's words.

        Example:
            read = memory.create("Ana's flight leaves at nine", user_id="ana", origin="document")
            memory.confirm(read.memory_id, user_id="ana")
        """
        return await self._ask(memories.confirm, locals())

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
        """Undo the last change of a memory, or everything that one event changed: a merge, an undo.

        Each call on a memory goes one change further back; a retry with the same idempotency key does not. With
        `dry_run`, nothing is written: `changes` and `conflicts` say what would be.

        Example:
            memory.undo(added.memory_id, user_id="ana")
        """
        return await self._ask(memories.undo, locals())
