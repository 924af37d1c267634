"""Working memory as a fold: the same session however the turns are cut into batches (A04)."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemolog.domain.session import LIFETIME, Session
from mnemolog.domain.turn import Role
from mnemolog.events.conversation import SessionForgotten, SessionReverted, TurnRecorded
from mnemolog.events.envelope import Recorded
from mnemolog.events.graph import EntityErased, EntityEvent, EntityForgotten
from mnemolog.events.memory import MemoryRestored
from mnemolog.projections.working.projector import SessionPlace, fold, place_of
from tests.projections.recorded import START, recorded, turns

PLACE = SessionPlace("default", "ana", "deanna", "main")
RESTORED = MemoryRestored(memory_id="01942b6e-7c00-7000-8000-000000000000")  # type: ignore[arg-type]


def kept(
    before: Mapping[SessionPlace, Session], events: Sequence[Recorded]
) -> dict[SessionPlace, tuple[Session, datetime]]:
    """The sessions that the events leave, of those that they change."""
    return {place: left for place, left in fold(before, events).items() if left is not None}


@pytest.mark.spec("X09")
@given(st.lists(st.integers(1, 8), min_size=1, max_size=6), st.sampled_from([timedelta(minutes=1), LIFETIME / 2]))
def test_batches_of_any_size_leave_the_same_session(sizes: list[int], every: timedelta) -> None:
    events = turns(sum(sizes), every=every)
    [(whole, ends_at)] = kept({}, events).values()

    known: dict[SessionPlace, Session] = {}
    for start, size in zip([sum(sizes[:n]) for n in range(len(sizes))], sizes, strict=True):
        known = {place: session for place, (session, _) in kept(known, events[start : start + size]).items()}

    assert known[PLACE].as_dict() == whole.as_dict()
    assert whole.msg_count == sum(sizes)
    assert ends_at == events[-1].recorded_at + LIFETIME


def test_a_day_of_silence_ends_a_session() -> None:
    events = turns(3, every=LIFETIME + timedelta(seconds=1))

    [(session, _)] = kept({}, events).values()

    assert session.msg_count == 1


def test_what_is_no_turn_belongs_to_no_session() -> None:
    event = recorded(RESTORED, 1)

    assert place_of(event) is None
    assert fold({}, [event]) == {}


def test_users_do_not_share_a_session() -> None:
    sessions = kept({}, [*turns(2), *turns(3, user="bob")])

    assert {place.user_id: session.msg_count for place, (session, _) in sessions.items()} == {"ana": 2, "bob": 3}


def test_the_time_of_a_session_is_that_of_its_last_turn() -> None:
    [(session, _)] = kept({}, turns(1, every=timedelta(0))).values()

    assert session.updated_at == START.strftime("%Y-%m-%dT%H:%M:%S.000000Z")


ALICE, BOB = UUID(int=1), UUID(int=2)


def spoken(seq: int, speaker: UUID, thread: str = "main", user: str = "ana") -> Recorded:
    turn = TurnRecorded(turn_id=f"t{seq}", thread_id=thread, role=Role.USER, text="hi", speaker_entity_id=speaker)
    return recorded(turn, seq, user=user)


@pytest.mark.spec("A19")
@pytest.mark.parametrize("gone", [EntityErased(entity_id=ALICE), EntityForgotten(entity_id=ALICE, purge_at=START)])
def test_an_erased_entity_leaves_every_session_of_its_user_and_of_no_other(gone: EntityEvent) -> None:
    said = [spoken(1, ALICE), spoken(2, BOB), spoken(3, ALICE, "work"), spoken(4, ALICE, user="bob")]
    before = {place: session for place, (session, _) in kept({}, said).items()}

    after = kept(before, [recorded(gone, 5)])

    active = {place.chat_id: list(session.active_entity_ids) for place, (session, _) in after.items()}
    assert active == {"main": [str(BOB)], "work": []}
    assert {place.user_id for place in after} == {"ana"}
    assert {
        place: one[0].as_dict() for place, one in kept({}, [*said, recorded(gone, 5)]).items() if place in after
    } == {place: one[0].as_dict() for place, one in after.items()}


def test_an_entity_that_never_spoke_changes_no_session() -> None:
    before = {place: session for place, (session, _) in kept({}, turns(2)).items()}

    assert fold(before, [recorded(EntityErased(entity_id=ALICE), 3)]) == {}


FORGOTTEN = SessionForgotten(agent_id="deanna", chat_id="main")


def shown(left: Mapping[SessionPlace, tuple[Session, datetime]]) -> object:
    """What a reader of the place sees."""
    seen = left[PLACE][0].shown() if PLACE in left else None
    return seen and seen.as_dict()


@pytest.mark.spec("A19", "X03", "X09")
@given(st.integers(1, 25), st.integers(0, 25), st.integers(1, 60))
def test_an_undone_forgetting_leaves_what_would_be_there_without_it_in_batches_of_any_size(
    before: int, since: int, size: int
) -> None:
    said = [*turns(before), *turns(since, first=before + 2)]
    forgotten = recorded(FORGOTTEN, before + 1, at=said[before - 1].recorded_at)
    undo = SessionReverted(agent_id="deanna", chat_id="main", undoes=forgotten.event_id)
    events = [*said[:before], forgotten, *said[before:], recorded(undo, before + since + 2, at=said[-1].recorded_at)]

    known: dict[SessionPlace, Session] = {}
    for start in range(0, len(events), size):
        known |= {place: session for place, (session, _) in kept(known, events[start : start + size]).items()}

    assert shown(kept({}, events[:-1])) == shown(kept({}, said[before:]))
    assert shown(kept({}, events)) == shown(kept({}, said)) == known[PLACE].as_dict()
    assert kept({}, events)[PLACE][0] == known[PLACE]


def test_what_comes_back_after_a_day_of_silence_is_not_what_was_said_before_it() -> None:
    said = turns(2)
    forgotten = recorded(FORGOTTEN, 3, at=said[-1].recorded_at)
    later = turns(1, first=4, every=LIFETIME)
    undo = SessionReverted(agent_id="deanna", chat_id="main", undoes=forgotten.event_id)

    left = kept({}, [*said, forgotten, *later, recorded(undo, 5, at=later[-1].recorded_at)])

    assert shown(left) == shown(kept({}, later))


def test_a_forgetting_of_nothing_leaves_nothing() -> None:
    assert kept({}, [recorded(FORGOTTEN, 1)]) == {}
