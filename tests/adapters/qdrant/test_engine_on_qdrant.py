"""An engine whose nearest neighbours come from Qdrant: copied, erased, forged and down."""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from httpx import Headers
from qdrant_client import AsyncQdrantClient
from qdrant_client.http.exceptions import UnexpectedResponse
from qdrant_client.models import Distance, PointStruct, Record, VectorParams
from sqlalchemy import select

from mnemolog.adapters.config import load
from mnemolog.adapters.engine.engine import Engine, now, open_engine
from mnemolog.adapters.erasure.erasing import erase
from mnemolog.adapters.erasure.prove import prove
from mnemolog.adapters.erasure.target import ProofSubject
from mnemolog.adapters.minilm import Lexical
from mnemolog.adapters.pgvector.tables import vectors
from mnemolog.adapters.projecting import upgrading
from mnemolog.adapters.projecting.projections import Projections
from mnemolog.adapters.qdrant import index
from mnemolog.commands.erasure import EraseMemory, EraseUser
from mnemolog.domain.errors import InvalidInput
from mnemolog.projections.memories.filters import Candidates
from tests.engine.equality import assert_live_equals_rebuilt
from tests.engine.person import Person
from tests.testkit.eventually import eventually
from tests.testkit.settings import settings_in

pytestmark = [
    pytest.mark.spec_part("X11"),
    pytest.mark.filterwarnings("ignore:Payload indexes have no effect in the local Qdrant"),
]
URL = "http://localhost:6333"


class Server:
    """One local Qdrant, for every client that is opened."""

    def __init__(self) -> None:
        self.local = AsyncQdrantClient(":memory:")
        self.down, self.hangs, self.asked, self.tried = False, False, 0, 0

    def __call__(self, url: str, **settings: Any) -> "Server":
        return self

    def __getattr__(self, name: str) -> Any:
        self.tried += name == "query_points"
        if self.hangs:
            return hang
        if self.down:
            raise ConnectionRefusedError
        self.asked += name == "query_points"
        return partial(self._answered, name)

    async def _answered(self, name: str, *args: Any, **named: Any) -> Any:
        """A server answers with a status where the local one raises a ValueError."""
        try:
            return await getattr(self.local, name)(*args, **named)
        except ValueError as error:
            if re.fullmatch("Collection .* not found", str(error)):
                raise UnexpectedResponse(404, "Not Found", str(error).encode(), Headers()) from error
            raise

    async def loses_its_data(self) -> None:
        for one in (await self.local.get_collections()).collections:
            await self.local.delete_collection(one.name)

    async def close(self) -> None:
        """Outlives its clients."""

    async def points(self, user: str) -> list[Record]:
        [one] = (await self.local.get_collections()).collections
        points, _ = await self.local.scroll(one.name, limit=1000, with_vectors=True)
        return [one for one in points if one.payload and one.payload["owner"] == f"default/user:{user}"]


async def hang(*_: object, **__: object) -> None:
    await asyncio.Event().wait()


@pytest.fixture
async def server(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Server]:
    one = Server()
    monkeypatch.setattr("qdrant_client.AsyncQdrantClient", one)
    yield one
    await one.local.close()


@asynccontextmanager
async def on_qdrant(directory: Path, server: Server) -> AsyncIterator[Engine]:
    """With all vectors copied."""
    async with open_engine(settings_in(directory, vectors_url=URL)) as engine:

        async def complete() -> bool:
            return bool((await server.local.get_aliases()).aliases)

        await eventually(complete)
        yield engine


async def test_vectors_that_were_made_before_are_copied_and_a_search_asks_for_the_nearest(
    tmp_path: Path, server: Server
) -> None:
    async with open_engine(settings_in(tmp_path)) as engine:
        await Person(engine, "ana").creates("Ana grows tomatoes")
    async with on_qdrant(tmp_path, server) as engine:
        ana, bob = Person(engine, "ana"), Person(engine, "bob")
        memory_id = await ana.creates("Ana plays the violin")
        await bob.creates("Bob grows tomatoes")
        assert (await ana.finds("tomatoes"))[0] == "Ana grows tomatoes"
        assert server.asked
        assert len(await server.points("ana")) == 2

        await ana.updates(memory_id, text="Ana plays the cello")
        assert (await ana.finds("cello"))[0] == "Ana plays the cello"
        await ana.deletes(memory_id)
        assert await ana.finds("cello") == ["Ana grows tomatoes"]
        assert await bob.finds("tomatoes") == ["Bob grows tomatoes"]
        await assert_live_equals_rebuilt(engine)
        await engine.projections.rebuild("vectors")
        assert len(await server.points("ana")) == 2
        asked = server.asked
        assert (await ana.finds("tomatoes"))[0] == "Ana grows tomatoes"
        assert server.asked > asked


