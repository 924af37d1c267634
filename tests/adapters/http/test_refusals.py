"""What the API refuses: bad input by its field, other users' memories as if they did not exist, nothing in a trace."""

import base64
import json
from collections.abc import AsyncIterator
from typing import Any
from uuid import uuid4

import httpx
import psycopg
import pytest

from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.http.app import create_app
from mnemolog.adapters.http.body_limit import MAX_BODY_BYTES
from mnemolog.adapters.http.errors import status_of
from mnemolog.domain import errors
from mnemolog.domain.errors import MnemologError
from mnemolog.domain.json_value import MAX_DEPTH
from tests.adapters.http.conftest import Api, Json

SOME_ID = "01942b6e-7c00-7000-8000-000000000000"
USER = {"user_id": "u"}
TURN = {"message_id": "m", "content": "t", "occurred_at": "2026-01-03T01:02:10Z"}
FILTERS = {"query": "tea", "filters": USER}

FACT = {**USER, "subject": "Ana", "predicate": "likes", "object": "tea"}
JSON = {"Content-Type": "application/json"}


def said(**fields: Any) -> Json:
    return {**USER, "messages": [{**TURN, **fields}]}


BAD_BODIES: list[tuple[str, str, Json, str]] = [
    ("POST", "/v1/search", {"query": "", "filters": USER}, "query"),
    ("POST", "/v1/search", {"query": "  ", "filters": USER}, "query"),
    ("POST", "/v1/search", {"query": 3, "filters": USER}, "query"),
    ("POST", "/v1/search", {"query": "tea"}, "user_id"),
    ("POST", "/v1/search", {"query": "tea", "filters": {}}, "user_id"),
    ("POST", "/v1/search", {"query": "tea", "filters": {**USER, "pinned": "yes"}}, "filters.pinned"),
    (
        "POST",
        "/v1/search",
        {"query": "tea", "filters": {**USER, "importance_min": "high"}},
        "filters.importance_min",
    ),
    ("POST", "/v1/search", {"query": "tea", "filters": {**USER, "importance_min": 9}}, "filters.importance_min"),
    ("POST", "/v1/search", {"query": "tea", "filters": {**USER, "updated_after": 5}}, "filters.updated_after"),
    (
        "POST",
        "/v1/search",
        {"query": "tea", "filters": {**USER, "updated_after": "2025-07-01T00:00:00"}},
        "filters.updated_after",
    ),
    ("POST", "/v1/search", {"query": "tea", "filters": {**USER, "colour": "red"}}, "filters.colour"),
    ("POST", "/v1/search", {"query": "tea", "filters": {**USER, "role": "king"}}, "filters.role"),
    ("POST", "/v1/search", {**FILTERS, "top_k": 0}, "top_k"),
    ("POST", "/v1/search", {**FILTERS, "top_k": "3"}, "top_k"),
    ("POST", "/v1/search", {**FILTERS, "return": "xml"}, "return"),
    ("POST", "/v1/search", {**FILTERS, "categories": [1]}, "categories[0]"),
    ("POST", "/v1/search", {**FILTERS, "tenant": "other"}, "tenant"),
    ("POST", "/v1/search", {**FILTERS, "threshold": 2}, "threshold"),
    ("POST", "/v1/search", {**FILTERS, "\ud800": 1}, "body"),
    ("POST", "/v1/memories", {"text": "tea"}, "user_id"),
    ("POST", "/v1/memories", USER, "text"),
    ("POST", "/v1/memories", {**USER, "text": "a\0b"}, "text"),
    ("POST", "/v1/memories", {**USER, "text": "\ud800"}, "text"),
    ("POST", "/v1/memories", {**USER, "text": "x" * 2**20}, "text"),
    ("POST", "/v1/memories", {**USER, "text": "tea", "importance": 2}, "importance"),
    ("POST", "/v1/memories", {**USER, "text": "tea", "importance": "high"}, "importance"),
    ("POST", "/v1/memories", {**USER, "text": "tea", "pinned": "yes"}, "pinned"),
    ("POST", "/v1/memories", {**USER, "text": "tea", "kind": "dream"}, "kind"),
    ("POST", "/v1/memories", {**USER, "text": "tea", "tenant": "other"}, "tenant"),
    ("POST", "/v1/memories", {**USER, "text": "tea", "memory_id": SOME_ID}, "memory_id"),
    ("POST", "/v1/memories", {"user_id": "a\nb", "text": "tea"}, "user_id"),
    ("POST", "/v1/memories", {"user_id": "x" * 201, "text": "tea"}, "user_id"),
    ("POST", "/v1/memories", {**USER, "text": "tea", "agent_id": ""}, "agent_id"),
    ("PATCH", f"/v1/memories/{SOME_ID}", {**USER, "colour": "red"}, "colour"),
    ("PATCH", "/v1/memories/42", {**USER, "text": "tea"}, "memory_id"),
    ("POST", f"/v1/memories/{SOME_ID}/merge", {**USER, "absorbed_ids": ["42"]}, "absorbed_ids[0]"),
    ("POST", f"/v1/memories/{SOME_ID}/merge", USER, "absorbed_ids"),
    ("POST", f"/v1/memories/{SOME_ID}/link", {**USER, "to_id": "{" + SOME_ID + "}"}, "to_id"),
    ("POST", f"/v1/memories/{SOME_ID}/link", {**USER, "to_id": SOME_ID, "strength": -1}, "strength"),
    ("POST", f"/v1/memories/{SOME_ID}/restore", {}, "user_id"),
    ("POST", "/v1/undo", {**USER, "memory_id": SOME_ID, "event_id": SOME_ID}, "memory_id"),
    ("POST", "/v1/undo", {**USER, "event_id": "42"}, "event_id"),
    ("POST", "/v1/turns", said(occurred_at="2026-01-03T01:02:10"), "messages[0].occurred_at"),
    ("POST", "/v1/turns", said(occurred_at=5), "messages[0].occurred_at"),
    ("POST", "/v1/turns", said(content="a\0b"), "messages[0].content"),
    ("POST", "/v1/turns", said(role="king"), "messages[0].role"),
    ("POST", "/v1/turns", said(attachments=[{"type": "image", "size": 3}]), "messages[0].attachments[0].size"),
    ("POST", "/v1/turns", {**USER, "messages": [{"role": "user"}]}, "messages[0].content"),
    ("POST", "/v1/turns", {**USER, "messages": []}, "messages"),
    ("POST", "/v1/turns", USER, "messages"),
]

