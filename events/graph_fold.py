"""The folds of entities and relations."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

from mnemolog.domain.entity import Entity, Traits, no_such_entity
from mnemolog.domain.facts import Validity
from mnemolog.domain.relation import Relation, no_such_fact
from mnemolog.events import graph as events
from mnemolog.events.event import Event
from mnemolog.events.subject import Subject


def traits_of(event: events.EntityContent) -> Traits:
    return Traits(event.name, event.category, event.confidence, event.aliases, event.attributes)


def absorbed_by(event: Event) -> tuple[UUID, ...]:
    return event.absorbed_ids if isinstance(event, events.EntitiesMerged) else ()


def _observed(_: Entity | None, event: events.EntityObserved) -> Entity:
    return Entity(event.entity_id, event.scope, event.agent_id, traits_of(event))


def _rewritten(entity: Entity, event: events.EntityContent) -> Entity:
    return replace(entity, traits=traits_of(event))


def _merged(entity: Entity, event: events.EntitiesMerged) -> Entity:
    own = entity.entity_id == event.entity_id
    return _rewritten(entity, event) if own else entity.absorbed(event.entity_id)


def _reverted(entity: Entity, event: events.EntityReverted) -> Entity:
    was = replace(entity, status=event.status, merged_into=event.merged_into, purge_at=event.purge_at)
    return _rewritten(was, event)


ENTITY: Subject[UUID, Entity] = Subject(
    name="entity",
    read_id=UUID,
    ids=lambda event: (event.entity_id, *absorbed_by(event)),
    begins=frozenset({events.EntityObserved}),
    folds={
        events.EntityObserved: _observed,
        events.EntityUpdated: _rewritten,
        events.EntityAliased: _rewritten,
        events.EntitiesMerged: _merged,
        events.EntityForgotten: lambda entity, event: entity.forgotten(event.purge_at),
        events.EntityRestored: lambda entity, event: entity.restored(),
        events.EntityReverted: _reverted,
        events.EntityCleared: lambda entity, event: entity.cleared(),
        events.EntityKept: _rewritten,
        events.EntityErased: lambda entity, event: entity.erased(),
    },
    erased=Entity.erased,
    erase=lambda entity_id: events.EntityErased(entity_id=entity_id),
    missing=no_such_entity,
)


def _related(event: Event) -> Sequence[UUID]:
    """Its own relation, and those whose validity it changes."""
    own = [event.relation_id] if isinstance(event, events.RelationEvent) else []
    return list(dict.fromkeys([*own, *(one.relation_id for one in events.validity_of(event))]))


def _with_validity(change: Callable[[Any, Any], Relation]) -> Callable[[Any, Any], Relation]:
    """Applies an event to its own relation, and the validities it carries to this or another one."""

    def fold(relation: Relation | None, event: Event) -> Relation:
        own = relation is None or relation.relation_id == getattr(event, "relation_id", None)
        after = change(relation, event) if own else relation
        assert after is not None
        validity = next((one for one in events.validity_of(event) if one.relation_id == after.relation_id), None)
        return after.valid(validity, events.precisions_of(event)) if validity else after

    return fold


def _asserted(known: Relation | None, event: events.RelationAsserted) -> Relation:
    return Relation(
        event.relation_id,
        event.scope,
        event.agent_id,
        event.subject_id,
        event.predicate,
        event.object_id,
        event.value,
        event.single,
        event.confidence,
        Validity(event.relation_id),
        event.metadata,
        (known.sources if known else frozenset()) | set(event.source_turn_ids),
        literal=event.literal,
        origin=event.origin,
        precisions=known.precisions if known else {},
    )


def _said_again(relation: Relation, event: events.RelationObserved) -> Relation:
    sources = relation.sources | set(event.source_turn_ids)
    metadata = {**relation.metadata, **event.metadata}
    origin = event.origin or relation.origin
    return replace(relation, confidence=event.confidence, sources=sources, metadata=metadata, origin=origin)


def _as_before(relation: Relation, event: events.RelationReverted) -> Relation:
    was = replace(relation, status=event.status, purge_at=event.purge_at, metadata=event.metadata)
    single = relation.single if event.single is None else event.single
    return replace(was, confidence=event.confidence, single=single, origin=event.origin or relation.origin)


def _same(relation: Relation, event: Event) -> Relation:
    """Only the validity changes."""
    return relation


_CHANGES: Mapping[type[Event], Callable[[Any, Any], Relation]] = {
    events.RelationAsserted: _asserted,
    events.RelationObserved: _said_again,
    events.RelationEnded: _same,
    events.RelationRetired: _same,
    events.RelationWithdrawn: lambda relation, event: relation.forgotten(event.purge_at),
    events.RelationForgotten: lambda relation, event: relation.forgotten(event.purge_at),
    events.RelationRestored: lambda relation, event: relation.restored(),
    events.RelationReverted: _as_before,
    events.RelationErased: lambda relation, event: relation.erased(),
    events.EntitiesMerged: _same,
    events.EntityReverted: _same,
}

RELATION: Subject[UUID, Relation] = Subject(
    name="relation",
    read_id=UUID,
    ids=_related,
    begins=frozenset({events.RelationAsserted}),
    folds={event_type: _with_validity(change) for event_type, change in _CHANGES.items()},
    erased=Relation.erased,
    erase=lambda relation_id: events.RelationErased(relation_id=relation_id),
    missing=no_such_fact,
)