@pytest.mark.spec_part("X07")
async def test_what_is_erased_leaves_no_point(tmp_path: Path, server: Server) -> None:
    async with on_qdrant_with_ana(tmp_path, server) as ana:
        memory_id = await ana.creates("Ana is afraid of spiders")
        assert "Ana is afraid of spiders" in await ana.finds("spiders")
        [kept] = [one for one in await server.points("ana") if one.payload and one.payload["subject"] != str(memory_id)]
        erasing = EraseMemory(user_id="ana", memory_id=memory_id, keep_turns=False)
        await erase(ana.engine, erasing)
        assert [one.id for one in await server.points("ana")] == [kept.id]
        await erase(ana.engine, EraseUser(user_id="ana"))
        assert await server.points("ana") == []


@pytest.mark.spec_part("X07")
async def test_an_erasure_reaches_the_collection_of_a_former_model_and_none_of_another_prefix(
    tmp_path: Path, server: Server
) -> None:
    async with on_qdrant_with_ana(tmp_path, server) as ana:
        memory_id = await ana.creates("Ana is afraid of spiders")
        await ana.finds("spiders")
        points = [PointStruct(id=one.id, vector=[1.0], payload=one.payload) for one in await server.points("ana")]
        former = ("mnemolog-vectors_v2_former", "mnemolog_b-vectors_v2_former")
        for name in former:
            await server.local.create_collection(name, VectorParams(size=1, distance=Distance.COSINE))
            await server.local.upsert(name, points)
        await erase(ana.engine, EraseMemory(user_id="ana", memory_id=memory_id, keep_turns=False))
        assert [(await server.local.count(name)).count for name in former] == [1, 2]
        await erase(ana.engine, EraseUser(user_id="ana"))
        assert [(await server.local.count(name)).count for name in former] == [0, 2]


@pytest.mark.spec_part("X16")
@pytest.mark.parametrize("everything", [False, True])
async def test_the_proof_shows_points_of_what_was_erased_without_qdrant_until_it_is_erased_once_more(
    tmp_path: Path, server: Server, everything: bool
) -> None:
    async with on_qdrant_with_ana(tmp_path, server) as ana:
        memory_id = await ana.creates("Ana is afraid of spiders")
        await ana.finds("spiders")
        subject = ProofSubject(ana.stream) if everything else ProofSubject(ana.stream, memory_id)
        erasing = (
            EraseUser(user_id="ana")
            if everything
            else EraseMemory(user_id="ana", memory_id=memory_id, keep_turns=False)
        )
    async with open_engine(settings_in(tmp_path)) as engine:
        await erase(engine, erasing)
        assert (await prove(engine, subject)).holds
    async with on_qdrant(tmp_path, server) as engine:
        [shown] = [one for one in (await prove(engine, subject)).places if one.readable]
        assert (shown.name, shown.looked_at, shown.readable) == ("qdrant", 2, 2 if everything else 1)
        assert everything or shown.found[0].startswith(f"{memory_id} in mnemolog-")
        assert await Person(engine, "ana").finds("spiders") == ([] if everything else ["Ana grows tomatoes"])
        await erase(engine, erasing)
        proof = await prove(engine, subject)
        assert proof.holds
        assert "qdrant" in [one.name for one in proof.places]


