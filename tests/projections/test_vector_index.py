"""What every vector index owes behind the port: near ones first, filters in the index, erasure, rebuild and swap."""

from collections.abc import AsyncIterator, Callable, Collection, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any, Protocol
from uuid import UUID

import numpy as np
import pytest
from qdrant_client import AsyncQdrantClient
from sqlalchemy.ext.asyncio import AsyncConnection

from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.minilm import InThread, Lexical
from mnemolog.adapters.pgvector import PgVectorIndex
from mnemolog.adapters.postgres.rebuildable import RebuildablePostgres
from mnemolog.adapters.postgres.store import PostgresStore
from mnemolog.adapters.qdrant.index import QdrantIndex
from mnemolog.domain.memory import SEMANTIC, Kind
from mnemolog.projections.memories.filters import Candidates
from mnemolog.projections.owner import owner_of
from mnemolog.projections.requests import Filters
from mnemolog.projections.vectors.embedder import Vectors
from mnemolog.projections.vectors.index import Point, Text, VectorIndex
from mnemolog.projections.vectors.projector import VectorsProjector
from tests.engine.person import Person
from tests.engine.teller import Teller
from tests.engine.test_knowledge import Librarian

pytestmark = pytest.mark.filterwarnings("ignore:Payload indexes have no effect in the local Qdrant")

DIMENSIONS = 8
MODEL = "a model"
NORTH = np.eye(1, DIMENSIONS, dtype=np.float32)[0]
EAST = np.eye(1, DIMENSIONS, 1, dtype=np.float32)[0]


class Named(Lexical):
    """So that the vectors of this file have tables of their own."""

    model = "conformance"


class Place(Protocol):
    """Where an adapter under test keeps its vectors, beside the rows of memories that the engine keeps."""

    @property
    def index(self) -> VectorIndex: ...
    def live(self) -> AbstractAsyncContextManager[AsyncConnection]: ...
    def shadow(self) -> AbstractAsyncContextManager[AsyncConnection]: ...
    async def swap(self) -> None: ...


class InPostgres:
    """The tables of every adapter are in Postgres, whatever it has elsewhere."""

    def __init__(self, engine: Engine, index: VectorIndex) -> None:
        self.index = index
        rows = engine.projections.live
        self._memories = rows.get_execution_options()["schema_translate_map"]
        self.store = PostgresStore(rows, VectorsProjector(InThread(Named()), self.index))
        self.beside = RebuildablePostgres(self.store)

    def live(self) -> AbstractAsyncContextManager[AsyncConnection]:
        return self._in(self.store)

    def shadow(self) -> AbstractAsyncContextManager[AsyncConnection]:
        return self._in(self.beside.place)

    @asynccontextmanager
    async def _in(self, store: PostgresStore) -> AsyncIterator[AsyncConnection]:
        schemas = {**self._memories, **store.schemas}
        async with store.writing.execution_options(schema_translate_map=schemas).begin() as connection:
            yield connection

    async def settle(self, *, rebuilt: bool = False) -> None:
        async with self.store.engine.connect() as connection:
            await self.index.settle(connection, rebuilt=rebuilt)

    async def swap(self) -> None:
        async with self.beside.quiet():
            await self.beside.swap()
        await self.settle(rebuilt=True)


@asynccontextmanager
async def opened(engine: Engine, index: VectorIndex) -> AsyncIterator[Place]:
    place = InPostgres(engine, index)
    await place.store.create()
    await place.beside.shadow()
    await place.settle()
    yield place
    await place.store.drop()
    await place.beside.place.drop()


def pgvector(engine: Engine) -> AbstractAsyncContextManager[Place]:
    return opened(engine, PgVectorIndex())


@asynccontextmanager
async def qdrant(engine: Engine) -> AsyncIterator[Place]:
    client = AsyncQdrantClient(":memory:")
    async with opened(engine, QdrantIndex(client, "conformance")) as place:
        yield place
    await client.close()


