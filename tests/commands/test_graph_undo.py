"""The graph as a property: whatever is asked, facts stay consistent, and undoing it backwards gives each state back."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import reduce
from typing import Any

import pytest
from hypothesis import given as for_all
from hypothesis import settings
from hypothesis import strategies as st

from mnemolog.commands.entities import AddAlias, ForgetEntity, MergeEntities, RestoreEntity, UpdateEntity
from mnemolog.commands.fact_changes import EndFact, ForgetFact, RestoreFact, RetireFact
from mnemolog.commands.graph import Graph, evolve, facts_of
from mnemolog.domain import facts
from mnemolog.domain.errors import Conflict, InvalidInput, UndoConflict
from mnemolog.domain.memory import Status
from mnemolog.domain.relation import Relation, value_key
from mnemolog.events.envelope import Recorded
from tests.testkit.examples import examples
from tests.testkit.graph import Told, on, year

Ask = Callable[[Told], object]

names = st.sampled_from(["Makesh", "Mukesh", "Marta"])
cities = st.sampled_from(["Berlin", "Porto", "Rome"])
years = st.integers(2018, 2024)
scopes = st.sampled_from(["global", "agent"])


def remember(subject: str, predicate: str, object_: str, since: int, length: int | None, scope: str) -> Ask:
    until = year(since + length) if length else None
    return lambda told: told.remember(subject, predicate, object_, since=year(since), until=until, scope=scope)


def change_fact(kind: type[Any], place: int, **fields: Any) -> Ask:
    return lambda told: told.asked(on(kind, picked(list(told.graph.relations), place), **fields))


def change_entity(kind: type[Any], place: int, **fields: Any) -> Ask:
    return lambda told: told.asked(on(kind, picked(list(told.graph.entities), place), **fields))


def merge(one: int, other: int) -> Ask:
    def ask(told: Told) -> object:
        known = list(told.graph.entities)
        return told.asked(on(MergeEntities, picked(known, one), absorbed_ids=(picked(known, other),)))

    return ask


def picked(known: Sequence[Any], place: int) -> Any:
    if not known:
        raise InvalidInput("there is none yet")
    return known[place % len(known)]


lengths = st.none() | st.integers(1, 3)
places = st.integers(0, 9)
merges = st.builds(merge, places, places)
moves = st.builds(remember, names, st.just("lives_in"), cities, years, st.none(), st.just("global"))
asks = st.one_of(
    moves,
    moves,
    moves,
    st.builds(remember, names, st.just("lives_in"), cities, years, lengths, scopes),
    st.builds(remember, names, st.just("knows"), names, years, lengths, scopes),
    st.builds(lambda place, at: change_fact(EndFact, place, until=year(at)), places, years),
    st.builds(change_fact, st.sampled_from([RetireFact, ForgetFact, RestoreFact]), places),
    st.builds(change_entity, st.sampled_from([ForgetEntity, RestoreEntity]), places),
    st.builds(lambda place, name: change_entity(AddAlias, place, alias=name), places, names),
    st.builds(lambda place, name: change_entity(UpdateEntity, place, name=name), places, names),
    merges,
    merges,
)


def carried_out(asked: Sequence[Ask]) -> Told:
    """The story after what is allowed. It begins with two who may be one, in two places, and known to a third."""
    told = Told()
    told.remember("Makesh", "lives_in", "Berlin", since=year(2019))
    told.remember("Mukesh", "lives_in", "Porto", since=year(2022))
    told.remember("Marta", "knows", "Mukesh", since=year(2020))
    for ask in asked:
        try:
            ask(told)
        except (Conflict, InvalidInput):
            continue
    return told


@pytest.mark.spec("X13")
@settings(deadline=None, max_examples=examples(50))
@for_all(st.lists(asks, min_size=5, max_size=14))
def test_whatever_is_told_periods_follow_from_what_is_said_and_one_value_holds_at_a_time(asked: list[Ask]) -> None:
    graph = carried_out(asked).graph

    for place in set(map(graph.place, graph.relations.values())):
        slot = graph.slot(place)
        assert facts_of(slot) == facts.settled(facts_of(slot))
        if place[-1] == "lives_in":
            assert all(len(held_at(slot, at)) <= 1 for at in range(2018, 2030))


def held_at(slot: Sequence[Relation], at: int) -> list[Relation]:
    return [one for one in slot if any(period.holds_at(year(at)) for period in one.validity.periods)]


@pytest.mark.spec("A08")
@settings(deadline=None, max_examples=examples(50))
@for_all(st.lists(asks, min_size=5, max_size=14))
def test_a_relation_is_unique(asked: list[Ask]) -> None:
    graph = carried_out(asked).graph

    keys = [
        (one.scope, one.subject_id, one.predicate, one.object_id, value_key(one.value))
        for one in graph.relations.values()
    ]
    assert len(keys) == len(set(keys))


@pytest.mark.spec("X03")
@settings(deadline=None, max_examples=examples(50))
@for_all(st.lists(asks, min_size=4, max_size=10))
def test_undoing_all_changes_backwards_gives_back_each_earlier_graph(asked: list[Ask]) -> None:
    told = carried_out(asked)
    events = told.events()

    for place in reversed(range(len(events))):
        told.undo(events[place])
        assert_as_before(told.graph, folded(events[:place]))


def folded(events: Sequence[Recorded]) -> Graph:
    return reduce(evolve, events, Graph())


def assert_as_before(now: Graph, before: Graph) -> None:
    """What was there is as it was; what came later is gone: an entity softly, a fact without any time."""
    assert {id_: now.entities[id_] for id_ in before.entities} == before.entities
    assert {id_: unsourced(now.relations[id_]) for id_ in before.relations} == {
        id_: unsourced(one) for id_, one in before.relations.items()
    }
    assert all(one.status is Status.SOFT_DELETED for id_, one in now.entities.items() if id_ not in before.entities)
    assert not any(one.validity.said for id_, one in now.relations.items() if id_ not in before.relations)


def unsourced(relation: Relation) -> Relation:
    """Which turns told a fact is not undone: a turn that comes again tells nothing new."""
    return replace(relation, sources=frozenset())


@pytest.mark.spec("X03")
@settings(deadline=None, max_examples=examples(50))
@for_all(st.lists(asks, min_size=4, max_size=10), st.data())
def test_a_change_is_undone_and_redone_or_refused_without_a_trace(asked: list[Ask], data: st.DataObject) -> None:
    told = carried_out(asked)
    if not told.events():
        return
    before = told.graph
    event = data.draw(st.sampled_from(told.events()))
    try:
        told.undo(event)
    except UndoConflict:
        assert told.graph == before
        return
    undone = told.events()[len(before_events(told, event)) :]
    for undoing in reversed([one for one in undone if getattr(one.payload, "undoes", None) == event.event_id]):
        told.undo(undoing)

    assert {id_: unsourced(one) for id_, one in told.graph.relations.items()} == {
        id_: unsourced(one) for id_, one in before.relations.items()
    }
    assert told.graph.entities == before.entities


def before_events(told: Told, event: Recorded) -> Sequence[Recorded]:
    return [one for one in told.events() if one.seq <= event.seq]