BAD_PARAMETERS: list[tuple[str, Json, str]] = [
    ("/v1/memories", {}, "user_id"),
    ("/v1/memories", {"user_id": ""}, "user_id"),
    ("/v1/memories", {"user_id": "u", "agent_id": "a\0b"}, "agent_id"),
    ("/v1/memories", {"user_id": "u", "limit": 0}, "limit"),
    ("/v1/memories", {"user_id": "u", "limit": "many"}, "limit"),
    ("/v1/memories", {"user_id": "u", "tenant": "other"}, "tenant"),
    ("/v1/memories", {"user_id": "u", "as_of": "2026-01-03T01:02:10"}, "as_of"),
    ("/v1/memories", {"user_id": "u", "as_of": "yesterday"}, "as_of"),
    ("/v1/memories", {"user_id": "u", "as_of": "-1"}, "as_of"),
    ("/v1/memories", {"user_id": "u", "as_of": "9" * 30}, "as_of"),
    ("/v1/memories", {"user_id": "u", "after": "42"}, "after"),
    ("/v1/memories", {"user_id": "u", "after": "default/user:somebody@1"}, "after"),
    ("/v1/memories", {"user_id": "u", "after": "other/user:u@1"}, "after"),
    ("/v1/memories", {"user_id": "u", "after": "default/user:u@" + "9" * 5000}, "after"),
    ("/v1/memories/42", {"user_id": "u"}, "memory_id"),
    ("/v1/history/42", {"user_id": "u"}, "id"),
    (f"/v1/history/{SOME_ID}", {"user_id": "u", "limit": 1001}, "limit"),
    ("/v1/changes", {"user_id": "u", "since": "-1"}, "since"),
    ("/v1/changes", {"user_id": "u", "since": "9" * 30}, "since"),
    ("/v1/session", {"user_id": "u", "thread_id": ""}, "thread_id"),
    ("/v1/session", {"user_id": "u", "after": "default/user:somebody@1"}, "after"),
    ("/v1/entities", {}, "user_id"),
]


@pytest.mark.parametrize(("method", "path", "body", "field"), BAD_BODIES)
async def test_a_bad_body_is_refused_by_its_field(api: Api, method: str, path: str, body: Json, field: str) -> None:
    headers = {"Content-Type": "application/json"}
    error = (await api.call(method, path, 422, content=json.dumps(body), headers=headers))["error"]
    assert (error["code"], error["field"]) == ("invalid_input", field)
    assert error["message"]
    assert error["fix"]


