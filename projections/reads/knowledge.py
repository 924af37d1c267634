"""The reads of an agent's library."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any
from uuid import UUID

from mnemolog.domain.memory import Status
from mnemolog.domain.viewer import Viewer
from mnemolog.projections.knowledge import reader
from mnemolog.projections.paging import Slice
from mnemolog.projections.reads.moment import NOW, Moment
from mnemolog.projections.reads.reading import KNOWLEDGE, VECTORS, Reading
from mnemolog.projections.vectors.question import Question

EVERY_CHUNK = reader.ChunkCandidates()


class KnowledgeReads(Reading):
    """The part of `Reads` for libraries. Any viewer reads the library of its agent, whichever user it is for.

    A moment given as a number is a seq of the library's own stream.
    """

    async def document(self, viewer: Viewer, document_id: UUID, moment: Moment = NOW) -> Mapping[str, Any]:
        """One document, deleted or not, with its chunks in order."""
        ask = partial(reader.one, document_id=document_id)
        return await self._read(self._librarian(viewer), moment, (KNOWLEDGE,), ask)

    async def documents(
        self,
        viewer: Viewer,
        domain: str | None = None,
        source: str | None = None,
        status: Status = Status.ACTIVE,
        limit: int = 100,
        moment: Moment = NOW,
        cursor: str | None = None,
    ) -> Slice:
        ask = partial(reader.listed, domain=domain, source=source, status=status, limit=limit, cursor=cursor)
        return await self._read(self._librarian(viewer), moment, (KNOWLEDGE,), ask)

    async def search_knowledge(
        self,
        viewer: Viewer,
        query: str,
        among: reader.ChunkCandidates = EVERY_CHUNK,
        limit: int = 5,
        moment: Moment = NOW,
    ) -> Sequence[Mapping[str, Any]]:
        """The chunks that answer a query, best first, each with its document."""
        [found] = await self.search_library(viewer, [query], among, limit, moment)
        return found

    async def search_library(
        self,
        viewer: Viewer,
        queries: Sequence[str],
        among: reader.ChunkCandidates = EVERY_CHUNK,
        limit: int = 5,
        moment: Moment = NOW,
    ) -> Sequence[Sequence[Mapping[str, Any]]]:
        """The chunks that answer each query."""
        _, found = await self._answers_of_library(viewer, queries, among, limit, moment)
        return found

    async def _answers_of_library(
        self, viewer: Viewer, queries: Sequence[str], among: reader.ChunkCandidates, limit: int, moment: Moment
    ) -> tuple[Sequence[Question], Sequence[Sequence[Mapping[str, Any]]]]:
        """The queries as they were asked, and the chunks that answer each."""
        ask = partial(reader.search, among=among, limit=limit)
        return await self._by_meanings(self._librarian(viewer), moment, (KNOWLEDGE, VECTORS), queries, ask)

    async def told_of(self, viewer: Viewer, text: str, moment: Moment = NOW) -> Sequence[str]:
        """The words of a text that the library has, the rarest first. No model is asked."""
        return await self._read(self._librarian(viewer), moment, (KNOWLEDGE,), partial(reader.told_of, text=text))

    def _librarian(self, viewer: Viewer) -> Viewer:
        """The agent as a reader of its library; refused if the viewer is a user that the caller may not name."""
        if viewer.library:
            return viewer
        self._admitted(viewer)
        return Viewer.of_library(viewer.tenant, viewer.agent_id)
