"""A message is hidden, shown again and erased, and never rewritten."""

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from mnemolog.commands.messages import MESSAGES, DeleteMessage, Messages, RestoreMessage, UndoMessage
from mnemolog.domain.errors import Erased, NotFound, UndoConflict
from mnemolog.domain.memory import PURGE_AFTER, Cause, Status
from mnemolog.domain.turn import Role
from mnemolog.events.conversation import TurnRecorded
from mnemolog.events.message import MessageDeleted, MessageRestored, MessageReverted, MessagesErased
from tests.testkit.clock import START
from tests.testkit.decider import given
from tests.testkit.events import new

WHO: dict[str, Any] = {"user_id": "ana", "message_id": "t1"}
DELETE = DeleteMessage(**WHO, reason="private", at=START)
RESTORE = RestoreMessage(**WHO)
SAID = new(TurnRecorded(turn_id="t1", thread_id="main", role=Role.USER, text="hello"), UUID(int=1))
ABOUT: dict[str, Any] = {"turn_id": "t1", "thread_id": "main"}
DELETED = MessageDeleted(**ABOUT, purge_at=START + PURGE_AFTER, cause=Cause.ASKED, reason="private")
ERASED = MessagesErased(thread_id="main", turn_ids=("t1",), cause=Cause.ASKED)


def undo(event_id: UUID) -> UndoMessage:
    return UndoMessage(**WHO, event_id=event_id, at=START)


def test_a_message_is_hidden_once_and_shown_again_once() -> None:
    story = given(MESSAGES, SAID)

    story.when(DELETE).then(DELETED)
    story.after(DELETE).when(DELETE.model_copy(update={"at": START + timedelta(days=1)})).then_nothing()
    story.after(DELETE).when(RESTORE).then(MessageRestored(**ABOUT))
    story.when(RESTORE).then_nothing()


@pytest.mark.parametrize("command", [DELETE, RESTORE, undo(UUID(int=1))])
def test_an_unknown_message_is_not_found_and_an_erased_one_is_gone(command: Any) -> None:
    given(MESSAGES).when(command).then_refused(NotFound, "message_id", "t1")
    given(MESSAGES, SAID, ERASED).when(command).then_refused(Erased, "message_id", "t1")


@pytest.mark.spec("X03")
def test_an_undo_restores_what_was_before() -> None:
    deleted = new(DELETED, UUID(int=2))
    story = given(MESSAGES, SAID, deleted)

    story.when(undo(deleted.event_id)).then(
        MessageReverted(**ABOUT, undoes=deleted.event_id, was=Status.SOFT_DELETED, status=Status.ACTIVE)
    )
    story.after(undo(deleted.event_id)).when(undo(deleted.event_id)).then_nothing()
    story.when(undo(SAID.event_id)).then_refused(UndoConflict, "event_id", str(deleted.event_id))


@pytest.mark.spec("X03")
def test_undoing_what_was_said_hides_it() -> None:
    then = given(MESSAGES, SAID).after(undo(SAID.event_id)).state

    assert isinstance(then, Messages)
    message = then.known["t1"]
    assert (message.status, message.cause, message.purge_at) == (Status.SOFT_DELETED, Cause.UNDONE, START + PURGE_AFTER)
