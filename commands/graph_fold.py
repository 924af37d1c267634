"""What each event leaves of an entity or a relation: the fold of the graph that decisions read."""

from collections.abc import Mapping
from dataclasses import replace
from uuid import UUID

from mnemolog.domain.entity import Entity, Traits
from mnemolog.domain.facts import Validity
from mnemolog.domain.relation import Relation
from mnemolog.events import graph as events


def entities_after(known: Mapping[UUID, Entity], payload: events.EntityEvent) -> dict[UUID, Entity]:
    """Those that the event changes; of what is not known nothing is said."""
    if isinstance(payload, events.EntityObserved):
        new = Entity(payload.entity_id, payload.scope, payload.agent_id, _traits(payload))
        return {payload.entity_id: new}
    absorbed = {id_: known[id_].absorbed(payload.entity_id) for id_ in absorbed_by(payload) if id_ in known}
    own = known.get(payload.entity_id)
    return {**absorbed, **({payload.entity_id: _changed(own, payload)} if own else {})}


def relation_after(known: Relation | None, payload: events.RelationEvent) -> Relation | None:
    """The event's own relation, but for when it holds; None for one that is not known."""
    if isinstance(payload, events.RelationAsserted):
        return _asserted(known, payload)
    return _affected(known, payload) if known else None


def absorbed_by(payload: events.EntityEvent) -> tuple[UUID, ...]:
    return payload.absorbed_ids if isinstance(payload, events.EntitiesMerged) else ()


def _changed(entity: Entity, payload: events.EntityEvent) -> Entity:
    match payload:
        case events.EntityReverted():
            was = replace(entity, status=payload.status, merged_into=payload.merged_into, purge_at=payload.purge_at)
            return replace(was, traits=_traits(payload))
        case events.EntityContent():
            return replace(entity, traits=_traits(payload))
        case events.EntityForgotten():
            return entity.forgotten(payload.purge_at)
        case events.EntityRestored():
            return entity.restored()
        case events.EntityCleared():
            return entity.cleared()
        case events.EntityErased():
            return entity.erased()
        case _:
            return entity


def _traits(payload: events.EntityContent) -> Traits:
    return Traits(payload.name, payload.category, payload.confidence, payload.aliases, payload.attributes)


def _asserted(known: Relation | None, payload: events.RelationAsserted) -> Relation:
    return Relation(
        payload.relation_id,
        payload.scope,
        payload.agent_id,
        payload.subject_id,
        payload.predicate,
        payload.object_id,
        payload.value,
        payload.single,
        payload.confidence,
        Validity(payload.relation_id),
        payload.metadata,
        (known.sources if known else frozenset()) | set(payload.source_turn_ids),
    )


def _affected(relation: Relation, payload: events.RelationEvent) -> Relation:
    match payload:
        case events.RelationObserved():
            sources = relation.sources | set(payload.source_turn_ids)
            return replace(relation, confidence=payload.confidence, sources=sources)
        case events.RelationForgotten():
            return relation.forgotten(payload.purge_at)
        case events.RelationRestored():
            return relation.restored()
        case events.RelationReverted():
            was = replace(relation, status=payload.status, purge_at=payload.purge_at, metadata=payload.metadata)
            single = relation.single if payload.single is None else payload.single
            return replace(was, confidence=payload.confidence, single=single)
        case events.RelationErased():
            return relation.erased()
        case _:
            return relation
