"""The profile, consent, todos and seeds over HTTP."""

from uuid import uuid4

import pytest

from tests.adapters.http.conftest import Api, Json

pytestmark = pytest.mark.spec("B10")


async def waiting(api: Api, after: Json) -> list[str]:
    asked = {"user_id": api.user, "after": after["token"]}
    return [row["field"] for row in (await api.call("GET", "/v1/consent", params=asked))["items"]]


async def closes(api: Api, todo: Json, agent: str, code: int = 200) -> Json:
    body = {"user_id": api.user, "agent_id": agent, "status": "done"}
    return await api.call("PATCH", f"/v1/todos/{todo['todo_id']}", code, json=body)


async def fields(api: Api, after: Json) -> Json:
    return {row["field"]: row["value"] for row in (await api.get("/v1/profile", after=after["token"]))["fields"]}


async def test_a_sensitive_field_waits_for_a_grant_by_somebody_else(api: Api) -> None:
    made = await api.post("/v1/profile", 201, agent_id="coach", field="city", value="Lisbon", confidence=1.0)
    assert made["status"] == "proposed"
    assert (await waiting(api, made), await fields(api, made)) == (["city"], {})
    path = f"/v1/consent/{made['patch_id']}/grant"

    error = (await api.post(path, 409, agent_id="coach"))["error"]
    assert (error["code"], error["field"]) == ("consent_required", "actor")
    granted = await api.post(path)
    assert (await api.post(path))["already"]

    assert await fields(api, granted) == {"city": "Lisbon"}
    asked = {"user_id": api.user, "status": "all", "after": granted["token"]}
    [row] = (await api.call("GET", "/v1/consent", params=asked))["items"]
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
    assert (error["code"], error["field"]) == ("consent_required", "consent")
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
    rows = (await api.get("/v1/profile", as_of=first["last_seq"]))["fields"]
    assert [row["value"] for row in rows] == ["brief"]


@pytest.mark.spec("D11")
async def test_todos_belong_to_one_agent(api: Api) -> None:
    made = await api.post(
        "/v1/todos", 201, agent_id="coach", kind="commitment", text="walk", due="2026-01-04T00:00:00Z"
    )
    mine = {"agent_id": "coach", "after": made["token"]}
    [todo] = (await api.get("/v1/todos", **mine))["items"]
    assert (todo["text"], todo["status"], todo["due"]) == ("walk", "open", "2026-01-04T00:00:00Z")
    assert (await api.get("/v1/todos", **{**mine, "agent_id": "planner"}))["items"] == []
    assert (await api.get("/v1/todos", after=made["token"]))["items"] == []

    done = await closes(api, made, "coach")
    assert (await api.get("/v1/todos", agent_id="coach", after=done["token"]))["items"] == []
    asked = {"user_id": api.user, "agent_id": "coach", "status": "all", "after": done["token"]}
    [todo] = (await api.call("GET", "/v1/todos", params=asked))["items"]
    assert todo["status"] == "done"
    undone = await api.post("/v1/undo", agent_id="coach", event_id=done["event_ids"][0])
    [todo] = (await api.get("/v1/todos", agent_id="coach", kind="commitment", after=undone["receipt"]["token"]))[
        "items"
    ]
    assert todo["status"] == "open"
    for todo_id, agent in ((made["todo_id"], "planner"), (str(uuid4()), "coach")):
        refused = await closes(api, {"todo_id": todo_id}, agent, 404)
        assert refused["error"]["field"] == "todo_id"


@pytest.mark.spec("X14")
async def test_lists_come_in_pages(api: Api) -> None:
    for text in ("walk", "read", "swim"):
        made = await api.post("/v1/todos", 201, agent_id="coach", text=text)
        await api.patch(f"/v1/todos/{made['todo_id']}", agent_id="coach", text=f"{text} today")
    for value in ("Lisbon", "Porto", "Faro"):
        proposed = await api.post("/v1/profile", 201, field="city", value=value)
    lists = (
        ("/v1/todos", "text", ["walk today", "read today", "swim today"]),
        ("/v1/consent", "value", ["Faro", "Porto", "Lisbon"]),
    )
    for path, name, expected in lists:
        asked = {"agent_id": "coach", "limit": 2, "after": proposed["token"]}
        page = await api.get(path, **asked)
        last = await api.get(path, **asked, cursor=page["next_cursor"])
        assert [row[name] for row in (*page["items"], *last["items"])] == expected
        assert (len(page["items"]), last["next_cursor"]) == (2, None)
    path = f"/v1/todos/{made['todo_id']}/history"
    page = await api.get(path, agent_id="coach", limit=1)
    last = await api.get(path, agent_id="coach", limit=1, cursor=page["next_cursor"])
    assert [row["event"] for row in (*page["items"], *last["items"])] == ["UPDATE", "ADD"]


@pytest.mark.spec("D14")
async def test_a_seed_is_given_once(api: Api) -> None:
    content: Json = {
        "seed_id": "s",
        "profile": {"city": "Lisbon", "tone": "brief"},
        "memories": [{"text": "Ana drinks tea"}],
    }
    first, again = [await api.post("/v1/seed", 201, content=content) for _ in range(2)]
    assert (first["applied"], first["queued"], len(first["memory_ids"])) == (["tone"], ["city"], 1)
    for name, expected in {**first, "already": True}.items():
        assert again[name] == expected, name
    assert await fields(api, first) == {"tone": "brief"}
    error = (await api.post("/v1/seed", 409, content={"seed_id": "s"}))["error"]
    assert (error["code"], error["field"]) == ("idempotency_conflict", "content.seed_id")
    for wrong, field in (
        ({"profile": {"shoe": "44"}}, "content.profile.shoe"),
        ({"memories": [{"text": "a"}, {"text": "b", "category": "x"}]}, "content.memories[1].category"),
        ({"facts": [{"subject": "Ana"}]}, "content.facts[0].predicate"),
        ({"shoe": 44}, "content.shoe"),
    ):
        assert (await api.post("/v1/seed", 422, content=wrong))["error"]["field"] == field


@pytest.mark.spec("X14")
async def test_a_seed_with_the_same_key_is_the_same_seed(api: Api) -> None:
    first, again = [await api.post("/v1/seed", 201, key="k", content={"profile": {"tone": "dry"}}) for _ in range(2)]
    assert (again["correlation_id"], again["already"]) == (first["correlation_id"], True)
    error = (await api.post("/v1/seed", 409, key="k", content={"profile": {"tone": "brief"}}))["error"]
    assert (error["code"], error["field"]) == ("idempotency_conflict", "idempotency_key")
