"""The cutoffs of A §6.3 and C §Recall Flow, and what is said if nothing is left."""

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemolog.adapters.engine.engine import Engine, now
from mnemolog.adapters.minilm import MiniLM
from mnemolog.adapters.minilm.lexical import Lexical
from mnemolog.domain.calibration import SPECIFIED
from mnemolog.domain.ranking import Cutoff
from mnemolog.projections.requests import ContextRequest, EnvelopeRequest
from tests.engine.person import Person
from tests.engine.teller import Teller

cosines = st.floats(-1, 1)


@pytest.mark.spec("A14")
@pytest.mark.parametrize(("best", "above"), [(0.95, 0.83), (0.70, 0.65), (0.30, 0.65)])
def test_the_relative_cutoff_has_the_figures_of_the_specification(best: float, above: float) -> None:
    assert Cutoff.RELATIVE.above(SPECIFIED, best) == pytest.approx(above)
    assert Cutoff.FLOOR.above(SPECIFIED, best) == 0.35


@given(cosines, cosines)
def test_a_better_best_hit_never_lowers_the_cutoff(one: float, other: float) -> None:
    for known in (SPECIFIED, MiniLM.calibration):
        low, high = sorted((one, other))
        assert Cutoff.RELATIVE.above(known, low) <= Cutoff.RELATIVE.above(known, high)
        assert known.question_floor <= Cutoff.RELATIVE.above(known, high)


@pytest.mark.spec("A14")
async def test_hits_far_below_the_best_are_left_out_and_facts_never(engine: Engine, user: str) -> None:
    ana = Teller(engine, user)
    for text in ("green tea in a cup", "green tea in a pot", "ships and tea sail across wide cold northern seas"):
        await ana.creates(text)
    await ana.tells("me", "allergy", "green tea")
    question = "my allergy: green tea in a cup"

    everything = (await ana.asks(question)).hits
    kept = (await ana.asks(question, cutoff="relative")).hits

    best = max(hit.similarity for hit in everything if hit.similarity is not None)
    above = Lexical.calibration.relevant_above(best)
    wanted = {hit.id for hit in everything if hit.similarity is None or hit.similarity > above}
    assert {hit.id for hit in kept} == wanted < {hit.id for hit in everything}
    assert {hit.kind for hit in kept} == {"fact", "relation"}
    assert {hit.id for hit in (await ana.asks(question, profile="twin")).hits} == wanted
    assert len((await ana.asks(question, profile="twin", cutoff="none")).hits) == len(everything)


@pytest.mark.spec("A14")
async def test_at_most_eight_are_kept_above_the_cutoff_and_only_about_the_entities_given(
    engine: Engine, user: str
) -> None:
    ana = Teller(engine, user)
    marta = await ana.knows_of("Marta")
    about = {await ana.creates(f"tea in the garden {place}", entity_ids=[marta]) for place in ("one", "two")}
    for place in range(10):
        await ana.creates(f"tea in the garden number {place}")
    await ana.creates("ships sail across wide cold northern seas to a garden")

    asked = EnvelopeRequest(message="Do you remember tea in the garden?", thread_id=ana.thread)
    found = await engine.reads.envelope(ana.viewer, asked, now(), await ana.caught_up())

    hits = found.envelope.EPISODE.hits
    best = max(one.similarity for one in hits if one.similarity is not None)
    assert 5 <= len(hits) <= 8
    above = Lexical.calibration.relevant_above(best)
    assert all(one.similarity is not None and one.similarity > above for one in hits)
    narrow = await ana.asks("tea in the garden", profile="twin", top_k=8, filters={"entity_ids": [marta]})
    assert {UUID(hit.id) for hit in narrow.hits} == about


async def test_nothing_is_known_is_said_with_what_was_looked_for(engine: Engine, user: str) -> None:
    ana = Teller(engine, user)
    await ana.creates("Ana has a cat", category="note")

    answer = await ana.asks("tea?", filters={"category": "note", "since": "2999-01-01"}, kinds=["fact"])

    assert answer.hits == []
    assert answer.nothing == (
        'Nothing is known about "tea?" (searched by meaning, and for the words tea; restricted by kinds,'
        " filters.category, filters.since)."
    )
    assert (await ana.asks("cat")).nothing == ""


async def test_a_context_says_that_nothing_is_known_and_keeps_critical_facts(engine: Engine, user: str) -> None:
    ana = Teller(engine, user)
    await ana.tells("me", "allergy", "peanuts")
    await ana.creates("Ana has a cat", category="note")
    request = {"query": "zebra xylophone?", "cutoff": "relative"}

    found = await engine.reads.context(ana.viewer, ContextRequest.model_validate(request), await ana.caught_up())

    assert found.nothing.startswith('Nothing is known about "zebra xylophone?"')
    assert f"\n\n{found.nothing}\n\nToday is " in found.text
    assert [hit.text for hit in found.critical] == [f"{user} is allergic to peanuts"]
    cat = ContextRequest.model_validate({"query": "Ana has a cat", "cutoff": "relative"})
    assert (await engine.reads.context(ana.viewer, cat)).nothing == ""
    assert "; restricted by cutoff)" in found.nothing
    short = ContextRequest.model_validate({**request, "budget_tokens": 1})
    assert found.nothing not in (await engine.reads.context(ana.viewer, short)).text


async def test_what_a_context_is_restricted_to_is_said_if_nothing_is_left(engine: Engine, user: str) -> None:
    ana = Teller(engine, user)
    await ana.creates("Ana has a cat", category="note")
    request = {"query": "Ana has a cat", "categories": ["tasks"], "filters": {"thread_id": ana.thread}}

    found = await engine.reads.context(ana.viewer, ContextRequest.model_validate(request), await ana.caught_up())

    assert "; restricted by categories, filters.thread_id)" in found.nothing


async def test_the_cutoff_of_a_profile_is_named_if_nothing_is_left(engine: Engine, user: str) -> None:
    ana = Teller(engine, user)
    await ana.creates("Ana has a cat", category="note")

    assert "; restricted by profile)" in (await ana.asks("zebra xylophone", profile="twin")).nothing
    assert "restricted" not in (await ana.asks("zebra xylophone", profile="delta")).nothing


async def test_a_person_of_whom_nothing_is_known_is_told_so(engine: Engine, user: str) -> None:
    found = await engine.reads.context(Person(engine, user).viewer, ContextRequest(query="Where do I live?"))

    assert found.nothing
    assert found.text.startswith(f"{found.nothing}\n\nToday is ")