ADAPTERS: Sequence[Callable[[Engine], AbstractAsyncContextManager[Place]]] = [pgvector, qdrant]


@pytest.fixture(scope="module", params=ADAPTERS, ids=lambda adapter: adapter.__name__)
async def place(request: pytest.FixtureRequest, engine: Engine) -> AsyncIterator[Place]:
    async with request.param(engine) as opened:
        yield opened


def towards(degrees: float) -> Vectors:
    """A vector of length 1, so far from north."""
    turned = np.radians(degrees)
    return np.asarray(np.cos(turned) * NORTH + np.sin(turned) * EAST, dtype=np.float32)


def digest(text: str) -> bytes:
    return sha256(text.encode()).digest()


@dataclass
class Indexed:
    """A person whose memories are in the index under test where a test puts them."""

    person: Person
    place: Place

    def key(self, memory_id: UUID) -> tuple[str, str, str, UUID]:
        return (*owner_of(self.person.stream), memory_id)

    def point(self, memory_id: UUID, vector: Vectors, text: str = "said", seq: int = 1) -> Point:
        return Point(self.key(memory_id), digest(text), seq, vector)

    def text(self, memory_id: UUID, text: str = "said") -> Text:
        return Text(self.key(memory_id), digest(text), 1)

    async def has(self, degrees: float, text: str = "said", model: str = MODEL, **fields: Any) -> UUID:
        """A memory whose vector points so far from north."""
        memory_id = await self.person.creates(f"{text} {degrees}", **fields)
        await self.person.engine.reads.memory(self.person.viewer, memory_id, await self.person.caught_up())
        async with self.place.live() as connection:
            await self.place.index.put(connection, model, [self.point(memory_id, towards(degrees), text)])
        return memory_id

    async def finds(
        self,
        candidates: Candidates = Candidates(),  # noqa: B008
        limit: int = 50,
        by: Person | None = None,
        vector: Vectors = NORTH,
        model: str = MODEL,
        *,
        only: Collection[UUID] | None = None,
        in_shadow: bool = False,
    ) -> dict[UUID, float]:
        viewer = (by or self.person).viewer
        async with self.place.shadow() if in_shadow else self.place.live() as connection:
            return dict(await self.place.index.search(connection, viewer, candidates, model, vector, limit, only))


@pytest.fixture
def ana(engine: Engine, user: str, place: Place) -> Indexed:
    return Indexed(Person(engine, user), place)


async def test_the_nearest_come_first_with_their_similarity(ana: Indexed) -> None:
    far, near, middle = [await ana.has(degrees) for degrees in (120, 10, 45)]

    found = await ana.finds()

    assert list(found) == [near, middle, far]
    assert list(found.values()) == pytest.approx([np.cos(np.radians(degrees)) for degrees in (10, 45, 120)], abs=1e-3)
    assert list(await ana.finds(limit=2)) == [near, middle]


async def test_a_vector_that_is_put_again_takes_the_place_of_the_one_before(ana: Indexed) -> None:
    memory_id = await ana.has(90)
    async with ana.place.live() as connection:
        for vector in (towards(0), towards(0)):
            await ana.place.index.put(connection, MODEL, [ana.point(memory_id, vector, "said anew")])

    assert await ana.finds() == {memory_id: pytest.approx(1.0)}


async def test_what_is_put_in_a_transaction_that_is_rolled_back_is_put_again_without_harm(ana: Indexed) -> None:
    memory_id = await ana.has(90)
    for committed in (False, True):
        async with ana.place.live() as connection:
            await ana.place.index.put(connection, MODEL, [ana.point(memory_id, NORTH, "said anew")])
            if not committed:
                await connection.rollback()

    assert await ana.finds() == {memory_id: pytest.approx(1.0)}


async def test_vectors_of_another_model_are_not_found(ana: Indexed) -> None:
    await ana.has(0, model="another model")
    assert await ana.finds() == {}


