"""Over HTTP: an agent's context, why something is known, a user's export (B05, X04, X17)."""

import json
from pathlib import Path

import pytest

from mnemolog.adapters.engine.engine import now
from mnemolog.adapters.export.importing import checked
from tests.adapters.http.conftest import Api
from tests.bullets import undated


@pytest.mark.spec("B05")
async def test_the_context_tells_each_category_in_its_mode(api: Api) -> None:
    await api.remember("Ana is lactose intolerant", category="profile", pinned=True)
    made = await api.remember("lunch with Bo", category="event")

    answer = await api.post("/v1/context", after=made["token"], query="lunch")

    assert [row["text"] for row in answer["foundation"]] == ["Ana is lactose intolerant"]
    told = [(one["category"], one["context"], one["rag_length"], len(one["memories"])) for one in answer["categories"]]
    assert told == [("event", "rag", 30, 1), ("profile", "all", None, 1)]
    assert [undated(one["text"]) for one in answer["bullets"]] == [
        "[profile] Ana is lactose intolerant",
        "[event] lunch with Bo",
    ]


@pytest.mark.spec("D06")
async def test_the_context_begins_with_the_cards_of_its_entities(api: Api) -> None:
    await api.remember("Bo is a vegan", entity_refs=["person:bo"], importance=0.9)
    made = await api.remember("Bo cooks on Fridays", entity_refs=["person:bo"], importance=0.7)

    answer = await api.post("/v1/context", after=made["token"], query="dinner with Bo")

    [card] = answer["cards"]
    assert (card["ref"], card["line"]) == ("person:bo", "[person:bo]: Bo is a vegan; Bo cooks on Fridays")
    assert [one["text"] for one in card["memories"]] == ["Bo is a vegan", "Bo cooks on Fridays"]
    assert (await api.get("/v1/cards", refs=["person:ann", "person:bo"]))["items"] == [card]


@pytest.mark.spec("B05")
async def test_the_context_of_what_an_agent_may_not_read_is_refused(api: Api) -> None:
    refused = await api.post("/v1/context", 403, query="tea", agent_id="planner", categories=["profile"])

    assert (refused["error"]["code"], refused["error"]["field"]) == ("category_not_allowed", "categories[0]")


@pytest.mark.spec("X04")
async def test_why_tells_the_events_and_their_policy(api: Api) -> None:
    made = await api.remember("Ana drinks tea")

    found = await api.get(f"/v1/why/{made['memory_id']}", after=made["token"])

    assert (found["kind"], [event["type"] for event in found["events"]]) == ("memory", ["MemoryCreated"])
    assert found["events"][0]["policy_version"]
    await api.get("/v1/why/nothing_of_this_name", 404)


@pytest.mark.spec("X17")
async def test_an_export_can_be_imported(api: Api, tmp_path: Path) -> None:
    await api.remember("Ana drinks tea")
    await api.remember("Ana has a cat")

    answer = await api.http.get("/v1/user/export", params={"user_id": api.user})

    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/x-ndjson"
    path = tmp_path / "ana.jsonl"
    path.write_bytes(answer.content)
    _, *events = map(json.loads, answer.content.splitlines())
    assert checked(path, now()).head.events == len(events)  # The two may also have been linked.
    assert [one["data"]["text"] for one in events][:2] == ["Ana drinks tea", "Ana has a cat"]
    await api.of("nobody-of-this-name").get("/v1/user/export", 404)
