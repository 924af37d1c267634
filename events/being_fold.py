"""The fold of the entries of a being."""

from dataclasses import replace
from uuid import UUID

from mnemolog.domain.being import BeingEntry, no_such_entry
from mnemolog.events import being as events
from mnemolog.events.subject import Subject


def _set(_: BeingEntry | None, event: events.BeingEntrySet) -> BeingEntry:
    return BeingEntry(
        entry_id=event.entry_id,
        agent_id=event.agent_id,
        store=event.store,
        key=event.key,
        body=event.body,
        read=event.read,
        origin=event.origin,
        source_turn_ids=event.source_turn_ids,
    )


def _without_content(entry: BeingEntry) -> BeingEntry:
    return replace(entry, key="", body={})


BEING_ENTRY: Subject[UUID, BeingEntry] = Subject(
    name="being_entry",
    read_id=UUID,
    ids=lambda event: (event.entry_id,),
    begins=frozenset({events.BeingEntrySet}),
    folds={
        events.BeingEntrySet: _set,
        events.BeingEntryRead: lambda entry, event: replace(entry, read=event.read),
        events.BeingEntryRemoved: lambda entry, event: replace(entry, removed=True),
        events.BeingEntryErased: lambda entry, event: _without_content(entry),
    },
    erased=_without_content,
    erase=lambda entry_id: events.BeingEntryErased(entry_id=entry_id),
    missing=no_such_entry,
)
