"""A directory of the commit before: read and written all the while, it ends on the present versions (X05)."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from sqlalchemy import select, text
from sqlalchemy.ext.asyncio import AsyncConnection

from mnemolog import AsyncMemory
from mnemolog.adapters.engine.engine import Engine, new_id, now
from mnemolog.adapters.pgvector import tables as pgvector
from mnemolog.adapters.postgres.store import SHADOW
from mnemolog.adapters.projecting.projections import Projections
from mnemolog.events.envelope import NewEvent, Recorded, StreamId
from mnemolog.projections.history.projector import HistoryProjector
from mnemolog.projections.history.tables import history
from mnemolog.projections.memories import tables as memories
from mnemolog.projections.raw_sql import schema_of
from mnemolog.projections.rebuild import Rebuilt
from mnemolog.projections.vectors.embedder import Vectors
from mnemolog.projections.vectors.projector import VectorsProjector
from tests.engine.equality import assert_live_equals_rebuilt
from tests.engine.person import Person
from tests.engine.test_streams import append
from tests.testkit import warm
from tests.upgrades.former import READS, Then, restore
from tests.upgrades.write import read

POSTGRES = {"memories", "graph", "changes", "history", "profile", "vectors"}


@pytest.fixture(autouse=True)
def as_then(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mnemolog.adapters.clock.datetime", Then)


class Gate:
    """Holds upgrades until it is opened."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.open = asyncio.Event()
        upgrade = Projections.upgrade

        async def held(projections: Projections, *args: object) -> list[Rebuilt]:
            await self.open.wait()
            return await upgrade(projections, *args)  # type: ignore[arg-type]

        monkeypatch.setattr(Projections, "upgrade", held)


@asynccontextmanager
async def opened(directory: Path) -> AsyncIterator[tuple[AsyncMemory, Engine]]:
    async with AsyncMemory(directory, durable=False, embedder="lexical") as memory:
        yield memory, await memory._engine()


async def upgraded(engine: Engine) -> None:
    async with asyncio.timeout(300):
        while await engine.projections.upgrading(now()):  # noqa: ASYNC110  Another task does it.
            await asyncio.sleep(0.05)


@pytest.mark.spec("X05")
async def test_an_old_directory_stays_usable_during_its_upgrade_to_the_current_versions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await asyncio.to_thread(restore, tmp_path)
    monkeypatch.setattr("mnemolog.projections.filling.PORTION", 5)  # So that it takes its time.
    gate, embedded = Gate(monkeypatch), noted(monkeypatch)
    async with opened(tmp_path) as (memory, engine):
        assert {user: await read(memory, user) for user in READS} == READS
        before = await engine.projections.upgrading(now())
        assert before.keys() == POSTGRES
        assert str(before["memories"]) == f"v3 -> v{memories.VERSION}, 0 %"
        added = [f"ana drinks coffee number {number}" for number in range(200)]
        for text in added[:20]:
            await memory.create(text, user_id="ana")
            assert text in {hit.text for hit in await memory.search(text, user_id="ana", top_k=3)}
        await memory.add_fact("ana", "lives_in", "Braga", user_id="ana")
        facts = await memory.list_facts(user_id="ana")
        assert [fact.object for fact in facts if fact.predicate == "lives_in"] == ["Braga"]

        gate.open.set()
        written = 20
        while await engine.projections.upgrading(now()) and written < len(added):
            await memory.create(added[written], user_id="ana")
            written += 1
            assert added[written - 1] in await texts(engine, "ana")
            assert await read(memory, "ben") == READS["ben"]
        await upgraded(engine)

        assert await texts(engine, "ana") >= {*READS["ana"]["found"], *added[:written]}
        assert await read(memory, "ben") == READS["ben"]
        in_thread = await memory.search("jazz, call mother", filters={"thread_id": "main"}, top_k=100, user_id="ben")
        assert {"ben likes jazz", "call mother"} <= {hit.text for hit in in_thread}
        await assert_live_equals_rebuilt(engine)
        assert (await engine.verifier.verify()).as_dict()["unverified"] == []
        dropped = await engine.projections.drop_former()
        assert {"mnemolog_memories_v3", "mnemolog_vectors_v1_lexical_384"} <= set(dropped)
        assert await read(memory, "ben") == READS["ben"]
        assert await texts(engine, "ana") >= set(added[:written])
        # What a former version embedded is not embedded again, and it stands once, in the index.
        assert not {text for text in embedded if text in READS["ana"]["found"] or text in READS["ben"]["found"]}
        async with engine.projections.live.connect() as connection:
            vectors, kept = [
                set((await connection.execute(select(one.c.user_id, one.c.subject_id, one.c.content_hash))).all())
                for one in (pgvector.vectors, pgvector.embeddings)
            ]
        assert {row.user_id for row in vectors} == {"ana", "ben"}
        assert kept, "the texts of which others took the place"
        assert not vectors & kept


