"""Readiness, and metrics in the format of Prometheus."""

from collections.abc import Collection
from copy import copy
from typing import Any

import httpx
import pytest
from nats.aio.client import Client
from prometheus_client.parser import text_string_to_metric_families

from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.http.app import create_app
from mnemolog.adapters.http.ready import BUILT_WITHIN
from tests.adapters.http.conftest import Api
from tests.adapters.http.test_local_token import with_token
from tests.adapters.principals.keys import calling, calling_with, principal
from tests.engine.person import Person

Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]


async def scraped(http: httpx.AsyncClient) -> Samples:
    answer = await http.get("/metrics")
    assert answer.status_code == 200, answer.text
    assert answer.headers["Content-Type"].startswith("text/plain")
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    }


def value(samples: Samples, name: str, **labels: str) -> float:
    return samples.get((name, frozenset(labels.items())), 0.0)


@pytest.mark.spec("X24")
async def test_metrics_count_and_time_requests_by_operation_and_status(api: Api) -> None:
    before = await scraped(api.http)
    made = await api.remember("Ana drinks tea")
    await api.get(f"/v1/memories/{made['memory_id']}")
    await api.get("/v1/memories/no-id", 422)
    await api.call("GET", "/nothing-of-the-kind", 404)

    after = await scraped(api.http)

    def more(name: str, **labels: str) -> float:
        return value(after, name, **labels) - value(before, name, **labels)

    assert more("mnemolog_requests_total", operation="create", status="201") == 1
    assert more("mnemolog_requests_total", operation="get", status="200") == 1
    assert more("mnemolog_requests_total", operation="get", status="422") == 1
    assert more("mnemolog_requests_total", operation="none", status="404") == 1
    assert more("mnemolog_request_seconds_count", operation="get") == 2
    assert more("mnemolog_append_seconds_count") >= 1
    assert more("mnemolog_command_seconds_count") >= 1
    assert not any("no-id" in str(labels) or api.user in str(labels) for _, labels in after)


@pytest.mark.spec("X24")
async def test_metrics_tell_how_the_engine_is(api: Api, engine: Engine) -> None:
    ana = Person(engine, api.user)
    await ana.says("I drink tea")
    store = engine.projections.stores["graph"]
    await engine.settled()
    await store.stop(ana.stream, await engine.log.head(ana.stream) + 1, "ValueError: made up")
    await ana.says("I drink coffee")
    await engine.settled()
    try:
        found = await scraped(api.http)
    finally:
        await store.resume()
    for name in engine.projections.running:
        assert value(found, "mnemolog_projection_lag_events", projection=name) == 0
        assert ("mnemolog_projection_lag_seconds", frozenset({("projection", name)})) in found
    assert value(found, "mnemolog_projection_stopped_streams", projection="graph") == 1
    assert value(found, "mnemolog_stores_up") == 1
    assert ("mnemolog_outbox_appends", frozenset()) in found
    assert value(found, "mnemolog_incidents_open") == len(engine.incidents.open())
    pools = {dict(labels)["pool"] for name, labels in found if name == "mnemolog_pool_connections"}
    assert pools == {"log", "rows", "reads"}
    assert value(found, "mnemolog_project_seconds_count") > 0


async def test_metrics_without_an_answer_of_the_stores_are_what_the_process_knows(
    api: Api, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def gone(*_: Any) -> Any:
        raise ConnectionError("gone")

    monkeypatch.setattr(engine.projections, "status", gone)

    found = await scraped(api.http)

    assert value(found, "mnemolog_stores_up") == 0
    assert not any(name == "mnemolog_projection_lag_events" for name, _ in found)
    assert any(name == "mnemolog_requests_total" for name, _ in found)


async def test_metrics_require_the_token_or_a_key(engine: Engine, guarded: Engine) -> None:
    asking, token = with_token(engine)
    async with calling_with(asking, None) as stranger, calling_with(asking, token) as operator:
        assert (await stranger.get("/metrics")).status_code == 401
        assert (await operator.get("/metrics")).status_code == 200
    async with calling(guarded, principal()) as app:
        assert (await app.get("/metrics")).status_code == 200


@pytest.mark.spec("X24")
async def test_an_engine_that_serves_is_ready(api: Api, engine: Engine) -> None:
    await engine.settled()
    assert await api.call("GET", "/ready") == {"ready": True, "waiting_for": []}


@pytest.mark.spec("X24")
async def test_an_engine_is_not_ready_while_a_projection_is_built_for_the_first_time(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    lag = BUILT_WITHIN + 1

    async def behind(built: Collection[str]) -> dict[str, int]:
        return {name: lag if name == "history" else 0 for name in engine.projections.running if name not in built}

    monkeypatch.setattr(engine.projections, "lag", behind)
    asking, token = with_token(engine)
    app = create_app(asking)
    transport = httpx.ASGITransport(app, client=("127.0.0.1", 1))
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as http:
        operator = {"Authorization": f"Bearer {token}"}
        told, stranger = await http.get("/ready", headers=operator), await http.get("/ready")
        assert (told.status_code, told.json()) == (503, {"ready": False, "waiting_for": ["history"]})
        assert (stranger.status_code, stranger.json()) == (503, {"ready": False, "waiting_for": []})
        lag = 0
        assert (await http.get("/ready")).json()["ready"]
        lag = BUILT_WITHIN + 1  # Load, from then on: the process goes on serving.
        assert (await http.get("/ready")).status_code == 200


async def test_an_engine_is_not_ready_without_its_servers_or_with_another_schema(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def gone() -> None:
        raise ConnectionError("gone")

    without = copy(engine)
    without.nats = Client()
    async with calling_with(without, None) as http:
        assert (await http.get("/ready")).json()["waiting_for"] == ["nats"]
    monkeypatch.setattr(engine.projections.working, "ping", gone)
    monkeypatch.setattr("mnemolog.adapters.postgres.migrate._scripts", lambda of: {"9999": ""})
    async with calling_with(engine, None) as http:
        assert (await http.get("/ready")).json() == {"ready": False, "waiting_for": ["schema", "redis"]}