async def test_nothing_of_another_user_or_tenant_is_found(ana: Indexed, engine: Engine) -> None:
    mine = await ana.has(0)
    for other in (
        Person(engine, f"{ana.person.user}-other"),
        Person(engine, ana.person.user, tenant="acme"),
    ):
        theirs = await Indexed(other, ana.place).has(0)
        assert set(await ana.finds(by=other)) == {theirs}
    assert set(await ana.finds()) == {mine}


async def test_what_an_agent_keeps_to_itself_only_it_finds(ana: Indexed, engine: Engine) -> None:
    coach = Person(engine, ana.person.user, agent="coach")
    shared, private = await ana.has(10), await Indexed(coach, ana.place).has(0, scope="agent")

    assert set(await ana.finds(by=coach)) == {private, shared}
    assert set(await ana.finds()) == {shared}


@pytest.mark.spec("A11")
async def test_however_near_it_is_nothing_is_found_that_user_agent_scope_or_entities_exclude(
    ana: Indexed, engine: Engine
) -> None:
    """Reflections, facts and the chunks of libraries alike (A §5)."""
    coach = Indexed(Person(engine, ana.person.user, agent="coach"), ana.place)
    bob = Indexed(Person(engine, f"{ana.person.user}-bob", agent="coach"), ana.place)
    marta, zoe = [await Teller(engine, ana.person.user).knows_of(name) for name in ("Marta", "Zoe")]
    for kind in ("episode", "fact"):
        of_kind = Candidates(kinds=frozenset({Kind(kind)}))
        shared = await ana.has(60, kind=kind, entity_ids=[marta])
        private = await coach.has(30, kind=kind, scope="agent", entity_ids=[zoe])
        theirs = await bob.has(0, kind=kind)

        assert list(await ana.finds(of_kind)) == [shared]
        assert list(await ana.finds(of_kind, by=coach.person)) == [private, shared]
        assert list(await ana.finds(of_kind, by=bob.person)) == [theirs]
        for entity, found in ((marta, [shared]), (zoe, [private])):
            about = replace(of_kind, about=frozenset({entity}))
            assert list(await ana.finds(about, by=coach.person, limit=1)) == found
        assert await ana.finds(replace(of_kind, about=frozenset({zoe}))) == {}

    libraries = [Librarian(engine, f"{ana.person.user}-{name}") for name in ("coach", "planner")]
    added = [await one.adds("# Sleep\n\nNo coffee before bed.", domain="health") for one in libraries]
    for library, own in zip(libraries, added, strict=True):
        assert {one["document_id"] for one in await library.finds("coffee before bed")} == {own.document_id}


async def test_filters_come_before_the_limit(ana: Indexed) -> None:
    """However many that are nearer they leave out."""
    for degrees in range(5):
        await ana.has(degrees, category="note")
    wanted = await ana.has(80, category="goals", pinned=True, metadata={"team": "red"})

    for filters in (
        Filters(category="goals"),
        Filters(pinned=True),
        Filters(metadata={"team": "red"}),
        Filters(category="goals", pinned=True, metadata={"team": "red"}),
    ):
        assert list(await ana.finds(Candidates(filters=filters), limit=1)) == [wanted]
    assert await ana.finds(Candidates(filters=Filters(metadata={"team": "blue"}))) == {}


async def test_candidates_are_narrowed_to_ids_kinds_and_entities(ana: Indexed) -> None:
    one, other = await ana.has(0, kind="fact"), await ana.has(10, kind="fact")
    episode = await ana.has(20, kind="episode")

    assert set(await ana.finds(only=[other])) == {other}
    assert set(await ana.finds(Candidates(kinds=SEMANTIC), only=[one, episode])) == {one}
    assert await ana.finds(only=[]) == {}
    assert set(await ana.finds(Candidates(kinds=SEMANTIC))) == {one, other}
    assert await ana.finds(Candidates(about=frozenset({one}))) == {}


