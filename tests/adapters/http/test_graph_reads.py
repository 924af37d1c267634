"""Routes that read the graph, in the forms that the reference gives."""

from typing import Any

import pytest

from mnemolog.adapters.engine.engine import Engine
from tests.adapters.http.conftest import Api
from tests.engine.teller import Teller


@pytest.mark.spec("A07", "X13")
async def test_an_entity_reads_with_its_card_relations_variants_and_history(engine: Engine, api: Api) -> None:
    ana = Teller(engine, api.user)
    await ana.tells("Makesh", "lives_in", "Berlin", since="2026-01-10")
    await ana.tells("Ana", "knows", "Makesh")
    other = await ana.knows_of("Mukesh")
    [makesh] = await ana.entities("makesh")
    place = f"/v1/entities/{makesh['entity_id']}"

    [listed] = (await api.get("/v1/entities", name="MAKESH"))["entities"]
    shown = await api.get(place)
    told = await api.get(f"{place}/relations")
    variants = await api.get(f"{place}/variants")
    history = await api.get(f"{place}/history")

    assert listed["entity_id"] == shown["entity_id"] == told["entity_id"] == str(makesh["entity_id"])
    assert shown["card"] == "[person:makesh]: Ana knows Makesh; lives_in Berlin"
    assert [fact["object"] for fact in told["outgoing"]] == ["Berlin"]
    assert [fact["subject"] for fact in told["incoming"]] == ["Ana"]
    assert [row["entity_id"] for row in variants["entities"]] == [str(other)]
    assert [row["event"] for row in history["history"]] == ["ADD"]


@pytest.mark.spec("X13", "B08")
async def test_facts_read_at_a_day_as_they_were_known_and_with_their_history(engine: Engine, api: Api) -> None:
    ana = Teller(engine, api.user)
    berlin = await ana.tells("Alice", "lives_in", "Berlin", since="2026-01-10")
    then = await engine.log.head(ana.stream)
    await ana.tells("Alice", "lives_in", "Lisbon", since="2026-03-01")

    async def homes(**query: Any) -> list[str]:
        return [fact["object"] for fact in (await api.get("/v1/facts", about="alice", **query))["facts"]]

    await ana.facts()
    assert await homes() == ["Lisbon"]
    assert await homes(valid_at="2026-02-01") == ["Berlin"]
    assert await homes(known_at=then) == await homes(as_of=then) == ["Berlin"]
    history = await api.get(f"/v1/facts/{berlin}/history")
    assert [(row["subject"], row["event"]) for row in history["history"]] == [
        ("relation", "UPDATE"),
        ("relation", "ADD"),
    ]


@pytest.mark.spec("D13")
async def test_writing_an_entity_answers_with_its_variants(api: Api) -> None:
    makesh = await api.post("/v1/entities", 201, name="Makesh", category="Person")
    mukesh = await api.post("/v1/entities", 201, name="Mukesh", category="Person")
    fact = await api.post("/v1/facts", 201, subject="Mikesh", predicate="knows", object="Zoe")
    renamed = await api.patch(f"/v1/entities/{makesh['entity_id']}", name="Mukeshh")

    assert makesh["variants"] == []
    assert [one["entity_id"] for one in mukesh["variants"]] == [makesh["entity_id"]]
    assert {one["name"] for one in fact["variants"]} == {"Makesh", "Mukesh"}
    assert mukesh["entity_id"] in [one["entity_id"] for one in renamed["variants"]]
