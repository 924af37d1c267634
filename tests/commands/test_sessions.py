"""Forgetting a session: of one agent in one chat, once, and again when something was said since; and undoing that."""

from typing import Any
from uuid import UUID, uuid4

import pytest

from mnemolog.commands.sessions import SESSION_UNDO, SESSIONS, ForgetSession, UndoSession
from mnemolog.domain.errors import NotFound, UndoConflict
from mnemolog.events.conversation import SessionForgotten, SessionReverted, TurnRecorded, thread_tag
from mnemolog.events.envelope import Meta
from mnemolog.events.erasure import USER, ThreadErased, UserErased
from mnemolog.events.event import Event
from tests.testkit.decider import given
from tests.testkit.events import new

ASKED = ForgetSession(user_id="ana", agent_id="coach", thread_id="main")
FORGOTTEN = SessionForgotten(agent_id="coach", chat_id="main")


def said(agent_id: str = "coach", **fields: Any) -> Any:
    turn = TurnRecorded.model_validate(
        {"turn_id": "t1", "thread_id": "main", "role": "user", "text": "hello", **fields}
    )
    return new(turn, meta=Meta("user", agent_id, "main"))


@pytest.mark.spec("A19")
def test_a_session_is_forgotten_once_and_again_when_something_was_said_since() -> None:
    story = given(SESSIONS, said())

    story.when(ASKED).then(FORGOTTEN)
    story.after(ASKED).when(ASKED).then_nothing()
    story.after(ASKED).and_then(said(turn_id="t2")).when(ASKED).then(FORGOTTEN)


@pytest.mark.spec("A19")
def test_an_erased_thread_has_no_session_to_forget() -> None:
    given(SESSIONS, said(), ThreadErased(thread_id="main")).when(ASKED).then_nothing()


@pytest.mark.spec("A19", "C01")
def test_the_session_of_another_agent_is_not_there() -> None:
    given(SESSIONS, said("rival")).when(ASKED).then_refused(NotFound, "thread_id")


FIRST, SECOND, THIRD = uuid4(), uuid4(), uuid4()


def undo(event_id: UUID, agent_id: str = "coach") -> UndoSession:
    return UndoSession(user_id="ana", agent_id=agent_id, event_id=event_id)


def reverted(undoes: UUID, since: UUID | None = None) -> SessionReverted:
    return SessionReverted(agent_id="coach", chat_id="main", undoes=undoes, since=since)


@pytest.mark.spec("A19", "X03")
def test_a_forgetting_is_undone_once_and_the_session_can_be_forgotten_again() -> None:
    story = given(SESSION_UNDO, said(), new(FORGOTTEN, FIRST), said(turn_id="t2"))

    story.when(undo(FIRST)).then(reverted(FIRST))
    undone = story.and_then(new(reverted(FIRST), SECOND))
    undone.when(undo(FIRST)).then_nothing()
    undone.when(undo(SECOND)).then(reverted(SECOND, since=FIRST))
    given(SESSIONS, said(), new(FORGOTTEN, FIRST), reverted(FIRST)).when(ASKED).then(FORGOTTEN)


@pytest.mark.spec("X03")
def test_an_undo_that_is_undone_leaves_nothing_to_forget() -> None:
    story = given(SESSIONS, said(), new(FORGOTTEN, FIRST), new(reverted(FIRST), SECOND), reverted(SECOND, since=FIRST))

    story.when(ASKED).then_nothing()
    story.and_then(said(turn_id="t2")).when(ASKED).then(FORGOTTEN)


@pytest.mark.spec("X03")
def test_the_later_of_two_deletions_is_undone_first() -> None:
    story = given(SESSION_UNDO, said(), new(FORGOTTEN, FIRST), said(turn_id="t2"), new(FORGOTTEN, SECOND))

    error = story.when(undo(FIRST)).then_refused(UndoConflict, "event_id", str(SECOND))
    assert error.fix == "undo that change first"
    story.when(undo(SECOND)).then(reverted(SECOND, since=FIRST))
    story.and_then(new(reverted(SECOND, since=FIRST))).when(undo(FIRST)).then(reverted(FIRST))


@pytest.mark.spec("X03", "X07")
@pytest.mark.parametrize("erased", [ThreadErased(thread_id="main"), UserErased()])
def test_what_was_erased_meanwhile_does_not_come_back(erased: Event) -> None:
    story = given(SESSION_UNDO, said(), new(FORGOTTEN, FIRST), erased, said(turn_id="t2"))

    story.when(undo(FIRST)).then_refused(UndoConflict, "event_id", "erased|Erased")
    given(SESSION_UNDO, said(), new(FORGOTTEN, FIRST), ThreadErased(thread_id="other")).when(undo(FIRST)).then(
        reverted(FIRST)
    )


@pytest.mark.spec("C01", "X03")
def test_a_session_is_brought_back_by_its_own_agent_alone() -> None:
    story = given(SESSION_UNDO, said(), new(FORGOTTEN, FIRST))

    story.when(undo(FIRST, "rival")).then_refused(NotFound, "event_id")
    story.when(undo(THIRD)).then_refused(NotFound, "event_id")


@pytest.mark.spec("X03")
def test_an_undo_depends_on_all_turns_of_the_chat() -> None:
    story = given(SESSION_UNDO, said(), new(FORGOTTEN, FIRST))

    assert SESSION_UNDO.tags(story.state, undo(FIRST)) == {USER, thread_tag("main")}