async def test_what_was_deleted_is_not_found_and_what_was_restored_is(ana: Indexed) -> None:
    memory_id = await ana.has(0)
    await ana.person.deletes(memory_id)
    await ana.person.engine.reads.newest(ana.person.viewer, 1, await ana.person.caught_up())
    assert await ana.finds() == {}

    await ana.person.restores(memory_id)
    await ana.person.engine.reads.newest(ana.person.viewer, 1, await ana.person.caught_up())
    assert set(await ana.finds()) == {memory_id}


async def test_a_procedure_is_found_if_its_category_is_requested(ana: Indexed, engine: Engine) -> None:
    procedure = await ana.has(0, category="procedural", kind="procedure", text="1. Write a note about tea")
    assert await ana.finds() == {}

    async with ana.place.live() as connection:
        asking = ana.person.viewer.within(frozenset({"procedural"}))
        found = await ana.place.index.search(connection, asking, Candidates(), MODEL, NORTH, 10)
    assert set(found) == {procedure}


async def test_what_is_kept_is_indexed_again_without_its_vector(ana: Indexed) -> None:
    kept, new = await ana.has(30), await ana.person.creates("another")
    async with ana.place.shadow() as connection:
        wanted = [ana.text(kept), ana.text(new, "another")]
        assert set(await ana.place.index.put_kept(connection, MODEL, wanted)) == {ana.key(kept)}
        assert not await ana.place.index.put_kept(connection, MODEL, [ana.text(kept, "said otherwise")])
        assert not await ana.place.index.put_kept(connection, "another model", [ana.text(kept)])

    assert await ana.finds(in_shadow=True) == {kept: pytest.approx(np.cos(np.radians(30)), abs=1e-3)}


@pytest.mark.spec_part("X07")
async def test_what_is_removed_leaves_neither_a_vector_nor_what_was_kept_of_any_of_its_texts(ana: Indexed) -> None:
    gone, left = await ana.has(0), await ana.has(10)
    async with ana.place.live() as connection:
        await ana.place.index.put(connection, MODEL, [ana.point(gone, EAST, "said anew")])
        for _ in range(2):
            await ana.place.index.remove(connection, [ana.key(gone)])
        for text in ("said", "said anew"):
            assert not await ana.place.index.put_kept(connection, MODEL, [ana.text(gone, text)])
        await ana.place.index.remove(connection, [])

    assert set(await ana.finds()) == {left}


@pytest.mark.spec_part("X07")
async def test_an_owners_vectors_and_earlier_kept_embeddings_are_deleted(ana: Indexed, engine: Engine) -> None:
    early, late = await ana.has(0), await ana.person.creates("told later")
    other = Indexed(Person(engine, f"{ana.person.user}-other"), ana.place)
    theirs = await other.has(0)
    async with ana.place.live() as connection:
        await ana.place.index.put(connection, MODEL, [ana.point(early, EAST, "said anew", seq=8)])
        for seq, text in ((9, "told later"), (10, "told last")):
            await ana.place.index.put(connection, MODEL, [ana.point(late, EAST, text, seq=seq)])
        await ana.place.index.forget(connection, owner_of(ana.person.stream), 9)
    assert await ana.finds() == {}
    assert set(await other.finds()) == {theirs}

    async with ana.place.live() as connection:
        for one in (ana.text(early), ana.text(early, "said anew")):
            assert not await ana.place.index.put_kept(connection, MODEL, [one])
        assert set(await ana.place.index.put_kept(connection, MODEL, [ana.text(late, "told later")])) == {ana.key(late)}


async def test_a_shadow_is_filled_unseen_and_takes_the_place_of_the_live_one(ana: Indexed) -> None:
    """Last: it leaves no shadow behind."""
    memory_id = await ana.has(60)
    async with ana.place.shadow() as connection:
        await ana.place.index.put(connection, MODEL, [ana.point(memory_id, NORTH, "said anew")])
    assert await ana.finds() == {memory_id: pytest.approx(0.5, abs=1e-3)}

    await ana.place.swap()

    assert await ana.finds() == {memory_id: pytest.approx(1.0)}
