"""Where threads are divided, as events, and the undo of that."""

from collections.abc import Sequence
from datetime import timedelta
from itertools import count
from typing import Any
from uuid import UUID, uuid4

import pytest

from mnemolog.commands.episodes import EPISODE_UNDO, EPISODES, Divided, SegmentThread, UndoEpisode, undecided_from
from mnemolog.domain.episode import Boundary, EpisodeStatus, Place, episode_id_of, session_id_of
from mnemolog.domain.errors import NotFound, UndoConflict
from mnemolog.domain.segmentation import SegmentationPolicy, SpokenTurn
from mnemolog.domain.topic_markers import Marker, MarkerKind
from mnemolog.events.envelope import NewEvent
from mnemolog.events.episodes import (
    EpisodeClosed,
    EpisodesReverted,
    EpisodeStarted,
    SessionEnded,
    SessionStarted,
)
from mnemolog.events.event import Event
from tests.testkit.clock import START
from tests.testkit.decider import Story, given
from tests.testkit.events import new

pytestmark = pytest.mark.spec("E02", "D07")

WHO: dict[str, Any] = {"user_id": "ana", "agent_id": "coach", "thread_id": "main"}
HOUR, MINUTE = timedelta(hours=1), timedelta(minutes=1)
CHANGE = Marker(MarkerKind.CHANGE, "en")
COOKING, TRAVEL = (1.0, 0.0), (0.0, 1.0)


def said(
    *after: timedelta, first: int = 1, at: Any = START, topic: Sequence[float] | None = None
) -> tuple[SpokenTurn, ...]:
    """User turns, each so long after the one before; the ids are the numbers."""
    found, numbers = [], count(first)
    for one in after:
        at += one
        number = next(numbers)
        found.append(SpokenTurn(Place(f"t{number}", number, at), by_user=True, vector=topic))
    return tuple(found)


def segment(turns: Sequence[SpokenTurn], silent: timedelta = timedelta(0), **fields: Any) -> SegmentThread:
    at = max(turn.place.at for turn in turns) + silent
    about = {"policy": SegmentationPolicy(), "turns": tuple(turns), "at": at, **fields}
    return SegmentThread.model_validate({**WHO, **about})


def undo(event: NewEvent, **fields: Any) -> UndoEpisode:
    return UndoEpisode.model_validate({**WHO, "event_id": event.event_id, "at": START + 9 * HOUR, **fields})


def decided(story: Story[Any, Divided], command: SegmentThread) -> list[NewEvent]:
    return [new(event) for event in story.when(command).events()]


def names(events: Sequence[Event]) -> list[str]:
    return [event.type_name() for event in events]


def of(events: Sequence[NewEvent], kind: type[Event], place: int = 0) -> NewEvent:
    return [event for event in events if isinstance(event.payload, kind)][place]


TWO_DAYS = said(MINUTE, MINUTE, 10 * HOUR, MINUTE)


def test_a_first_turn_starts_a_session_and_an_episode_with_ids_that_follow_from_it() -> None:
    events = given(EPISODES).when(segment(said(MINUTE))).events()
    about: dict[str, Any] = {"agent_id": "coach", "thread_id": "main", "first_turn_id": "t1"}
    assert events == [
        SessionStarted(**about, session_id=session_id_of(**about), first_number=1, started_at=START + MINUTE),
        EpisodeStarted(
            **about,
            episode_id=episode_id_of(**about),
            first_number=1,
            started_at=START + MINUTE,
            starts_by=Boundary.FIRST,
        ),
    ]


def test_a_night_ends_both_and_what_follows_knows_its_predecessor() -> None:
    events = given(EPISODES).when(segment(TWO_DAYS)).events()
    assert names(events) == [
        "SessionStarted",
        "SessionEnded",
        "SessionStarted",
        "EpisodeStarted",
        "EpisodeClosed",
        "EpisodeStarted",
    ]
    first, closed, second = (event for event in events if isinstance(event, EpisodeStarted | EpisodeClosed))
    assert isinstance(closed, EpisodeClosed)
    assert isinstance(second, EpisodeStarted)
    assert (closed.episode_id, closed.last_number, closed.last_turn_ids) == (first.episode_id, 2, ("t1", "t2"))
    assert (second.previous_id, second.silence_seconds) == (first.episode_id, 36_000.0)
    assert second.carried_turn_ids == ("t1", "t2"), "ten hours are two more than eight: just after the boundary"


