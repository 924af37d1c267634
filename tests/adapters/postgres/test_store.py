"""The store of a projection: rows and progress change together, gaps heal, and poison stops its stream only."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from dataclasses import replace
from random import Random

import pytest
from sqlalchemy import Column, Index, MetaData, Table, Text, func, select, text
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.postgres.confinement import READER
from mnemolog.adapters.postgres.log import PostgresLog
from mnemolog.adapters.postgres.rebuildable import RebuildablePostgres
from mnemolog.adapters.postgres.sqlalchemy import create_engine
from mnemolog.adapters.postgres.store import PostgresStore
from mnemolog.events.envelope import Recorded, StoredEvent, StreamId
from mnemolog.events.log import Append
from mnemolog.events.memory import ContentEvent
from mnemolog.projections.kinds import Kinds
from mnemolog.projections.rows import upsert
from mnemolog.projections.runtime import Projection
from mnemolog.projections.seal import RowSeal
from tests.testkit.events import created, new

POISON = "poison"
TOO_LONG = "too long"
MOST_PARAMETERS = 65_535


class Texts:
    """A projector of what was said, one row an event. It cannot bear poison, nor its index what is too long."""

    name = "texts"
    version = 1
    readable_from = 1
    variant = ""
    kinds = Kinds(ContentEvent)
    tables = MetaData(schema=name)
    said = Table(
        "said",
        tables,
        Column("tenant", Text, primary_key=True),
        Column("stream", Text, primary_key=True),
        Column("seq", Text, primary_key=True),
        Column("text", Text),
        Index("said_text", "text"),
    )

    def __init__(self) -> None:
        self.cured = False

    async def apply(self, connection: AsyncConnection, events: Sequence[Recorded]) -> None:
        for event in events:
            assert isinstance(event.payload, ContentEvent)
            text = event.payload.text
            said = _incompressible() if text == TOO_LONG and not self.cured else text
            row = {"tenant": event.stream.tenant, "stream": event.stream.name, "seq": str(event.seq), "text": said}
            await upsert(connection, self.said, [row])
            if text == POISON and not self.cured:
                raise ValueError("I cannot bear this")


def _incompressible() -> str:
    return "".join(chr(0x4E00 + (number * 7919) % 20_000) for number in range(4000))


@pytest.fixture
async def sqlalchemy(engine: Engine) -> AsyncIterator[AsyncEngine]:
    made = create_engine(engine.endpoints.postgres_dsn, RowSeal(b"a key of rows"), pool_size=10)
    yield made
    await made.dispose()


@pytest.fixture
async def store(sqlalchemy: AsyncEngine) -> AsyncIterator[PostgresStore]:
    made = PostgresStore(sqlalchemy, Texts())
    await made.create()
    yield made
    await made.drop()


async def written(log: PostgresLog, stream: StreamId, *texts: str) -> list[StoredEvent]:
    """These texts as events of a stream, and the stream's rows."""
    await log.append([Append(stream, tuple(new(created(text=text)) for text in texts))])
    return [event async for batch in log.scan(stream) for event in batch]


async def said(store: PostgresStore, stream: StreamId) -> list[str]:
    statement = select(Texts.said.c.text).where(Texts.said.c.stream == stream.name).order_by(Texts.said.c.seq)
    async with store.engine.connect() as connection:
        return list((await connection.execute(statement)).scalars())


@pytest.mark.spec("X09")
async def test_what_is_delivered_is_applied_once_and_in_order(
    store: PostgresStore, log: PostgresLog, stream: StreamId
) -> None:
    one, two, three = await written(log, stream, "one", "two", "three")
    projection = Projection(store, log)

    for delivery in ([one], [one, two], [three, one, three], [two]):
        await projection.deliver(delivery)

    assert await said(store, stream) == ["one", "two", "three"]
    assert await store.progress(stream) == 3


@pytest.mark.spec("X09")
async def test_a_gap_is_read_from_the_log(store: PostgresStore, log: PostgresLog, stream: StreamId) -> None:
    *_, last = await written(log, stream, "one", "two", "three")

    await Projection(store, log).deliver([last])

    assert await said(store, stream) == ["one", "two", "three"]


async def test_what_was_applied_before_is_skipped_and_not_applied_again(
    store: PostgresStore, log: PostgresLog, stream: StreamId
) -> None:
    events = await written(log, stream, "one", "two")
    projection = Projection(store, log)
    await projection.deliver(events)
    forged = replace(events[0], data=events[1].data)

    await projection.deliver([forged])

    assert await said(store, stream) == ["one", "two"]


@pytest.mark.spec("X09")
@pytest.mark.parametrize("poison", [POISON, TOO_LONG])
async def test_poison_stops_its_stream_and_no_other(
    store: PostgresStore, log: PostgresLog, stream: StreamId, poison: str
) -> None:
    healthy = StreamId(stream.tenant, f"{stream.name}-healthy")
    events = [*await written(log, stream, "one", poison, "three"), *await written(log, healthy, "all", "well")]

    await Projection(store, log).deliver(events)

    assert await said(store, healthy) == ["all", "well"]
    assert await said(store, stream) == ["one"]
    assert await store.progress(stream) == 1
    stopped = await store.stopped()
    assert set(stopped) == {stream}
    assert stopped[stream].seq == 2


