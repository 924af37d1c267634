"""Methods of the Python API for threads, sessions and episodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from mnemolog.asking import After, Asking, Id, Moment
from mnemolog.deferred import Deferred

if TYPE_CHECKING:
    from mnemolog.adapters.operations import episodes
    from mnemolog.adapters.operations.episodes import Episode, EpisodeFound, Thread, ThreadSession, ThreadSessionFound
    from mnemolog.adapters.operations.results import Page
else:
    episodes = Deferred("mnemolog.adapters.operations.episodes")


class EpisodeVerbs(Asking):
    """A part of `Verbs`."""

    async def list_threads(
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
    ) -> Page[Thread]:
        """List this agent's threads, latest first, each with its open session and episode.

        Example:
            [thread.thread_id for thread in memory.list_threads(user_id="ana")]
        """
        return await self._ask(episodes.list_threads, locals())

    async def get_thread(
        self,
        thread_id: str,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        as_of: Moment | None = None,
        after: After | None = None,
        deadline: float | None = None,
        consistency: Literal["strong", "eventual"] | None = None,
    ) -> Thread:
        """Read one of this agent's threads.

        Example:
            memory.get_thread("main", user_id="ana").turns
        """
        return await self._ask(episodes.get_thread, locals())

    async def list_sessions(
        self,
        *,
        thread_id: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
        as_of: Moment | None = None,
        after: After | None = None,
        deadline: float | None = None,
        consistency: Literal["strong", "eventual"] | None = None,
    ) -> Page[ThreadSession]:
        """List this agent's sessions, latest first. One ends after 30 minutes without a turn.

        Example:
            [session.turns for session in memory.list_sessions(user_id="ana")]
        """
        return await self._ask(episodes.list_sessions, locals())

    async def get_session(
        self,
        session_id: Id,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        as_of: Moment | None = None,
        after: After | None = None,
        deadline: float | None = None,
        consistency: Literal["strong", "eventual"] | None = None,
    ) -> ThreadSessionFound:
        """Read one of this agent's sessions, with the turns carried over from the previous one.

        Example:
            for session in memory.list_sessions(user_id="ana"):
                memory.get_session(session.session_id, user_id="ana").carried_over
        """
        return await self._ask(episodes.get_session, locals())

    async def list_episodes(
        self,
        *,
        thread_id: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
        as_of: Moment | None = None,
        after: After | None = None,
        deadline: float | None = None,
        consistency: Literal["strong", "eventual"] | None = None,
    ) -> Page[Episode]:
        """List this agent's episodes, latest first: the topic chapters of its threads.

        Example:
            [episode.starts_by for episode in memory.list_episodes(user_id="ana")]
        """
        return await self._ask(episodes.list_episodes, locals())

    async def get_episode(
        self,
        episode_id: Id,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        as_of: Moment | None = None,
        after: After | None = None,
        deadline: float | None = None,
        consistency: Literal["strong", "eventual"] | None = None,
    ) -> EpisodeFound:
        """Read one of this agent's episodes: why it started and closed, and what it carries over.

        Example:
            for episode in memory.list_episodes(user_id="ana"):
                memory.get_episode(episode.episode_id, user_id="ana").carried_over
        """
        return await self._ask(episodes.get_episode, locals())
