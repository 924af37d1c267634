"""Rolling back a batch: everything of it, newest first; conflicts are named, and again changes nothing (X15)."""

from typing import Any
from uuid import UUID, uuid4

import pytest

from mnemolog.commands.memories import Memories
from mnemolog.commands.messages import Messages
from mnemolog.commands.rollback import Rollback, UndoState, touched
from mnemolog.commands.steps import in_one_go
from mnemolog.commands.undo import ROLLBACKS
from mnemolog.domain.errors import NotFound, UndoConflict
from mnemolog.domain.memory import Memory, Status
from mnemolog.domain.message import Message
from mnemolog.domain.scope import Scope
from mnemolog.domain.turn import Role
from mnemolog.events import memory as events
from mnemolog.events.conversation import SessionForgotten, TurnRecorded
from mnemolog.events.envelope import NewEvent
from mnemolog.events.memory import MemoriesLinked, MemoryUpdated
from mnemolog.events.profile import ProfileSet
from tests.testkit.clock import START
from tests.testkit.decider import Story, given
from tests.testkit.events import created, new

A, B = uuid4(), uuid4()
DECIDER = ROLLBACKS.decider


def updated(memory_id: UUID, text: str) -> MemoryUpdated:
    return MemoryUpdated.of(memory_id, created(memory_id, text).content, changed=("text",))


def of(*named: NewEvent, **fields: Any) -> Rollback:
    """As `Writes` draws it from the log."""
    drawn = {"event_ids": [event.event_id for event in named], "touched": touched(named), "at": START}
    return Rollback.model_validate({"user_id": "ana", "agent_id": "coach", "of_run": "r1", **drawn, **fields})


def known(story: Story[Rollback, UndoState]) -> dict[UUID, Memory]:
    memories = story.state.of["memories"]
    assert isinstance(memories, Memories)
    return dict(memories.known)


def said(turn_id: str) -> TurnRecorded:
    return TurnRecorded(turn_id=turn_id, thread_id="main", role=Role.USER, text="hello")


def messages(story: Story[Rollback, UndoState]) -> dict[str, Message]:
    found = story.state.of["messages"]
    assert isinstance(found, Messages)
    return dict(found.known)


@pytest.mark.spec("X15")
def test_a_run_is_taken_back_the_newest_first() -> None:
    run = [
        new(created(A)),
        new(updated(A, "Porto")),
        new(created(B)),
        new(MemoriesLinked(memory_id=A, to_id=B, strength=1.0)),
    ]
    story = given(DECIDER, *run)

    decided = story.when(of(*run)).events()

    assert [type(event) for event in decided] == [
        events.LinkReverted,
        events.MemoryReverted,
        events.MemoryReverted,
        events.MemoryReverted,
    ]
    after = known(story.after(of(*run)))
    assert {after[id_].status for id_ in (A, B)} == {Status.SOFT_DELETED}


@pytest.mark.spec("X15")
def test_what_was_there_before_the_run_is_as_it_was() -> None:
    before = given(DECIDER, created(A), created(B))
    run = [new(updated(A, "Porto")), new(updated(B, "Faro")), new(updated(A, "Braga"))]

    assert known(before.and_then(*run).after(of(*run))) == known(before)


@pytest.mark.spec("X15")
def test_a_later_change_of_somebody_else_is_a_conflict_and_the_rest_can_go_without_it() -> None:
    run = [new(updated(A, "Porto")), new(updated(B, "Faro"))]
    later = new(updated(A, "mine"))
    story = given(DECIDER, created(A), created(B), *run, later)

    error = story.when(of(*run)).then_refused(UndoConflict, "event_id", str(run[0].event_id))
    plan = in_one_go(ROLLBACKS.planning(story.state, of(*run)))
    after = known(story.after(of(*run, skip_conflicts=True)))

    assert str(later.event_id) in error.message
    assert (plan.undone, [one.event_id for one in plan.conflicts]) == ((run[1].event_id,), [run[0].event_id])
    assert (after[A].content.text, after[B].content.text) == ("mine", created(B).content.text)


@pytest.mark.spec("X15")
@pytest.mark.spec_part("D13")
def test_a_memory_that_was_used_since_is_no_conflict() -> None:
    before = given(DECIDER, created(A))
    run = [new(updated(A, "Porto"))]
    use = events.MemoryObserved(memory_id=A, confidence=1.0, importance=0.55, cause=events.Observation.USE)

    plan = in_one_go(ROLLBACKS.planning(before.and_then(*run, use).state, of(*run)))

    assert (plan.undone, plan.conflicts) == ((run[0].event_id,), ())
    assert known(before.and_then(*run, use, *plan.events)) == known(before.and_then(use))


@pytest.mark.spec("X15")
def test_where_everything_conflicts_there_is_nothing_to_leave_out() -> None:
    run = [new(updated(A, "Porto"))]
    story = given(DECIDER, created(A), *run, updated(A, "mine"))

    story.when(of(*run, skip_conflicts=True)).then_refused(UndoConflict, "event_id", str(run[0].event_id))


@pytest.mark.spec("X15")
def test_again_changes_nothing_and_a_rollback_can_be_rolled_back() -> None:
    run = [new(updated(A, "Porto"))]
    story = given(DECIDER, created(A), *run)
    back = [new(event) for event in story.when(of(*run)).events()]

    story.and_then(*back).when(of(*run)).then_nothing()
    assert known(story.and_then(*back).after(of(*back)))[A].content.text == "Porto"


@pytest.mark.spec("X15")
def test_kinds_that_are_undone_differently_go_together() -> None:
    run: list[NewEvent] = [new(created(A)), new(ProfileSet(field="tone", source="api", values=("warm",)))]
    story = given(DECIDER, *run)

    decided = story.when(of(*run)).events()

    assert isinstance(decided[0], ProfileSet)
    assert (decided[0].values, decided[0].undoes) == ((), run[1].event_id)
    assert isinstance(decided[1], events.MemoryReverted)


def test_the_messages_of_a_run_are_hidden_and_shown_again_by_an_undo_of_that() -> None:
    run = [new(said("t1")), new(said("t2"))]
    story = given(DECIDER, *run)

    hidden = story.after(of(*run))

    assert {one.status for one in messages(hidden).values()} == {Status.SOFT_DELETED}
    reverts = [new(event) for event in story.when(of(*run)).events()]
    shown = given(DECIDER, *run, *reverts).after(of(*reverts))
    assert {one.status for one in messages(shown).values()} == {Status.ACTIVE}


def test_a_run_that_changed_nothing_is_not_found() -> None:
    run = [new(SessionForgotten(agent_id="coach", chat_id="main"))]

    given(DECIDER).when(of(*run)).then_refused(NotFound, "of_run")


@pytest.mark.spec("A01", "X15")
def test_what_another_agent_wrote_for_itself_is_a_conflict() -> None:
    run = [new(created(A, scope=Scope.AGENT, agent_id="rival"))]

    given(DECIDER, *run).when(of(*run)).then_refused(UndoConflict, "event_id")
    given(DECIDER, *run).when(of(*run, of_run=None, of_event=run[0].event_id)).then_refused(NotFound, "event_id")
