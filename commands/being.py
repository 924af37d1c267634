"""Commands on the stores of a being: put, mark, remove, undo. A being's entries are its own (C01, C15)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, ClassVar, Self
from uuid import UUID

from pydantic import Field, JsonValue, model_validator

from mnemolog.commands.change_history import ChangeHistory
from mnemolog.commands.decider import Command, Decider, Decisions
from mnemolog.commands.sourced import Sourced
from mnemolog.domain.being import INSTRUCTING, BeingEntry, Store, erased_entry, no_such_entry
from mnemolog.domain.errors import InvalidInput
from mnemolog.domain.json_value import checked_json
from mnemolog.domain.origin import require_inside
from mnemolog.domain.updated import updated
from mnemolog.events.being import BeingEntryRead, BeingEntryRemoved, BeingEntrySet, entry_tag, key_tag
from mnemolog.events.being_bodies import Body, body_of
from mnemolog.events.being_fold import BEING_ENTRY
from mnemolog.events.envelope import Happened
from mnemolog.events.erasure import USER
from mnemolog.events.event import Event
from mnemolog.events.fields import Flag, Id, Ids, Uuid, checked_by


class EntryCommand(Command):
    """A request about one entry of the being `agent_id`."""

    entry_id: Annotated[Uuid, Field(description="The entry's id.")]


class PutEntry(Sourced, EntryCommand):
    """Puts an entry into a store. An entry with the same key is replaced."""

    generated: ClassVar[frozenset[str]] = frozenset({"entry_id"})

    store: Annotated[Store, Field(description="The store.")]
    body: Annotated[
        dict[str, JsonValue],
        checked_by(checked_json),
        Field(description="The content, as a JSON object. Its fields depend on the store."),
    ]
    key: Annotated[
        Id | None,
        Field(
            description="The name of the entry in its store, to replace it later. Default: a new one. The soul, the "
            "snapshot, diary entries (their date), relationships, tools and the map (their name) have their own."
        ),
    ] = None

    source_turn_ids: Annotated[Ids, Field(description="The turns it was made from.")] = ()

    @model_validator(mode="after")
    def _valid(self) -> Self:
        own = self.content.own_key
        if own is not None and self.key not in (None, own):
            message = f"an entry of store {self.store} has the key {own!r:.60}"
            raise InvalidInput(message, field="key", fix="omit it")
        return self

    @property
    def content(self) -> Body:
        return body_of(self.store, self.body)

    @property
    def name(self) -> str:
        """The key of the entry."""
        return self.content.own_key or self.key or str(self.entry_id)


class MarkEntry(EntryCommand):
    """Marks a note as read or unread. Only unread notes are shown."""

    read: Annotated[Flag, Field(description="Whether it was read.")] = True


class RemoveEntry(EntryCommand):
    """Removes an entry. An undo restores it."""


class UndoEntry(EntryCommand):
    """Undoes the change `event_id`."""

    event_id: Uuid


@dataclass(frozen=True, slots=True)
class Entries:
    """The entries of a decision, and every change of them."""

    known: Mapping[UUID, BeingEntry] = field(default_factory=dict)
    changes: ChangeHistory[BeingEntry] = field(default_factory=ChangeHistory)


def evolve(state: Entries, event: Happened) -> Entries:
    payload = event.payload
    changed = BEING_ENTRY.evolve(state.known, payload)
    if changed and isinstance(payload, BeingEntrySet | BeingEntryRead | BeingEntryRemoved):
        befores = BEING_ENTRY.befores(state.known, payload)
        state = replace(state, changes=state.changes.with_change(event, befores, payload.undoes))
    return replace(state, known=updated(state.known, changed))


_decide = Decisions[EntryCommand, Entries]()


@_decide.register
def put(command: PutEntry, state: Entries) -> Sequence[Event]:
    """The events that put an entry into its store, given the entries with its key."""
    origin, body = command.trust, command.content.model_dump(mode="json")
    if command.store in INSTRUCTING:
        require_inside(origin, f"become {command.store} of a being", "origin")
    place = (command.agent_id, command.store, command.name)
    same = (one for one in state.known.values() if (one.agent_id, one.store, one.key) == place)
    found = next((one for one in same if not one.is_erased), None)
    if found:
        command.require_not_below(found.origin, "replace")
    if found and not found.removed and (found.body, found.origin) == (body, origin):
        return []
    return [
        BeingEntrySet(
            entry_id=found.entry_id if found else command.entry_id,
            agent_id=command.agent_id,
            store=command.store,
            origin=origin,
            source_turn_ids=command.source_turn_ids,
            key=command.name,
            body=body,
        )
    ]


@_decide.register
def mark(command: MarkEntry, state: Entries) -> Sequence[Event]:
    """The event that marks a note as read or unread."""
    found = _get(state, command)
    if found.store is not Store.NOTE:
        raise InvalidInput(f"entry {command.entry_id} is not a note", field="entry_id", fix="pass the id of a note")
    return [] if found.read is command.read else [BeingEntryRead(entry_id=command.entry_id, read=command.read)]


@_decide.register
def _remove(command: RemoveEntry, state: Entries) -> Sequence[Event]:
    return [] if _get(state, command).removed else [BeingEntryRemoved(entry_id=command.entry_id)]


@_decide.register
def _undo(command: UndoEntry, state: Entries) -> Sequence[Event]:
    """An entry that was added by the change is removed."""
    found = _get(state, command)
    if state.changes.undone(command.event_id):
        return []
    before = state.changes.befores(command.event_id).get(entry_tag(command.entry_id))
    return [_reverted(found, before, command.event_id)]


def _reverted(now: BeingEntry, before: BeingEntry | None, undoes: UUID) -> Event:
    if before is None or before.removed:
        return BeingEntryRemoved(entry_id=now.entry_id, undoes=undoes)
    if replace(now, read=before.read) == before:
        return BeingEntryRead(entry_id=now.entry_id, read=before.read, undoes=undoes)
    own = ("entry_id", "agent_id", "store", "origin", "read", "source_turn_ids", "key", "body")
    return BeingEntrySet(**{name: getattr(before, name) for name in own}, undoes=undoes)


def _get(state: Entries, command: EntryCommand) -> BeingEntry:
    found = state.known.get(command.entry_id)
    if found is None or found.agent_id != command.agent_id:
        raise no_such_entry(command.user_id, command.entry_id)
    if found.is_erased:
        raise erased_entry(command.entry_id)
    return found


def _subject(command: EntryCommand) -> str:
    if isinstance(command, PutEntry):
        return key_tag(command.agent_id, command.store, command.name)
    return entry_tag(command.entry_id)


def _tags(state: Entries, command: EntryCommand) -> frozenset[str]:
    known = map(entry_tag, state.known) if isinstance(command, PutEntry) else ()
    return frozenset({USER, _subject(command), *known})


BEING: Decider[EntryCommand, Entries] = Decider(
    initial=Entries(),
    subject=_subject,
    tags=_tags,
    evolve=evolve,
    decide=_decide,
)
