"""The real server, its health, and the document that describes it."""

import asyncio
import signal
import socket
from contextlib import ExitStack

import httpx
import pytest
from fastapi import FastAPI

from mnemolog.adapters.embedded import running_engine
from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.http.app import ROUTES, create_app
from mnemolog.adapters.http.server import _listen, serve
from mnemolog.domain.errors import EngineError
from tests.adapters.http.conftest import Api
from tests.bullets import undated


async def test_the_server_takes_a_free_port_and_publishes_its_url(engine: Engine, user: str) -> None:
    handlers = [signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)]
    async with serve(engine) as url, httpx.AsyncClient(base_url=url) as http:
        assert url.startswith("http://127.0.0.1:")
        assert [signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)] == handlers
        published = await asyncio.to_thread(running_engine, engine.settings.directory)
        assert published
        assert published.http_url == url
        api = Api(http, user)
        made = await api.remember("Lives in Lisbon", category="profile")
        found = await api.query("Lisbon", params={"after": made["token"]})
        assert undated(found["bullets"][0]["text"]) == "[profile] Lives in Lisbon"
        history = await api.get(f"/v1/history/{made['memory_id']}")
        assert [entry["event"] for entry in history["items"]] == ["ADD"]
    async with httpx.AsyncClient(base_url=url) as http:
        with pytest.raises(httpx.ConnectError):
            await http.get("/health")


async def test_many_that_connect_at_once_find_a_place_though_the_server_is_busy(engine: Engine) -> None:
    """Who finds none is not told so, and tries again after one second, then two, then four."""
    async with serve(engine) as url:
        address = httpx.URL(url)
        with ExitStack() as stack:
            for _ in range(300):  # In the loop of the server, which accepts none of them meanwhile.
                stack.enter_context(socket.create_connection((address.host, address.port or 0), timeout=0.9))


async def test_a_response_does_not_wait_for_an_acknowledgement() -> None:
    with _listen("127.0.0.1", 0) as listening, socket.create_connection(listening.getsockname()):
        accepted, _ = listening.accept()
        with accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


async def test_the_server_finishes_a_request_that_runs(engine: Engine, user: str) -> None:
    async with httpx.AsyncClient(timeout=60) as http:
        async with serve(engine) as url:
            waiting = asyncio.create_task(
                http.get(f"{url}/v1/memories", params={"user_id": user, "after": f"default/user:{user}@1"})
            )
            await asyncio.sleep(0.2)
            made = await engine.writes.create({"user_id": user, "text": "Likes tea"})
        assert made[1].last_seq == 1
        assert (await waiting).json()["items"][0]["text"] == "Likes tea"


async def test_a_body_above_the_limit_is_refused_by_the_real_server(engine: Engine) -> None:
    async with serve(engine) as url, httpx.AsyncClient(base_url=url) as http:
        response = await http.post("/v1/memories", json={"user_id": "u", "text": "x" * 3 * 2**20})
    assert (response.status_code, response.json()["error"]["field"]) == (413, "body")


async def test_a_port_that_is_taken_is_an_error_and_not_an_exit(engine: Engine) -> None:
    async with serve(engine) as url:
        port = int(url.rpartition(":")[2])
        with pytest.raises(EngineError) as refused:
            async with serve(engine, port=port):
                pass
    assert refused.value.field == "http_port"


async def test_the_server_stops_when_its_block_fails(engine: Engine) -> None:
    with pytest.raises(ZeroDivisionError):
        async with serve(engine) as url:
            raise ZeroDivisionError
    async with httpx.AsyncClient() as http:
        with pytest.raises(httpx.ConnectError):
            await http.get(url)


async def test_ipv6_loopback_has_a_url_that_works(engine: Engine) -> None:
    async with serve(engine, host="::1") as url, httpx.AsyncClient(base_url=url) as http:
        assert url.startswith("http://[::1]:")
        assert (await http.get("/health")).status_code == 200


async def test_health_says_how_far_each_projection_is(api: Api, engine: Engine) -> None:
    await engine.settled(60)
    health = await api.call("GET", "/health")
    # Other tests on this engine may have left a job that failed.
    faults = any(health[name] for name in ("stopped", "incidents", "failed_jobs", "paused_minds"))
    assert health["status"] == ("degraded" if faults else "ok")
    assert health["outbox"] == 0
    assert health["lag"] == dict.fromkeys(engine.projections.running, 0)
    assert health["stopped"] == {}


async def test_health_names_a_stopped_stream_without_its_text(api: Api, engine: Engine) -> None:
    made = await api.remember("a secret")
    await api.get("/v1/memories", after=made["token"])
    [receipt_stream] = {made["stream"]}
    store = engine.projections.stores["memories"]
    stream = next(one for one in await store.all_progress() if str(one) == receipt_stream)
    await store.stop(stream, 2, "DataError: a secret: and more")
    try:
        health = await api.call("GET", "/health")
    finally:
        await store.resume()
    assert health["status"] == "degraded"
    assert health["stopped"] == {"memories": {receipt_stream: "seq 2: DataError"}}


async def test_the_document_describes_every_route(api: Api) -> None:
    document = await api.call("GET", "/openapi.json")
    operations = [
        (path, method, operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    ]
    assert len(operations) == len({route.name for route in ROUTES if route.include_in_schema})
    for path, method, operation in operations:
        assert operation.get("summary"), (path, method)
        assert operation.get("tags"), (path, method)
        refused = operation["responses"]["422"]["content"]["application/json"]["schema"]
        assert refused == {"$ref": "#/components/schemas/ErrorAnswer"}
    assert len({operation["operationId"] for _, _, operation in operations}) == len(operations)


async def test_the_document_is_made_once_for_all_applications(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    document, other = (create_app(engine).openapi() for _ in range(2))
    other["paths"].clear()
    monkeypatch.delattr(FastAPI, "openapi")
    assert create_app(engine).openapi() == document


async def test_the_document_shows_the_query_of_the_specification_without_a_tenant(api: Api) -> None:
    document = await api.call("GET", "/openapi.json")
    query = document["components"]["schemas"]["Search"]
    assert "tenant" not in query["properties"]
    fields = {"user_id", "agent_id", "query", "categories", "filters", "top_k", "return", "budget_tokens"}
    assert fields <= set(query["properties"])
    asked = document["paths"]["/v1/search"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    [example] = asked["examples"]
    assert await api.post("/v1/search", **{**example, "user_id": api.user}) == {
        "header": "",
        "rev": 0,
        "bullets": [],
        "related": [],
        "unknown": [],
        "skipped": [],
        "references": [],
        "profile": "default",
        "nothing": 'Nothing is known about "deployment plan context" (searched by meaning, and for the words'
        " deployment, plan, context; restricted by categories, filters.importance_min,"
        " filters.pinned, filters.updated_after).",
        "served_id": None,
    }


@pytest.mark.parametrize("host", ["evil.example", "localhost.evil.example", "", "127.0.0.1.evil.example:8765", "[::1"])
async def test_a_name_that_is_not_ours_gets_nothing(api: Api, host: str) -> None:
    answer = await api.http.get("/v1/memories", params={"user_id": api.user}, headers={"Host": host})
    assert (answer.status_code, answer.json()["error"]["field"]) == (421, "Host")


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:8765", "127.0.0.1:8765", "[::1]:8765"])
async def test_the_names_of_loopback_are_answered(api: Api, host: str) -> None:
    answer = await api.http.get("/v1/memories", params={"user_id": api.user}, headers={"Host": host})
    assert answer.status_code == 200
