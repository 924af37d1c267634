"""Divide a thread into sessions and episodes, and undo where an episode starts or closes (D07, E02, X03)."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar
from uuid import UUID

from mnemolog.commands.change_history import ChangeHistory, no_such_change
from mnemolog.commands.decider import Command, Decider
from mnemolog.domain import segmentation
from mnemolog.domain.episode import Boundary, Episode, EpisodeStatus, Place, episode_id_of, session_id_of
from mnemolog.domain.segmentation import Before, SegmentationPolicy, SpokenTurn, Stretch
from mnemolog.domain.updated import updated
from mnemolog.events.conversation import divided_tag
from mnemolog.events.envelope import Happened
from mnemolog.events.episode_fold import EPISODE
from mnemolog.events.episodes import (
    EpisodeClosed,
    EpisodesReverted,
    EpisodeStarted,
    EpisodeState,
    SessionEnded,
    SessionStarted,
)
from mnemolog.events.erasure import USER, UserErased
from mnemolog.events.event import Event
from mnemolog.events.fields import Instant, Uuid


class SegmentThread(Command):
    """Divides the turns of an agent's thread: all since the open session and the open episode started.

    `erased_through` is the number of the last turn that an erasure of the thread took. `model` embedded the
    turns; without one, topics are not compared.
    """

    generated: ClassVar[frozenset[str]] = frozenset({"turns", "erased_through", "at"})

    turns: tuple[SpokenTurn, ...]
    erased_through: int = 0
    policy: SegmentationPolicy
    least_similarity: float = -1.0
    model: str | None = None
    at: Instant


class UndoEpisode(Command):
    """Undoes `event_id`, which started or closed an episode of the agent, or an undo of that."""

    event_id: Uuid
    at: Instant


@dataclass(frozen=True, slots=True)
class HeldSession:
    """The latest session of a thread; `last` is None while it is open."""

    session_id: UUID
    first: Place
    last: Place | None = None
    last_turn_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Divided:
    """How threads are divided: the latest session of each agent and thread, and their episodes, in order.

    `started` and `closed` name the episode of an event; of a closing, with the number of its last turn.
    """

    sessions: Mapping[tuple[str, str], HeldSession] = field(default_factory=dict)
    episodes: Mapping[UUID, Episode] = field(default_factory=dict)
    started: Mapping[UUID, UUID] = field(default_factory=dict)
    closed: Mapping[UUID, tuple[UUID, int]] = field(default_factory=dict)
    changes: ChangeHistory[Episode] = field(default_factory=ChangeHistory)

    def latest(self, agent_id: str, thread_id: str) -> Episode | None:
        """The latest episode of a thread that is not merged into another."""
        for one in reversed(list(self.episodes.values())):
            if (one.agent_id, one.thread_id) == (agent_id, thread_id) and one.status is not EpisodeStatus.MERGED:
                return one
        return None

    def whole(self, episode_id: UUID) -> Episode:
        """The episode that holds the turns of this one now."""
        found = self.episodes[episode_id]
        while found.merged_into:
            found = self.episodes[found.merged_into]
        return found

    def after(self, episode: Episode) -> Episode | None:
        for one in self.episodes.values():
            if one.previous_id and one.status is not EpisodeStatus.MERGED and self.whole(one.previous_id) == episode:
                return one
        return None


def evolve(state: Divided, event: Happened) -> Divided:
    payload = event.payload
    match payload:
        case SessionStarted():
            first = Place(payload.first_turn_id, payload.first_number, payload.started_at)
            held = HeldSession(payload.session_id, first)
            return replace(state, sessions=updated(state.sessions, {(payload.agent_id, payload.thread_id): held}))
        case SessionEnded():
            whose = (payload.agent_id, payload.thread_id)
            last = Place(payload.last_turn_ids[-1], payload.last_number, payload.ended_at)
            held = replace(state.sessions[whose], last=last, last_turn_ids=payload.last_turn_ids)
            return replace(state, sessions=updated(state.sessions, {whose: held}))
        case EpisodeStarted() if payload.previous_id:  # The first episode of a thread has nothing to be joined with.
            state = replace(state, started=updated(state.started, {event.event_id: payload.episode_id}))
        case EpisodeClosed():
            place = (payload.episode_id, payload.last_number)
            state = replace(state, closed=updated(state.closed, {event.event_id: place}))
        case EpisodesReverted() | EpisodeStarted():
            pass
        case UserErased():  # Turns are counted from the start, and nothing from before can be undone.
            return Divided()
        case _:
            return state
    changes, befores = state.changes, EPISODE.befores(state.episodes, payload)
    if not isinstance(payload, EpisodeStarted) or payload.previous_id:
        changes = changes.with_change(event, befores, getattr(payload, "undoes", None))
    return replace(state, episodes=updated(state.episodes, EPISODE.evolve(state.episodes, payload)), changes=changes)


def _segment(state: Divided, command: SegmentThread) -> Sequence[Event]:
    """Nothing where the turns begin too late: what is open changed since they were read."""
    session, episode = (
        state.sessions.get((command.agent_id, command.thread_id)),
        state.latest(command.agent_id, command.thread_id),
    )
    starts = [_next(session), _next(episode)]
    if not command.turns or command.turns[0].place.number > min(starts):
        return []
    return [*_sessions(session, command), *_episodes(episode, command)]


def undecided_from(state: Divided, agent_id: str, thread_id: str) -> Place | None:
    """The turn from which to read what is undecided of a thread; None where that is all of it."""
    held = (state.sessions.get((agent_id, thread_id)), state.latest(agent_id, thread_id))
    places = [one.first if one.last is None else one.last for one in held if one]
    return min(places, key=lambda place: place.number) if len(places) == len(held) else None


def _next(held: HeldSession | Episode | None) -> int:
    """The number of the first turn that is of the open one, or of the next."""
    if held is None:
        return 1
    return held.first.number if held.last is None else held.last.number + 1


@dataclass(frozen=True, slots=True)
class _Undecided:
    """The turns of an open stretch and after it: those that were `erased`, and the rest, with what was `before`."""

    erased: Sequence[SpokenTurn]
    turns: Sequence[SpokenTurn]
    before: Before | None


def _undecided(held: HeldSession | Episode | None, command: SegmentThread) -> _Undecided:
    turns = [turn for turn in command.turns if turn.place.number >= _next(held)]
    erased = [turn for turn in turns if turn.place.number <= command.erased_through]
    known = held.last if held and held.last and held.last.number > command.erased_through else None
    before = Before(known, held.last_turn_ids) if held and known else None
    return _Undecided(erased, turns[len(erased) :], before)


def _sessions(held: HeldSession | None, command: SegmentThread) -> Iterator[Event]:
    undecided, whose = _undecided(held, command), _whose(command)
    going_on = held if held and held.last is None else None
    previous = held.session_id if held and undecided.before else None
    if going_on and undecided.erased:
        yield SessionEnded(**whose, session_id=going_on.session_id, **_erased(undecided.erased))
        going_on = None
    for found in segmentation.sessions(undecided.turns, command.policy, command.at, undecided.before):
        session_id = going_on.session_id if going_on else session_id_of(**whose, first_turn_id=found.first.turn_id)
        if going_on is None:
            yield SessionStarted(**whose, session_id=session_id, previous_id=previous, **_beginning(found))
        if found.ends_by:
            yield SessionEnded(**whose, session_id=session_id, **_ending(found))
        going_on, previous = None, session_id


def _episodes(held: Episode | None, command: SegmentThread) -> Iterator[Event]:
    undecided, whose = _undecided(held, command), _whose(command)
    going_on = held if held and held.last is None else None
    previous = held.episode_id if held and undecided.before else None
    if going_on and undecided.erased:
        yield EpisodeClosed(**whose, episode_id=going_on.episode_id, **_erased(undecided.erased))
        going_on = None
    reopened_at = going_on.reopened_at if going_on else None
    for found in segmentation.episodes(
        undecided.turns, command.policy, command.least_similarity, command.at, undecided.before, reopened_at
    ):
        episode_id = going_on.episode_id if going_on else episode_id_of(**whose, first_turn_id=found.first.turn_id)
        if going_on is None:
            about = {"episode_id": episode_id, "previous_id": previous, **_beginning(found)}
            yield EpisodeStarted(**whose, **about, **_reason(found, command))
        if found.ends_by:
            more = {"last_user_message_at": found.last_user_at, **_ending(found)}
            yield EpisodeClosed(**whose, episode_id=episode_id, **more)
        going_on, previous = None, episode_id


def _whose(command: SegmentThread) -> dict[str, Any]:
    return {"agent_id": command.agent_id, "thread_id": command.thread_id}


def _beginning(found: Stretch) -> dict[str, Any]:
    return {
        "first_turn_id": found.first.turn_id,
        "first_number": found.first.number,
        "started_at": found.first.at,
        "silence_seconds": found.silence.total_seconds() if found.silence is not None else None,
        "carried_turn_ids": found.carried,
    }


def _reason(found: Stretch, command: SegmentThread) -> dict[str, Any]:
    compared = {"least_similarity": command.least_similarity, "model": command.model} if found.similarities else {}
    marker = {"marker_kind": found.marker.kind, "marker_language": found.marker.language} if found.marker else {}
    return {"starts_by": found.starts_by, "similarities": found.similarities, **compared, **marker}


def _ending(found: Stretch) -> dict[str, Any]:
    return {
        "last_number": found.last.number,
        "last_turn_ids": found.last_turn_ids,
        "ended_at": found.last.at,
        "closed_by": found.ends_by,
    }


def _erased(turns: Sequence[SpokenTurn]) -> dict[str, Any]:
    last = turns[-1].place
    return {
        "last_number": last.number,
        "last_turn_ids": (last.turn_id,),
        "ended_at": max(turn.place.at for turn in turns),
        "closed_by": Boundary.ERASED,
    }


def _undo(state: Divided, command: UndoEpisode) -> Sequence[Event]:
    """A start: its episode is joined with the one before. A closing: with the one after, or it is open again."""
    event_id, known = command.event_id, state.episodes
    touched = [known[EPISODE.id_of(subject)] for subject in state.changes.subjects(event_id)]
    if not touched or any(one.agent_id != command.agent_id for one in touched):
        raise no_such_change(event_id)
    if state.changes.undone(event_id):
        return []
    if event_id in state.started:
        later = state.episodes[state.started[event_id]]
        return _joined(state, later, command) if later.status is not EpisodeStatus.MERGED else []
    if event_id in state.closed:
        episode_id, number = state.closed[event_id]
        episode = state.whole(episode_id)
        if episode.last is None or episode.last.number != number:  # It was joined with the next one since.
            return []
        later_one = state.after(episode)
        return _joined(state, later_one, command) if later_one else [_reverting(command, episode.reopened(command.at))]
    befores = state.changes.befores(event_id)
    return [_reverting(command, *(before for before in befores.values() if before))]


def _joined(state: Divided, later: Episode, command: UndoEpisode) -> Sequence[Event]:
    assert later.previous_id, "the first episode of a thread is never undone"
    return [_reverting(command, *state.whole(later.previous_id).joined_with(later, command.at))]


def _reverting(command: UndoEpisode, *episodes: Episode) -> EpisodesReverted:
    one = episodes[0]
    states = tuple(_state(each) for each in episodes)
    return EpisodesReverted(agent_id=one.agent_id, thread_id=one.thread_id, undoes=command.event_id, episodes=states)


def _state(episode: Episode) -> EpisodeState:
    return EpisodeState(
        episode_id=episode.episode_id,
        status=episode.status,
        last_number=episode.last.number if episode.last else None,
        last_turn_ids=episode.last_turn_ids,
        ended_at=episode.last.at if episode.last else None,
        closed_by=episode.closed_by,
        merged_into=episode.merged_into,
        reopened_at=episode.reopened_at,
    )


EPISODES: Decider[SegmentThread, Divided] = Decider(
    initial=Divided(),
    subject=lambda command: divided_tag(command.agent_id, command.thread_id),
    tags=lambda state, command: frozenset({USER, divided_tag(command.agent_id, command.thread_id)}),
    evolve=evolve,
    decide=_segment,
)

EPISODE_UNDO: Decider[UndoEpisode, Divided] = Decider(
    initial=Divided(),
    subject=lambda command: USER,
    tags=lambda state, command: frozenset(
        {
            USER,
            *(
                divided_tag(one.agent_id, one.thread_id)
                for subject in state.changes.subjects(command.event_id)
                if (one := state.episodes[EPISODE.id_of(subject)])
            ),
        }
    ),
    evolve=evolve,
    decide=_undo,
)