async def test_what_was_written_without_qdrant_is_copied_once_it_is_set_again(tmp_path: Path, server: Server) -> None:
    async with on_qdrant_with_ana(tmp_path, server) as ana:
        changed = await ana.creates("Ana plays the violin")
        await ana.finds("violin")
        before = {str(one.id): one.vector for one in await server.points("ana")}
    async with open_engine(settings_in(tmp_path)) as engine:
        ana = Person(engine, "ana")
        await ana.updates(changed, text="Ana plays the cello")
        await ana.creates("Ana has a dog")
        await ana.finds("dog")
    async with on_qdrant(tmp_path, server) as engine:

        async def copied() -> bool:
            now = {str(one.id): one.vector for one in await server.points("ana")}
            return len(now) == 3 and sum(now[id_] != vector for id_, vector in before.items()) == 1

        await eventually(copied)


async def test_a_write_during_a_change_of_the_model_leaves_room_for_vectors_of_another_length(
    tmp_path: Path, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mnemolog.adapters.postgres.store.FAR_BEHIND", 0)
    async with open_engine(settings_in(tmp_path, embedder="minilm")) as engine:
        await Person(engine, "ana").creates("Ana grows tomatoes")
        await engine.settled()
    opened, upgrade = asyncio.Event(), Projections.upgrade

    async def held(projections: Projections, *args: Any) -> Any:
        await opened.wait()
        return await upgrade(projections, *args)

    monkeypatch.setattr(Projections, "upgrade", held)
    monkeypatch.setattr(Lexical, "dimensions", 8)
    async with open_engine(settings_in(tmp_path, embedder="lexical", vectors_url=URL)) as engine:
        ana = Person(engine, "ana")
        assert await engine.projections.upgrading(now())
        await ana.creates("Ana plays the violin")
        assert "Ana plays the violin" in await ana.finds("violin")
        opened.set()

        async def complete() -> bool:
            return bool((await server.local.get_aliases()).aliases) and len(await server.points("ana")) == 2

        await eventually(complete)
        await ana.creates("Ana has a dog")
        await ana.finds("dog")
        assert [len(one.vector) for one in await server.points("ana") if isinstance(one.vector, list)] == [8, 8, 8]


async def test_a_server_that_lost_its_data_is_filled_again_while_the_engine_runs(
    tmp_path: Path, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upgrading, "LOOK_SECONDS", 0.1)
    async with on_qdrant_with_ana(tmp_path, server) as ana:
        assert await ana.finds("tomatoes") == ["Ana grows tomatoes"]
        await server.loses_its_data()
        assert await ana.finds("tomatoes") == ["Ana grows tomatoes"]
        memory_id = await ana.creates("Ana plays the violin")
        assert "Ana plays the violin" in await ana.finds("violin")

        async def filled() -> bool:
            there = (await server.local.get_aliases()).aliases and await server.points("ana")
            return len(there) == 2

        await eventually(filled)
        await server.loses_its_data()
        await erase(ana.engine, EraseMemory(user_id="ana", memory_id=memory_id, keep_turns=False))
        assert await ana.finds("violin") == ["Ana grows tomatoes"]


async def test_the_row_of_a_vector_is_locked_before_its_point_is_written(
    tmp_path: Path, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise what copies lacking vectors meanwhile puts the former one in its place."""
    async with on_qdrant_with_ana(tmp_path, server) as ana:
        memory_id = await ana.creates("Ana plays the violin")
        await ana.finds("violin")
        locked, upsert = list[bool](), server.local.upsert
        row = select(vectors.c.subject_id).where(vectors.c.subject_id == memory_id)

        async def watched(*args: Any, **named: Any) -> Any:
            async with ana.engine.projections.live.begin() as connection:
                free = await connection.execute(row.with_for_update(skip_locked=True))
                locked.append(free.first() is None)
            return await upsert(*args, **named)

        monkeypatch.setattr(server.local, "upsert", watched)
        await ana.updates(memory_id, text="Ana plays the cello")
        await ana.finds("cello")
        assert locked == [True]


async def test_a_memory_whose_point_is_gone_is_found_in_postgres(tmp_path: Path, server: Server) -> None:
    async with on_qdrant_with_ana(tmp_path, server) as ana:
        assert await ana.finds("What is grown?") == ["Ana grows tomatoes"]
        [one] = await server.points("ana")
        [collection] = (await server.local.get_collections()).collections
        await server.local.delete(collection.name, [one.id])
        embedder = await ana.engine.projections.embedder()
        [vector] = await embedder.embed(["tomatoes"])
        async with ana.engine.projections.live.connect() as connection:
            found = await ana.engine.projections.index.search(
                connection, ana.viewer, Candidates(), embedder.model, vector, limit=5
            )
        assert len(found) == 1


async def test_points_of_others_are_proposed_in_vain(tmp_path: Path, server: Server) -> None:
    async with on_qdrant_with_ana(tmp_path, server) as ana:
        bob = Person(ana.engine, "bob")
        await bob.creates("Bob keeps a secret")
        await bob.finds("secret")
        [one] = await server.points("bob")
        stolen = {**(one.payload or {}), "owner": "default/user:ana"}
        [collection] = (await server.local.get_collections()).collections
        assert isinstance(one.vector, list)
        near = [float(number) for number in one.vector if isinstance(number, float)]
        await server.local.upsert(collection.name, [PointStruct(id=one.id, vector=near, payload=stolen)])
        assert await ana.finds("secret") == ["Ana grows tomatoes"]


@pytest.mark.parametrize("payload", [{"subject": "nobody"}, {"subject": 7}, {"subject": None}])
async def test_points_that_name_no_subject_are_passed_over(
    tmp_path: Path, server: Server, payload: dict[str, object]
) -> None:
    async with on_qdrant_with_ana(tmp_path, server) as ana:
        [one] = await server.points("ana")
        [collection] = (await server.local.get_collections()).collections
        assert isinstance(one.vector, list)
        near = [float(number) for number in one.vector if isinstance(number, float)]
        whose = {name: value for name, value in (one.payload or {}).items() if name != "subject"}
        forged = PointStruct(id=str(uuid4()), vector=near, payload={**whose, **payload})
        await server.local.upsert(collection.name, [forged])
        assert await ana.finds("tomatoes") == ["Ana grows tomatoes"]
        assert server.asked


@pytest.mark.parametrize("fault", ["down", "hangs"])
async def test_a_server_that_failed_is_left_alone_by_searches_for_a_while(
    tmp_path: Path, server: Server, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    monkeypatch.setattr(index, "ANSWER_SECONDS", 0.05 if fault == "hangs" else 60)
    async with on_qdrant_with_ana(tmp_path, server) as ana:
        assert await ana.finds("tomatoes") == ["Ana grows tomatoes"]
        setattr(server, fault, True)
        server.tried = 0
        for _ in range(3):
            assert await ana.finds("tomatoes") == ["Ana grows tomatoes"]
        assert server.tried == 1, "each of them would wait for it, with a connection of Postgres"
        setattr(server, fault, False)
        monkeypatch.setattr(index, "ALONE_SECONDS", 0)
        vectors = ana.engine.projections.index
        assert isinstance(vectors, index.QdrantIndex)
        vectors._alone_until = 0
        asked = server.asked
        assert await ana.finds("tomatoes") == ["Ana grows tomatoes"]
        assert server.asked > asked


async def test_while_the_server_is_down_postgres_searches_and_vectors_are_copied_later(
    tmp_path: Path, server: Server
) -> None:
    async with on_qdrant_with_ana(tmp_path, server) as ana:
        server.down = True
        assert (await ana.finds("What does Ana grow?"))[0] == "Ana grows tomatoes"
        await ana.creates("Ana plays the violin")
        server.down = False

        async def copied() -> bool:
            return len(await server.points("ana")) == 2

        await eventually(copied)
        assert "Ana plays the violin" in await ana.finds("violin")


@asynccontextmanager
async def on_qdrant_with_ana(directory: Path, server: Server) -> AsyncIterator[Person]:
    async with open_engine(settings_in(directory)) as engine:
        await Person(engine, "ana").creates("Ana grows tomatoes")
    async with on_qdrant(directory, server) as engine:
        yield Person(engine, "ana")


def test_the_url_is_checked() -> None:
    with pytest.raises(InvalidInput) as refused:
        load(vectors_url="localhost:6333")
    assert refused.value.field == "vectors_url"
    assert "http://localhost:6333" in refused.value.fix
