"""A model that does not answer for a while holds no connection and no transaction (design §6)."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from sqlalchemy import delete

from mnemolog.adapters.engine import connections, wiring
from mnemolog.adapters.engine.engine import Engine, open_engine
from mnemolog.adapters.pgvector.tables import vectors
from mnemolog.domain.errors import InvalidInput
from mnemolog.projections.reads.moment import Moment
from mnemolog.projections.requests import ContextRequest
from mnemolog.projections.vectors.projector import NAME as VECTORS
from tests.engine.person import Person
from tests.testkit.eventually import eventually
from tests.testkit.model_server import ModelServer, OverHttp, model_server
from tests.testkit.settings import settings_in

QUESTIONS = 6


@pytest.fixture
async def model() -> AsyncIterator[ModelServer]:
    async with model_server() as server:
        yield server


@pytest.fixture
async def narrow(
    model: ModelServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> AsyncIterator[Engine]:
    """An engine with two connections for each purpose, or twice as many as it is told, and that model."""

    async def over_http(*_: object, **__: object) -> OverHttp:
        return OverHttp(model)

    monkeypatch.setattr(connections, "POOL", getattr(request, "param", 1))
    monkeypatch.setattr(wiring, "embedder_of", over_http)
    async with open_engine(settings_in(tmp_path)) as engine:
        yield engine


async def in_transaction(engine: Engine) -> list[str]:
    """The statements after which some session leaves its transaction open for longer than a round trip."""
    query = (
        "SELECT query FROM pg_stat_activity WHERE state LIKE 'idle in transaction%'"
        " AND state_change < clock_timestamp() - interval '1 second'"
    )
    async with await psycopg.AsyncConnection.connect(engine.endpoints.postgres_dsn) as connection:
        return [row[0] for row in await (await connection.execute(query)).fetchall()]


async def test_reads_and_writes_go_on_while_a_model_does_not_answer(narrow: Engine, model: ModelServer) -> None:
    ana = Person(narrow, "ana")
    tea = await ana.creates("Ana drinks tea")
    first = await narrow.log.head(ana.stream)
    await narrow.settled(60)

    model.free.clear()
    before = model.asked
    waiting: list[asyncio.Future[list[str]]] = [asyncio.ensure_future(ana.finds("tea")) for _ in range(QUESTIONS)]
    told = asyncio.ensure_future(narrow.reads.context(ana.viewer, ContextRequest(query="tea")))
    earlier = asyncio.ensure_future(ana.finds("tea", Moment(as_of=first)))
    written = asyncio.ensure_future(ana.creates("Ana has a cat"))  # Its neighbours are asked for first.
    await eventually(lambda: _asked(model, before + QUESTIONS + 3))
    await ana.says("I moved to Lisbon")  # What it leaves is embedded by its projection.
    await eventually(lambda: _asked(model, before + QUESTIONS + 4))

    async with asyncio.timeout(60):
        for _ in range(5):
            assert (await narrow.reads.memory(ana.viewer, tea))["text"] == "Ana drinks tea"
            assert await narrow.reads.newest(ana.viewer, 10, await ana.caught_up())
            assert await narrow.reads.changes(ana.viewer, ana.thread, 0)
            await asyncio.sleep(0.3)
            assert await in_transaction(narrow) == []
    still_asking: list[asyncio.Future[Any]] = [*waiting, told, earlier, written]
    assert not any(one.done() for one in still_asking)
    assert await narrow.projections.running[VECTORS].lag() > 0

    model.free.set()
    async with asyncio.timeout(60):
        for one in waiting:
            assert "Ana drinks tea" in await one
        assert [row["text"] for row in (await told).rows]
        assert await earlier == ["Ana drinks tea"]
        await written
    await narrow.settled(60)
    found = await ana.asks("Lisbon cat")
    assert {"Ana has a cat", "Ana: I moved to Lisbon"} <= {hit.text for hit in found.hits}
    assert all(hit.similarity is not None for hit in found.hits)


async def _asked(model: ModelServer, count: int) -> bool:
    return model.asked >= count


@pytest.mark.parametrize("narrow", [2], indirect=True)  # A rebuild itself takes three.
async def test_a_rebuild_asks_the_model_outside_of_its_transactions(narrow: Engine, model: ModelServer) -> None:
    ana = Person(narrow, "ana")
    for number in range(30):
        await ana.creates(f"Ana has goat number {number}")
    await narrow.settled(60)
    async with narrow.projections.live.begin() as connection:
        await connection.execute(delete(vectors))

    model.free.clear()
    before = model.asked
    rebuilding = asyncio.ensure_future(narrow.projections.rebuild(VECTORS))
    replaying = asyncio.ensure_future(ana.finds("goat", Moment(as_of=20)))
    await eventually(lambda: _asked(model, before + 2))
    await asyncio.sleep(1.5)
    held = [one for one in await in_transaction(narrow) if "advisory" not in one]
    model.free.set()

    assert held == []
    assert (await rebuilding).differences == {"vectors": 30, "progress": 0}
    found = await replaying
    assert found
    assert found == await ana.finds("goat", Moment(as_of=20))


async def test_an_unknown_category_is_refused_before_a_model_is_called(narrow: Engine, model: ModelServer) -> None:
    ana = Person(narrow, "ana")
    with pytest.raises(InvalidInput):
        await ana.asks("tea", categories=("no such one",))
    with pytest.raises(InvalidInput):
        await narrow.reads.context(ana.viewer, ContextRequest(query="tea", categories=("no such one",)))
    assert "tea" not in str([one.body for one in model.requests])  # The engine itself asks when it starts.
