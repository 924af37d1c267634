"""The verbs of the Python face that destroy for good, and show that nothing is left."""

from uuid import UUID

from mnemolog.adapters.engine.erasing import Erasure, erase
from mnemolog.adapters.erasure.proof import Proof
from mnemolog.adapters.erasure.prove import prove
from mnemolog.adapters.erasure.target import Subject
from mnemolog.adapters.erasure.wanted import wanted
from mnemolog.domain.identity import parse_uuid
from mnemolog.opening import Opening


class ErasureVerbs(Opening):
    """A part of `AsyncMemory`."""

    async def erase(
        self,
        memory_id: UUID | str | None = None,
        *,
        user_id: str,
        thread_id: str | None = None,
        known: str | None = None,
        everything: bool = False,
        keep_turns: bool = False,
        with_survivors: bool = False,
    ) -> Erasure:
        """Destroy the text of a memory, a thread, something known or all of a user, for good: it cannot be undone.

        `known` is `entity:ID`, `relation:ID` (a fact), `profile:FIELD` or `todo:ID`.

        Example:
            memory.erase(added.memory_id, user_id="ana")
        """
        engine, who = await self._engine(), self._who(user_id)
        options = {"everything": everything, "keep_turns": keep_turns, "with_survivors": with_survivors}
        erasure = await erase(engine, wanted(who, memory_id, thread_id, known, **options))
        self._noted(erasure.receipt)
        return erasure

    async def prove_erased(
        self,
        memory_id: UUID | str | None = None,
        *,
        user_id: str,
        thread_id: str | None = None,
        known: str | None = None,
        text: str | None = None,
    ) -> Proof:
        """Look through every place where an erased text could have been; with `text`, for these words, too.

        Without a memory, a thread or something known, everything of the user that was written before he was erased.

        Example:
            memory.erase(added.memory_id, user_id="ana")
            memory.prove_erased(added.memory_id, user_id="ana").holds
        """
        engine, stream = await self._engine(), self._stream(user_id)
        wanted_id = None if memory_id is None else parse_uuid(memory_id, "memory_id")
        subject = Subject(stream, wanted_id, thread_id, known)
        return await prove(engine, subject, text, agent_id=self._who(user_id)["agent_id"])
