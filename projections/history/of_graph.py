"""What the history tells of an event of the graph, in the words of B §8."""

from collections.abc import Sequence
from typing import Any

from mnemolog.domain.facts import Validity
from mnemolog.domain.identity import utc_text
from mnemolog.domain.memory import VISIBLE
from mnemolog.events import graph
from mnemolog.projections.history.subject import ENTITY, RELATION, Subject

Told = tuple[str, dict[str, Any]]
GraphEvent = graph.EntityEvent | graph.RelationEvent


def subjects(payload: GraphEvent) -> Sequence[Subject]:
    """Whom the event names, and the relations of which it changes when they hold."""
    if isinstance(payload, graph.EntitiesMerged):
        own = [Subject(ENTITY, str(id_)) for id_ in (payload.entity_id, *payload.absorbed_ids)]
    elif isinstance(payload, graph.EntityEvent):
        own = [Subject(ENTITY, str(payload.entity_id))]
    else:
        own = [Subject(RELATION, str(payload.relation_id))]
    return list(dict.fromkeys([*own, *(Subject(RELATION, str(one.relation_id)) for one in graph.validity_of(payload))]))


def erased(payload: GraphEvent) -> Subject | None:
    """Whose reasons go."""
    gone = graph.EntityCleared | graph.EntityErased | graph.RelationErased
    return subjects(payload)[0] if isinstance(payload, gone) else None


def told(payload: GraphEvent, subject: Subject) -> Told:
    """The word, and what else the row says; no name, alias or value, as these are personal."""
    if subject.kind == ENTITY:
        assert isinstance(payload, graph.EntityEvent)
        return _of_entity(payload)
    periods = {one.relation_id: one for one in graph.validity_of(payload)}
    held = {str(id_): _dates(one) for id_, one in periods.items()}.get(subject.id)
    about = {} if held is None else {"periods": held}
    if isinstance(payload, graph.RelationEvent) and str(payload.relation_id) == subject.id:
        word, more = _of_relation(payload)
        return word, {**more, **about}
    cause = payload.relation_id if isinstance(payload, graph.RelationEvent) else payload.entity_id
    return "UPDATE", {"because_of": str(cause), **about}


def _of_entity(payload: graph.EntityEvent) -> Told:
    match payload:
        case graph.EntityObserved():
            return "ADD", {"source_turn_ids": list(payload.source_turn_ids)}
        case graph.EntityUpdated():
            sources = {} if payload.source_turn_ids is None else {"source_turn_ids": list(payload.source_turn_ids)}
            return "UPDATE", {"changed": list(payload.changed), **sources}
        case graph.EntityAliased():
            return "UPDATE", {"changed": ["aliases"]}
        case graph.EntitiesMerged():
            absorbed = [str(entity_id) for entity_id in payload.absorbed_ids]
            return "MERGE", {"survivor": str(payload.entity_id), "absorbed": absorbed}
        case graph.EntityForgotten():
            return "DELETE", {"reason": payload.reason, "purge_at": payload.purge_at.isoformat()}
        case graph.EntityReverted():
            return _undone(payload)
        case graph.EntityCleared():
            return "UPDATE", {"cleared": True}
        case graph.EntityKept():
            return "UPDATE", {"kept": True, "source_turn_ids": list(payload.source_turn_ids)}
        case graph.EntityErased():
            return "DELETE", {"erased": True}
        case _:
            return "RESTORE", {}


def _of_relation(payload: graph.RelationEvent) -> Told:
    match payload:
        case graph.RelationAsserted():
            return "ADD", {"source_turn_ids": list(payload.source_turn_ids), "confidence": payload.confidence}
        case graph.RelationObserved():
            sources = {"source_turn_ids": list(payload.source_turn_ids)}
            return "UPDATE", {"observed": True, "confidence": payload.confidence, **sources}
        case graph.RelationEnded():
            return "UPDATE", {"valid_to": utc_text(payload.valid_to)}
        case graph.RelationRetired():
            return "DELETE", {"retired": True}
        case graph.RelationForgotten():
            return "DELETE", {"reason": payload.reason, "purge_at": payload.purge_at.isoformat()}
        case graph.RelationReverted():
            return _undone(payload)
        case graph.RelationErased():
            return "DELETE", {"erased": True}
        case _:
            return "RESTORE", {}


def _undone(payload: graph.EntityReverted | graph.RelationReverted) -> Told:
    """By what the undo did to its subject: a relation that holds at no time any more is gone."""
    meta = {"undoes": str(payload.undoes)}
    if payload.status not in VISIBLE or _never_holds(payload):
        return "DELETE", meta
    return "UPDATE" if payload.was in VISIBLE else "RESTORE", meta


def _never_holds(payload: graph.EntityReverted | graph.RelationReverted) -> bool:
    return isinstance(payload, graph.RelationReverted) and any(
        one.relation_id == payload.relation_id and not one.periods for one in payload.validity
    )


def _dates(one: Validity) -> list[list[str | None]]:
    return [[utc_text(held.valid_from), utc_text(held.valid_to) if held.valid_to else None] for held in one.periods]
