"""Events that hide, restore or erase messages. What was said is in `TurnRecorded`."""

from datetime import datetime
from typing import ClassVar
from uuid import UUID

from mnemolog.domain.memory import Cause, Status
from mnemolog.events.conversation import (
    EVERY_THREAD,
    TurnEvent,
    extracts_scope,
    summaries_scope,
    summaries_tag,
    turn_scope,
    turn_tag,
)
from mnemolog.events.event import Event, PersonalText


class MessageEvent(TurnEvent):
    """A change of one message, by its turn."""


class MessageDeleted(MessageEvent):
    """A message was hidden. It is erased at `purge_at`, unless it is restored."""

    purge_at: datetime
    cause: Cause
    reason: PersonalText = ""


class MessageRestored(MessageEvent):
    """A hidden message is shown again."""


class MessageReverted(MessageEvent):
    """Undo: the message is shown or hidden as it was before the event that is undone."""

    undoes: UUID
    was: Status
    status: Status
    purge_at: datetime | None = None
    cause: Cause | None = None


class MessagesErased(Event):
    """The text of these messages of one thread is destroyed. `cause`: `ttl` when their retention ended.

    The summaries of the thread and the spine go with them, because they may contain their words; after a retention
    they stay.
    """

    version: ClassVar[int] = 2

    MAX: ClassVar[int] = 200

    thread_id: str
    turn_ids: tuple[str, ...]
    cause: Cause

    @property
    def at_end_of_retention(self) -> bool:
        """Only the summaries that quote the messages go then."""
        return self.cause is Cause.TTL

    def tags(self) -> frozenset[str]:
        return frozenset({*map(turn_tag, self.turn_ids), summaries_tag(EVERY_THREAD)})

    def key_scope(self) -> str:
        return turn_scope(self.thread_id, self.turn_ids[0])

    def shreds(self) -> frozenset[str]:
        turns = frozenset(turn_scope(self.thread_id, turn_id) for turn_id in self.turn_ids)
        scope = extracts_scope if self.cause is Cause.TTL else summaries_scope
        return turns | {scope(self.thread_id), scope(EVERY_THREAD)}
