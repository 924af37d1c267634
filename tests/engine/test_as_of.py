"""Time travel: a read as of a moment gives exactly what a live read gave then (X02)."""

import asyncio
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from sqlalchemy import text

from mnemolog.adapters.engine.engine import Engine, now
from mnemolog.adapters.minilm import InThread, Lexical
from mnemolog.adapters.pgvector import PgVectorIndex
from mnemolog.adapters.postgres import as_of
from mnemolog.domain.errors import InvalidInput, NotFound
from mnemolog.projections.query import Answer
from mnemolog.projections.reads.memories import Changes
from mnemolog.projections.reads.moment import Moment
from mnemolog.projections.vectors.embedder import Vectors
from mnemolog.projections.vectors.projector import VectorsProjector
from tests.engine.person import Person
from tests.engine.replays import opened_replays, replaying
from tests.engine.story import tell, told


@pytest.mark.spec("X02")
async def test_reads_as_of_each_seq_give_what_live_reads_gave_then(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    live: dict[int, dict[str, Any]] = {}
    async for _ in told(ana):
        live[await engine.log.head(ana.stream)] = await ana.everything(await ana.caught_up())

    for seq, answers in live.items():
        assert _same(await ana.everything(Moment(as_of=seq)), answers), f"at seq {seq}"


@pytest.mark.spec("X02")
async def test_reads_as_of_each_time_give_what_live_reads_gave_then(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    live: dict[datetime, tuple[Answer, Changes]] = {}
    async for _ in told(ana):
        moment = await ana.caught_up()
        live[now()] = await ana.asks("lactose Lisbon tea", moment), await ana.changes(0, moment)

    for at, (answer, changes) in live.items():
        assert await ana.asks("lactose Lisbon tea", Moment(as_of=at)) == answer, f"at {at}"
        assert await ana.changes(0, Moment(as_of=at)) == changes, f"at {at}"


def _same(then: dict[str, Any], live: dict[str, Any]) -> bool:
    """Of memories that came later, neither tells anything."""
    known = [position for position, found in enumerate(live["memory"]) if found]
    parts = ("memory", "history")
    assert all(not any(found for found in then[part][len(live[part]) :]) for part in parts)
    return all(then[part] == live[part] for part in live if part not in parts) and all(
        then[part][position] == live[part][position] for part in parts for position in known
    )


@pytest.mark.spec("X02")
@pytest.mark.spec_part("A04")
async def test_a_session_as_of_a_moment_is_the_session_that_was_read_then(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    await ana.says("I moved to Lisbon")
    seq, at = await engine.log.head(ana.stream), now()
    then = await engine.reads.session(ana.viewer, ana.thread, await ana.caught_up())
    await ana.says("And I like it")

    assert await engine.reads.session(ana.viewer, ana.thread, await ana.caught_up()) != then
    assert await engine.reads.session(ana.viewer, ana.thread, Moment(as_of=seq)) == then
    assert await engine.reads.session(ana.viewer, ana.thread, Moment(as_of=at)) == then


async def test_an_event_that_has_not_happened_is_refused(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    await ana.says("I moved to Lisbon")
    head = await engine.log.head(ana.stream)

    with pytest.raises(InvalidInput, match=f"as_of: {head + 1} is after the last event, {head}"):
        await engine.reads.session(ana.viewer, ana.thread, Moment(as_of=head + 1))
    with pytest.raises(InvalidInput, match="as_of"):
        await ana.asks("Lisbon", Moment(as_of=head + 1))


async def test_a_session_as_of_a_day_of_silence_later_is_over(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    await ana.says("I moved to Lisbon")
    await engine.reads.session(ana.viewer, ana.thread, await ana.caught_up())

    with pytest.raises(NotFound):
        await engine.reads.session(ana.viewer, ana.thread, Moment(as_of=now() + timedelta(hours=25)))


async def test_nothing_is_known_as_of_a_time_before_the_first_event(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    before = now() - timedelta(seconds=1)
    memory_id = await ana.creates("Ana drinks tea")

    assert await ana.finds("tea", Moment(as_of=before)) == []
    with pytest.raises(NotFound):
        await engine.reads.memory(ana.viewer, memory_id, Moment(as_of=before))


async def test_as_of_a_time_without_an_offset_is_refused(engine: Engine, user: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        await Person(engine, user).asks("tea", Moment(as_of=datetime(2026, 1, 1)))  # noqa: DTZ001

    assert refused.value.field == "as_of"


class Counting(InThread):
    """An embedder that keeps what it was asked for."""

    def __init__(self) -> None:
        super().__init__(Lexical())
        self.asked: list[str] = []

    async def embed(self, texts: Sequence[str]) -> Vectors:
        self.asked += texts
        return await super().embed(texts)


@pytest.mark.spec("X02")
async def test_a_replay_asks_the_embedder_nothing(engine: Engine, user: str) -> None:
    ana, counting = Person(engine, user), Counting()
    await tell(ana)
    await ana.changes()
    async with (
        opened_replays(engine, VectorsProjector(counting, PgVectorIndex())) as replays,
        replays.at(ana.stream, await engine.log.head(ana.stream), ["vectors"]) as connection,
    ):
        [vectors] = (await connection.execute(text("SELECT count(*) FROM pg_temp.vectors"))).scalars()

    assert vectors == len(await ana.memory_ids()) + 3  # Messages, one of them deleted.
    assert counting.asked == []


@pytest.mark.spec("X02")
async def test_a_read_as_of_leaves_nothing_behind(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    await tell(ana)
    await ana.changes()
    await engine.reads.replays.aclose()
    await _without_replays(engine)
    before = await _inventory(engine)

    await ana.everything(Moment(as_of=5), query=f"a question that nobody asked {uuid4()}")
    await engine.reads.replays.aclose()

    await _without_replays(engine)
    assert await _inventory(engine) == before


async def _without_replays(engine: Engine) -> None:
    """A backend ends a little after its connection, and its tables with it."""
    async with asyncio.timeout(60):
        while await replaying(engine):  # noqa: ASYNC110  It is another program that ends.
            await asyncio.sleep(0.02)


async def _inventory(engine: Engine) -> tuple[list[str], int]:
    """Every relation of the database, and how many embeddings are kept."""
    async with engine.projections.live.connect() as connection:
        names = await connection.execute(
            text(
                "SELECT c.oid::text || ' ' || n.nspname || '.' || c.relname FROM pg_class AS c"
                " JOIN pg_namespace AS n ON n.oid = c.relnamespace ORDER BY 1"
            )
        )
        kept = await connection.execute(text("SELECT count(*) FROM mnemolog.embeddings"))
        return list(names.scalars()), kept.scalar_one()


async def test_batches_of_any_size_give_the_same(engine: Engine, user: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ana = Person(engine, user)
    await tell(ana)
    seq = await engine.log.head(ana.stream) - 1
    whole = await ana.everything(Moment(as_of=seq))
    await engine.reads.replays.aclose()

    monkeypatch.setattr(as_of, "PORTION", 3)

    assert await ana.everything(Moment(as_of=seq)) == whole