@pytest.mark.parametrize(("path", "params", "field"), BAD_PARAMETERS)
async def test_a_bad_parameter_is_refused_by_its_field(api: Api, path: str, params: Json, field: str) -> None:
    error = (await api.call("GET", path, 422, params=params))["error"]
    assert (error["code"], error["field"]) == ("invalid_input", field)
    assert error["fix"]


async def test_an_unknown_field_is_refused_with_the_one_that_is_meant(api: Api) -> None:
    said_then = {**USER, "messages": [{"content": "t", "created_at": "2026-01-03T01:02:10Z"}]}
    error = (await api.call("POST", "/v1/turns", 422, json=said_then))["error"]
    assert (error["field"], error["fix"]) == ("messages[0].created_at", "use 'occurred_at'")
    error = (await api.call("GET", "/v1/facts", 422, params={**USER, "predicat": "likes"}))["error"]
    assert (error["field"], error["fix"]) == ("predicat", "use 'predicate'")


@pytest.mark.parametrize("at", ["0001-01-02T00:00:00Z", "9999-12-31T23:59:59Z"])
async def test_a_moment_at_the_end_of_the_calendar_is_refused(api: Api, at: str) -> None:
    asked = {"user_id": api.user, "as_of": at}
    for error in (
        (await api.call("GET", "/v1/affect", 422, params=asked))["error"],
        (await api.call("POST", "/v1/being/context", 422, json=asked))["error"],
    ):
        assert (error["code"], error["field"]) == ("invalid_input", "as_of")


FORGED: list[Any] = [
    ["9" * 30, SOME_ID],
    ["-" + "9" * 30, SOME_ID],
    ["1", "a\0b"],
    ["\0"],
    ["\ud800"],
    ["0001-01-01T00:00:00+23:59", SOME_ID],
    [True, True],
    [1.5, SOME_ID],
    [["1"], ["2"]],
    {"a": "1", "b": "2"},
    None,
    [json.loads("[" * 350 + "]" * 350)],
]


@pytest.mark.parametrize("forged", FORGED, ids=range(len(FORGED)))
@pytest.mark.parametrize("path", ["/v1/memories", "/v1/entities", "/v1/facts", "/v1/consent", f"/v1/history/{SOME_ID}"])
async def test_a_forged_cursor_is_refused(api: Api, path: str, forged: Any) -> None:
    await api.remember("Ana likes tea")
    cursor = base64.urlsafe_b64encode(json.dumps(forged).encode()).decode().rstrip("=")

    error = (await api.call("GET", path, 422, params={"user_id": api.user, "cursor": cursor}))["error"]

    assert (error["code"], error["field"]) == ("invalid_input", "cursor")


@pytest.mark.parametrize("params", [{"after": "default/user:somebody@1"}, {"as_of": "2026-01-03T01:02:10"}])
async def test_the_parameters_of_a_query_are_checked_too(api: Api, params: Json) -> None:
    error = (await api.query("tea", 422, params=params))["error"]
    assert [error["field"]] == list(params)


@pytest.mark.spec("B05")
async def test_a_category_outside_the_allowlist_is_forbidden(api: Api) -> None:
    error = (await api.query("tea", 403, agent="planner", categories=["tasks", "profile"]))["error"]
    assert (error["code"], error["field"]) == ("category_not_allowed", "categories[1]")
    assert "goals, procedural, projects, tasks" in error["fix"]


@pytest.mark.spec("B05")
async def test_a_memory_of_an_unknown_category_is_not_written(api: Api) -> None:
    error = (await api.post("/v1/memories", 422, text="tea", category="teas"))["error"]
    assert (error["code"], error["field"]) == ("invalid_input", "category")


@pytest.mark.parametrize(
    "content",
    [b'{"query": ', b"", b"[1]", b'"text"', b"\xff\xfe", b'{"top_k": NaN}'],
    ids=["cut", "empty", "a list", "a text", "not UTF-8", "not a number"],
)
async def test_a_body_that_is_no_json_object_is_refused(api: Api, content: bytes) -> None:
    headers = {"Content-Type": "application/json"}
    error = (await api.call("POST", "/v1/search", 422, content=content, headers=headers))["error"]
    assert (error["code"], error["field"]) == ("invalid_input", "body")
    assert "JSON object" in error["fix"]


