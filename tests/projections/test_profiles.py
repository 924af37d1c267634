"""Ranking profiles: the same hits, weighed as each specification says (A §6.3, B §2, C §Recall Flow, D §Retrieval)."""

from typing import Any

import pytest

from mnemolog.adapters.clock import now
from mnemolog.adapters.engine.engine import Engine
from mnemolog.commands.memories import ChangeStatus
from mnemolog.domain.memory import Status
from mnemolog.domain.memory_key import MemoryType
from mnemolog.domain.ranking import PROFILES
from mnemolog.domain.text import count_tokens
from mnemolog.projections.requests import ContextRequest
from mnemolog.projections.retrieval import CANDIDATES
from tests.engine.person import Person
from tests.engine.teller import Teller


async def ranked(ana: Person, profile: str, query: str, **fields: Any) -> list[str]:
    answer = await ana.asks(query, profile=profile, **fields)
    assert answer.profile == profile
    return [hit.text for hit in answer.hits]


async def test_each_profile_names_the_parts_of_the_scores_that_it_gives(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    for text in ("green tea in a cup", "green tea", "a dog that likes tea"):
        await ana.creates(text, entity_refs=["person:ana"])

    for name, profile in PROFILES.items():
        hits = (await ana.asks("green tea", profile=name)).hits
        assert hits[0].text == "green tea", name
        assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True), name
        assert all(hit.score == pytest.approx(min(1.0, sum(hit.parts.values()))) for hit in hits), name
        weights = {"recency": profile.recency, "frequency": profile.frequency, "links": profile.links}
        match = "similarity" if profile.by_meaning else "relevance"
        assert set(hits[0].parts) == {match, *(part for part, weight in weights.items() if weight)}, name


