"""Operations on threads, their sessions and their episodes (D07, E01)."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from pydantic import Field

from mnemolog.adapters.operations.engine import Engine
from mnemolog.adapters.operations.operation import operation
from mnemolog.adapters.operations.requests import PagedRead, Read, viewer_of
from mnemolog.adapters.operations.results import Page, Result
from mnemolog.domain.episode import Boundary, EpisodeStatus
from mnemolog.domain.topic_markers import MarkerKind
from mnemolog.domain.turn import Role
from mnemolog.events.fields import Id, Uuid

OfThread = Annotated[Id | None, Field(description="Only those of this thread.")]


class ThreadsRead(PagedRead):
    """An agent's threads, latest first."""


class ThreadRead(Read):
    """One thread of an agent."""

    thread_id: Annotated[Id, Field(description="The thread.")]


class SessionsRead(PagedRead):
    """An agent's sessions, latest first."""

    thread_id: OfThread = None


class ThreadSessionRead(Read):
    """One session of an agent."""

    session_id: Annotated[Uuid, Field(description="The session's id.")]


class EpisodesRead(PagedRead):
    """An agent's episodes, latest first."""

    thread_id: OfThread = None


class EpisodeRead(Read):
    """One episode of an agent."""

    episode_id: Annotated[Uuid, Field(description="The episode's id.")]


class Thread(Result):
    """One agent's part of a thread."""

    thread_id: str
    agent_id: str
    turns: int
    started_at: datetime
    last_activity_at: datetime
    last_user_message_at: datetime | None
    active_session_id: UUID | None = Field(description="The open session; null once it has ended.")
    active_episode_id: UUID | None = Field(description="The open episode; null once it is closed.")
    seq: int


class Stretch(Result):
    """Turns of a thread that belong together."""

    agent_id: str
    thread_id: str
    status: EpisodeStatus
    turns: int
    started_at: datetime
    ended_at: datetime | None = Field(description="When the last turn was said; null while it is open.")
    last_activity_at: datetime | None
    previous_id: UUID | None = Field(description="The one before it in the thread.")
    silence_seconds: float | None = Field(description="The silence before its first turn.")
    first_turn_id: str
    last_turn_id: str | None
    carried_turn_ids: list[str] = Field(
        description="The last turns of the previous one, if they are still context: the user came back soon after it."
    )
    closed_by: Boundary | None
    seq: int


class ThreadSession(Stretch):
    """A session: turns without a long silence between them."""

    session_id: UUID


class Episode(Stretch):
    """An episode: a topic chapter of a thread. Use its id as `run_id` of what is written about it."""

    episode_id: UUID
    starts_by: Boundary = Field(description="Why it started.")
    similarities: list[float] = Field(description="The similarities that showed another topic.")
    least_similarity: float | None = Field(description="What those were compared with.")
    model: str | None = Field(description="The embedding model that they are of.")
    marker_kind: MarkerKind | None = Field(description="The kind of phrase that announced another topic.")
    marker_language: str | None
    topic_label: str | None = Field(description="What it was about, once it has a final summary.")
    merged_into: UUID | None = Field(description="The episode that has its turns, since its start was undone.")
    last_user_message_at: datetime | None


class CarriedTurn(Result):
    """A turn that was said before a boundary and is still context."""

    turn_id: str
    role: Role
    text: str
    occurred_at: datetime


class ThreadSessionFound(ThreadSession):
    """A session, and what it carries over."""

    carried_over: list[CarriedTurn]


class EpisodeFound(Episode):
    """An episode, and what it carries over."""

    carried_over: list[CarriedTurn]


@operation("thread list", "GET /threads", tag="conversation")
async def list_threads(engine: Engine, request: ThreadsRead) -> Page[Thread]:
    """List this agent's threads, latest first.

    Returns the open session and the open episode of each.
    """
    found = await engine.reads.threads(viewer_of(engine, request), request.moment(), request.limit, request.cursor)
    return Page[Thread].of(found)


@operation("thread get", "GET /thread", tag="conversation", arguments=("thread_id",))
async def get_thread(engine: Engine, request: ThreadRead) -> Thread:
    """Read one of this agent's threads.

    Returns its number of turns, its open session and its open episode.
    """
    found = await engine.reads.thread(viewer_of(engine, request), request.thread_id, request.moment())
    return Thread.model_validate(found)


@operation("thread sessions", "GET /sessions", tag="conversation")
async def list_sessions(engine: Engine, request: SessionsRead) -> Page[ThreadSession]:
    """List this agent's sessions, latest first.

    A session ends after 30 minutes without a turn. Sessions are found about a minute after the last turn.
    """
    viewer, moment = viewer_of(engine, request), request.moment()
    return Page[ThreadSession].of(
        await engine.reads.sessions(viewer, request.thread_id, moment, request.limit, request.cursor)
    )


@operation("thread session", "GET /sessions/{session_id}", tag="conversation")
async def get_session(engine: Engine, request: ThreadSessionRead) -> ThreadSessionFound:
    """Read one of this agent's sessions.

    Also returns the turns carried over from the previous session, if the user came back soon after it.
    """
    found = await engine.reads.session_of_id(viewer_of(engine, request), request.session_id, request.moment())
    return ThreadSessionFound.model_validate(found)


@operation("episode list", "GET /episodes", tag="conversation")
async def list_episodes(engine: Engine, request: EpisodesRead) -> Page[Episode]:
    """List this agent's episodes, latest first.

    A new one starts after 8 hours without a message from the user, when the topic changes, or when a new one is
    announced. Episodes are found about a minute after the last turn.
    """
    viewer, moment = viewer_of(engine, request), request.moment()
    return Page[Episode].of(
        await engine.reads.episodes(viewer, request.thread_id, moment, request.limit, request.cursor)
    )


@operation("episode get", "GET /episodes/{episode_id}", tag="conversation")
async def get_episode(engine: Engine, request: EpisodeRead) -> EpisodeFound:
    """Read one of this agent's episodes.

    Returns why it started and closed, and the turns carried over from the previous one.
    """
    found = await engine.reads.episode(viewer_of(engine, request), request.episode_id, request.moment())
    return EpisodeFound.model_validate(found)