@pytest.mark.parametrize("depth", [MAX_DEPTH + 1, 200, 480, 900, 100_000])
@pytest.mark.parametrize("name", ["object", "metadata", "predicate", "subject", "user_id", "confidence", "unknown"])
async def test_a_field_that_is_nested_too_deep_is_refused_wherever_it_is(api: Api, name: str, depth: int) -> None:
    fact = {"user_id": "u", "subject": "Ana", "predicate": "likes", "object": "tea", name: "HERE"}
    deep = '{"a":' * (depth - 1) + "{}" + "}" * (depth - 1)
    content = json.dumps(fact).replace('"HERE"', deep)

    error = (await api.call("POST", "/v1/facts", 422, content=content, headers=JSON))["error"]

    assert error["code"] == "nested_too_deep" or (depth < 100 and name not in ("object", "metadata"))
    assert error["field"].split(".")[0] in (name, "body")
    assert error["fix"]


@pytest.mark.parametrize("predicate", [7, 1.5, True, None, [], {}, ["likes"], {"likes": 1}, "", "  ", "\0", "x" * 300])
async def test_a_predicate_that_is_no_name_is_refused(api: Api, predicate: object) -> None:
    error = (await api.call("POST", "/v1/facts", 422, json={**FACT, "predicate": predicate}))["error"]
    assert (error["code"], error["field"]) == ("invalid_input", "predicate")


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("PATCH", "/v1/cards", "GET"),
        ("PATCH", "/v1/search", "POST"),
        ("OPTIONS", "/v1/entities", "GET, POST"),
        ("PUT", f"/v1/memories/{SOME_ID}", "DELETE, GET, PATCH"),
        ("DELETE", "/v1/user/export", "GET"),
        ("GET", "/v1/user/erase", "POST"),
        ("POST", "/health", "GET"),
    ],
)
async def test_a_wrong_method_is_answered_with_the_allowed_ones(
    http: httpx.AsyncClient, method: str, path: str, allowed: str
) -> None:
    answer = await http.request(method, path)
    assert (answer.status_code, answer.headers["Allow"]) == (405, allowed)
    assert answer.json()["error"]["field"] == "method"


async def test_a_user_whose_id_looks_like_a_path_is_only_a_user(api: Api) -> None:
    error = (await api.of("nobody/export").post("/v1/user/erase", 404))["error"]
    assert error["field"] == "user_id"


async def test_json_without_its_content_type_is_refused(api: Api) -> None:
    """A web page can send text/plain to the loopback interface without asking; JSON it cannot."""
    headers = {"Content-Type": "text/plain"}
    body = b'{"user_id": "u", "text": "tea"}'
    error = (await api.call("POST", "/v1/memories", 422, content=body, headers=headers))["error"]
    assert (error["field"], error["fix"]) == ("body", "send one JSON object with Content-Type: application/json")


@pytest.mark.parametrize("key", ["", "x" * 201])
async def test_an_idempotency_key_that_is_no_id_is_refused(api: Api, key: str) -> None:
    error = (await api.post("/v1/memories", 422, key=key, text="tea"))["error"]
    assert (error["code"], error["field"]) == ("invalid_input", "idempotency_key")


async def test_a_body_above_2_mib_is_refused(api: Api) -> None:
    error = (await api.post("/v1/memories", 413, text="x" * MAX_BODY_BYTES))["error"]
    assert (error["code"], error["field"]) == ("invalid_input", "body")


async def test_a_body_above_2_mib_is_read_no_further(api: Api) -> None:
    sent = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal sent
        while sent < 100 * MAX_BODY_BYTES:
            sent += 2**16
            yield b"x" * 2**16

    headers = {"Content-Type": "application/json"}
    await api.call("POST", "/v1/memories", 413, content=endless(), headers=headers)
    assert sent == MAX_BODY_BYTES + 2**16


async def test_a_body_of_2_mib_is_read(api: Api) -> None:
    body = b'{"user_id": "u", "text": ""}'
    padded = body + b" " * (MAX_BODY_BYTES - len(body))
    headers = {"Content-Type": "application/json"}
    error = (await api.call("POST", "/v1/memories", 422, content=padded, headers=headers))["error"]
    assert error["field"] == "text"


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/nothing", 404, "not_found"),
        ("GET", "/v1/memories/", 404, "not_found"),
        ("PUT", "/v1/memories", 405, "invalid_input"),
    ],
)
async def test_an_unknown_route_gets_the_same_shape(api: Api, method: str, path: str, status: int, code: str) -> None:
    error = (await api.call(method, path, status))["error"]
    assert set(error) == {"code", "message", "field", "fix"}
    assert error["code"] == code


