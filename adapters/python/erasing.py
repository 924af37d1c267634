"""Methods of the Python API that erase data and prove it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mnemolog.asking import Asking, Id
from mnemolog.deferred import Deferred

if TYPE_CHECKING:
    from mnemolog.adapters.operations import erasure
    from mnemolog.adapters.operations.erasure import Erased, Proof
else:
    erasure = Deferred("mnemolog.adapters.operations.erasure")


class ErasureVerbs(Asking):
    """A part of `Verbs`."""

    async def erase(
        self,
        memory_id: Id,
        *,
        keep_turns: bool | None = None,
        with_survivors: bool | None = None,
        dry_run: bool | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
        thread_id: str | None = None,
        run_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> Erased:
        """Erase a memory for good, and the turns that it was extracted from unless `keep_turns`.

        It cannot be undone. Where the text may live on in what the memory was merged into, that must go, too:
        `with_survivors`. With `dry_run`, nothing is changed: the result says what would be erased.

        Example:
            memory.erase(added.memory_id, user_id="ana")
        """
        return await self._ask(erasure.erase, locals())

    async def erase_thread(
        self,
        thread_id: str,
        *,
        with_survivors: bool | None = None,
        dry_run: bool | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
        run_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> Erased:
        """Erase a thread for good: its turns, the memories that were extracted from them, and its sessions.

        Example:
            memory.erase_thread("main", user_id="ana", dry_run=True).turns
        """
        return await self._ask(erasure.erase_thread, locals())

    async def erase_user(
        self,
        *,
        dry_run: bool | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
        thread_id: str | None = None,
        run_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> Erased:
        """Erase everything of a user for good. A user who comes back starts with nothing, under new keys.

        Example:
            memory.erase_user(user_id="ana", dry_run=True).memories
        """
        return await self._ask(erasure.erase_user, locals())

    async def erase_entity(
        self,
        entity_id: Id,
        *,
        dry_run: bool | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
        thread_id: str | None = None,
        run_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> Erased:
        """Erase an entity and its facts for good; turns and memories stay.

        Example:
            marta = memory.add_entity("Marta", user_id="ana")
            memory.erase_entity(marta.entity_id, user_id="ana")
        """
        return await self._ask(erasure.erase_entity, locals())

    async def erase_fact(
        self,
        relation_id: Id,
        *,
        dry_run: bool | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
        thread_id: str | None = None,
        run_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> Erased:
        """Erase a fact for good; turns and memories stay.

        Example:
            fact = memory.add_fact("Ana", "lives in", "Lisbon", user_id="ana")
            memory.erase_fact(fact.relation_id, user_id="ana")
        """
        return await self._ask(erasure.erase_fact, locals())

    async def erase_profile(
        self,
        field: str,
        *,
        dry_run: bool | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
        thread_id: str | None = None,
        run_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> Erased:
        """Erase a field of the profile for good: its value, its earlier values, and what is proposed for it.

        Example:
            memory.propose_profile("city", "Porto", user_id="ana")
            memory.erase_profile("city", user_id="ana")
        """
        return await self._ask(erasure.erase_profile, locals())

    async def erase_todo(
        self,
        todo_id: Id,
        *,
        dry_run: bool | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
        thread_id: str | None = None,
        run_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> Erased:
        """Erase a todo for good; the status `dropped` closes one and keeps it.

        Example:
            todo = memory.add_todo("Buy sugar", user_id="ana")
            memory.erase_todo(todo.todo_id, user_id="ana")
        """
        return await self._ask(erasure.erase_todo, locals())

    async def erase_artifact(
        self,
        artifact_id: Id,
        *,
        dry_run: bool | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
        thread_id: str | None = None,
        run_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> Erased:
        """Erase an artifact for good: its file and its texts.

        Example:
            file = memory.add_artifact(b"Buy milk and eggs", name="list.txt", user_id="ana")
            memory.erase_artifact(file.artifact_id, user_id="ana")
        """
        return await self._ask(erasure.erase_artifact, locals())

    async def erase_being_entry(
        self,
        entry_id: Id,
        *,
        dry_run: bool | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
        thread_id: str | None = None,
        run_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> Erased:
        """Erase an entry of a being for good, also what it contained before.

        Example:
            note = memory.put_being_entry("note", {"type": "todo", "text": "Ask about Rome"}, user_id="ana")
            memory.erase_being_entry(note.entry_id, user_id="ana")
        """
        return await self._ask(erasure.erase_being_entry, locals())

    async def prove_erased(
        self,
        *,
        memory_id: Id | None = None,
        message_id: str | None = None,
        thread_id: str | None = None,
        entity_id: Id | None = None,
        relation_id: Id | None = None,
        field: str | None = None,
        todo_id: Id | None = None,
        artifact_id: Id | None = None,
        entry_id: Id | None = None,
        text: str | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
    ) -> Proof:
        """Prove that what was erased can be read nowhere; with `text`, look for these words, too.

        Without an id, it is about everything of the user that was written before the erasure.

        Example:
            memory.erase(added.memory_id, user_id="ana")
            memory.prove_erased(memory_id=added.memory_id, user_id="ana").erased
        """
        return await self._ask(erasure.prove_erased, locals())
