"""Commands on messages: delete, restore, undo. What was said is never rewritten."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, ClassVar
from uuid import UUID

from pydantic import Field

from mnemolog.commands.change_history import ChangeHistory
from mnemolog.commands.decider import Command, Decider, Decisions
from mnemolog.domain.memory import PURGE_AFTER, Cause
from mnemolog.domain.message import Message, erased_message, no_such_message
from mnemolog.domain.updated import updated
from mnemolog.events.conversation import turn_tag
from mnemolog.events.envelope import Happened
from mnemolog.events.erasure import USER
from mnemolog.events.event import Event
from mnemolog.events.fields import Id, Instant, Label, Uuid
from mnemolog.events.message import MessageDeleted, MessageRestored, MessageReverted
from mnemolog.events.message_fold import MESSAGE


class MessageCommand(Command):
    """A request about one message."""

    message_id: Annotated[Id, Field(description="The message's id.")]


class DeleteMessage(MessageCommand):
    """Hides a message until it is purged or restored."""

    generated: ClassVar[frozenset[str]] = frozenset({"at"})

    cause: Cause = Cause.ASKED
    reason: Annotated[Label, Field(description="The reason, stored encrypted.")] = ""
    at: Instant


class RestoreMessage(MessageCommand):
    """Shows a deleted message again."""


class UndoMessage(MessageCommand):
    """Undoes the change `event_id`."""

    event_id: Uuid
    at: Instant


@dataclass(frozen=True, slots=True)
class Messages:
    """The messages of a decision, and every change of them."""

    known: Mapping[str, Message] = field(default_factory=dict)
    changes: ChangeHistory[Message] = field(default_factory=ChangeHistory)


def evolve(state: Messages, event: Happened) -> Messages:
    payload = event.payload
    befores, undoes = MESSAGE.befores(state.known, payload), getattr(payload, "undoes", None)
    changes = state.changes.with_change(event, befores, undoes) if befores else state.changes
    return replace(state, known=updated(state.known, MESSAGE.evolve(state.known, payload)), changes=changes)


_decide = Decisions[MessageCommand, Messages]()


@_decide.register
def _delete(command: DeleteMessage, state: Messages) -> Sequence[Event]:
    found = _get(state, command)
    if not found.visible:
        return []
    then = found.deleted(command.at + PURGE_AFTER, command.cause)
    assert then.purge_at
    return [
        MessageDeleted(
            turn_id=then.message_id,
            thread_id=then.thread_id,
            purge_at=then.purge_at,
            cause=command.cause,
            reason=command.reason,
        )
    ]


@_decide.register
def _restore(command: RestoreMessage, state: Messages) -> Sequence[Event]:
    found = _get(state, command)
    return [] if found.visible else [MessageRestored(turn_id=found.message_id, thread_id=found.thread_id)]


@_decide.register
def _undo(command: UndoMessage, state: Messages) -> Sequence[Event]:
    """A message that the change recorded is hidden."""
    now = _get(state, command)
    if state.changes.undone(command.event_id):
        return []
    return [
        _reverted(command.event_id, now, before or now.deleted(command.at + PURGE_AFTER, Cause.UNDONE))
        for before in state.changes.befores(command.event_id).values()
    ]


def _reverted(event_id: UUID, now: Message, then: Message) -> MessageReverted:
    return MessageReverted(
        turn_id=now.message_id,
        thread_id=now.thread_id,
        undoes=event_id,
        was=now.status,
        status=then.status,
        purge_at=then.purge_at,
        cause=then.cause,
    )


def _get(state: Messages, command: MessageCommand) -> Message:
    found = state.known.get(command.message_id)
    if found is None:
        raise no_such_message(command.user_id, command.message_id)
    if found.is_erased:
        raise erased_message(command.message_id)
    return found


MESSAGES: Decider[MessageCommand, Messages] = Decider(
    initial=Messages(),
    subject=lambda command: turn_tag(command.message_id),
    tags=lambda state, command: frozenset({turn_tag(command.message_id), USER}),
    evolve=evolve,
    decide=_decide,
)