async def test_a_stopped_stream_stays_where_it_is_until_it_is_resumed(
    store: PostgresStore, log: PostgresLog, stream: StreamId
) -> None:
    events = await written(log, stream, "one", POISON, "three")
    projection = Projection(store, log)
    await projection.deliver(events)
    assert isinstance(store.projector, Texts)
    store.projector.cured = True

    await projection.deliver(events)
    assert await said(store, stream) == ["one"]
    await store.resume()
    assert await store.stopped() == {}
    await projection.read_on(stream, 1, 3)

    assert await said(store, stream) == ["one", POISON, "three"]


async def test_more_streams_are_resumed_and_asked_for_than_a_statement_takes_parameters(
    store: PostgresStore, log: PostgresLog, stream: StreamId
) -> None:
    events = await written(log, stream, "one", POISON)
    await Projection(store, log).deliver(events)
    many = [stream, *(StreamId.of_user(f"nobody-{place}") for place in range(MOST_PARAMETERS // 2))]

    progress = await store.progress_of(many)
    await store.resume(many)

    assert (progress[stream], sum(progress.values())) == (1, 1)
    assert await store.stopped() == {}


async def test_a_rollback_leaves_neither_rows_nor_progress(
    store: PostgresStore, log: PostgresLog, stream: StreamId
) -> None:
    events = await written(log, stream, "one", "two")

    with suppress(RuntimeError):
        async with store.session([stream]) as session:
            await session.apply(await log.decode(events))
            raise RuntimeError("the power went")

    assert await said(store, stream) == []
    assert await store.progress(stream) == 0


@pytest.mark.spec("X09")
async def test_workers_that_apply_the_same_at_once_apply_it_once(
    store: PostgresStore, log: PostgresLog, stream: StreamId
) -> None:
    streams = [StreamId(stream.tenant, f"{stream.name}-{number}") for number in range(4)]
    events = [event for each in streams for event in await written(log, each, "one", "two", "three")]

    await asyncio.gather(*(Projection(store, log).deliver(events[turn:] + events[:turn]) for turn in range(8)))

    for each in streams:
        assert await said(store, each) == ["one", "two", "three"]
    assert await store.stopped() == {}


async def test_workers_that_begin_streams_side_by_side_do_not_lock_each_other_out(
    store: PostgresStore, stream: StreamId
) -> None:
    random = Random(7)

    async def begin(streams: Sequence[StreamId]) -> None:
        async with store.session(streams) as session:
            for one in streams:
                await session.move(one, 1)

    for turn in range(20):
        streams = [replace(stream, name=f"{stream.name}-{turn}-{number}") for number in range(6)]
        await asyncio.gather(*(begin(sorted(random.sample(streams, 4))) for _ in range(8)))
        assert {await store.progress(one) for one in streams} == {1}


async def test_a_swap_comes_before_or_after_the_start_of_a_stream(store: PostgresStore, stream: StreamId) -> None:
    beside = RebuildablePostgres(store)
    await beside.shadow()
    held, new = stream, replace(stream, name=f"{stream.name}-new")
    async with store.session([held]):
        pass
    let_go = asyncio.Event()

    async def hold() -> None:
        async with store.session([held]):
            await let_go.wait()

    async def begin() -> None:
        async with store.session([held, new]) as session:
            await session.move(new, 1)

    async def swap() -> None:
        async with beside.quiet():
            await asyncio.sleep(0.3)
            await beside.swap()

    tasks = []
    for step in (hold, begin, swap):  # Each queues behind the one before.
        tasks.append(asyncio.create_task(step()))
        await asyncio.sleep(0.1)
    let_go.set()

    async with asyncio.timeout(60):
        await asyncio.gather(*tasks)


async def test_a_swap_changes_tables_in_a_schema_that_stays(store: PostgresStore, stream: StreamId) -> None:
    async with store.session([stream]) as session:
        await session.move(stream, 1)
    before = await places(store)
    beside = RebuildablePostgres(store)
    await beside.shadow()

    async with beside.quiet():
        await beside.swap()

    after = await places(store)
    assert after[store.schema] == before[store.schema]  # Or readers would look for tables in one that is gone.
    assert before.keys() == after.keys()
    assert {name for name, place in after.items() if before[name] != place} == after.keys() - {store.schema}
    assert await store.progress(stream) == 0


async def test_a_swap_restores_access_for_readers(store: PostgresStore) -> None:
    beside = RebuildablePostgres(store)
    await beside.shadow()
    async with store.engine.begin() as connection:
        await connection.execute(text(f'REVOKE USAGE ON SCHEMA "{store.schema}" FROM {READER}'))
    assert not await may_enter(store)

    async with beside.quiet():
        await beside.swap()

    assert await may_enter(store)


async def may_enter(store: PostgresStore) -> bool:
    async with store.engine.connect() as connection:
        may = select(func.has_schema_privilege(READER, store.schema, "USAGE"))
        return bool((await connection.execute(may)).scalar_one())


async def places(store: PostgresStore) -> dict[str, int]:
    """The schema of the store, and of its shadow, and the store's tables, each with its number in the catalogue."""
    schemas = "SELECT nspname, oid FROM pg_namespace WHERE starts_with(nspname, :schema)"
    tables = "SELECT relname, oid FROM pg_class WHERE relkind = 'r' AND relnamespace = to_regnamespace(:schema)"
    async with store.engine.connect() as connection:
        found = await connection.execute(text(f"{schemas} UNION ALL {tables}"), {"schema": store.schema})
        return {row[0]: row[1] for row in found}


async def test_creating_a_store_twice_keeps_its_rows(store: PostgresStore, log: PostgresLog, stream: StreamId) -> None:
    await Projection(store, log).deliver(await written(log, stream, "one"))

    await asyncio.gather(store.create(), store.create())

    assert await said(store, stream) == ["one"]
