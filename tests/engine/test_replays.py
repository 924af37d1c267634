"""Replays for reads as of a moment: shared, few at once, and gone with what they showed."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from types import SimpleNamespace
from uuid import uuid4

import pytest
from sqlalchemy import select, text
from sqlalchemy.ext.asyncio import AsyncConnection

from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.erasure.erasing import erase
from mnemolog.adapters.minilm import InThread, Lexical
from mnemolog.adapters.pgvector import PgVectorIndex
from mnemolog.adapters.postgres import as_of
from mnemolog.commands.erasure import ERASURE, EraseMemory
from mnemolog.domain.errors import Overloaded
from mnemolog.domain.viewer import Viewer
from mnemolog.projections.memories.tables import memories
from mnemolog.projections.projector import Projector
from mnemolog.projections.reads.moment import Moment
from mnemolog.projections.vectors.embedder import Vectors
from mnemolog.projections.vectors.projector import VectorsProjector
from tests.engine.person import Person
from tests.engine.replays import opened_replays, replaying


async def test_a_second_read_of_a_moment_comes_from_the_same_replay(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    await ana.creates("Ana drinks tea")

    async with opened_replays(engine) as replays:
        async with replays.at(ana.stream, 1, ["memories"]) as connection:
            first = await _backend(connection)
        async with replays.at(ana.stream, 1, ["memories", "history"]) as connection:
            assert await _backend(connection) == first
            assert await _texts(connection) == ["Ana drinks tea"]
            [events] = (await connection.execute(text("SELECT count(*) FROM pg_temp.history"))).scalars()
            assert events == 1
        async with replays.at(ana.stream, 0, ["memories"]) as connection:
            assert await _texts(connection) == []


async def test_no_transaction_stays_open_while_a_replay_is_kept(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    await ana.creates("Ana drinks tea")

    await ana.finds("tea", Moment(as_of=1))

    states = text("SELECT state FROM pg_stat_activity WHERE pid = ANY(:replays)")
    async with engine.projections.live.connect() as connection:
        kept = (await connection.execute(states, {"replays": list(await replaying(engine))})).scalars().all()
    assert kept
    assert set(kept) == {"idle"}


async def test_a_replay_makes_the_tables_of_what_is_read_and_no_others(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    await ana.creates("Ana drinks tea")

    async with opened_replays(engine) as replays, replays.at(ana.stream, 1, ["changes"]) as connection:
        named = "SELECT relname FROM pg_class WHERE relnamespace = pg_my_temp_schema() AND relkind = 'r'"
        found = set((await connection.execute(text(named))).scalars())

    assert found == {"change_log", "thread_revision"}


async def test_the_statistics_of_a_replay_are_gathered_again_only_once_there_is_more(
    engine: Engine, user: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ana, gathered = Person(engine, user), list[int]()
    gather = as_of.gather_statistics

    async def noted(connection: AsyncConnection, projectors: Sequence[Projector]) -> None:
        [rows] = (await connection.execute(text("SELECT count(*) FROM pg_temp.history"))).scalars()
        gathered.append(rows)
        await gather(connection, projectors)

    monkeypatch.setattr(as_of, "gather_statistics", noted)
    for number in range(6):
        await ana.creates(f"Ana drank cup {number}")

    async with opened_replays(engine) as replays:
        async with replays.at(ana.stream, 6, ["history"]):
            assert gathered == [6]
        gathered.clear()
        monkeypatch.setattr(as_of, "PORTION", 1)
        monkeypatch.setattr(as_of, "PIECE", 1)
        async with replays.at(ana.stream, 5, ["history"]) as connection:
            assert gathered == [1, 4, 5]
            known = "SELECT reltuples FROM pg_class WHERE oid = 'pg_temp.history'::regclass"
            assert (await connection.execute(text(known))).scalar_one() == 5


async def test_an_erasure_ends_the_replays_that_show_what_it_took(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    memory_id = await ana.creates("Ana drinks tea")
    assert [row["text"] for row in await engine.reads.newest(ana.viewer, 5, Moment(as_of=1))] == ["Ana drinks tea"]

    async with opened_replays(engine) as elsewhere:
        async with elsewhere.at(ana.stream, 1, ["memories"]) as connection:
            assert await _texts(connection) == ["Ana drinks tea"]
            showing = await _backend(connection)
        await erase(engine, EraseMemory(user_id=user, memory_id=memory_id))

        assert await engine.reads.newest(ana.viewer, 5, Moment(as_of=1)) == []
        assert showing not in await replaying(engine)
        async with elsewhere.at(ana.stream, 1, ["memories"]) as connection:
            assert await _texts(connection) == [""]


async def test_a_kept_replay_is_not_shown_after_an_erasure_though_its_connection_lives(
    engine: Engine, user: str
) -> None:
    ana = Person(engine, user)
    memory_id = await ana.creates("Ana drinks tea")

    async with opened_replays(engine) as replays:
        async with replays.at(ana.stream, 1, ["memories"]) as connection:
            before = await _backend(connection)
        # The write alone, as a process leaves it that is killed before it ends the replays.
        await engine.writes.handler.handle(ERASURE, EraseMemory(user_id=user, memory_id=memory_id))
        async with replays.at(ana.stream, 1, ["memories"]) as connection:
            assert await _backend(connection) != before
            assert await _texts(connection) == [""]


async def test_a_replay_that_lost_its_connection_is_made_again(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    await ana.creates("Ana drinks tea")

    async with opened_replays(engine) as replays:
        async with replays.at(ana.stream, 1, ["memories"]) as connection:
            lost = await _backend(connection)
        async with engine.projections.live.connect() as other:
            await other.execute(text("SELECT pg_terminate_backend(:pid, 5000)"), {"pid": lost})
        async with replays.at(ana.stream, 1, ["memories"]) as connection:
            assert await _texts(connection) == ["Ana drinks tea"]


@pytest.mark.parametrize("erasures", [1, 4])
async def test_a_read_is_repeated_whose_replay_erasures_elsewhere_ended(
    engine: Engine, user: str, erasures: int
) -> None:
    ana, asked = Person(engine, user), list[int]()
    await ana.creates("Ana drinks tea")

    async def read(connection: AsyncConnection, _: Viewer) -> Sequence[str]:
        asked.append(await _backend(connection))
        if len(asked) <= erasures:
            await connection.execute(text("SELECT pg_terminate_backend(pg_backend_pid())"))
        return await _texts(connection)

    assert await engine.reads._read(ana.viewer, Moment(as_of=1), ["memories"], read) == ["Ana drinks tea"]
    assert len(set(asked)) == erasures + 1


async def test_an_erasure_ends_no_replay_that_begins_here_meanwhile(
    engine: Engine, user: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ana, shown = Person(engine, user), list[str]()
    await ana.creates("Ana drinks tea")

    async with opened_replays(engine) as replays:
        opened = replays._engine

        @asynccontextmanager
        async def late() -> AsyncIterator[AsyncConnection]:
            monkeypatch.setattr(replays, "_engine", opened)
            async with replays.at(ana.stream, 1, ["memories"]) as begun, opened.connect() as connection:
                yield connection
                shown.extend(await _texts(begun))

        monkeypatch.setattr(replays, "_engine", SimpleNamespace(connect=late))
        await replays.forget(ana.stream)

    assert shown == ["Ana drinks tea"]


async def test_no_more_replays_stay_than_may(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    for number in range(5):
        await ana.creates(f"Ana drinks tea number {number}")

    async with opened_replays(engine, kept=2) as replays:
        seen = set()
        for seq in range(6):
            async with replays.at(ana.stream, seq, ["memories"]) as connection:
                seen.add(await _backend(connection))
        async with asyncio.timeout(60):  # A backend ends a little after its connection.
            while len(left := seen & await replaying(engine)) > 2:  # noqa: ASYNC110  It is another program that ends.
                await asyncio.sleep(0.02)
        assert len(left) == 2


class Held(InThread):
    """An embedder that answers when it is let go."""

    def __init__(self) -> None:
        super().__init__(Lexical())
        self.asked, self.go = asyncio.Event(), asyncio.Event()

    async def embed(self, texts: Sequence[str]) -> Vectors:
        self.asked.set()
        await self.go.wait()
        return await super().embed(texts)


async def test_who_waits_too_long_for_a_turn_is_told_and_plain_reads_go_on(engine: Engine, user: str) -> None:
    ana, held = Person(engine, user), Held()
    held.model = f"held-{user}"  # None of its vectors is kept.
    await ana.creates("Ana drinks tea")

    async def reads_slowly() -> None:
        async with replays.at(ana.stream, 1, ["vectors"]):
            pass

    async with opened_replays(engine, VectorsProjector(held, PgVectorIndex()), at_once=1) as replays:
        slow = asyncio.create_task(reads_slowly())
        await held.asked.wait()
        for seq in (0, 1):  # Another moment waits for the pool, the same one for its replay.
            with pytest.raises(Overloaded, match="no replay slot became free"):
                async with replays.at(ana.stream, seq, ["vectors"], deadline=0.05):
                    pass
        assert await ana.finds("tea") == ["Ana drinks tea"]
        held.go.set()
        await slow
        async with replays.at(ana.stream, 0, ["vectors"]):
            pass


async def test_a_replay_leaves_no_embedding_that_was_missing(engine: Engine, user: str) -> None:
    ana, fresh = Person(engine, user), Held()
    fresh.model = f"fresh-{user}"
    fresh.go.set()
    await ana.creates("Ana drinks tea")

    async with (
        opened_replays(engine, VectorsProjector(fresh, PgVectorIndex())) as replays,
        replays.at(ana.stream, 1, ["vectors"]) as connection,
    ):
        [vectors] = (await connection.execute(text("SELECT count(*) FROM pg_temp.vectors"))).scalars()
        assert vectors == 1

    async with engine.projections.live.connect() as other:
        kept = text("SELECT count(*) FROM mnemolog.embeddings WHERE model = :model")
        assert (await other.execute(kept, {"model": fresh.model})).scalar_one() == 0


async def test_rows_are_looked_up_by_their_key_however_many_one_user_has(engine: Engine, user: str) -> None:
    """Without statistics any index on the user looked as good, and a replay took the square of the events."""
    ana = Person(engine, user)
    for number in range(40):
        await ana.creates(f"Ana drinks tea number {number}")

    async with opened_replays(engine) as replays, replays.at(ana.stream, 40, ["memories"]) as connection:
        await connection.execute(text("SET LOCAL enable_seqscan = off"))
        plan = await connection.execute(
            text(
                "EXPLAIN SELECT * FROM pg_temp.memories"
                " WHERE tenant = 'default' AND user_id = :user AND memory_id = CAST(:memory_id AS uuid)"
            ),
            {"user": user, "memory_id": uuid4()},
        )
        assert "memories_pkey" in "\n".join(plan.scalars())


async def _backend(connection: AsyncConnection) -> int:
    return int((await connection.execute(text("SELECT pg_backend_pid()"))).scalar_one())


async def _texts(connection: AsyncConnection) -> Sequence[str]:
    return list((await connection.execute(select(memories.c.text))).scalars())
