"""Where a thread is divided into sessions and episodes. Vectors stand for what each turn is about."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import count, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemolog.domain.episode import Boundary, Place
from mnemolog.domain.errors import InvalidInput
from mnemolog.domain.segmentation import (
    Before,
    SegmentationPolicy,
    SpokenTurn,
    Stretch,
    episodes,
    sessions,
)
from mnemolog.domain.topic_markers import Marker, MarkerKind

START = datetime(2026, 1, 1, 9, tzinfo=UTC)
POLICY = SegmentationPolicy()
COOKING, TRAVEL, MUSIC = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
LEAST = 0.5
CHANGE, ASIDE = Marker(MarkerKind.CHANGE, "en"), Marker(MarkerKind.ASIDE, "ru")


class Talk:
    """Turns of one thread, a minute apart unless more is said."""

    def __init__(self) -> None:
        self.turns: list[SpokenTurn] = []
        self._now, self._numbers = START, count(1)

    def user(
        self, topic: Sequence[float] | None, *, after: timedelta = timedelta(minutes=1), marker: Marker | None = None
    ) -> "Talk":
        return self._said(topic, after, marker, by_user=True)

    def agent(self, topic: Sequence[float] | None, *, after: timedelta = timedelta(minutes=1)) -> "Talk":
        return self._said(topic, after, None, by_user=False)

    def about(self, topic: Sequence[float], times: int = 3) -> "Talk":
        for _ in range(times):
            self.user(topic).agent(topic)
        return self

    @property
    def now(self) -> datetime:
        return self._now

    def _said(self, topic: Sequence[float] | None, after: timedelta, marker: Marker | None, *, by_user: bool) -> "Talk":
        self._now += after
        number = next(self._numbers)
        self.turns.append(SpokenTurn(Place(f"t{number}", number, self._now), by_user, marker, topic))
        return self


def divided(talk: Talk, now: datetime | None = None, **more: datetime) -> list[Stretch]:
    return list(episodes(talk.turns, POLICY, LEAST, now or talk.now, **more))  # type: ignore[arg-type]


def starts(talk: Talk) -> list[tuple[int, Boundary]]:
    return [(one.first.number, one.starts_by) for one in divided(talk)]


def test_one_topic_is_one_episode() -> None:
    assert starts(Talk().about(COOKING, 20)) == [(1, Boundary.FIRST)]


def test_what_was_imported_in_reverse_starts_with_the_earliest_turn_and_ends_with_the_latest() -> None:
    talk = Talk().about(COOKING)
    said = talk.turns[::-1]

    [session] = sessions(said, POLICY, talk.now)
    [episode] = episodes(said, POLICY, LEAST, talk.now)

    for one in (session, episode):
        assert (one.first.turn_id, one.last.turn_id) == ("t6", "t1")
        assert (one.first.at, one.last.at) == (START + timedelta(minutes=1), START + timedelta(minutes=6))


def test_two_user_turns_about_something_else_start_an_episode_at_the_first_of_them() -> None:
    [cooking, travel] = divided(Talk().about(COOKING).about(TRAVEL))
    assert (cooking.last.number, cooking.ends_by) == (6, Boundary.TOPIC_SHIFT)
    assert (travel.first.number, travel.starts_by, travel.ends_by) == (7, Boundary.TOPIC_SHIFT, None)
    assert len(travel.similarities) == 2
    assert all(one < LEAST for one in travel.similarities)
    assert travel.carried == ("t1", "t2", "t3", "t4", "t5", "t6")


def somewhat(similarity: float) -> Sequence[float]:
    """Something that is this near to cooking."""
    return (similarity, (1 - similarity**2) ** 0.5, 0.0)


@pytest.mark.parametrize(("silence", "similarity", "parts"), [(31, 0.6, 2), (31, 0.7, 1), (29, 0.6, 1), (29, 0.4, 2)])
def test_after_the_silence_of_a_session_what_continues_a_topic_is_nearer_to_it(
    silence: int, similarity: float, parts: int
) -> None:
    talk = Talk().about(COOKING).user(somewhat(similarity), after=timedelta(minutes=silence)).agent(COOKING)
    assert len(divided(talk.user(somewhat(similarity)).user(somewhat(similarity)))) == parts


def test_a_silence_counts_no_longer_once_the_topic_goes_on() -> None:
    talk = Talk().about(COOKING).user(COOKING, after=timedelta(minutes=31))
    assert starts(talk.user(somewhat(0.6)).user(somewhat(0.6))) == [(1, Boundary.FIRST)]


def test_one_digression_after_a_silence_starts_nothing() -> None:
    talk = Talk().about(COOKING).user(TRAVEL, after=timedelta(minutes=31)).about(COOKING)
    assert starts(talk) == [(1, Boundary.FIRST)]


def test_one_digression_starts_nothing() -> None:
    talk = Talk().about(COOKING).user(TRAVEL).agent(TRAVEL).about(COOKING, 4)
    assert starts(talk) == [(1, Boundary.FIRST)]


def test_going_back_and_forth_between_two_topics_does_not_flap() -> None:
    talk = Talk().about(COOKING)
    for _ in range(20):
        talk.user(TRAVEL).agent(TRAVEL).user(COOKING).agent(COOKING)
    assert starts(talk) == [(1, Boundary.FIRST)]


def test_a_turn_that_says_nothing_neither_confirms_a_shift_nor_ends_it() -> None:
    talk = Talk().about(COOKING).user(TRAVEL).agent(TRAVEL).user(None).agent(None).user(TRAVEL)
    assert starts(talk) == [(1, Boundary.FIRST), (7, Boundary.TOPIC_SHIFT)]
    assert starts(Talk().about(COOKING).user(None).user(None).user(None)) == [(1, Boundary.FIRST)]


def test_an_aside_starts_an_episode_only_with_a_change_of_topic() -> None:
    assert starts(Talk().about(COOKING).user(TRAVEL, marker=ASIDE)) == [(1, Boundary.FIRST), (7, Boundary.MARKER)]
    assert starts(Talk().about(COOKING).user(COOKING, marker=ASIDE)) == [(1, Boundary.FIRST)]


def test_without_vectors_an_aside_is_enough() -> None:
    talk = Talk().user(None).agent(None).user(None).user(None, marker=ASIDE)
    assert starts(talk) == [(1, Boundary.FIRST), (4, Boundary.MARKER)]


def test_an_announced_change_is_enough_whatever_the_topic() -> None:
    [_, second] = divided(Talk().about(COOKING).user(COOKING, marker=CHANGE))
    assert (second.first.number, second.starts_by, second.marker) == (7, Boundary.MARKER, CHANGE)


def test_asides_in_a_row_do_not_flap() -> None:
    talk = Talk().about(COOKING)
    for topic in (TRAVEL, MUSIC, COOKING):
        talk.user(topic, marker=ASIDE)
    assert starts(talk) == [(1, Boundary.FIRST), (7, Boundary.MARKER), (9, Boundary.MARKER)]


def test_what_the_agent_says_changes_no_topic() -> None:
    talk = Talk().about(COOKING)
    for _ in range(5):
        talk.agent(TRAVEL)
    assert starts(talk) == [(1, Boundary.FIRST)]


def test_a_time_gap_starts_an_episode_after_eight_hours() -> None:
    exactly = Talk().user(COOKING).user(COOKING, after=timedelta(hours=8))
    assert starts(exactly) == [(1, Boundary.FIRST)]
    [first, second] = divided(Talk().user(COOKING).user(COOKING, after=timedelta(hours=8, seconds=1)))
    assert (first.ends_by, second.starts_by) == (Boundary.TIME_GAP, Boundary.TIME_GAP)
    assert second.silence == timedelta(hours=8, seconds=1)


def test_the_gap_is_since_the_user_spoke_and_a_reminder_does_not_hide_it() -> None:
    talk = Talk().user(COOKING).agent(COOKING, after=timedelta(hours=5)).user(COOKING, after=timedelta(hours=4))
    assert starts(talk) == [(1, Boundary.FIRST), (3, Boundary.TIME_GAP)]


def test_a_reminder_after_the_gap_is_answered_in_its_episode() -> None:
    talk = Talk().user(COOKING).agent(COOKING, after=timedelta(hours=9)).user(COOKING, after=timedelta(hours=3))
    assert starts(talk) == [(1, Boundary.FIRST), (2, Boundary.TIME_GAP)]


def test_an_episode_closes_when_the_user_stays_silent() -> None:
    talk = Talk().about(COOKING)
    last_user = talk.turns[-2].place.at
    [open_] = divided(talk, last_user + timedelta(hours=8))
    [closed] = divided(talk, last_user + timedelta(hours=8, seconds=1))
    assert (open_.ends_by, closed.ends_by) == (None, Boundary.TIME_GAP)


def test_silence_of_a_reopened_episode_counts_from_then() -> None:
    talk = Talk().about(COOKING).user(COOKING, after=timedelta(hours=10))
    reopened = talk.now - timedelta(hours=2)
    assert [one.first.number for one in divided(talk, reopened_at=reopened)] == [1]


def test_a_doubtful_turn_before_a_gap_stays_where_it_was_said() -> None:
    talk = Talk().about(COOKING).user(TRAVEL).user(TRAVEL, after=timedelta(hours=9))
    assert starts(talk) == [(1, Boundary.FIRST), (8, Boundary.TIME_GAP)]


def test_a_late_turn_from_the_past_starts_nothing() -> None:
    talk = Talk().about(COOKING).user(COOKING, after=timedelta(hours=-100)).user(COOKING, after=timedelta(hours=101))
    assert starts(talk) == [(1, Boundary.FIRST)]
    assert len(list(sessions(talk.turns, POLICY, talk.now))) == 2


def test_an_older_conversation_that_is_imported_later_is_divided_as_if_it_came_first() -> None:
    talk = Talk().about(COOKING).user(COOKING, after=timedelta(days=-100)).agent(COOKING)
    talk.user(COOKING, after=timedelta(hours=20)).agent(COOKING).user(COOKING, after=timedelta(days=99, hours=4))
    gaps = [(1, Boundary.FIRST), (7, Boundary.TIME_GAP), (9, Boundary.TIME_GAP), (11, Boundary.TIME_GAP)]
    assert starts(talk) == gaps
    parts = list(sessions(talk.turns, POLICY, talk.now))
    assert [(one.first.number, one.starts_by) for one in parts] == gaps
    assert (parts[1].silence, parts[1].carried) == (timedelta(days=100), ())


def test_a_late_turn_within_an_episode_that_began_earlier_starts_nothing() -> None:
    talk = Talk().about(COOKING).user(COOKING, after=timedelta(hours=-7)).agent(COOKING)
    assert starts(talk) == [(1, Boundary.FIRST)]
    assert len(list(sessions(talk.turns, POLICY, START))) == 1


def test_a_session_closes_after_thirty_minutes_of_silence() -> None:
    talk = Talk().user(COOKING).agent(COOKING, after=timedelta(minutes=30)).user(None, after=timedelta(minutes=31))
    [first, second] = sessions(talk.turns, POLICY, talk.now)
    assert (first.first.number, first.last.number, first.ends_by) == (1, 2, Boundary.TIME_GAP)
    assert (second.first.number, second.ends_by) == (3, None)
    [_, over] = sessions(talk.turns, POLICY, talk.now + timedelta(minutes=31))
    assert over.ends_by is Boundary.TIME_GAP


@pytest.mark.parametrize(("minutes", "carried"), [(31, True), (150, True), (151, False)])
def test_a_return_just_after_a_session_carries_its_last_turns_over(minutes: int, carried: bool) -> None:
    talk = Talk().about(COOKING).user(COOKING, after=timedelta(minutes=minutes))
    [_, second] = sessions(talk.turns, POLICY, talk.now)
    assert second.carried == (("t1", "t2", "t3", "t4", "t5", "t6") if carried else ())
    assert second.silence == timedelta(minutes=minutes)


def test_what_was_closed_before_is_carried_over_too() -> None:
    before = Before(Place("t0", 10, START - timedelta(minutes=40)), ("t9", "t0"))
    talk = Talk().user(COOKING, after=timedelta(0))
    [session] = sessions(talk.turns, POLICY, talk.now, before)
    assert (session.starts_by, session.carried) == (Boundary.TIME_GAP, ("t9", "t0"))


TURNS = st.lists(
    st.tuples(
        st.sampled_from(["user", "agent"]),
        st.sampled_from([COOKING, TRAVEL, MUSIC, None]),
        st.sampled_from([0, 1, 20, 45, 600, -45, -1500]),
        st.sampled_from([None, None, None, CHANGE, ASIDE]),
    ),
    min_size=1,
    max_size=40,
)


@given(TURNS)
def test_stretches_follow_each_other_without_gap_and_more_turns_change_no_boundary(
    said: list[tuple[str, Sequence[float] | None, int, Marker | None]],
) -> None:
    talk = Talk()
    for role, topic, minutes, marker in said:
        after = timedelta(minutes=minutes)
        talk = talk.user(topic, after=after, marker=marker) if role == "user" else talk.agent(topic, after=after)
    for found in (divided(talk), list(sessions(talk.turns, POLICY, talk.now))):
        assert found[0].first.number == 1
        assert found[-1].last.number == len(said)
        assert all(one.ends_by for one in found[:-1])
        for one, following in pairwise(found):
            assert following.first.number == one.last.number + 1
    for length in range(1, len(said)):
        part = list(episodes(talk.turns[:length], POLICY, LEAST, talk.turns[length - 1].place.at))
        assert [one for one in part if one.ends_by] == divided(talk)[: len(part) - 1]


@pytest.mark.parametrize(
    ("name", "value"),
    [("session_minutes", 0), ("gap_hours", 0.5), ("carry_over_minutes", -1), ("topic_similarity", 1.5)],
)
def test_a_policy_that_makes_no_sense_is_refused(name: str, value: float) -> None:
    with pytest.raises(InvalidInput) as refused:
        SegmentationPolicy(**{name: value})  # type: ignore[arg-type]
    assert refused.value.field == f"conversation.{name}"
