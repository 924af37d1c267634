"""The reads of threads, sessions, episodes and summaries."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from mnemolog.domain.identity import identifier
from mnemolog.domain.summary import SummaryKind
from mnemolog.domain.viewer import Viewer
from mnemolog.projections.conversation import reader as conversation
from mnemolog.projections.episodes import reader as episodes
from mnemolog.projections.paging import Slice
from mnemolog.projections.reads.moment import NOW, Moment
from mnemolog.projections.reads.reading import CONVERSATION, EPISODES, SUMMARIES, Reading
from mnemolog.projections.rows import Row
from mnemolog.projections.summaries import reader as summaries

OF_TOPICS = (EPISODES, SUMMARIES, CONVERSATION)


class EpisodeReads(Reading):
    """The part of `Reads` that tells where an agent's own threads are divided (E01, D07)."""

    async def threads(self, viewer: Viewer, moment: Moment = NOW, limit: int = 100, cursor: str | None = None) -> Slice:
        """The agent's threads of a user, the latest first."""
        return await self._read(viewer, moment, (EPISODES,), partial(episodes.own_threads, limit=limit, cursor=cursor))

    async def thread(self, viewer: Viewer, thread_id: str, moment: Moment = NOW) -> Mapping[str, Any]:
        """One of the agent's threads."""
        ask = partial(episodes.own_thread, thread_id=identifier(thread_id, "thread_id"))
        return await self._read(viewer, moment, (EPISODES,), ask)

    async def sessions(
        self,
        viewer: Viewer,
        thread_id: str | None = None,
        moment: Moment = NOW,
        limit: int = 100,
        cursor: str | None = None,
    ) -> Slice:
        """The agent's sessions, or those of one thread, the latest first."""
        ask = partial(episodes.own_sessions, thread_id=thread_id, limit=limit, cursor=cursor)
        return await self._read(viewer, moment, (EPISODES,), ask)

    async def session_of_id(self, viewer: Viewer, session_id: UUID, moment: Moment = NOW) -> Mapping[str, Any]:
        """One of the agent's sessions, with what it carries over (D13)."""

        async def ask(connection: AsyncConnection, viewer: Viewer) -> Row:
            return await _with_carried(connection, viewer, await episodes.own_session(connection, viewer, session_id))

        return await self._read(viewer, moment, (EPISODES, CONVERSATION), ask)

    async def episodes(
        self,
        viewer: Viewer,
        thread_id: str | None = None,
        moment: Moment = NOW,
        limit: int = 100,
        cursor: str | None = None,
    ) -> Slice:
        """The agent's episodes, or those of one thread, the latest first."""

        async def ask(connection: AsyncConnection, viewer: Viewer) -> Slice:
            found = await episodes.own_episodes(connection, viewer, thread_id, limit, cursor)
            await _name_topics(connection, viewer, found)
            return found

        return await self._read(viewer, moment, OF_TOPICS, ask)

    async def episode(self, viewer: Viewer, episode_id: UUID, moment: Moment = NOW) -> Mapping[str, Any]:
        """One of the agent's episodes, with what it carries over (D13)."""

        async def ask(connection: AsyncConnection, viewer: Viewer) -> Row:
            found = await _with_carried(connection, viewer, await episodes.own_episode(connection, viewer, episode_id))
            await _name_topics(connection, viewer, [found])
            return found

        return await self._read(viewer, moment, OF_TOPICS, ask)

    async def summary(self, viewer: Viewer, summary_id: UUID, moment: Moment = NOW) -> Mapping[str, Any]:
        return await self._read(viewer, moment, (SUMMARIES,), partial(summaries.one, summary_id=summary_id))

    async def summaries(
        self,
        viewer: Viewer,
        thread_id: str | None = None,
        kind: SummaryKind | None = None,
        limit: int = 100,
        moment: Moment = NOW,
        cursor: str | None = None,
    ) -> Slice:
        """The summaries of the viewing agent, the newest first."""
        ask = partial(summaries.newest, thread_id=thread_id, kind=kind, limit=limit, cursor=cursor)
        return await self._read(viewer, moment, (SUMMARIES,), ask)


async def _with_carried(connection: AsyncConnection, viewer: Viewer, found: Row) -> Row:
    """With the messages before it that are still context, as far as the agent may read them."""
    said = await conversation.among(connection, viewer, found["carried_turn_ids"])
    return {**found, "carried_over": [{**row, "turn_id": row["message_id"]} for row in said]}


async def _name_topics(connection: AsyncConnection, viewer: Viewer, found: Sequence[Row]) -> None:
    """The topic of each episode, once it has a final summary."""
    topics = await summaries.topics(connection, viewer, {one["episode_id"] for one in found})
    for one in found:
        one["topic_label"] = topics.get(one["episode_id"])
