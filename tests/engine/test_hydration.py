"""The facts that a question calls for, through the entities it names and two hops from them (A15)."""

from collections.abc import Collection
from datetime import UTC, datetime
from functools import partial
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy.ext.asyncio import AsyncConnection

from mnemolog.adapters.engine.engine import Engine
from mnemolog.domain.predicates import DEFAULT_PREDICATES
from mnemolog.domain.viewer import Viewer
from mnemolog.projections.graph.facts import Point
from mnemolog.projections.graph.hydration import Hydration, critical, hydrate, seeds_of
from mnemolog.projections.reads.reading import GRAPH
from mnemolog.projections.sources.graph import RELEVANT
from tests.engine.teller import Teller


async def asked(ana: Teller, text: str, entity_ids: Collection[UUID] = (), **fields: Any) -> Hydration:
    async def ask(connection: AsyncConnection, viewer: Viewer) -> Hydration:
        seeds = await seeds_of(connection, viewer, text, entity_ids)
        return await hydrate(connection, viewer, text, seeds, DEFAULT_PREDICATES, Point(datetime.now(UTC)), **fields)

    return await ana.engine.reads._read(ana.viewer, await ana.caught_up(), (GRAPH,), ask)


def sentences(found: Hydration) -> list[str]:
    return [one.sentence for one in found.facts]


async def test_a_question_about_the_user_finds_his_facts(engine: Engine, user: str) -> None:
    ana = Teller(engine, user)
    await ana.tells("me", "lives_in", "Berlin", since=datetime(2025, 1, 1, tzinfo=UTC))
    await ana.tells("me", "lives_in", "Leipzig", since=datetime(2026, 1, 1, tzinfo=UTC))
    await ana.tells("me", "likes", "tea")
    await ana.tells("Bob", "lives_in", "Porto")

    found = await asked(ana, "Where do I live?")

    [best, *_] = found.facts
    assert best.sentence == f"{user} lives in Leipzig"
    assert (best.current, best.since, best.hops) == (True, datetime(2026, 1, 1, tzinfo=UTC), 1)
    assert f"{user} lives in Berlin" not in sentences(found)
    assert found.unborne == []


async def test_a_question_is_followed_over_two_hops(engine: Engine, user: str) -> None:
    ana = Teller(engine, user)
    await ana.knows_of("Marta")
    await ana.tells("Ana", "manager", "Marta")
    await ana.tells("Ana", "lives_in", "Porto")
    await ana.tells("Ana", "likes", "tea")
    await ana.tells("Marta", "office_city", "Leipzig")
    await ana.tells("Marta", "likes", "chess")

    [best, *_] = (await asked(ana, "Which city is the office of Ana's manager in?")).facts

    assert best.sentence == "Marta's office city is Leipzig"
    assert best.path == ("Ana's manager is Marta", "Marta's office city is Leipzig")
    assert best.hops == 2


async def test_facts_are_found_by_their_predicate_without_a_name(engine: Engine, user: str) -> None:
    ana = Teller(engine, user)
    await ana.tells("Bob", "allergy", "peanuts")
    await ana.tells("Bob", "likes", "tea")

    assert sentences(await asked(ana, "What allergies are there?")) == ["Bob is allergic to peanuts"]


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize(
    ("text", "best"),
    [
        ("Who plays chess?", "Tom's hobby is chess"),
        (
            "Is anybody here allergic to cashew nuts, or should we bake the usual cake?",
            "Tom is allergic to cashew nuts",
        ),
        ("Who is Rex?", "Bob's pet is Rex"),
        ("rex", "Bob's pet is Rex"),
        ("Who has anything to do with the data platform?", "Bob works on data-platform"),
    ],
)
async def test_facts_are_found_by_a_value_without_a_name(
    engine: Engine, user: str, text: str, best: str, whole: bool
) -> None:
    ana = Teller(engine, user)
    for subject, predicate, thing in (
        ("Tom", "hobby", "chess"),
        ("Tom", "allergy", "cashew nuts"),
        ("Bob", "pet", "Rex"),
        ("Bob", "works_on", "data-platform"),
        ("Bob", "likes", "tea"),
    ):
        await ana.tells(subject, predicate, thing)

    found = await asked(ana, text, known=await ana.facts() if whole else None)

    assert found.facts[0].sentence == best
    assert found.facts[0].score > RELEVANT


