"""Rebuild beside the live projection and swap: nothing is lost, no reader fails, a crash resumes (X05)."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any
from uuid import UUID

import psutil  # type: ignore[import-untyped]
import pytest
from sqlalchemy import event, func, select, text
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlalchemy.schema import CreateSchema, DropSchema

from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.erasure.erasing import Erasure, erase
from mnemolog.adapters.postgres.comparison import differing_rows
from mnemolog.adapters.postgres.rebuildable import RebuildablePostgres
from mnemolog.adapters.postgres.store import PostgresStore
from mnemolog.adapters.projecting.filling import FillEndpoints as FillPlace
from mnemolog.adapters.projecting.filling import FillProcesses
from mnemolog.adapters.redis.working import WorkingStore
from mnemolog.commands.erasure import EraseThread
from mnemolog.domain.errors import EngineError, InvalidInput
from mnemolog.events.envelope import USER, StreamId
from mnemolog.projections.memories.tables import links, memories
from mnemolog.projections.owner import OWNER, owner_of
from mnemolog.projections.runtime import Projection
from tests.engine.equality import assert_live_equals_replayed
from tests.engine.person import Person
from tests.engine.story import tell
from tests.testkit import warm
from tests.testkit.eventually import eventually
from tests.testkit.own_engine import own_engine  # noqa: F401

# One with rows in Postgres, as all others, one that waits for its index, and one in Redis.
DISTINCT = ("memories", "vectors", "working")


@asynccontextmanager
async def over_and_over(*steps: Callable[[], Awaitable[object]]) -> AsyncIterator[list[int]]:
    """Runs each step in a loop of its own meanwhile; the first error of any ends the test. Yields the counts."""
    counts = [0] * len(steps)
    going = True

    async def loop(position: int) -> None:
        while going:
            await steps[position]()
            counts[position] += 1

    async with asyncio.timeout(300), asyncio.TaskGroup() as group:
        for position in range(len(steps)):
            group.create_task(loop(position))
        try:
            yield counts
        finally:
            going = False


@pytest.mark.spec_part("X05")
async def test_nothing_is_lost_when_projections_are_rebuilt_while_writes_go_on(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    written: list[UUID] = []

    async def write() -> None:
        written.append(await ana.creates(f"Ana drinks tea number {len(written)}"))
        await asyncio.sleep(0.1)  # Each rebuild below reads all that were written before it.

    async def more_than(before: int) -> bool:
        return len(written) > before

    async with over_and_over(write, write):
        for names in ([], *([name] for name in DISTINCT)):
            before = len(written)
            for rebuilt in await engine.projections.rebuild_all(names):
                assert rebuilt.equal, f"{rebuilt.name}: {dict(rebuilt.differences)}"
            await eventually(partial(more_than, before))

    told = await engine.reads.newest(ana.viewer, 10_000, await ana.caught_up())
    assert {row["memory_id"] for row in told} == set(written)
    await assert_live_equals_replayed(engine, ana.stream)


@pytest.mark.spec_part("X05")
async def test_no_reader_fails_while_projections_are_swapped(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    await tell(ana)
    expected = await ana.everything(await ana.caught_up())
    session = await engine.reads.session(ana.viewer, ana.thread)

    async def read() -> None:
        assert await ana.everything() == expected

    async def recall() -> None:
        assert await engine.reads.session(ana.viewer, ana.thread) == session

    async with over_and_over(read, recall) as counts:
        await engine.projections.rebuild_all()

    assert min(counts) > 3


async def test_a_reader_and_a_swap_do_not_wait_for_each_other(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    await tell(ana)
    await engine.settled(60)
    async with engine.projections.live.connect() as reader:
        await reader.execution_options(isolation_level="READ COMMITTED")
        await reader.execute(select(func.count()).select_from(memories))
        rebuilding = asyncio.create_task(engine.projections.rebuild("memories"))

        async def waits() -> bool:
            async with engine.projections.live.connect() as other:
                found = await other.execute(
                    text("SELECT 1 FROM pg_locks WHERE NOT granted AND mode LIKE '%Exclusive%'")
                )
                return bool(found.all())

        await eventually(waits)
        await reader.execute(select(func.count()).select_from(links))
        await reader.rollback()
    assert (await rebuilding).equal


@pytest.mark.spec_part("X05")
async def test_a_rebuild_continues_from_what_a_crashed_one_left(engine: Engine, user: str) -> None:
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


@pytest.mark.spec_part("X05")
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
    assert [await shadow.every_key(slot) for slot in shadow.slots.every] == [[]]


@pytest.mark.spec_part("X05")
async def test_a_rebuild_finds_rows_that_were_changed_behind_the_engine_and_heals_them(
    engine: Engine, user: str
) -> None:
    ana = Person(engine, user)
    await ana.creates("Ana drinks tea")
    await ana.finds("tea")
    await _forge(engine, user, "Ana drinks gin")

    rebuilt = await engine.projections.rebuild("memories")

    assert rebuilt.differences == {
        "links": 0,
        "memories": 2,
        "memories_lexicon": 0,
        "memories_postings": 0,
        "progress": 0,
    }
    assert await ana.finds("tea") == ["Ana drinks tea"]


async def _forge(engine: Engine, user: str, words: str) -> None:
    async with engine.projections.live.begin() as connection:
        schema = _store(engine, "memories").schema
        forged = text(f"UPDATE {schema}.memories SET text = :words WHERE user_id = :user")  # noqa: S608
        await connection.execute(forged, {"words": words, "user": user})


async def test_a_rebuild_tells_its_progress_event_by_event(engine: Engine, user: str) -> None:
    await Person(engine, user).creates("Ana drinks tea")
    steps: list[int] = []

    rebuilt = await engine.projections.rebuild("history", steps.append)

    assert sum(steps) == rebuilt.events == await _events(engine)


async def test_two_rebuilds_of_one_projection_at_once_end_as_one(engine: Engine, user: str) -> None:
    await Person(engine, user).creates("Ana drinks tea")

    for name in DISTINCT:
        both = await asyncio.gather(engine.projections.rebuild(name), engine.projections.rebuild(name))
        assert [rebuilt.equal for rebuilt in both] == [True, True]

    await assert_live_equals_replayed(engine, StreamId.of_user(user))


@pytest.mark.spec_part("X05")
async def test_only_tables_of_other_versions_are_dropped_on_request(engine: Engine, user: str) -> None:
    await Person(engine, user).creates("Ana drinks tea")
    live = _store(engine, "vectors")
    beside = await RebuildablePostgres(live).shadow()
    kept = {live.schema, beside.schema, "mnemolog_vectors_of_others"}
    former = {"mnemolog_vectors_v1", "mnemolog_vectors_v77_another_model"}
    async with live.engine.begin() as connection:
        for schema in {*former, "mnemolog_vectors_of_others"}:
            await connection.execute(CreateSchema(schema))
            await connection.execute(text(f"CREATE TABLE {schema}.vectors (said text)"))

    dropped = await engine.projections.drop_former(["vectors"])

    assert set(dropped) == former
    async with live.engine.begin() as connection:
        names = text("SELECT nspname FROM pg_namespace WHERE starts_with(nspname, 'mnemolog_vectors')")
        assert set((await connection.execute(names)).scalars()) == kept
        await connection.execute(DropSchema("mnemolog_vectors_of_others", cascade=True))
    await beside.drop()


@pytest.mark.spec("X05", "X09")
@pytest.mark.parametrize("dropped", ["SCHEMA {schema}", "TABLE {schema}.memories"])
async def test_dropped_tables_are_recreated_and_filled(engine: Engine, user: str, dropped: str) -> None:
    ana = Person(engine, user)
    await tell(ana)
    expected = await ana.everything(await ana.caught_up())
    live = _store(engine, "memories")
    async with live.engine.begin() as connection:
        await connection.execute(text(f"DROP {dropped} CASCADE".format(schema=live.schema)))

    await engine.projections.rebuild("memories")

    assert await ana.everything(await ana.caught_up()) == expected
    async with live.engine.begin() as connection:
        await connection.execute(text(f"DROP {dropped} CASCADE".format(schema=live.schema)))
    await engine.projections.create_missing()
    assert await ana.everything(await ana.caught_up()) == expected
    await assert_live_equals_replayed(engine, ana.stream)


async def test_a_projection_that_does_not_exist_is_refused_by_name(engine: Engine) -> None:
    with pytest.raises(InvalidInput) as refused:
        await engine.projections.rebuild("memoires")

    assert refused.value.field == "projection"


@pytest.fixture
def side_by_side(monkeypatch: pytest.MonkeyPatch) -> None:
    """However short the log is, a process for each core fills the shadows; each begins with its imports done."""
    monkeypatch.setattr("sys.executable", warm.python())
    monkeypatch.setattr("mnemolog.adapters.projecting.projections.EVENTS_A_PROCESS", 1)


@pytest.mark.spec_part("X05")
@pytest.mark.usefixtures("side_by_side")
async def test_processes_side_by_side_fill_all_projections_and_live_events_follow(engine: Engine, user: str) -> None:
    people = [Person(engine, f"{user}-{number}") for number in range(4)]
    for person in people:
        await tell(person)
    for number in range(60):  # So many that they go by COPY.
        await people[0].creates(f"Ana drinks tea number {number}")
    await engine.settled(60)
    expected = [await person.everything() for person in people]
    steps: list[int] = []

    rebuilt = await engine.projections.rebuild_all(progressed=steps.append)

    assert [one.name for one in rebuilt if not one.equal] == []
    assert {one.events for one in rebuilt} == {await _events(engine)}
    assert sum(steps) == len(rebuilt) * await _events(engine)
    assert [await person.everything() for person in people] == expected
    await tell(people[0])
    await assert_live_equals_replayed(engine, people[0].stream, people[1].stream)


@pytest.mark.spec_part("X05")
@pytest.mark.usefixtures("side_by_side")
async def test_a_rebuild_whose_processes_fail_swaps_nothing_and_leaves_none_behind(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    await tell(ana)
    expected = await ana.everything(await ana.caught_up())
    projections = engine.projections
    dsn = engine.endpoints.postgres_dsn
    place = FillPlace(dsn, dsn, engine.endpoints.redis_url, bytes(32), "lexical")

    with pytest.raises(EngineError, match="another master key"):
        await FillProcesses(place).fill(["memories"], 2, lambda count: None)
    assert not [one for one in psutil.Process().children() if "fill_process" in " ".join(one.cmdline())]

    assert await ana.everything() == expected
    assert (await projections.rebuild("memories")).equal


@pytest.mark.spec_part("X05")
async def test_rows_of_a_user_who_writes_during_the_comparison_are_counted_once(engine: Engine, user: str) -> None:
    ana, bob = Person(engine, user), Person(engine, f"{user}-bob")
    for person in (ana, bob):
        await person.creates("tea")
    await engine.settled(60)
    live = _store(engine, "memories")
    beside = RebuildablePostgres(live)
    shadow = Projection(await beside.shadow(), engine.log)
    await shadow.catch_up()
    await _forge(engine, ana.user, "gin")
    await beside.compare()
    await ana.creates("more tea")
    await bob.creates("more tea")
    await engine.settled(60)

    async with beside.quiet():
        await shadow.catch_up()
        found = await beside.differences()

    counts = {table: rows.total() for table, rows in found.items()}
    assert counts == {"links": 0, "memories": 2, "memories_lexicon": 0, "memories_postings": 0, "progress": 0}
    assert not (await engine.projections.rebuild("memories")).equal


@pytest.mark.spec_part("X05")
async def test_more_users_may_write_during_the_comparison_than_a_statement_takes_parameters(
    engine: Engine, user: str
) -> None:
    ana = Person(engine, user)
    await ana.creates("tea")
    await engine.settled(60)
    live = _store(engine, "memories")
    beside = RebuildablePostgres(live)
    await Projection(await beside.shadow(), engine.log).catch_up()
    await _forge(engine, ana.user, "gin")
    moved = [owner_of(ana.stream), *((ana.tenant, USER, f"nobody-{place}") for place in range(65_535 // len(OWNER)))]

    async with live.engine.begin() as connection:
        asked = list[tuple[str, Any]]()

        @event.listens_for(connection.sync_connection, "before_cursor_execute")
        def note(_connection: object, _cursor: object, statement: str, parameters: Any, *_: object) -> None:
            asked.append((statement, parameters))

        found = await differing_rows(connection, live, beside.place, moved)
        assert connection.sync_connection
        event.remove(connection.sync_connection, "before_cursor_execute", note)
        of_tables = [one for one in asked if "FULL OUTER JOIN" in one[0]]
        plans = [await _planned(connection, *one) for one in of_tables]

    assert len(plans) == len(found)
    assert not [plan for plan in plans if "Nested Loop" in plan], "each row would be compared with each user"
    assert {table: dict(rows) for table, rows in found.items() if rows} == {"memories": {owner_of(ana.stream): 2}}
    assert not (await engine.projections.rebuild("memories")).equal


async def _planned(connection: AsyncConnection, statement: str, parameters: Any) -> str:
    return "\n".join((await connection.exec_driver_sql(f"EXPLAIN {statement}", parameters)).scalars())


@pytest.mark.spec_part("X05", "X11")
@pytest.mark.parametrize("name", DISTINCT)
async def test_an_erasure_that_the_live_projection_has_not_applied_yet_is_no_difference(
    engine: Engine, user: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ana = Person(engine, user)
    await ana.says("Hello")
    await engine.settled(60)
    beside, erasing = engine.projections._rebuildable[name], list[asyncio.Task[Erasure]]()
    compare, quiet = beside.compare, beside.quiet

    async def compare_before_a_memory() -> None:
        await compare()
        await ana.remembers("Ana plays the cello")
        await engine.settled(60)

    @asynccontextmanager
    async def quiet_with_an_erasure() -> AsyncIterator[None]:
        async with quiet():
            if not erasing:
                head = await engine.log.head(ana.stream)
                erasing.append(asyncio.create_task(erase(engine, EraseThread(user_id=user, thread_id=ana.thread))))
                await eventually(partial(_has_grown, engine, ana.stream, head))
            yield

    monkeypatch.setattr(beside, "compare", compare_before_a_memory)
    monkeypatch.setattr(beside, "quiet", quiet_with_an_erasure)
    rebuilt = await engine.projections.rebuild(name)
    await asyncio.gather(*erasing)

    assert rebuilt.equal, dict(rebuilt.differences)
    await assert_live_equals_replayed(engine, ana.stream)


async def _has_grown(engine: Engine, stream: StreamId, head: int) -> bool:
    return await engine.log.head(stream) > head
