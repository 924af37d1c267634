"""Undo a change of an entity or a relation, restoring the previous state (X03)."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from uuid import UUID

from mnemolog.commands.decider import Decider
from mnemolog.commands.entities import content
from mnemolog.commands.facts import own_first
from mnemolog.commands.graph import (
    Graph,
    GraphCommand,
    Node,
    applied,
    cluster_reads,
    entity_of,
    evolve,
    facts_of,
    relation_of,
    relation_reads,
    resettled,
)
from mnemolog.domain import facts, memory
from mnemolog.domain.entity import Entity
from mnemolog.domain.relation import Relation
from mnemolog.events import graph as events
from mnemolog.events.event import Event
from mnemolog.events.fields import Id, Instant, Uuid
from mnemolog.events.graph_fold import ENTITY, RELATION


class UndoGraph(GraphCommand):
    """The change `event_id` of `about`, the tag of an entity or a relation."""

    about: Id
    event_id: Uuid
    at: Instant


def decide(state: Graph, command: UndoGraph) -> Sequence[Event]:
    """One event for each entity and relation that the change affected; none if it is already undone."""
    for subject in state.changes.subjects(command.event_id):
        if ENTITY.has(subject):
            entity_of(state, ENTITY.id_of(subject), command, "event_id")
        else:
            relation_of(state, RELATION.id_of(subject), command, "event_id")
    if state.changes.undone(command.event_id):
        return []
    return reverted_all(state, command.event_id, state.changes.befores(command.event_id), command.at)


def reverted_all(state: Graph, event_id: UUID, befores: Mapping[str, Node | None], at: datetime) -> Sequence[Event]:
    """The undo of each subject of a change, each based on the result of the previous ones."""
    found: list[Event] = []
    for subject, before in befores.items():
        found.append(reverted(state, event_id, subject, before, at))
        state = applied(state, found[-1])
    return found


def reverted(state: Graph, event_id: UUID, subject: str, before: Node | None, at: datetime) -> Event:
    """One subject in its state before the event. If the event created it, an entity is soft-deleted and a relation
    loses its periods.
    """
    if ENTITY.has(subject):
        now = state.entities[ENTITY.id_of(subject)]
        return _entity(state, event_id, now, before if isinstance(before, Entity) else None, at)
    relation = state.relations[RELATION.id_of(subject)]
    return _relation(state, event_id, relation, before if isinstance(before, Relation) else None)


def _entity(state: Graph, event_id: UUID, now: Entity, before: Entity | None, at: datetime) -> Event:
    then = before or now.forgotten(at + memory.PURGE_AFTER)
    event = events.EntityReverted(
        **content(now.entity_id, then.traits),
        undoes=event_id,
        was=now.status,
        status=then.status,
        merged_into=then.merged_into,
        purge_at=then.purge_at,
    )
    if now.merged_into == then.merged_into:
        return event
    either = (now.entity_id, state.root(now.entity_id), then.merged_into or now.entity_id)
    return event.model_copy(update={"validity": resettled(applied(state, event), either)})


def _relation(state: Graph, event_id: UUID, now: Relation, before: Relation | None) -> Event:
    then = before or now.never_held()
    slot = facts_of(state.slot(state.place(now)))
    own = replace(now.fact, single=then.single).says(then.validity.said)
    after = facts.settled([own if one.relation_id == now.relation_id else one for one in slot])
    return events.RelationReverted(
        relation_id=now.relation_id,
        validity=own_first(now.relation_id, slot, after),
        undoes=event_id,
        was=now.status,
        status=then.status,
        confidence=then.confidence,
        single=then.single,
        origin=None if then.origin is now.origin else then.origin,
        purge_at=then.purge_at,
        metadata=dict(then.metadata),
    )


def _tags(state: Graph, command: UndoGraph) -> frozenset[str]:
    """All subjects that the change affected, including facts about entities, because a merge changes them."""
    found = {command.about, *state.changes.subjects(command.event_id)}
    entities = [ENTITY.id_of(tag) for tag in found if ENTITY.has(tag)]
    relations = [RELATION.id_of(tag) for tag in found if RELATION.has(tag)]
    said = frozenset[str]().union(*(relation_reads(state, id_) for id_ in relations))
    return said | (cluster_reads(state, entities) if entities else frozenset()) | found


GRAPH_UNDO: Decider[UndoGraph, Graph] = Decider(
    initial=Graph(),
    subject=lambda command: command.about,
    tags=_tags,
    evolve=evolve,
    decide=decide,
)
