"""Methods of the Python API for the library of an agent."""

from __future__ import annotations

from asyncio import to_thread
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from mnemolog.adapters.files import read_file
from mnemolog.asking import After, Asking, Id, Moment
from mnemolog.deferred import Deferred

if TYPE_CHECKING:
    from mnemolog.adapters.operations import knowledge
    from mnemolog.adapters.operations.erasure import Erased, Proof
    from mnemolog.adapters.operations.knowledge import ChunkHit, DocumentAdded, DocumentDetail, DocumentView
    from mnemolog.adapters.operations.results import HistoryEntry, Page, Written
else:
    knowledge = Deferred("mnemolog.adapters.operations.knowledge")


class KnowledgeVerbs(Asking):
    """A part of `Verbs`."""

    async def add_document(
        self,
        content: bytes | str | Path,
        *,
        source: str | None = None,
        domain: str | None = None,
        mime: str | None = None,
        agent_id: str | None = None,
        thread_id: str | None = None,
        run_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> DocumentAdded:
        """Add a document to an agent's library, from its bytes or its path, or update the one with the same source.

        The default source is the path. Only chunks that changed are written.

        Example:
            sleep = b"# Caffeine\\n\\nNo coffee in the six hours before bed."
            memory.add_document(sleep, source="sleep.md", domain="health", agent_id="coach").outcome
        """
        given = {one: value for one, value in locals().items() if one not in ("self", "content")}
        if isinstance(content, str | Path):
            given["source"] = Path(content).as_posix() if source is None else source
            content = await to_thread(read_file, Path(content))
        return await self._upload(knowledge.add_document, self._request(knowledge.AddDocument, given), content)

    async def search_knowledge(
        self,
        query: str,
        *,
        domain: str | None = None,
        document_id: Id | None = None,
        top_k: int | None = None,
        agent_id: str | None = None,
        as_of: Moment | None = None,
        after: After | None = None,
        deadline: float | None = None,
        consistency: Literal["strong", "eventual"] | None = None,
    ) -> Page[ChunkHit]:
        """Search an agent's library, by meaning and by words.

        Example:
            memory.add_document(b"No coffee in the six hours before bed.", source="sleep.txt", agent_id="coach")
            [hit.text for hit in memory.search_knowledge("how late may I drink coffee?", agent_id="coach")]
        """
        return await self._ask(knowledge.search_knowledge, locals())

    async def list_documents(
        self,
        *,
        domain: str | None = None,
        source: str | None = None,
        status: Literal["active", "soft_deleted"] | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        agent_id: str | None = None,
        as_of: Moment | None = None,
        after: After | None = None,
        deadline: float | None = None,
        consistency: Literal["strong", "eventual"] | None = None,
    ) -> Page[DocumentView]:
        """List the documents of an agent's library, by source.

        Example:
            [document.source for document in memory.list_documents(agent_id="coach")]
        """
        return await self._ask(knowledge.list_documents, locals())

    async def get_document(
        self,
        document_id: Id,
        *,
        agent_id: str | None = None,
        as_of: Moment | None = None,
        after: After | None = None,
        deadline: float | None = None,
        consistency: Literal["strong", "eventual"] | None = None,
    ) -> DocumentDetail:
        """Read a document with its chunks, in order.

        Example:
            added = memory.add_document(b"# Naps\\n\\nTwenty minutes.", source="naps.md", agent_id="coach")
            memory.get_document(added.document_id, agent_id="coach").content[0].place
        """
        return await self._ask(knowledge.get_document, locals())

    async def document_history(
        self,
        document_id: Id,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        agent_id: str | None = None,
        as_of: Moment | None = None,
        after: After | None = None,
        deadline: float | None = None,
        consistency: Literal["strong", "eventual"] | None = None,
    ) -> Page[HistoryEntry]:
        """Read the history of a document, newest first.

        Example:
            added = memory.add_document(b"Twenty minutes.", source="naps.txt", agent_id="coach")
            [one.event for one in memory.document_history(added.document_id, agent_id="coach")]
        """
        return await self._ask(knowledge.document_history, locals())

    async def delete_document(
        self,
        document_id: Id,
        *,
        reason: str | None = None,
        agent_id: str | None = None,
        thread_id: str | None = None,
        run_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> Written:
        """Delete a document: hidden at once, and erased after 30 days unless it is restored.

        Example:
            added = memory.add_document(b"Twenty minutes.", source="naps.txt", agent_id="coach")
            memory.delete_document(added.document_id, agent_id="coach")
        """
        return await self._ask(knowledge.delete_document, locals())

    async def restore_document(
        self,
        document_id: Id,
        *,
        agent_id: str | None = None,
        thread_id: str | None = None,
        run_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> Written:
        """Restore a deleted document.

        Example:
            added = memory.add_document(b"Twenty minutes.", source="naps.txt", agent_id="coach")
            memory.delete_document(added.document_id, agent_id="coach")
            memory.restore_document(added.document_id, agent_id="coach")
        """
        return await self._ask(knowledge.restore_document, locals())

    async def undo_document(
        self,
        document_id: Id,
        *,
        event_id: Id | None = None,
        agent_id: str | None = None,
        thread_id: str | None = None,
        run_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> Written:
        """Undo a change of a document, by default the last one.

        Example:
            added = memory.add_document(b"Twenty minutes.", source="naps.txt", agent_id="coach")
            memory.add_document(b"Thirty minutes.", source="naps.txt", agent_id="coach")
            memory.undo_document(added.document_id, agent_id="coach")
        """
        return await self._ask(knowledge.undo_document, locals())

    async def erase_document(
        self,
        document_id: Id,
        *,
        dry_run: bool | None = None,
        agent_id: str | None = None,
        thread_id: str | None = None,
        run_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> Erased:
        """Erase a document for good, with all chunks that it ever had.

        Example:
            added = memory.add_document(b"Twenty minutes.", source="naps.txt", agent_id="coach")
            memory.erase_document(added.document_id, agent_id="coach")
        """
        return await self._ask(knowledge.erase_document, locals())

    async def prove_document_erased(self, document_id: Id, *, agent_id: str | None = None) -> Proof:
        """Prove that an erased document cannot be read anywhere.

        Example:
            added = memory.add_document(b"Twenty minutes.", source="naps.txt", agent_id="coach")
            memory.erase_document(added.document_id, agent_id="coach")
            memory.prove_document_erased(added.document_id, agent_id="coach").erased
        """
        return await self._ask(knowledge.prove_document_erased, locals())
