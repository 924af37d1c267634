"""Applies events to rows of entities. Pure: the projector reads and writes the rows."""

from collections.abc import Mapping
from uuid import UUID

from mnemolog.domain.entity import Entity, Traits
from mnemolog.domain.memory import Status
from mnemolog.domain.scope import Scope
from mnemolog.domain.text import normalize_name
from mnemolog.events import graph, memory
from mnemolog.events.conversation import TurnRecorded
from mnemolog.events.envelope import Recorded
from mnemolog.events.event import Event, sources_of
from mnemolog.events.graph_fold import ENTITY
from mnemolog.projections.forgetting import NOT_FORGOTTEN, forgotten, reverted
from mnemolog.projections.graph import hiding
from mnemolog.projections.graph.names import indexed_name
from mnemolog.projections.owner import owner_row
from mnemolog.projections.rows import Row

Rows = Mapping[UUID, Row]


def touched(event: Recorded) -> frozenset[UUID]:
    """The entities whose rows an event may change."""
    return frozenset(ENTITY.touched(event.payload)) or mentioned(event.payload)


def mentioned(payload: Event) -> frozenset[UUID]:
    """The entities that are mentioned or that speak: both ends of a fact, and the subjects of a memory (A §4.1)."""
    match payload:
        case TurnRecorded(speaker_entity_id=speaker, mentioned_ids=named):
            return frozenset({*([speaker] if speaker else []), *named})
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
    """The rows that an event changes. A missing entity, whose event was skipped, is ignored."""
    payload = event.payload
    if not ENTITY.touched(payload):  # They are only mentioned, and read as before.
        return {id_: {**row, "last_seen": max(row["last_seen"], event.occurred_at)} for id_, row in rows.items()}
    known = ENTITY.evolve({id_: as_entity(row) for id_, row in rows.items()}, payload)
    begins = isinstance(payload, graph.EntityObserved)
    changed = {id_: _row(one, event, _birth(event) if begins else rows[id_]) for id_, one in known.items()}
    if isinstance(payload, graph.EntitiesMerged) and (survivor := changed.get(payload.entity_id)):
        survivor["last_seen"] = max(survivor["last_seen"], *(row["last_seen"] for row in rows.values()))
    return changed


def names(row: Row) -> dict[str, str]:
    """The names an entity is found by: each name and alias as written, by the form in which names are compared."""
    return {key: name for name in (*row["aliases"], row["name"]) if (key := indexed_name(name))}


def _row(entity: Entity, event: Recorded, before: Row) -> Row:
    hidden = hiding.after(before["hidden"], entity.status is Status.SOFT_DELETED, event)
    row = {**before, **of_entity(entity), **_life(entity, event, before), "hidden": hidden}
    return {**row, "updated_at": event.recorded_at, "seq": event.seq}


def _life(entity: Entity, event: Recorded, before: Row) -> Row:
    """When it was last seen and in which turns, and since when and why it is hidden."""
    match event.payload:
        case graph.EntityForgotten(reason=reason):
            return forgotten(event, reason)
        case graph.EntityReverted(status=status):
            return {**reverted(event, before, hidden=status is Status.SOFT_DELETED)}
        case graph.EntityRestored():
            return {**NOT_FORGOTTEN}
        case graph.EntityCleared() | graph.EntityErased():
            return {"forget_reason": ""}
        case graph.EntityContent(entity_id=entity_id) as content if entity_id == entity.entity_id:
            new = [turn_id for turn_id in sources_of(content) or () if turn_id not in before["source_turn_ids"]]
            last_seen = max(before["last_seen"], event.occurred_at)
            return {"source_turn_ids": [*before["source_turn_ids"], *new], "last_seen": last_seen}
    return {}


def _birth(event: Recorded) -> Row:
    return {
        **owner_row(event),
        **NOT_FORGOTTEN,
        "hidden": [],
        "source_turn_ids": list(sources_of(event.payload) or ()),
        "last_seen": event.occurred_at,
        "created_at": event.recorded_at,
    }


def of_entity(entity: Entity) -> Row:
    """The columns that are derived from the domain entity."""
    traits = entity.traits
    same = ("entity_id", "scope", "agent_id", "status", "merged_into", "purge_at")
    return {
        **{name: getattr(entity, name) for name in same},
        "name": traits.name,
        "name_normalized": normalize_name(traits.name),
        "aliases": list(traits.aliases),
        "category": traits.category,
        "attributes": dict(traits.attributes),
        "confidence": traits.confidence,
    }


def as_entity(row: Row) -> Entity:
    return Entity(
        row["entity_id"],
        Scope(row["scope"]),
        row["agent_id"],
        Traits(row["name"], row["category"], row["confidence"], tuple(row["aliases"]), row["attributes"]),
        Status(row["status"]),
        row["merged_into"],
        row["purge_at"],
    )
