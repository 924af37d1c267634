"""Events of the stores of a being (C15)."""

from typing import Annotated
from uuid import UUID

from pydantic import JsonValue

from mnemolog.domain.being import Store
from mnemolog.domain.origin import Origin
from mnemolog.events.conversation import turn_tag
from mnemolog.events.event import Event, Personal, PersonalText, ShredsItsKey, blind_tag


class BeingEntryEvent(Event):
    """An event of one entry, encrypted with its key."""

    entry_id: UUID

    def key_scope(self) -> str:
        return entry_tag(self.entry_id)


class BeingEntrySet(BeingEntryEvent):
    """An entry has this content. `body` is that of its store, as `body_of` validates it.

    A removed entry is there again. An undo names the event that it `undoes`.
    """

    agent_id: str
    store: Store
    origin: Origin
    read: bool = False
    source_turn_ids: tuple[str, ...] = ()
    undoes: UUID | None = None
    key: PersonalText = ""
    body: Annotated[dict[str, JsonValue], Personal()] = {}  # noqa: RUF012

    def tags(self) -> frozenset[str]:
        named = {key_tag(self.agent_id, self.store, self.key)} if self.key else set()
        return super().tags() | named | set(map(turn_tag, self.source_turn_ids))


class BeingEntryRead(BeingEntryEvent):
    """A note was read, or is unread again. An undo names the event that it `undoes`."""

    read: bool
    undoes: UUID | None = None


class BeingEntryRemoved(BeingEntryEvent):
    """An entry is not shown any more. An undo names the event that it `undoes`."""

    undoes: UUID | None = None


class BeingEntryErased(ShredsItsKey, BeingEntryEvent):
    """The content of an entry is destroyed."""


def entry_tag(entry_id: UUID) -> str:
    return f"being_entry:{entry_id}"


def key_tag(agent_id: str, store: Store, key: str) -> str:
    """Finds the entry with this key. Stored as an HMAC, because a key may be the name of a person."""
    return blind_tag("being", f"{store}\n{agent_id}\n{key}")