def test_the_same_turns_again_and_more_of_the_same_decide_nothing() -> None:
    story = given(EPISODES).after(segment(TWO_DAYS))
    story.when(segment(TWO_DAYS)).then_nothing()
    story.when(segment(said(MINUTE, first=5, at=TWO_DAYS[-1].place.at))).then_nothing()
    story.when(segment((*TWO_DAYS[2:], *said(MINUTE, first=5, at=TWO_DAYS[-1].place.at)))).then_nothing()


def test_turn_by_turn_ends_like_all_at_once() -> None:
    whole = given(EPISODES).when(segment(TWO_DAYS)).events()
    story, found = given(EPISODES), list[Event]()
    for length in range(1, len(TWO_DAYS) + 1):
        place = undecided_from(story.state, "coach", "main")
        read = [turn for turn in TWO_DAYS[:length] if place is None or turn.place.number >= place.number]
        events = story.when(segment(read)).events()
        story, found = story.and_then(*events), [*found, *events]
    assert sorted(map(str, found)) == sorted(map(str, whole))


def test_silence_ends_the_session_and_later_closes_the_episode() -> None:
    turns = said(MINUTE, MINUTE)
    story = given(EPISODES).after(segment(turns))
    ended = story.when(segment(turns, silent=31 * MINUTE)).events()
    assert names(ended) == ["SessionEnded"]
    closed = story.and_then(*ended).when(segment(turns, silent=9 * HOUR)).events()
    assert names(closed) == ["EpisodeClosed"]
    story = story.and_then(*ended, *closed)
    story.when(segment(turns, silent=99 * HOUR)).then_nothing()
    assert undecided_from(story.state, "coach", "main") == turns[-1].place


def test_what_is_read_too_late_to_fit_what_is_open_decides_nothing() -> None:
    story = given(EPISODES).after(segment(said(MINUTE, MINUTE)))
    story.when(segment(said(99 * HOUR, first=3))).then_nothing()


def test_a_topic_shift_keeps_the_similarities_and_what_they_were_compared_with() -> None:
    turns = (*said(MINUTE, MINUTE, topic=COOKING), *said(HOUR, MINUTE, first=3, topic=TRAVEL))
    events = given(EPISODES).when(segment(turns, least_similarity=0.2, model="a model")).events()
    started = [event for event in events if isinstance(event, EpisodeStarted)]
    assert [(one.first_number, one.starts_by) for one in started] == [(1, "first"), (3, "topic_shift")]
    assert (started[1].similarities, started[1].least_similarity, started[1].model) == ((0.0, 0.0), 0.2, "a model")


def test_a_marker_is_kept_by_kind_and_language() -> None:
    [one, two] = said(MINUTE, MINUTE)
    marked = SpokenTurn(two.place, by_user=True, marker=CHANGE)
    events = given(EPISODES).when(segment((one, marked))).events()
    assert [(one.marker_kind, one.marker_language) for one in events if isinstance(one, EpisodeStarted)] == [
        (None, None),
        (MarkerKind.CHANGE, "en"),
    ]


def test_what_was_erased_is_closed_and_what_follows_knows_nothing_of_it() -> None:
    turns = said(MINUTE, MINUTE, MINUTE)
    story = given(EPISODES).after(segment(turns[:2]))
    events = story.when(segment(turns, erased_through=2)).events()
    assert names(events) == ["SessionEnded", "SessionStarted", "EpisodeClosed", "EpisodeStarted"]
    ended, began, closed, started = events
    assert isinstance(ended, SessionEnded)
    assert isinstance(closed, EpisodeClosed)
    assert isinstance(began, SessionStarted)
    assert isinstance(started, EpisodeStarted)
    assert (ended.closed_by, closed.closed_by) == (Boundary.ERASED, Boundary.ERASED)
    assert (began.previous_id, started.previous_id, started.carried_turn_ids) == (None, None, ())
    assert (started.first_number, started.starts_by) == (3, Boundary.FIRST)


