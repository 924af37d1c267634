"""The graph that a decision reads: entities and relations with all their changes."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import ClassVar
from uuid import UUID

from mnemolog.commands import words
from mnemolog.commands.change_history import ChangeHistory
from mnemolog.commands.decider import Command
from mnemolog.commands.words import Words
from mnemolog.domain import facts
from mnemolog.domain.entity import Entity, erased_entity, no_such_entity
from mnemolog.domain.facts import Said, Slot, Validity
from mnemolog.domain.memory import Status
from mnemolog.domain.relation import Relation, erased_fact, no_such_fact
from mnemolog.domain.retelling import Asserts, Change, Drops, Ends, Retires, Shows, Statement, Withdraws
from mnemolog.domain.scope import Scope, readable
from mnemolog.domain.updated import updated
from mnemolog.events import graph as events
from mnemolog.events.envelope import Happened, Recorded
from mnemolog.events.erasure import USER
from mnemolog.events.event import Event
from mnemolog.events.graph import validity_of
from mnemolog.events.graph_fold import ENTITY, RELATION
from mnemolog.events.graph_tags import about_tag, entity_tag, relation_tag, slot_tag
from mnemolog.events.subjects import subject_of


class GraphCommand(Command):
    """A request about an entity or a relation."""

    generated: ClassVar[frozenset[str]] = frozenset({"at"})


Node = Entity | Relation
# Scope, agent, subject and predicate.
SlotKey = tuple[Scope, str | None, UUID, str]


@dataclass(frozen=True, slots=True)
class Graph:
    """`named`: every entity in the events read, including merged ones. `relations` are in recording order.

    `words` are the words of entities, by tag. `statements` are what was told of each relation, and `told` how many.
    """

    entities: Mapping[UUID, Entity] = field(default_factory=dict)
    relations: Mapping[UUID, Relation] = field(default_factory=dict)
    named: Mapping[UUID, None] = field(default_factory=dict)
    words: Mapping[str, Words] = field(default_factory=dict)
    changes: ChangeHistory[Node] = field(default_factory=ChangeHistory)
    statements: Mapping[UUID, tuple[Statement, ...]] = field(default_factory=dict)
    told: int = 0

    def root(self, entity_id: UUID) -> UUID:
        """The entity itself, or the one it was merged into."""
        while (found := self.entities.get(entity_id)) and found.merged_into:
            entity_id = found.merged_into
        return entity_id

    def members(self, entity_id: UUID) -> tuple[UUID, ...]:
        """An entity and all entities merged into it."""
        root = self.root(entity_id)
        return tuple(dict.fromkeys((root, *(id_ for id_ in self.entities if self.root(id_) == root))))

    def place(self, relation: Relation) -> SlotKey:
        return (relation.scope, relation.agent_id, self.root(relation.subject_id), relation.predicate)

    def slot(self, place: SlotKey) -> list[Relation]:
        """All relations with one subject and predicate, in one scope."""
        return [one for one in self.relations.values() if self.place(one) == place]


def evolve(state: Graph, event: Happened) -> Graph:
    payload = event.payload
    after = _with_statement(applied(state, payload), event)
    undoes = payload.undoes if isinstance(payload, events.EntityReverted | events.RelationReverted) else None
    befores = {tag: _node(state, tag) for tag in _subjects(state, payload)}
    if not befores:
        return after
    changes = state.changes.with_change(event, befores, undoes)
    for_good = isinstance(payload, events.EntityCleared)
    return replace(after, changes=changes.irreversible(event.event_id) if for_good else changes)


def _with_statement(state: Graph, event: Happened) -> Graph:
    payload = event.payload
    change = _stated(payload)
    if change is None or not isinstance(payload, events.RelationEvent):
        return state
    told_at: datetime | None = getattr(payload, "told_at", None)
    recorded_at = event.recorded_at if isinstance(event, Recorded) else event.occurred_at
    late = payload.late if isinstance(payload, events.RelationObserved) else None
    retold = payload.retold is not None if isinstance(payload, events.ToldEvent) else bool(late)
    id_ = payload.relation_id
    one = Statement(id_, told_at or recorded_at, state.told, event.event_id, change, retold)
    statements = updated(state.statements, {id_: (*state.statements.get(id_, ()), one)})
    return replace(state, statements=statements, told=state.told + 1)


def _stated(payload: Event) -> Change | None:
    match payload:
        case events.RelationAsserted():
            return Asserts(Said(payload.valid_from, payload.valid_to), payload.single)
        case events.RelationObserved(told_at=told_at):
            since = payload.valid_from or told_at
            return Asserts(Said(since, stated=payload.stated), single=None) if since else None
        case events.RelationEnded():
            return Ends(payload.valid_to, holding=bool(payload.stated_in))
        case events.RelationRetired():
            return Retires()
        case events.RelationWithdrawn():
            return Withdraws()
        case events.RelationForgotten() | events.RelationErased():
            return Shows(shown=False)
        case events.RelationRestored():
            return Shows(shown=True)
        case events.RelationReverted():
            return Drops(payload.undoes)
        case _:
            return None


def applied(state: Graph, payload: Event) -> Graph:
    """The graph after an event, without its change history. Subjects that were not read are not changed."""
    if isinstance(payload, events.EntityEvent):
        named = updated(state.named, dict.fromkeys(ENTITY.touched(payload)))
        state = replace(state, named=named, words=words.after(state.words, payload))
    entities, relations = ENTITY.evolve(state.entities, payload), RELATION.evolve(state.relations, payload)
    state = replace(state, entities=updated(state.entities, entities)) if entities else state
    return replace(state, relations=updated(state.relations, relations)) if relations else state


def resettled(state: Graph, entity_ids: Iterable[UUID]) -> tuple[Validity, ...]:
    """The changed validities of facts about entities that were merged or separated."""
    roots = {state.root(id_) for id_ in entity_ids}
    own = [one for one in state.relations.values() if state.root(one.subject_id) in roots]
    slots = [facts_of(state.slot(place)) for place in dict.fromkeys(map(state.place, own))]
    return tuple(one for slot in slots for one in facts.changes(slot, facts.settled(slot)))


def entity_of(state: Graph, entity_id: UUID, command: Command, path: str = "entity_id") -> Entity:
    """An entity that the agent may see; NotFound for any other (A01)."""
    found = state.entities.get(entity_id)
    if found is None or not readable(found.scope, found.agent_id, command.agent_id):
        raise no_such_entity(command.user_id, entity_id, path)
    if found.status is Status.PURGED:
        raise erased_entity(entity_id, path)
    return found


def relation_of(state: Graph, relation_id: UUID, command: Command, path: str = "relation_id") -> Relation:
    """A relation that the agent may see; NotFound for any other (A01)."""
    found = state.relations.get(relation_id)
    if found is None or not readable(found.scope, found.agent_id, command.agent_id):
        raise no_such_fact(command.user_id, relation_id, path)
    if found.status is Status.PURGED:
        raise erased_fact(relation_id, path)
    return found


def facts_of(relations: Iterable[Relation]) -> Slot:
    return [one.fact for one in relations]


def entity_reads(state: Graph, entity_ids: Iterable[UUID] = ()) -> frozenset[str]:
    """The tags to read for some entities, including all merges."""
    merged_into = {one.merged_into for one in state.entities.values() if one.merged_into}
    return frozenset({USER, *map(entity_tag, {*entity_ids, *state.named, *merged_into})})


def slot_reads(state: Graph, place: SlotKey) -> frozenset[str]:
    """The tags to read for all relations with a subject and predicate."""
    scope, agent_id, subject_id, predicate = place
    slots = {slot_tag(scope, agent_id, member, predicate) for member in state.members(subject_id)}
    return entity_reads(state, [subject_id]) | slots | set(map(relation_tag, state.relations))


def relation_reads(state: Graph, relation_id: UUID) -> frozenset[str]:
    """The tags to read for a relation and the others in its slot."""
    own = frozenset({USER, relation_tag(relation_id)})
    found = state.relations.get(relation_id)
    if found is None:
        return own
    return own | slot_reads(state, state.place(found)) | entity_reads(state, [found.subject_id])


def cluster_reads(state: Graph, entity_ids: Iterable[UUID]) -> frozenset[str]:
    """The tags to read for some entities and the facts about them."""
    found = entity_reads(state, entity_ids)
    return found | set(map(about_tag, {*entity_ids, *state.named})) | set(map(relation_tag, state.relations))


def _node(state: Graph, tag: str) -> Node | None:
    known: Mapping[UUID, Node] = state.entities if ENTITY.has(tag) else state.relations
    return known.get(subject_of(tag).id_of(tag))


def _subjects(state: Graph, payload: Event) -> tuple[str, ...]:
    """The subjects that an event changes, its own first, including relations whose validity changes."""
    match payload:
        case events.EntityUpdated(changed=()) | events.EntityKept():
            return ()
        case events.RelationEvent():
            found = ((one, state.relations.get(one.relation_id)) for one in validity_of(payload))
            told = [one.relation_id for one, known in found if known and known.validity.said != one.said]
            return tuple(map(relation_tag, dict.fromkeys((payload.relation_id, *told))))
    return tuple(map(entity_tag, ENTITY.touched(payload)))
