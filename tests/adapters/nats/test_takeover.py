"""One relay leads; when its session, its process or its JetStream is lost, all is delivered all the same."""

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial

import psycopg
import pytest

from mnemolog.adapters.nats.subjects import EVENTS
from mnemolog.events.envelope import StoredEvent, StreamId
from tests.adapters.nats.conftest import Apart
from tests.adapters.nats.test_relay import append, delivered, published, running, whole
from tests.testkit import warm
from tests.testkit.events import created, rows

TAKEOVER_SECONDS = 60.0
HANG_SECONDS = 60.0


async def seqs(apart: Apart, stream: StreamId) -> Sequence[int]:
    return [int((one.headers or {})["Mnemolog-Seq"]) for one in await published(apart, stream)]


async def insert(connection: psycopg.AsyncConnection, events: Sequence[StoredEvent]) -> None:
    """What an append writes, by hand, in a transaction that stays open."""
    for event in events:
        header = event.header
        await connection.execute(
            "INSERT INTO mnemolog.events (tenant, stream, seq, event_id, type, version, tags, meta, occurred_at,"
            " recorded_at, data, link) VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)",
            [
                header.stream.tenant,
                header.stream.name,
                header.seq,
                header.event_id,
                header.type,
                header.version,
                list(header.tags),
                psycopg.types.json.Jsonb(dict(header.meta)),
                header.occurred_at,
                header.recorded_at,
                event.data,
                event.link,
            ],
        )
    first, last = events[0].header, events[-1].header
    await connection.execute(
        "INSERT INTO mnemolog.outbox (tenant, stream, first_seq, last_seq) VALUES (%s, %s, %s, %s)",
        [first.stream.tenant, first.stream.name, first.seq, last.seq],
    )


@pytest.mark.spec("X01")
async def test_a_transaction_that_commits_late_with_an_early_id_is_published(apart: Apart, user: str) -> None:
    """Two transactions by hand: the ids of the outbox are drawn in one order and committed in the other."""
    early, late = StreamId.of_user(f"{user}-early"), StreamId.of_user(f"{user}-late")
    connect = psycopg.AsyncConnection.connect
    async with (
        running(apart.relay()),
        await connect(apart.postgres_dsn) as first,
        await connect(apart.postgres_dsn) as second,
    ):
        await insert(first, rows(early, [created(), created()], apart.chain_key))
        await insert(second, rows(late, [created()], apart.chain_key))
        await second.commit()
        await delivered(apart)
        for number in range(10):
            await append(apart, StreamId.of_user(f"{user}-{number}"))
        await delivered(apart)
        assert (await seqs(apart, early), await seqs(apart, late)) == ([], [1])

        await first.commit()
        await delivered(apart)

    assert (await seqs(apart, early), await seqs(apart, late)) == ([1, 2], [1])


@pytest.mark.spec("X01")
async def test_a_transaction_that_stays_open_holds_up_no_other_stream(apart: Apart, user: str) -> None:
    held, free = StreamId.of_user(f"{user}-held"), StreamId.of_user(f"{user}-free")
    async with running(apart.relay()), await psycopg.AsyncConnection.connect(apart.postgres_dsn) as open_one:
        await insert(open_one, rows(held, [created()], apart.chain_key))
        for _ in range(5):
            await append(apart, free)
            await delivered(apart)

        assert await seqs(apart, free) == [1, 2, 3, 4, 5]
        await open_one.rollback()


async def leader(apart: Apart) -> int:
    """The pid of the Postgres session that holds the relay's lock."""
    async with (
        asyncio.timeout(TAKEOVER_SECONDS),
        await psycopg.AsyncConnection.connect(apart.postgres_dsn, autocommit=True) as connection,
    ):
        while True:
            found = await connection.execute(
                "SELECT pid FROM pg_locks JOIN pg_database ON pg_database.oid = database"
                " WHERE locktype = 'advisory' AND granted AND datname = current_database()"
            )
            if row := await found.fetchone():
                return int(row[0])
            await asyncio.sleep(0.01)


async def end_session(apart: Apart, pid: int) -> None:
    async with await psycopg.AsyncConnection.connect(apart.postgres_dsn, autocommit=True) as connection:
        await connection.execute("SELECT pg_terminate_backend(%s)", [pid])


async def under_load(apart: Apart, streams: Sequence[StreamId], strike: Callable[[], Awaitable[None]]) -> None:
    """Append to all streams for a while, and strike in the middle."""
    for number in range(40):
        await asyncio.gather(*(append(apart, stream, 5) for stream in streams))
        if number == 20:
            await strike()


@pytest.mark.spec_part("X11")
async def test_when_the_leaders_session_dies_another_leads_within_seconds(apart: Apart, user: str) -> None:
    streams = [StreamId.of_user(f"{user}-{number}") for number in range(4)]
    struck: dict[str, float] = {}

    async def strike() -> None:
        pid = await leader(apart)
        struck["pid"], struck["at"] = pid, time.monotonic()
        await end_session(apart, pid)

    async with running(apart.relay()), running(apart.relay()):
        await under_load(apart, streams, strike)
        await delivered(apart)
        assert await leader(apart) != struck["pid"]

    for stream in streams:
        assert await seqs(apart, stream) == list(range(1, 201))