async def test_a_value_is_found_by_one_of_its_words_in_a_small_graph(engine: Engine, user: str) -> None:
    ana = Teller(engine, user)
    await ana.tells("Tom", "plays", "the piano at the conservatory")
    await ana.tells("Bob", "likes", "tea")

    assert sentences(await asked(ana, "Whose piano?", known=await ana.facts())) == [
        "Tom plays the piano at the conservatory"
    ]


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("Where do Ana and Petra live?", {"Ana Silva"}),
        ("Is Ana in Porto?", {"Ana Silva"}),
        ("Where do Bob and Silva live?", {"Ana Silva", "Bob Jones", "Bob Marsh"}),
        ("What is Apollo?", {"Apollo Labs"}),
        ("where does ana live?", {"Ana Silva"}),
        ("what about the labs?", set()),
        ("Where does Ana Costa live?", set()),
    ],
)
async def test_a_part_of_a_name_that_nobody_bears_means_all_of_whose_names_it_is_a_part(
    engine: Engine, user: str, text: str, named: set[str]
) -> None:
    ana = Teller(engine, user)
    for name in ("Ana Silva", "Bob Jones", "Bob Marsh"):
        await ana.knows_of(name)
    await ana.knows_of("Apollo Labs", category="Organization")

    assert {one.name for one in (await asked(ana, text)).seeds} == named


async def test_a_name_means_who_bears_it_rather_than_of_whose_name_it_is_a_part(engine: Engine, user: str) -> None:
    ana = Teller(engine, user)
    await ana.knows_of("Ana Silva")
    await ana.knows_of("Ana", another=True)

    assert [one.name for one in (await asked(ana, "Where does Ana live?")).seeds] == ["Ana"]


@pytest.mark.parametrize(
    ("text", "best"),
    [
        ("Who is Ana's boss?", "Ana's manager is Marta"),
        ("Who is Ana's employer?", "Ana works at Acme"),
        ("What is Ana's home address?", "Ana lives in Porto"),
        ("What must Ana avoid to eat?", "Ana is allergic to peanuts"),
        ("Who is Ana's wife?", "Ana is married to Bea"),
    ],
)
async def test_a_predicate_is_found_by_other_words_for_it(engine: Engine, user: str, text: str, best: str) -> None:
    ana = Teller(engine, user)
    for predicate, thing in (
        ("manager", "Marta"),
        ("works_at", "Acme"),
        ("lives_in", "Porto"),
        ("allergy", "peanuts"),
        ("married_to", "Bea"),
        ("plays", "violin"),
    ):
        await ana.tells("Ana", predicate, thing)

    assert sentences(await asked(ana, text))[0] == best


async def test_an_entity_that_a_pronoun_means_anchors_the_question(engine: Engine, user: str) -> None:
    ana = Teller(engine, user)
    marta = await ana.knows_of("Marta")
    await ana.tells("Marta", "lives_in", "Porto")
    await ana.tells("Bob", "lives_in", "Berlin")

    found = await asked(ana, "Where does she live?", entity_ids=[marta])

    assert sentences(found)[0] == "Marta lives in Porto"
    assert [one.name for one in found.seeds] == ["Marta"]


async def test_a_name_that_nobody_bears_is_reported(engine: Engine, user: str) -> None:
    ana = Teller(engine, user)
    await ana.tells("Marta Silva", "lives_in", "Porto")

    assert (await asked(ana, "Where does Petra Novak live?")).unborne == ["Petra Novak"]
    assert (await asked(ana, "Where does Marta Silva live?")).unborne == []


async def test_the_cap_never_cuts_a_critical_fact(engine: Engine, user: str) -> None:
    ana = Teller(engine, user)
    for place in range(4):
        await ana.tells("Ana", "likes", f"tea {place}")
    await ana.tells("Ana", "allergy", "peanuts", confidence=0.1)

    found = await asked(ana, "What does Ana like?", limit=2)

    assert [one.critical for one in found.facts] == [False, False, True]


async def test_critical_facts_are_read_whatever_is_asked(engine: Engine, user: str) -> None:
    ana, coach = Teller(engine, user), Teller(engine, user, agent="coach")
    await ana.tells("me", "allergy", "peanuts")
    await ana.tells("Bob", "medication", "aspirin")
    await ana.tells("me", "likes", "tea")
    await coach.tells("me", "safety_boundary", "no weights", scope="agent")

    async def read(who: Teller) -> set[str]:
        ask = partial(critical, predicates=DEFAULT_PREDICATES, point=Point(datetime.now(UTC)))
        found = await engine.reads._read(who.viewer, await who.caught_up(), (GRAPH,), ask)
        return {one.sentence for one in found}

    shared = {f"{user} is allergic to peanuts", "Bob takes aspirin"}
    assert await read(ana) == shared
    assert await read(coach) == {*shared, f"{user}'s safety boundary is no weights"}


@pytest.mark.spec("A01")
async def test_another_agents_facts_are_not_walked(engine: Engine, user: str) -> None:
    ana, coach = Teller(engine, user), Teller(engine, user, agent="coach")
    await coach.tells("Ana", "manager", "Marta", scope="agent")
    await coach.tells("Marta", "lives_in", "Porto", scope="agent")

    found = await asked(ana, "Where does Ana's manager live?")

    assert (found.facts, found.seeds) == ([], [])
    assert found.unborne == ["Ana"]
