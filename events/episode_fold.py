"""The fold of episodes."""

from dataclasses import replace
from uuid import UUID

from mnemolog.domain.episode import Episode, Place, no_such_episode
from mnemolog.events import episodes as events
from mnemolog.events.subject import Subject


def _started(_: Episode | None, event: events.EpisodeStarted) -> Episode:
    first = Place(event.first_turn_id, event.first_number, event.started_at)
    return Episode(event.episode_id, event.agent_id, event.thread_id, first, event.previous_id)


def _closed(episode: Episode, event: events.EpisodeClosed) -> Episode:
    last = Place(event.last_turn_ids[-1], event.last_number, event.ended_at)
    return episode.closed(last, event.closed_by, event.last_turn_ids)


def _reverted(episode: Episode, event: events.EpisodesReverted) -> Episode:
    state = next(one for one in event.episodes if one.episode_id == episode.episode_id)
    ended = state.last_number is not None and state.ended_at is not None
    return replace(
        episode,
        status=state.status,
        last=Place(state.last_turn_ids[-1], state.last_number, state.ended_at) if ended else None,  # type: ignore[arg-type]
        last_turn_ids=state.last_turn_ids,
        closed_by=state.closed_by,
        merged_into=state.merged_into,
        reopened_at=state.reopened_at,
    )


def _ids(event: events.ThreadEvent) -> tuple[UUID, ...]:
    if isinstance(event, events.EpisodesReverted):
        return tuple(one.episode_id for one in event.episodes)
    return (event.episode_id,)  # type: ignore[attr-defined]


EPISODE: Subject[UUID, Episode] = Subject(
    name="episode",
    read_id=UUID,
    ids=_ids,
    begins=frozenset({events.EpisodeStarted}),
    folds={
        events.EpisodeStarted: _started,
        events.EpisodeClosed: _closed,
        events.EpisodesReverted: _reverted,
    },
    erased=lambda episode: episode,  # An episode has no text: its turns have, and are erased with their own keys.
    erase=None,
    missing=no_such_episode,
)
