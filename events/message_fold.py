"""The fold of messages."""

from collections.abc import Sequence

from mnemolog.domain.message import Message, no_such_message
from mnemolog.events import message as events
from mnemolog.events.conversation import TurnRecorded
from mnemolog.events.erasure import MemoryErased
from mnemolog.events.subject import Subject


def _ids(event: TurnRecorded | events.MessageEvent | events.MessagesErased | MemoryErased) -> Sequence[str]:
    match event:
        case events.MessagesErased():
            return event.turn_ids
        case MemoryErased():
            return [turn.turn_id for turn in event.turns]
        case _:
            return (event.turn_id,)


def _recorded(before: Message | None, turn: TurnRecorded) -> Message:
    message = before or Message(turn.turn_id, turn.thread_id)
    return message if turn.text else message.erased()


def _reverted(message: Message, event: events.MessageReverted) -> Message:
    return Message(message.message_id, message.thread_id, event.status, event.purge_at, event.cause)


# A message goes with its turn's key: by itself, with its thread, or with a memory that was extracted from it.
MESSAGE: Subject[str, Message] = Subject(
    name="turn",
    read_id=str,
    ids=_ids,
    begins=frozenset({TurnRecorded}),
    folds={
        TurnRecorded: _recorded,
        events.MessageDeleted: lambda message, event: message.deleted(event.purge_at, event.cause),
        events.MessageRestored: lambda message, event: message.restored(),
        events.MessageReverted: _reverted,
        events.MessagesErased: lambda message, event: message.erased(),
        MemoryErased: lambda message, event: message.erased(),
    },
    erased=Message.erased,
    erase=None,
    missing=no_such_message,
)
