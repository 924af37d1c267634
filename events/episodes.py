"""Events of sessions and episodes: where a thread was divided, and why (D §Session, E §Episode Lifecycle).

They name turns and hold no text, so nothing of them is encrypted. `number` is that of a turn among the agent's turns of
the thread, from 1, in the order in which they were recorded.
"""

from datetime import datetime
from uuid import UUID

from pydantic import BaseModel, ConfigDict

from mnemolog.domain.episode import Boundary, EpisodeStatus
from mnemolog.domain.topic_markers import MarkerKind
from mnemolog.events.conversation import divided_tag
from mnemolog.events.event import Event


class ThreadEvent(Event):
    """An event of one agent's part of a thread."""

    agent_id: str
    thread_id: str

    def key_scope(self) -> str:
        return divided_tag(self.agent_id, self.thread_id)


class Started(ThreadEvent):
    """The first turn of a stretch, the silence before it, and the last turns before it that are still context (D13)."""

    first_turn_id: str
    first_number: int
    started_at: datetime
    previous_id: UUID | None = None
    silence_seconds: float | None = None
    carried_turn_ids: tuple[str, ...] = ()


class Ended(ThreadEvent):
    """The end of a stretch: the number of its last turn, the ids of its last few, and when the latest was said."""

    last_number: int
    last_turn_ids: tuple[str, ...]
    ended_at: datetime
    closed_by: Boundary


class SessionStarted(Started):
    """An agent and a user speak in a thread, for the first time or after a silence."""

    session_id: UUID


class SessionEnded(Ended):
    """Nothing was said in a thread for 30 minutes, or what the policy says (D07)."""

    session_id: UUID


class EpisodeStarted(Started):
    """A topic chapter of a thread starts.

    `similarities` are those of the user turns that showed another topic, `least_similarity` what they stayed below, and
    `model` what embedded them.
    """

    episode_id: UUID
    starts_by: Boundary
    similarities: tuple[float, ...] = ()
    least_similarity: float | None = None
    model: str | None = None
    marker_kind: MarkerKind | None = None
    marker_language: str | None = None

    def tags(self) -> frozenset[str]:
        return super().tags() | {episode_tag(self.episode_id)}


class EpisodeClosed(Ended):
    """A topic chapter of a thread is over: nothing is added to it, unless that is undone."""

    episode_id: UUID
    last_user_message_at: datetime | None = None

    def tags(self) -> frozenset[str]:
        return super().tags() | {episode_tag(self.episode_id)}


class EpisodeState(BaseModel):
    """What an undo leaves of an episode. Its beginning never changes."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    episode_id: UUID
    status: EpisodeStatus
    last_number: int | None = None
    last_turn_ids: tuple[str, ...] = ()
    ended_at: datetime | None = None
    closed_by: Boundary | None = None
    merged_into: UUID | None = None
    reopened_at: datetime | None = None


class EpisodesReverted(ThreadEvent):
    """Undo of the event `undoes`: an episode goes on, joined with the next one if that had started, or apart again."""

    undoes: UUID
    episodes: tuple[EpisodeState, ...]

    def tags(self) -> frozenset[str]:
        return super().tags() | {episode_tag(one.episode_id) for one in self.episodes}


def episode_tag(episode_id: UUID) -> str:
    return f"episode:{episode_id}"
