"""The state for decisions on what messages state: facts, who told them when, and the messages."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import reduce
from typing import Self
from uuid import UUID

from mnemolog.commands.extraction_requests import ACTOR, EXTRACTORS
from mnemolog.commands.facts import Remember, object_of, subject_of
from mnemolog.commands.graph import Graph, applied
from mnemolog.commands.graph import evolve as evolve_graph
from mnemolog.domain.memory import Status
from mnemolog.domain.message import Message
from mnemolog.domain.relation import Relation
from mnemolog.domain.sentence import value_text
from mnemolog.domain.updated import updated, without
from mnemolog.events.envelope import Happened
from mnemolog.events.erasure import UserErased
from mnemolog.events.event import Event, sources_of
from mnemolog.events.graph import RelationAsserted, RelationObserved, RelationRestored
from mnemolog.events.message_fold import MESSAGE
from mnemolog.events.profile import ProfileProposed
from mnemolog.events.relations import StatedEvent


@dataclass(frozen=True, slots=True)
class Extraction:
    """`recorded`: when somebody other than an extractor last told each fact. `extracted`: the messages from which the
    rules extracted something, whether or not that was undone, with the predicates. `told`: when the message that a fact
    was first extracted from was said; messages may be read out of their order. `undated`: the facts of which only that
    is known.
    """

    graph: Graph = field(default_factory=Graph)
    messages: Mapping[str, Message] = field(default_factory=dict)
    recorded: Mapping[UUID, datetime] = field(default_factory=dict)
    told: Mapping[UUID, datetime] = field(default_factory=dict)
    undated: Mapping[UUID, None] = field(default_factory=dict)
    extracted: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def after(self, news: Sequence[Event]) -> Self:
        """The state in which the next decision of the same append is made."""
        return replace(self, graph=reduce(applied, news, self.graph))

    def about(self, fact: Remember, *predicates: str) -> Sequence[Relation]:
        """The facts with these predicates about the subject of a fact, in its scope."""
        subject = subject_of(self.graph, fact)
        if subject is None:
            return ()
        places = [(fact.scope, fact.owner, subject.entity_id, predicate) for predicate in predicates]
        return [one for place in places for one in self.graph.slot(place) if one.status is Status.ACTIVE]

    def slot_of(self, fact: Remember) -> tuple[Sequence[Relation], Sequence[Relation]]:
        """The facts with the subject and the predicate, and those of them that have this object."""
        subject = subject_of(self.graph, fact)
        if subject is None:
            return (), ()
        slot = self.about(fact, fact.predicate)
        found = object_of(self.graph, fact, subject.entity_id)
        return slot, [one for one in slot if found.is_of(self.graph, one, fact.object)]

    def same_as(self, fact: Remember) -> Sequence[Relation]:
        """The facts with the subject, the predicate and the object."""
        return self.slot_of(fact)[1]

    def value_of(self, one: Relation) -> str:
        """The name of a fact's object, or its value."""
        entity = self.graph.entities.get(self.graph.root(one.object_id)) if one.object_id else None
        return entity.traits.name if entity else value_text(one.value)


def evolve(state: Extraction, event: Happened) -> Extraction:
    payload = event.payload
    if isinstance(payload, UserErased):
        return Extraction()
    messages = updated(state.messages, MESSAGE.evolve(state.messages, payload))
    state = replace(state, graph=evolve_graph(state.graph, event), messages=messages)
    if isinstance(payload, RelationAsserted):
        told = payload.told_at or event.occurred_at
        known = {payload.relation_id: None}
        dated = payload.valid_from != told
        undated = without(state.undated, known) if dated else updated(state.undated, known)
        first = min(told, state.told.get(payload.relation_id, told))
        state = replace(state, undated=undated, told=updated(state.told, {payload.relation_id: first}))
    if event.meta.actor in EXTRACTORS and not isinstance(payload, ProfileProposed):
        return replace(state, extracted=_extracted(state, payload)) if event.meta.actor == ACTOR else state
    if isinstance(payload, RelationAsserted | RelationObserved):
        if state.graph.relations[payload.relation_id].origin.external:
            return state  # What came from outside outranks nothing that the user says.
        told = payload.told_at or event.occurred_at
        return replace(state, recorded=updated(state.recorded, {payload.relation_id: told}))
    if isinstance(payload, RelationRestored):
        return replace(state, recorded=updated(state.recorded, {payload.relation_id: event.occurred_at}))
    return state


def _extracted(state: Extraction, payload: Event) -> Mapping[str, frozenset[str]]:
    fact = state.graph.relations.get(getattr(payload, "relation_id", None))  # type: ignore[arg-type]
    predicates = frozenset([fact.predicate] if fact else ())
    turn_ids = payload.stated_in if isinstance(payload, StatedEvent) else sources_of(payload) or ()
    return updated(state.extracted, {one: state.extracted.get(one, frozenset()) | predicates for one in turn_ids})