async def routes_with_an_id(api: Api, memory_id: str, event_id: str, own_id: str, **who: str) -> list[Json]:
    """What every route that takes an id answers to somebody who may not see it; the last call of each must be 404."""
    path = f"/v1/memories/{memory_id}"
    return [
        await api.get(path, 404, **who),
        await api.get(f"/v1/history/{memory_id}", 404, **who),
        await api.get(path, 404, as_of="2100-01-01T00:00:00Z", **who),
        await api.patch(path, 404, text="mine now", **who),
        await api.delete(path, 404, **who),
        await api.post(f"{path}/restore", 404, **who),
        await api.post(f"{path}/merge", 404, absorbed_ids=[own_id], **who),
        await api.post(f"/v1/memories/{own_id}/merge", 404, absorbed_ids=[memory_id], **who),
        await api.post(f"{path}/link", 404, to_id=own_id, **who),
        await api.post(f"/v1/memories/{own_id}/link", 404, to_id=memory_id, **who),
        await api.post("/v1/undo", 404, memory_id=memory_id, **who),
        await api.post("/v1/undo", 404, event_id=event_id, **who),
    ]


async def test_another_users_memory_is_not_found_on_any_route(api: Api, user: str) -> None:
    theirs = await api.remember("a secret")
    changed = await api.patch(f"/v1/memories/{theirs['memory_id']}", text="a dark secret")
    stranger = api.of(f"{user}-stranger")
    own = await stranger.remember("their own")
    await stranger.get("/v1/memories", after=own["token"])
    answers = await routes_with_an_id(stranger, theirs["memory_id"], changed["event_ids"][0], own["memory_id"])
    assert {answer["error"]["code"] for answer in answers} == {"not_found"}
    assert "secret" not in str(answers)
    untouched = await api.get(f"/v1/memories/{theirs['memory_id']}", after=changed["token"])
    assert (untouched["text"], untouched["seq"]) == ("a dark secret", 2)


@pytest.mark.spec("A01")
async def test_an_agents_own_memory_is_not_found_by_another_agent(api: Api) -> None:
    theirs = await api.remember("a secret", scope="agent", agent_id="coach")
    own = await api.remember("our own", scope="agent", agent_id="other")
    changed = await api.patch(f"/v1/memories/{theirs['memory_id']}", text="a dark secret", agent_id="coach")
    await api.get("/v1/memories", after=changed["token"])
    memory_id, event_id = theirs["memory_id"], changed["event_ids"][0]
    answers = await routes_with_an_id(api, memory_id, event_id, own["memory_id"], agent_id="other")
    assert {answer["error"]["code"] for answer in answers} == {"not_found"}
    assert "secret" not in str(answers)
    unknown = await api.get(f"/v1/memories/{uuid4()}", 404, agent_id="other")
    assert set(unknown["error"]) == set(answers[0]["error"])


async def test_another_users_memories_are_in_no_list(api: Api, user: str) -> None:
    made = await api.remember("a secret", thread_id="t")
    await api.get("/v1/memories", after=made["token"])
    stranger = api.of(f"{user}-stranger")
    assert (await stranger.get("/v1/memories"))["items"] == []
    assert (await stranger.query("secret", since_rev=0, thread_id="t"))["bullets"] == []
    assert (await stranger.get("/v1/changes", thread_id="t"))["rev"] == 0


@pytest.mark.parametrize("kind", [error for error in vars(errors).values() if isinstance(error, type)])
def test_every_error_has_a_status(kind: type[Any]) -> None:
    """Some are told what they are about, which their status does not depend on."""
    if issubclass(kind, MnemologError):
        assert 400 <= status_of(kind.__new__(kind)) < 600


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (errors.DataDirectoryInUse(), 503, "data_directory_in_use"),
        (errors.ConcurrencyConflict("s", 1, 2), 409, "concurrency_conflict"),
        (errors.UnknownEvent(), 500, "unknown_event"),
        (psycopg.OperationalError("host 10.0.0.1 password=secret"), 503, "server_failed"),
        (TimeoutError("secret"), 503, "server_failed"),
        (ConnectionRefusedError("secret"), 503, "server_failed"),
        (ZeroDivisionError("secret"), 500, "error"),
    ],
)
async def test_an_error_inside_is_answered_without_its_inside(
    engine: Engine, error: Exception, status: int, code: str
) -> None:
    app = create_app(engine)

    @app.get("/broken")
    async def broken() -> None:
        raise error

    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
        response = await client.get("/broken")
    assert (response.status_code, response.json()["error"]["code"]) == (status, code)
    assert "secret" not in response.text
    assert "Traceback" not in response.text