@pytest.mark.spec_part("X11")
async def test_a_leader_whose_session_died_reads_and_deletes_nothing_more(apart: Apart, user: str) -> None:
    async with apart.outbox.session() as old, apart.outbox.session() as other:
        assert await old.lead()
        assert not await other.lead()
        await end_session(apart, await leader(apart))
        assert await soon(other.lead)
        await append(apart, StreamId.of_user(user))

        with pytest.raises(psycopg.OperationalError):
            await apart.relay().deliver(old)

    assert await apart.outbox.size() == 1
    await apart.deliver()
    assert await seqs(apart, StreamId.of_user(user)) == [1]


async def soon(attempt: Callable[[], Awaitable[bool]]) -> bool:
    for _ in range(100):
        if await attempt():
            return True
        await asyncio.sleep(0.02)
    return False


@asynccontextmanager
async def relay_process(apart: Apart) -> AsyncIterator[warm.Process]:
    arguments = ["-m", "tests.adapters.nats.relay_process", apart.postgres_dsn, apart.nats_url]
    process = await warm.spawn(*arguments)
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


@pytest.mark.faults
@pytest.mark.spec_part("X11")
async def test_when_the_leaders_process_is_killed_another_leads_within_seconds(apart: Apart, user: str) -> None:
    streams = [StreamId.of_user(f"{user}-{number}") for number in range(4)]
    async with relay_process(apart) as first:
        await leader(apart)
        async with running(apart.relay()):

            async def strike() -> None:
                os.kill(first.pid, signal.SIGKILL)
                await first.wait()

            await under_load(apart, streams, strike)
            await delivered(apart, TAKEOVER_SECONDS)

    for stream in streams:
        assert await seqs(apart, stream) == list(range(1, 201))


@pytest.mark.faults
@pytest.mark.spec_part("X11")
async def test_when_the_leaders_process_hangs_another_leads_and_the_first_does_nothing_more(
    apart: Apart, user: str
) -> None:
    streams = [StreamId.of_user(f"{user}-{number}") for number in range(4)]
    async with relay_process(apart) as first:
        held_by = await leader(apart)
        async with running(apart.relay()):

            async def strike() -> None:
                os.kill(first.pid, signal.SIGSTOP)

            await under_load(apart, streams, strike)
            await delivered(apart, HANG_SECONDS)
            replaced_by = await leader(apart)
            os.kill(first.pid, signal.SIGCONT)
            await under_load(apart, streams, partial(asyncio.sleep, 0))
            await delivered(apart, HANG_SECONDS)
            assert await leader(apart) == replaced_by != held_by

    for stream in streams:
        assert await seqs(apart, stream) == list(range(1, 401))


async def test_a_relay_that_stops_gives_the_lead_to_another(apart: Apart, user: str) -> None:
    stream = StreamId.of_user(user)
    first = asyncio.create_task(apart.relay().run())
    await append(apart, stream)
    await delivered(apart)
    async with apart.outbox.session() as session:
        assert not await session.lead(), "another leads"

    async with running(apart.relay()):
        first.cancel()
        await asyncio.wait([first])
        await append(apart, stream)
        await delivered(apart)

    assert await seqs(apart, stream) == [1, 2]
    async with apart.outbox.session() as session:
        assert await soon(session.lead)


async def test_a_stream_that_is_lost_while_the_relay_runs_is_made_again(apart: Apart, user: str) -> None:
    stream = StreamId.of_user(user)
    async with running(apart.relay()):
        await append(apart, stream)
        await delivered(apart)
        await apart.jetstream.delete_stream(EVENTS)
        await append(apart, stream, 3)
        await delivered(apart)

    assert await seqs(apart, stream) == [2, 3, 4]


async def test_a_full_stream_that_refuses_loses_nothing_once_there_is_room(apart: Apart, user: str) -> None:
    stream = StreamId.of_user(user)
    info = await apart.jetstream.stream_info(EVENTS)
    full = info.config.evolve(max_bytes=max(1, info.state.bytes), discard="new")
    await apart.jetstream.update_stream(full)
    async with running(apart.relay()):
        await append(apart, stream, 3)
        await asyncio.sleep(0.5)
        assert await apart.outbox.size() == 1

        await apart.jetstream.update_stream(info.config)
        await delivered(apart)

    assert await seqs(apart, stream) == [1, 2, 3]


async def test_a_row_of_many_events_is_cut_into_parts_that_name_each_event_once(apart: Apart, user: str) -> None:
    stream = StreamId.of_user(user)
    await append(apart, stream, 7)
    async with apart.outbox.session() as session:
        [row] = await session.pending(10)
        parts = list(row.parts(3))
        assert [(part.first, part.last, part.ends) for part in parts] == [(1, 3, False), (4, 6, False), (7, 7, True)]
        assert list((await session.events(parts)).events) == await whole(apart, stream)
        await session.delivered([row.id])