@pytest.mark.spec("D05")
async def test_persona_prefers_what_was_said_lately_and_what_is_often_spoken_of(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    await ana.says("the tea was green", occurred_at="2020-01-01T00:00:00Z", speaker="Ana")
    await ana.says("the tea was green today", occurred_at=now(), speaker="Ana")

    assert await ranked(ana, "twin", "the tea was green") == ["Ana: the tea was green", "Ana: the tea was green today"]
    assert await ranked(ana, "persona", "the tea was green") == [
        "Ana: the tea was green today",
        "Ana: the tea was green",
    ]

    bob = Person(engine, f"{user}-bob")
    for text, who in (("tea one", "joe"), ("tea two", "ann"), ("tea three", "ann")):
        await bob.creates(text, entity_refs=[f"person:{who}"])
    assert (await ranked(bob, "persona", "tea"))[-1] == "tea one"


@pytest.mark.spec("D05")
async def test_persona_weighs_the_best_fifty_of_what_the_persona_may_find(engine: Engine, user: str) -> None:
    coach, chef = Teller(engine, user, agent="coach"), Teller(engine, user, agent="chef")
    shared = await coach.creates("green tea in a cup", type=MemoryType.PROFILE, entity_refs=["person:ann"])
    own = await coach.creates("green tea in a pot", type=MemoryType.PEOPLE, scope="agent", entity_refs=["person:ann"])
    await chef.creates("green tea in a kettle", type=MemoryType.PEOPLE, scope="agent", entity_refs=["person:ann"])
    await Teller(engine, f"{user}-other").creates("green tea in a bowl", type=MemoryType.PROFILE)
    jug = await coach.creates("green tea in a jug", type=MemoryType.PROJECT, entity_refs=["person:ann"])
    await coach._asks(ChangeStatus(**coach._who, memory_id=jug, status=Status.DORMANT))
    for number in range(CANDIDATES):
        await coach.creates(f"green tea {number}", entity_refs=["person:bob"])

    hits = (await coach.asks("green tea", profile="persona", top_k=CANDIDATES + 10)).hits
    few = (await coach.asks("green tea", profile="persona", top_k=3)).hits

    assert CANDIDATES == 50
    found = {hit.text for hit in hits}
    assert not found & {"green tea in a kettle", "green tea in a bowl", "green tea in a jug"}
    assert {str(shared), str(own)} <= {hit.id for hit in hits}
    assert [hit.parts["frequency"] for hit in few] == pytest.approx([0.3] * 3), "as often as in fifty, not in three"
    assert few[0].parts["similarity"] == pytest.approx(0.4 * (few[0].similarity or 0.0))


@pytest.mark.spec("B02")
async def test_a_linked_memory_is_boosted_where_a_profile_weighs_links(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    first = await ana.creates("oolong one")
    second = await ana.creates("oolong two")
    other = await ana.creates("something else entirely about ships")
    await ana.links(second, other, strength=1.0)

    before = {hit.id: hit for hit in (await ana.asks("oolong", profile="twin")).hits}
    boosted = {hit.id: hit for hit in (await ana.asks("oolong", profile="delta")).hits}

    assert boosted[str(second)].parts["links"] == pytest.approx(0.1)
    assert boosted[str(second)].score == pytest.approx(before[str(second)].score + 0.1)
    assert boosted[str(first)].parts["links"] < 0.1


async def test_a_fact_is_ranked_by_the_same_profile(engine: Engine, user: str) -> None:
    ana = Teller(engine, user)
    await ana.tells("me", "allergy", "peanuts")

    [hit] = (await ana.asks("What am I allergic to?", profile="persona")).hits

    assert hit.parts["relevance"] == pytest.approx(0.4)
    assert hit.parts["recency"] == pytest.approx(0.3, abs=0.01)
    assert hit.parts["frequency"] == pytest.approx(0.3)


async def test_a_context_ranks_by_the_profile_too(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    await ana.says("the tea was green", occurred_at="2020-01-01T00:00:00Z")
    await ana.says("the tea was green today", occurred_at=now())

    async def first(profile: str) -> str:
        request = ContextRequest.model_validate({"query": "the tea was green", "profile": profile})
        found = await engine.reads.context(ana.viewer, request, await ana.caught_up())
        return str(found.rows[0]["text"])

    assert await first("twin") == "the tea was green"
    assert await first("persona") == "the tea was green today"


@pytest.mark.spec("B02")
async def test_an_answer_has_two_related_memories_within_its_filters_and_budget(engine: Engine, user: str) -> None:
    ana, bob = Person(engine, user), Person(engine, f"{user}-bob")
    tea = await ana.creates("oolong tea", category="note")
    texts = ("a red boat", "three ships", "a blue lamp", "one lost key")
    ids = [await ana.creates(text, category="tasks" if "key" in text else "note") for text in texts]
    for strength, id_ in zip((0.5, 0.9, 0.7, 1.0), ids, strict=True):
        await ana.links(tea, id_, strength=strength)
    await bob.creates("oolong tea")

    async def related(**fields: Any) -> list[str]:
        return [hit.text for hit in (await ana.asks("oolong", top_k=1, **fields)).related]

    assert await related() == ["one lost key", "three ships"]
    assert await related(filters={"category": "note"}) == ["three ships", "a blue lamp"]
    [hit] = (await ana.asks("oolong", top_k=1)).hits
    assert await related(budget_tokens=count_tokens(hit.bullet)) == []
    assert await related(profile="twin") == []
    await ana.deletes(ids[3])
    assert await related() == ["three ships", "a blue lamp"]
    assert (await bob.asks("oolong")).related == []


async def test_a_link_to_what_the_agent_may_not_see_changes_nothing(engine: Engine, user: str) -> None:
    coach, ana = Person(engine, user, agent="coach"), Person(engine, user)
    tea = await coach.creates("oolong tea")
    own = await coach.creates("a red boat", scope="agent")
    await coach.links(tea, own, strength=1.0)

    async def found(person: Person) -> tuple[float, list[str]]:
        answer = await person.asks("oolong", top_k=1)
        return round(answer.hits[0].parts["links"], 6), [hit.text for hit in answer.related]

    assert await found(coach) == (0.05, ["a red boat"])
    assert await found(ana) == (0.0, [])
    await coach.deletes(own)
    assert await found(coach) == (0.0, [])
