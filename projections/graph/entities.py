"""What events do to the rows of entities. Pure: the projector reads the rows before and writes them after."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from mnemolog.domain.memory import Status
from mnemolog.domain.text import normalize_name
from mnemolog.events import graph, memory
from mnemolog.events.conversation import TurnRecorded
from mnemolog.events.envelope import Recorded
from mnemolog.events.event import Event, sources_of
from mnemolog.projections.graph import hiding
from mnemolog.projections.owner import owner_row
from mnemolog.projections.rows import Row

Rows = Mapping[UUID, Row]


def touched(event: Recorded) -> frozenset[UUID]:
    """The entities whose rows an event may change."""
    match event.payload:
        case graph.EntitiesMerged(entity_id=entity_id, absorbed_ids=absorbed_ids):
            return frozenset({entity_id, *absorbed_ids})
        case graph.EntityEvent(entity_id=entity_id):
            return frozenset({entity_id})
        case _:
            return mentioned(event.payload)


def mentioned(payload: Event) -> frozenset[UUID]:
    """The entities that are spoken of, or speak: both ends of a fact, and those that a memory is about (A §4.1)."""
    match payload:
        case TurnRecorded(speaker_entity_id=UUID() as speaker):
            return frozenset({speaker})
        case graph.RelationAsserted(subject_id=subject_id, object_id=object_id):
            return frozenset({subject_id, *([object_id] if object_id else [])})
        case graph.RelationObserved(entity_ids=entity_ids):
            return frozenset(entity_ids)
        case (
            memory.MemoryCreated(entity_ids=entity_ids)
            | memory.MemoryUpdated(entity_ids=entity_ids)
            | memory.MemoriesMerged(entity_ids=entity_ids)
            | memory.MemoryObserved(entity_ids=entity_ids)
        ):
            return frozenset(entity_ids)
        case _:
            return frozenset()


def after(rows: Rows, event: Recorded) -> dict[UUID, Row]:
    """The rows that an event changes. An entity that is not there, as an event was skipped, is not changed."""
    if isinstance(event.payload, graph.EntityObserved):
        return {event.payload.entity_id: _observed(event, event.payload)}
    seen = max((row["last_seen"] for row in rows.values()), default=event.occurred_at)
    changed = {entity_id: _changed(rows[entity_id], event) for entity_id in sorted(touched(event) & rows.keys())}
    if isinstance(event.payload, graph.EntitiesMerged) and (survivor := changed.get(event.payload.entity_id)):
        survivor["last_seen"] = max(survivor["last_seen"], seen)
    return changed


def names(row: Row) -> dict[str, str]:
    """What an entity is found by: each name and alias as it is written, under its normalised form."""
    return {normal: name for name in (*row["aliases"], row["name"]) if (normal := normalize_name(name))}


def _changed(row: Row, event: Recorded) -> Row:
    if not isinstance(event.payload, graph.EntityEvent):  # It is spoken of, and reads as before.
        return {**row, "last_seen": max(row["last_seen"], event.occurred_at)}
    changed = {**row, "updated_at": event.recorded_at, "seq": event.seq, **_changes(row, event)}
    return {**changed, "hidden": hiding.after(row["hidden"], changed["status"] == Status.SOFT_DELETED, event)}


def _changes(row: Row, event: Recorded) -> dict[str, Any]:
    match event.payload:
        case graph.EntitiesMerged(entity_id=survivor) if row["entity_id"] != survivor:
            return {"status": Status.DORMANT, "merged_into": survivor}
        case graph.EntityReverted() as reverted:
            state = {"status": reverted.status, "merged_into": reverted.merged_into, "purge_at": reverted.purge_at}
            return {**_content(reverted), **state, **_FORGOTTEN_NO_MORE}
        case graph.EntityContent() as content:
            new = [turn_id for turn_id in sources_of(content) or () if turn_id not in row["source_turn_ids"]]
            told = {**_content(content), "source_turn_ids": [*row["source_turn_ids"], *new]}
            return {**told, "last_seen": max(row["last_seen"], event.occurred_at)}
        case graph.EntityCleared():
            return _ERASED
        case graph.EntityForgotten(purge_at=purge_at, reason=reason):
            hidden = {"status": Status.SOFT_DELETED, "purge_at": purge_at}
            return {**hidden, "forgotten_at": event.recorded_at, "forget_reason": reason}
        case graph.EntityRestored():
            return {"status": Status.ACTIVE, "purge_at": None, **_FORGOTTEN_NO_MORE}
        case _:
            return {**_ERASED, "status": Status.PURGED, "purge_at": None}


_FORGOTTEN_NO_MORE = {"forgotten_at": None, "forget_reason": ""}
_ERASED = {"name": "", "name_normalized": "", "aliases": [], "attributes": {}, "forget_reason": ""}


def _content(content: graph.EntityContent) -> dict[str, Any]:
    return {
        "name": content.name,
        "name_normalized": normalize_name(content.name),
        "aliases": list(content.aliases),
        "category": content.category,
        "attributes": content.attributes,
        "confidence": content.confidence,
    }


def _observed(event: Recorded, entity: graph.EntityObserved) -> Row:
    return {
        **owner_row(event),
        "entity_id": entity.entity_id,
        "scope": entity.scope,
        "agent_id": entity.agent_id,
        **_content(entity),
        "status": Status.ACTIVE,
        "merged_into": None,
        "purge_at": None,
        **_FORGOTTEN_NO_MORE,
        "hidden": [],
        "source_turn_ids": list(entity.source_turn_ids),
        "last_seen": event.occurred_at,
        "created_at": event.recorded_at,
        "updated_at": event.recorded_at,
        "seq": event.seq,
    }
