"""Trips, of which several may be planned: whether one is, what ends when one is called off, and the tags of them."""

from collections.abc import Sequence

from mnemolog.commands.extraction_case import Case
from mnemolog.commands.facts import FACTS, Remember
from mnemolog.commands.graph import cluster_reads, slot_reads
from mnemolog.domain.entity import Entity
from mnemolog.domain.predicates import NEXT_TRIP, TRIP_TO, trip_date_of, trip_of
from mnemolog.domain.text import name_key
from mnemolog.events.event import Event


def is_planned(case: Case) -> bool:
    """Whether the trip is planned whose date the candidate is, or a date for it; or was, if it is planned again."""
    state, fact = case.state, case.fact
    trips = [one for trip in _trips_to(case.candidate.trip, fact) for one in state.same_as(trip)]
    known = [*state.about(fact, fact.predicate), *trips]
    return bool(known if case.candidate.again else case.holding(known))


def called_off(case: Case) -> Sequence[Event]:
    """The ends of a trip that is not the next one, and of the date of a trip; without a place, of the only one."""
    state, fact, place = case.state, case.fact, case.candidate.object
    if place:
        planned = state.same_as(fact.model_copy(update={"predicate": TRIP_TO}))
        return case.end_all([*planned, *state.about(fact, trip_date_of(place))])
    predicates = {one.predicate for one in state.graph.relations.values()}
    of_trips = sorted(one for one in predicates if one == TRIP_TO or trip_of(one))
    trips = case.holding(state.about(fact, *of_trips))
    places = {trip_of(one.predicate) or name_key(state.value_of(one)) for one in trips}
    return case.end_all(trips) if len(places) == 1 else []


def trip_reads(case: Case, subject: Entity) -> frozenset[str]:
    """The tags of the trips that a candidate is about, and of the next one so far."""
    state, fact, candidate = case.state, case.fact, case.candidate
    tags, places = frozenset[str](), {candidate.trip}
    if fact.predicate == TRIP_TO and candidate.nth:
        places.add(candidate.object or "")
    if fact.predicate == NEXT_TRIP:
        places = {candidate.object or "", *map(state.value_of, state.about(fact, NEXT_TRIP))}
        if case.is_end and candidate.object is None:
            tags |= cluster_reads(state.graph, state.graph.members(subject.entity_id))
    for place in places - {""}:
        tags |= slot_reads(state.graph, (fact.scope, fact.owner, subject.entity_id, trip_date_of(place)))
        for trip in _trips_to(place, fact):
            tags |= FACTS.tags(state.graph, trip)
    return tags


def _trips_to(place: str, fact: Remember) -> Sequence[Remember]:
    """What may be known of a trip to a place, in the scope of a fact."""
    trip = {"object": place, "literal": None}
    return [fact.model_copy(update={**trip, "predicate": predicate}) for predicate in (NEXT_TRIP, TRIP_TO)]