def test_undoing_a_start_joins_it_with_the_episode_before_and_can_be_undone() -> None:
    events = decided(given(EPISODES), segment(TWO_DAYS))
    start = of(events, EpisodeStarted, 1)
    story = given(EPISODE_UNDO, *events)
    [joined] = story.when(undo(start)).events()
    assert isinstance(joined, EpisodesReverted)
    after = story.and_then(taken := new(joined))
    first, second = after.state.episodes.values()
    assert (first.status, first.last, second.status, second.merged_into) == (
        EpisodeStatus.ACTIVE,
        None,
        EpisodeStatus.MERGED,
        first.episode_id,
    )
    after.when(undo(start)).then_nothing()
    after.when(undo(of(events, EpisodeClosed))).then_nothing()
    [apart] = after.when(undo(taken)).events()
    assert after.and_then(apart).state.episodes == story.state.episodes


def test_undoing_the_closing_before_a_start_is_the_same() -> None:
    events = decided(given(EPISODES), segment(TWO_DAYS))
    story = given(EPISODE_UNDO, *events)
    [by_start], [by_close] = (
        story.when(undo(of(events, kind, place))).events() for kind, place in ((EpisodeStarted, 1), (EpisodeClosed, 0))
    )
    assert isinstance(by_start, EpisodesReverted)
    assert isinstance(by_close, EpisodesReverted)
    assert by_start.episodes == by_close.episodes


def test_a_joined_episode_is_not_divided_there_again() -> None:
    events = decided(given(EPISODES), segment(TWO_DAYS))
    story = given(EPISODE_UNDO, *events)
    joined = story.when(undo(of(events, EpisodeStarted, 1))).events()
    segmented = given(EPISODES, *events, *joined)
    more = said(MINUTE, first=5, at=TWO_DAYS[-1].place.at)
    again = segmented.when(segment((*TWO_DAYS, *more))).events()
    assert not [event for event in again if isinstance(event, EpisodeStarted | EpisodeClosed)]


def test_an_episode_that_silence_closed_goes_on_and_closes_as_long_after_that() -> None:
    turns = said(MINUTE)
    events = decided(given(EPISODES), segment(turns, silent=9 * HOUR))
    [reopened] = given(EPISODE_UNDO, *events).when(undo(of(events, EpisodeClosed), at=START + 20 * HOUR)).events()
    story = given(EPISODES, *events, reopened)
    story.when(segment(turns, silent=28 * HOUR - MINUTE)).then_nothing()
    assert names(story.when(segment(turns, silent=28 * HOUR)).events()) == ["EpisodeClosed"]


def test_a_join_in_the_middle_keeps_what_follows() -> None:
    turns = said(MINUTE, 10 * HOUR, 10 * HOUR)
    events = decided(given(EPISODES), segment(turns))
    story = given(EPISODE_UNDO, *events)
    joined = story.when(undo(of(events, EpisodeStarted, 1))).events()
    first, second, third = story.and_then(*joined).state.episodes.values()
    assert (first.last, second.merged_into, third.status) == (
        Place("t2", 2, turns[1].place.at),
        first.episode_id,
        EpisodeStatus.ACTIVE,
    )
    last = story.and_then(*joined).when(undo(of(events, EpisodeStarted, 2))).events()
    whole, *_ = story.and_then(*joined, *last).state.episodes.values()
    assert (whole.status, whole.last) == (EpisodeStatus.ACTIVE, None)


def test_a_join_that_went_on_since_cannot_be_taken_back() -> None:
    events = decided(given(EPISODES), segment(TWO_DAYS))
    [joined] = (new(one) for one in given(EPISODE_UNDO, *events).when(undo(of(events, EpisodeStarted, 1))).events())
    closing = decided(given(EPISODES, *events, joined), segment(TWO_DAYS, silent=30 * HOUR))
    assert names([one.payload for one in closing]) == ["SessionEnded", "EpisodeClosed"]
    given(EPISODE_UNDO, *events, joined, *closing).when(undo(joined)).then_refused(UndoConflict, "event_id")


def test_the_first_start_another_agents_and_an_unknown_event_are_no_changes() -> None:
    events = decided(given(EPISODES), segment(TWO_DAYS))
    story = given(EPISODE_UNDO, *events)
    story.when(undo(of(events, EpisodeStarted))).then_refused(NotFound, "event_id")
    story.when(undo(of(events, EpisodeStarted, 1), agent_id="other")).then_refused(NotFound, "event_id")
    story.when(undo(new(events[0].payload, uuid4()))).then_refused(NotFound, "event_id")


def test_ids_of_other_threads_and_agents_differ() -> None:
    ids: set[UUID] = {episode_id_of(agent, thread, "t1") for agent in ("a", "b") for thread in ("x", "y")}
    assert len(ids | {session_id_of("a", "x", "t1")}) == 5
