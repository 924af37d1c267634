"""Facts and episodes in a real mem0: its package, its own store, and embeddings from a server on this machine.

Skipped without the package. `make test-peers` runs it in an environment that has it.
"""

import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from mnemolog.adapters.engine.engine import Engine, open_engine
from mnemolog.adapters.erasure.erasing import erase
from mnemolog.adapters.mem0.opening import mem0_store
from mnemolog.adapters.mem0.store import Mem0Store, Mem0Unavailable
from mnemolog.commands.erasure import EraseMemory, EraseUser
from mnemolog.domain.errors import InvalidInput
from mnemolog.projections.mem0.item import Item
from tests.engine.person import Person
from tests.testkit.model_server import ModelServer, model_server
from tests.testkit.settings import settings_in

pytestmark = [
    # Not imported here: what it is to do without must be set before.
    pytest.mark.skipif(find_spec("mem0") is None, reason="mem0 is not installed: `make test-peers`"),
    pytest.mark.spec_part("E08"),
    pytest.mark.filterwarnings("ignore"),  # mem0's own.
]
TEA, TRIP = UUID(int=1), UUID(int=2)


def config(directory: Path, server: ModelServer) -> dict[str, Any]:
    """mem0 with a Qdrant in a folder; no model that extracts is set, because none is asked."""
    embedding = {"model": "m-1", "api_key": "sk-1", "openai_base_url": server.url, "embedding_dims": 384}
    place = {"path": str(directory / "qdrant"), "embedding_model_dims": 384, "on_disk": True}
    return {
        "embedder": {"provider": "openai", "config": embedding},
        "vector_store": {"provider": "qdrant", "config": place},
    }


@pytest.fixture
async def server() -> AsyncIterator[ModelServer]:
    async with model_server() as one:
        yield one


@asynccontextmanager
async def opened(directory: Path, server: ModelServer) -> AsyncIterator[Mem0Store]:
    store = Mem0Store(config(directory, server), "default", directory)
    try:
        yield store
    finally:
        await store.aclose()


def item(text: str, **fields: Any) -> Item:
    given = {"subject_id": TEA, "type": "factual", "category": "note", "origin": "user", **fields}
    return Item(text=text, created_at=datetime(2026, 3, 1, tzinfo=UTC), **given)


async def held(store: Mem0Store, user_id: str) -> list[dict[str, Any]]:
    """What mem0 itself lists for a user."""
    found: list[list[dict[str, Any]]] = []
    await store._call(lambda memory: found.append(memory.get_all(filters={"user_id": user_id})["results"]))
    return sorted(found[0], key=lambda one: one["memory"])


async def test_an_item_is_there_once_with_its_run_however_often_it_is_written(
    tmp_path: Path, server: ModelServer
) -> None:
    async with opened(tmp_path, server) as store:
        tea = item("Ana drinks tea", run_id="episode-1", metadata={"project": "kitchen", "user_id": "bob"})
        for _ in range(2):
            await store.write("ana", {TEA: tea})
        [one] = await held(store, "ana")
        assert (one["memory"], one["user_id"], one["run_id"]) == ("Ana drinks tea", "ana", "episode-1")
        shown = {name: one["metadata"][name] for name in ("project", "type", "category", "origin")}
        assert shown == {"project": "kitchen", "type": "factual", "category": "note", "origin": "user"}
        assert one["created_at"].startswith("2026-03-01")
        assert await held(store, "bob") == []
        asked = server.asked
        await store.write("ana", {TEA: tea})
        assert server.asked == asked

        trip = item("Ana went to Porto", subject_id=TRIP, type="episodic", run_id="episode-2", agent_id="coach")
        await store.write("ana", {TEA: item("Ana drinks green tea", run_id="episode-3"), TRIP: trip})
        texts = [(one["memory"], one["run_id"], one.get("agent_id")) for one in await held(store, "ana")]
        assert texts == [("Ana drinks green tea", "episode-3", None), ("Ana went to Porto", "episode-2", "coach")]

        await store.write("ana", {TEA: None})
        assert [one["memory"] for one in await held(store, "ana")] == ["Ana went to Porto"]