def noted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is embedded that no question asks."""
    embedded, embed = list[str](), VectorsProjector._make

    async def noting(self: VectorsProjector, texts: Sequence[str]) -> Mapping[tuple[str, str], Vectors]:
        embedded.extend(texts)
        return await embed(self, texts)

    monkeypatch.setattr(VectorsProjector, "_make", noting)
    return embedded


async def texts(engine: Engine, user: str) -> set[str]:
    """All memories of a user, once what is in the log is seen."""
    ana = Person(engine, user)
    return {row["text"] for row in await engine.reads.newest(ana.viewer, 1000, await ana.caught_up())}


@pytest.mark.spec("X05")
async def test_a_killed_engine_continues_where_it_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    await asyncio.to_thread(restore, tmp_path)
    process = await warm.spawn(*("-m", "tests.upgrades.slow_upgrade", tmp_path), stdout=asyncio.subprocess.PIPE)
    assert process.stdout
    for _ in range(8):
        assert await process.stdout.readline() == b"a portion\n"
    process.kill()
    await process.wait()
    gate = Gate(monkeypatch)

    async with opened(tmp_path) as (memory, engine):
        left = await engine.projections.upgrading(now())
        assert left.keys() == POSTGRES
        assert all(0 < one.part < 1 for one in left.values())
        assert {user: await read(memory, user) for user in READS} == READS
        await memory.create("ana drinks coffee", user_id="ana")
        gate.open.set()
        await upgraded(engine)
        assert "ana drinks coffee" in await texts(engine, "ana")
        assert await read(memory, "ben") == READS["ben"]
        await assert_live_equals_rebuilt(engine)


@pytest.mark.spec("X05")
async def test_what_the_present_version_cannot_apply_leaves_the_former_one_and_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await asyncio.to_thread(restore, tmp_path)
    gate = Gate(monkeypatch)
    apply = HistoryProjector.apply

    async def refuses(self: HistoryProjector, connection: AsyncConnection, batch: Sequence[Recorded]) -> None:
        if schema_of(connection, history).endswith(SHADOW):
            raise ValueError("this version cannot")
        await apply(self, connection, batch)

    monkeypatch.setattr(HistoryProjector, "apply", refuses)
    async with opened(tmp_path) as (memory, engine):
        gate.open.set()
        async with asyncio.timeout(300):
            while True:
                left = await engine.projections.upgrading(now())
                if left.keys() == {"history"} and left["history"].fault:
                    break
                await asyncio.sleep(0.05)
        assert "stopped in default/user:ana at seq 1: ValueError" in str(left["history"])
        added = await memory.create("ana drinks coffee", user_id="ana")
        assert [entry.event for entry in await memory.history(added.memory_id, user_id="ana")][-1] == "ADD"


@pytest.mark.spec("X05", "X08")
async def test_a_changed_row_of_a_previous_version_is_healed_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await asyncio.to_thread(restore, tmp_path)
    Gate(monkeypatch)
    async with opened(tmp_path) as (_, engine):
        expected = await texts(engine, "ana")
        async with engine.projections.live.begin() as connection:
            await connection.execute(text("UPDATE mnemolog_memories_v3.memories SET text = 'forged' WHERE pinned"))
        assert await texts(engine, "ana") == expected
        assert engine.reads.tampered == {"memories": 1}
        agent = StreamId("default", "agent:ana")
        for event in await engine.log.read(StreamId.of_user("ana"), until=5):
            await append(engine, agent, NewEvent(new_id(), event.payload, event.meta, event.occurred_at))
        assert await texts(engine, "ana") == expected
        assert (await engine.verifier.verify()).damages == []


@pytest.mark.spec("X05", "X08")
async def test_the_audit_accepts_rows_of_a_previous_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    await asyncio.to_thread(restore, tmp_path)
    Gate(monkeypatch)
    async with opened(tmp_path) as (_, engine):
        await engine.audit.examine([head async for some in engine.log.heads() for head in some])
        assert engine.incidents.all() == []
