"""Forgetting a session: of one agent in one chat, once, and again when something was said since."""

from typing import Any

import pytest

from mnemolog.commands.sessions import SESSIONS, ForgetSession
from mnemolog.domain.errors import NotFound
from mnemolog.events.conversation import SessionForgotten, TurnRecorded
from mnemolog.events.envelope import Meta
from mnemolog.events.erasure import ThreadErased
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
