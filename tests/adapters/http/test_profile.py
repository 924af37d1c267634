"""The profile, consent, todos and seeds over HTTP."""

from uuid import uuid4

import pytest

from tests.adapters.http.conftest import Api, Json

pytestmark = pytest.mark.spec("B10")


async def waiting(api: Api, after: Json) -> list[str]:
    asked = {"user_id": api.user, "status": "proposed", "after": after["token"]}
    return [row["field"] for row in (await api.call("GET", "/v1/consent", params=asked))["consent"]]


async def closes(api: Api, todo: Json, agent: str, code: int = 200) -> Json:
    body = {"user_id": api.user, "agent_id": agent, "status": "done"}
    return await api.call("POST", f"/v1/todos/{todo['todo_id']}", code, json=body)


async def fields(api: Api, after: Json) -> Json:
    return {row["field"]: row["value"] for row in (await api.get("/v1/profile", after=after["token"]))["profile"]}


async def test_a_sensitive_field_waits_for_a_grant_of_somebody_else(api: Api) -> None:
    made = await api.post("/v1/profile", 201, agent_id="coach", field="city", value="Lisbon", confidence=1.0)
    assert made["status"] == "proposed"
    assert (await waiting(api, made), await fields(api, made)) == (["city"], {})
    path = f"/v1/consent/{made['patch_id']}/grant"

    error = (await api.post(path, 409, agent_id="coach"))["error"]
    assert (error["code"], error["field"]) == ("consent_required", "actor")
    granted = await api.post(path)
    assert (await api.post(path))["already"]

    assert await fields(api, granted) == {"city": "Lisbon"}
    [row] = (await api.get("/v1/consent", after=granted["token"]))["consent"]
    assert (row["status"], row["decided_by"], row["proposed_by"]) == ("granted", "user", ["agent:coach"])


async def test_a_refused_proposal_changes_nothing_and_cannot_be_granted(api: Api) -> None:
    made = await api.post("/v1/profile", 201, agent_id="coach", field="city", value="Lisbon")
    refused = await api.post(f"/v1/consent/{made['patch_id']}/refuse")
    assert (await fields(api, refused), await waiting(api, refused)) == ({}, [])
    error = (await api.post(f"/v1/consent/{made['patch_id']}/grant", 409))["error"]
    assert (error["code"], error["field"]) == ("transition_refused", "patch_id")


async def test_consent_in_the_same_breath_is_the_users_and_no_agents(api: Api) -> None:
    stated: Json = {"field": "pronouns", "value": "she/her", "consent": True}
    error = (await api.post("/v1/profile", 409, agent_id="coach", **stated))["error"]
    assert (error["code"], error["field"]) == ("consent_required", "consented")
    made = await api.post("/v1/profile", 201, **stated)
    assert (made["status"], await fields(api, made)) == ("granted", {"pronouns": "she/her"})


@pytest.mark.spec("X14")
async def test_a_retry_with_the_same_key_is_one_proposal(api: Api) -> None:
    first, again = [await api.post("/v1/profile", 201, key="k", field="city", value="Lisbon") for _ in range(2)]
    assert (again["patch_id"], again["event_ids"], again["already"]) == (first["patch_id"], first["event_ids"], True)


@pytest.mark.spec("B05")
async def test_an_agent_without_the_category_reads_neither(api: Api) -> None:
    for path in ("/v1/profile", "/v1/consent"):
        assert (await api.get(path, 403, agent_id="planner"))["error"]["code"] == "category_not_allowed"


@pytest.mark.spec("X02")
async def test_the_profile_as_it_was(api: Api) -> None:
    first = await api.post("/v1/profile", 201, field="tone", value="brief", confidence=0.9)
    await api.post("/v1/profile", 201, field="tone", value="formal", confidence=0.9)
    rows = (await api.get("/v1/profile", as_of=first["last_seq"]))["profile"]
    assert [row["value"] for row in rows] == ["brief"]


@pytest.mark.spec("D11")
async def test_todos_are_of_the_agent_that_a_request_must_name(api: Api) -> None:
    made = await api.post(
        "/v1/todos", 201, agent_id="coach", kind="commitment", text="walk", due="2026-01-04T00:00:00Z"
    )
    mine = {"agent_id": "coach", "after": made["token"]}
    [todo] = (await api.get("/v1/todos", **mine))["todos"]
    assert (todo["text"], todo["status"], todo["due"]) == ("walk", "open", "2026-01-04T00:00:00Z")
    assert (await api.get("/v1/todos", **{**mine, "agent_id": "planner"}))["todos"] == []
    assert (await api.get("/v1/todos", 422))["error"]["field"] == "agent_id"

    done = await closes(api, made, "coach")
    asked = {"user_id": api.user, "agent_id": "coach", "status": "open", "after": done["token"]}
    assert (await api.call("GET", "/v1/todos", params=asked))["todos"] == []
    undone = await api.post("/v1/undo", agent_id="coach", event_id=done["event_ids"][0])
    [todo] = (await api.get("/v1/todos", agent_id="coach", kind="commitment", after=undone["token"]))["todos"]
    assert todo["status"] == "open"
    for todo_id, agent in ((made["todo_id"], "planner"), (str(uuid4()), "coach")):
        refused = await closes(api, {"todo_id": todo_id}, agent, 404)
        assert refused["error"]["field"] == "todo_id"


@pytest.mark.spec("D14")
async def test_a_seed_is_given_once(api: Api) -> None:
    content: Json = {"profile": {"city": "Lisbon", "tone": "brief"}, "memories": [{"text": "Ana drinks tea"}]}
    first, again = [await api.post("/v1/seed", 201, seed_id="s", **content) for _ in range(2)]
    assert (first["applied"], first["queued"], len(first["memory_ids"])) == (["tone"], ["city"], 1)
    assert (again["seed"], again["memory_ids"], again["already"]) == (first["seed"], first["memory_ids"], True)
    assert await fields(api, first) == {"tone": "brief"}
    error = (await api.post("/v1/seed", 409, seed_id="s", profile={}))["error"]
    assert (error["code"], error["field"]) == ("idempotency_conflict", "seed_id")
