"""An episode: a topic chapter of a thread (E §Threads & Episodes). `run_id` is its id."""

from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from uuid import UUID, uuid5

from mnemolog.domain.errors import NotFound
from mnemolog.domain.scope import Scope


class EpisodeStatus(StrEnum):
    """`merged`: its start was undone, so its turns belong to the episode before it."""

    ACTIVE = "active"
    CLOSED = "closed"
    MERGED = "merged"


class Boundary(StrEnum):
    """Why an episode starts or closes (E §Episode Lifecycle). `first` starts a thread, `erased` ends an erased one."""

    FIRST = "first"
    TIME_GAP = "time_gap"
    TOPIC_SHIFT = "topic_shift"
    MARKER = "marker"
    ERASED = "erased"


@dataclass(frozen=True, slots=True)
class Place:
    """A turn of a thread: its id, its number among the agent's turns of the thread, and when it was said."""

    turn_id: str
    number: int
    at: datetime


@dataclass(frozen=True, slots=True)
class Episode:
    """The state of an episode. `last` is its last turn once it is closed; a merged one is part of `merged_into`.

    `last_turn_ids` are the turns that the next episode may carry over. `reopened_at`: when its end was undone; silence
    counts from then.
    """

    episode_id: UUID
    agent_id: str
    thread_id: str
    first: Place
    previous_id: UUID | None = None
    status: EpisodeStatus = EpisodeStatus.ACTIVE
    last: Place | None = None
    closed_by: Boundary | None = None
    merged_into: UUID | None = None
    reopened_at: datetime | None = None
    last_turn_ids: tuple[str, ...] = ()

    @property
    def scope(self) -> Scope:
        return Scope.AGENT

    @property
    def is_erased(self) -> bool:
        """Never: it has no text of its own. Its turns have."""
        return False

    def closed(self, last: Place, by: Boundary, last_turn_ids: tuple[str, ...]) -> "Episode":
        return replace(self, status=EpisodeStatus.CLOSED, last=last, closed_by=by, last_turn_ids=last_turn_ids)

    def reopened(self, at: datetime) -> "Episode":
        return replace(self, status=EpisodeStatus.ACTIVE, last=None, closed_by=None, reopened_at=at)

    def joined_with(self, later: "Episode", at: datetime) -> tuple["Episode", "Episode"]:
        """This episode with the turns of the next one, and the next one, merged into this."""
        whole = replace(
            self,
            status=later.status,
            last=later.last,
            closed_by=later.closed_by,
            last_turn_ids=later.last_turn_ids,
            reopened_at=at,
        )
        return whole, replace(later, status=EpisodeStatus.MERGED, merged_into=self.episode_id)


def session_id_of(agent_id: str, thread_id: str, first_turn_id: str) -> UUID:
    """The id of the session that starts with a turn: the same whoever decides it."""
    return uuid5(_SESSIONS, "\n".join((agent_id, thread_id, first_turn_id)))


def episode_id_of(agent_id: str, thread_id: str, first_turn_id: str) -> UUID:
    return uuid5(_EPISODES, "\n".join((agent_id, thread_id, first_turn_id)))


_SESSIONS, _EPISODES = UUID("9f1c5b7e-2a4d-5e8b-8c3f-6d1e7a9b0c42"), UUID("4be0a6d3-7c15-5f92-9a8e-1d5c3f7b2e60")


def no_such_episode(user_id: str, episode_id: UUID) -> NotFound:
    """The error for an episode that does not exist or belongs to another agent."""
    return NotFound(
        f"user {user_id!r} has no episode {episode_id}",
        field="episode_id",
        fix="look it up with `mnemolog episode list`",
    )