@pytest.mark.spec_part("X07")
async def test_a_forgotten_user_leaves_nothing_of_ours_and_no_history(tmp_path: Path, server: ModelServer) -> None:
    async with opened(tmp_path, server) as store:
        await store.write("ana", {TEA: item("Ana drinks tea")})
        await store.write("ben", {TEA: item("Ben drinks tea")})
        await store._call(lambda memory: memory.add("Ana's own note", user_id="ana", infer=False))
        [copy] = await store.held("ana")
        assert copy.subject_id == TEA
        assert "Ana drinks tea" in copy.shown
        await store.forget("ana")
        assert await store.held("ana") == []
        assert [one["memory"] for one in await held(store, "ana")] == ["Ana's own note"]
        assert [one["memory"] for one in await held(store, "ben")] == ["Ben drinks tea"]
        kept: list[Any] = []
        query = "SELECT count(*) FROM history"
        await store._call(lambda memory: kept.append(memory.db.connection.execute(query).fetchone()[0]))
        assert kept == [0]


async def test_an_id_with_a_space_is_written_as_in_a_url(tmp_path: Path, server: ModelServer) -> None:
    async with opened(tmp_path, server) as store:
        await store.write("ana maria", {TEA: item("Ana Maria drinks tea")})
        await store.write("ana%20maria", {TEA: item("Another user")})
        assert [one["memory"] for one in await held(store, "ana%20maria")] == ["Ana Maria drinks tea"]
        assert [one["memory"] for one in await held(store, "ana%2520maria")] == ["Another user"]


async def test_a_store_that_fails_is_reported_as_unavailable(tmp_path: Path, server: ModelServer) -> None:
    async with opened(tmp_path, server) as store:
        await store.write("ana", {})
        await server.stop()
        with pytest.raises(Mem0Unavailable, match="mem0_file"):
            await store.write("ana", {TEA: item("Ana drinks tea")})


async def test_a_file_that_is_no_configuration_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mem0.yaml").write_text("- a list\n")
    settings = settings_in(tmp_path, mem0_file=tmp_path / "mem0.yaml")
    async with AsyncExitStack() as stack:
        with pytest.raises(InvalidInput, match="is not a mapping"):
            mem0_store(stack, settings)


@asynccontextmanager
async def copying(directory: Path, server: ModelServer) -> AsyncIterator[Engine]:
    file = directory / "mem0.json"
    file.write_text(json.dumps(config(directory, server)))
    async with open_engine(settings_in(directory / "engine", mem0_file=file)) as engine:
        yield engine


@pytest.mark.spec_part("X07")
async def test_an_engine_copies_to_mem0_and_erases_there(tmp_path: Path, server: ModelServer) -> None:
    async with copying(tmp_path, server) as engine:
        ana = Person(engine, "mem0-ana")
        tea = await ana.creates("Ana drinks tea", run_id="r-1")
        secret = await ana.creates("Ana is afraid of spiders")
        await ana.updates(tea, text="Ana drinks green tea")
        await engine.settled(60)
        await erase(engine, EraseMemory(user_id=ana.user, memory_id=secret, keep_turns=False))
        assert [one.name for one in await engine.projections.status(datetime.now(UTC)) if one.lag_events] == []

    async with opened(tmp_path, server) as store:  # As another program sees it.
        [one] = await held(store, "mem0-ana")
        assert (one["memory"], one["run_id"]) == ("Ana drinks green tea", "r-1")

    async with copying(tmp_path, server) as engine:
        await erase(engine, EraseUser(user_id=ana.user))
    async with opened(tmp_path, server) as store:
        assert await held(store, "mem0-ana") == []
