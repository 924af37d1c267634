"""Rebuild beside the live projection and swap: nothing is lost, no reader fails, a crash resumes (X05)."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from uuid import UUID

import pytest
from sqlalchemy import text

from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.postgres.rebuildable import RebuildablePostgres
from mnemolog.adapters.postgres.store import PostgresStore
from mnemolog.adapters.redis.working import WorkingStore
from mnemolog.domain.errors import InvalidInput
from mnemolog.projections.runtime import Projection
from mnemolog.projections.working.projector import Place
from tests.engine.equality import assert_live_equals_rebuilt
from tests.engine.person import Person
from tests.engine.story import tell


@asynccontextmanager
async def over_and_over(*steps: Callable[[], Awaitable[object]]) -> AsyncIterator[list[int]]:
    """Runs each step in a loop of its own meanwhile; the first error of any ends the test. Yields the counts."""
    counts = [0] * len(steps)
    going = True

    async def loop(position: int) -> None:
        while going:
            await steps[position]()
            counts[position] += 1

    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        for position in range(len(steps)):
            group.create_task(loop(position))
        try:
            yield counts
        finally:
            going = False


@pytest.mark.spec("X05")
async def test_nothing_is_lost_when_projections_are_rebuilt_while_writes_go_on(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    written: list[UUID] = []

    async def write() -> None:
        written.append(await ana.creates(f"Ana drinks tea number {len(written)}"))
        await asyncio.sleep(0.005)

    async with over_and_over(write, write):
        for name in engine.projections.running:
            rebuilt = await engine.projections.rebuild(name)
            assert rebuilt.equal, f"{name}: {dict(rebuilt.differences)}"

    told = await engine.reads.newest(ana.stream, ana.agent, 10_000, await ana.caught_up())
    assert {row["memory_id"] for row in told} == set(written)
    await assert_live_equals_rebuilt(engine)


@pytest.mark.spec("X05")
async def test_no_reader_fails_while_projections_are_swapped(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    await tell(ana)
    expected = await ana.everything(await ana.caught_up())
    place = Place(ana.tenant, user, ana.agent, ana.thread)
    session = await engine.reads.session(place)

    async def read() -> None:
        assert await ana.everything() == expected

    async def recall() -> None:
        assert await engine.reads.session(place) == session

    async with over_and_over(read, read, read, recall) as counts:
        for name in [*engine.projections.running, *engine.projections.running]:
            await engine.projections.rebuild(name)

    assert min(counts) > 3


@pytest.mark.spec("X05")
async def test_a_rebuild_goes_on_from_what_a_crashed_one_left(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    await tell(ana)
    await engine.settled(60)
    shadow = await RebuildablePostgres(_store(engine, "memories")).shadow()
    head = await engine.log.head(ana.stream)
    left = await Projection(shadow, engine.log).read_on(ana.stream, 0, head - 3)

    rebuilt = await engine.projections.rebuild("memories")

    assert rebuilt.equal
    assert rebuilt.events == await _events(engine) - left


def _store(engine: Engine, name: str) -> PostgresStore:
    store = engine.projections.stores[name]
    assert isinstance(store, PostgresStore)
    return store


async def _events(engine: Engine) -> int:
    return sum([head.seq async for heads in engine.log.heads() for head in heads])


@pytest.mark.spec("X05")
async def test_working_memory_goes_on_from_what_a_crashed_rebuild_left(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    await ana.says("I moved to Lisbon")
    await ana.says("I like it here")
    await engine.settled(60)
    working = engine.projections.working
    shadow = WorkingStore(working._redis, "shadow:")
    left = await Projection(shadow, engine.log).read_on(ana.stream, 0, 3)

    rebuilt = await engine.projections.rebuild("working")

    assert rebuilt.equal
    assert rebuilt.events == await _events(engine) - left
    assert await shadow.every_key() == []


@pytest.mark.spec("X05")
async def test_a_rebuild_finds_rows_that_were_changed_behind_the_engine_and_heals_them(
    engine: Engine, user: str
) -> None:
    ana = Person(engine, user)
    memory_id = await ana.creates("Ana drinks tea")
    await ana.finds("tea")
    async with engine.projections.live.begin() as connection:
        schema = _store(engine, "memories").schema
        forged = text(f"UPDATE {schema}.memories SET text = 'Ana drinks gin' WHERE memory_id = :id")  # noqa: S608
        await connection.execute(forged, {"id": memory_id})

    rebuilt = await engine.projections.rebuild("memories")

    assert rebuilt.differences == {"links": 0, "memories": 2, "progress": 0}
    assert await ana.finds("tea") == ["Ana drinks tea"]


async def test_a_rebuild_tells_its_progress_event_by_event(engine: Engine, user: str) -> None:
    await Person(engine, user).creates("Ana drinks tea")
    steps: list[int] = []

    rebuilt = await engine.projections.rebuild("history", steps.append)

    assert sum(steps) == rebuilt.events == await _events(engine)


async def test_two_rebuilds_of_one_projection_at_once_end_as_one(engine: Engine, user: str) -> None:
    await Person(engine, user).creates("Ana drinks tea")

    for name in engine.projections.running:
        both = await asyncio.gather(engine.projections.rebuild(name), engine.projections.rebuild(name))
        assert [rebuilt.equal for rebuilt in both] == [True, True]

    await assert_live_equals_rebuilt(engine)


async def test_a_projection_that_does_not_exist_is_refused_by_name(engine: Engine) -> None:
    with pytest.raises(InvalidInput) as refused:
        await engine.projections.rebuild("memoires")

    assert refused.value.field == "projection"
