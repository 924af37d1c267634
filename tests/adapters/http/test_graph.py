"""The graph over HTTP: entities with their facts and variants; facts at a day, as known, ended and retired."""

from typing import Any

import pytest

from mnemolog.adapters.engine.engine import Engine
from tests.adapters.http.conftest import Api
from tests.engine.teller import Teller


@pytest.mark.spec("A07", "X13")
async def test_an_entity_reads_with_its_card_facts_variants_and_history(engine: Engine, api: Api) -> None:
    ana = Teller(engine, api.user)
    await ana.tells("Makesh", "lives_in", "Berlin", since="2026-01-10")
    await ana.tells("Ana", "knows", "Makesh")
    other = await ana.knows_of("Mukesh")
    [makesh] = await ana.entities("makesh")
    place = f"/v1/entities/{makesh['entity_id']}"

    [listed] = (await api.get("/v1/entities", name="MAKESH"))["items"]
    shown = await api.get(place)
    variants = await api.get(f"{place}/variants")
    history = await api.get(f"/v1/history/{makesh['entity_id']}")

    assert listed["entity_id"] == shown["entity_id"] == str(makesh["entity_id"])
    assert shown["card"] == "[person:makesh]: Ana knows Makesh; lives in Berlin"
    assert [fact["object"] for fact in shown["outgoing"]] == ["Berlin"]
    assert [fact["subject"] for fact in shown["incoming"]] == ["Ana"]
    assert (await api.get(place, valid_at="2026-01-01"))["outgoing"] == []
    assert [row["entity_id"] for row in variants["items"]] == [str(other)]
    assert [row["event"] for row in history["items"]] == ["ADD"]


@pytest.mark.spec("A07")
async def test_entities_are_listed_page_by_page_the_last_seen_first(engine: Engine, api: Api) -> None:
    ana = Teller(engine, api.user)
    for name in ("Alice", "Bo", "Carla"):
        await ana.knows_of(name)
    await ana.entities()  # Until they are shown.

    first = await api.get("/v1/entities", limit=2)
    second = await api.get("/v1/entities", limit=2, cursor=first["next_cursor"])

    assert [one["name"] for one in (*first["items"], *second["items"])] == ["Carla", "Bo", "Alice"]
    assert second["next_cursor"] is None
    refused = await api.get("/v1/entities", 422, cursor="elsewhere")
    assert refused["error"]["field"] == "cursor"


@pytest.mark.spec("X13", "B08")
async def test_facts_read_at_a_day_as_they_were_known_and_with_their_history(engine: Engine, api: Api) -> None:
    ana = Teller(engine, api.user)
    berlin = await ana.tells("Alice", "lives_in", "Berlin", since="2026-01-10")
    then = await engine.log.head(ana.stream)
    await ana.tells("Alice", "lives_in", "Lisbon", since="2026-03-01")

    async def homes(**query: Any) -> list[str]:
        return [fact["object"] for fact in (await api.get("/v1/facts", about="alice", **query))["items"]]

    await ana.facts()
    assert await homes() == ["Lisbon"]
    assert await homes(valid_at="2026-02-01") == ["Berlin"]
    assert await homes(known_at=then) == await homes(as_of=then) == ["Berlin"]
    history = await api.get(f"/v1/history/{berlin}")
    assert [(row["subject"], row["event"]) for row in history["items"]] == [("relation", "UPDATE"), ("relation", "ADD")]


@pytest.mark.spec("X13")
async def test_ended_retired_and_future_facts_are_listed_on_request(api: Api) -> None:
    async def fact(predicate: str, thing: str, **fields: Any) -> str:
        told = await api.post("/v1/facts", 201, subject="Bo", predicate=predicate, object=thing, **fields)
        return str(told["relation_id"])

    await fact("lives_in", "Berlin", since="2026-01-10")
    await fact("lives_in", "Lisbon", since="2026-03-01")
    await fact("likes", "tea", until="2999-01-01", since="2998-01-01")
    ended = await fact("likes", "jazz", since="2020-01-01")
    retired = await fact("likes", "golf")
    deleted = await fact("likes", "rain")
    await api.post(f"/v1/facts/{ended}/end", until="2021-01-01")
    await api.post(f"/v1/facts/{retired}/retire")
    last = await api.delete(f"/v1/facts/{deleted}")

    active = await api.get("/v1/facts", about="Bo", after=last["token"])
    listed = await api.get("/v1/facts", about="bo", valid_at="any")
    first = await api.get("/v1/facts", valid_at="any", limit=3)
    second = await api.get("/v1/facts", valid_at="any", limit=3, cursor=first["next_cursor"])
    moves = await api.get("/v1/facts", valid_at="any", predicate="lives_in", known_at="2999-01-01")

    assert [(one["object"] or one["value"], one["state"]) for one in active["items"]] == [("Lisbon", "active")]
    assert {(one["object"] or one["value"]): one["state"] for one in listed["items"]} == {
        "Lisbon": "active",
        "Berlin": "ended",
        "jazz": "ended",
        "golf": "retired",
        "tea": "upcoming",
    }
    assert [one["object"] for one in moves["items"]] == ["Berlin", "Lisbon"]
    assert moves["items"][1] == active["items"][0]
    assert first["items"] + second["items"] == listed["items"]
    [golf] = [one for one in listed["items"] if one["relation_id"] == retired]
    assert golf["known_to"] is not None
    before = await api.get("/v1/facts", valid_at="any", as_of=3)
    assert [(one["object"], one["state"]) for one in before["items"]] == [("Berlin", "active")]


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


@pytest.mark.spec("A19", "X03")
async def test_an_entity_is_deleted_and_restored_and_a_retry_changes_nothing(api: Api) -> None:
    marta = await api.post("/v1/entities", 201, key="marta", name="Marta")
    again = await api.post("/v1/entities", 201, key="marta", name="Marta")
    place = f"/v1/entities/{marta['entity_id']}"

    await api.post(f"{place}/aliases", alias="work Marta")
    deleted = await api.delete(place, reason="a mistake")
    hidden = await api.get(place, after=deleted["token"])
    restored = await api.post(f"{place}/restore")
    shown = await api.get(place, after=restored["token"])

    assert (again["entity_id"], again["already"]) == (marta["entity_id"], True)
    assert (hidden["status"], hidden["forget_reason"]) == ("soft_deleted", "a mistake")
    assert (shown["status"], shown["aliases"]) == ("active", ["work Marta"])
