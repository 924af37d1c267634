"""The reads of artifacts and their texts."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from mnemolog.domain.artifact import ArtifactType, TextKind
from mnemolog.domain.memory import Status
from mnemolog.domain.session import Session
from mnemolog.domain.viewer import Viewer
from mnemolog.projections.artifacts import reader
from mnemolog.projections.conversation import reader as conversation
from mnemolog.projections.paging import Slice
from mnemolog.projections.reads.moment import NOW, Moment
from mnemolog.projections.reads.reading import ARTIFACTS, CONVERSATION, VECTORS, Reading


class ArtifactReads(Reading):
    """The part of `Reads` that tells of artifacts."""

    async def artifact(self, viewer: Viewer, artifact_id: UUID, moment: Moment = NOW) -> Mapping[str, Any]:
        """One artifact, deleted or not, with its short texts."""
        return await self._read(viewer, moment, (ARTIFACTS,), partial(reader.one, artifact_id=artifact_id))

    async def artifacts(
        self,
        viewer: Viewer,
        type_: ArtifactType | None = None,
        status: Status = Status.ACTIVE,
        label: str | None = None,
        limit: int = 100,
        moment: Moment = NOW,
        cursor: str | None = None,
    ) -> Slice:
        """Artifacts, the most recently changed first."""
        ask = partial(reader.newest, type_=type_, status=status, label=label, limit=limit, cursor=cursor)
        return await self._read(viewer, moment, (ARTIFACTS, CONVERSATION), ask)

    async def shown_session(self, viewer: Viewer, chat_id: str, moment: Moment = NOW) -> Session:
        """The agent's working memory of a chat, with lines that stand for the attachments of its turns."""
        found = await self.session(viewer, chat_id, moment)
        ask = partial(_attachments, turn_ids=found.turn_ids)
        return found.with_surrogates(await self._read(viewer, moment, (ARTIFACTS, CONVERSATION), ask))

    async def artifact_texts(
        self,
        viewer: Viewer,
        artifact_id: UUID,
        kind: TextKind | None = None,
        limit: int = 100,
        moment: Moment = NOW,
        cursor: str | None = None,
    ) -> Slice:
        ask = partial(reader.texts_of, artifact_id=artifact_id, kind=kind, limit=limit, cursor=cursor)
        return await self._read(viewer, moment, (ARTIFACTS,), ask)

    async def search_artifacts(
        self, viewer: Viewer, query: str, among: reader.TextCandidates, limit: int = 5, moment: Moment = NOW
    ) -> Sequence[Mapping[str, Any]]:
        """The texts of artifacts that answer a query, best first."""
        ask = partial(reader.search, among=among, limit=limit)
        _, found = await self._by_meaning(viewer, moment, (ARTIFACTS, CONVERSATION, VECTORS), query, ask)
        return found


async def _attachments(
    connection: AsyncConnection, viewer: Viewer, turn_ids: frozenset[str]
) -> Mapping[str, Sequence[str]]:
    """The captions of what came with these messages, and the surrogates of their artifacts, by message."""
    said = await conversation.captions(connection, viewer, turn_ids)
    lines = await reader.of_turns(connection, viewer, turn_ids)
    return {id_: [*said.get(id_, ()), *lines.get(id_, ())] for id_ in {*said, *lines}}
