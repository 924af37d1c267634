"""Connections of readers and of the jobs are tested before their use, and are not lost if their user is cancelled."""

import asyncio
import os
import signal
import subprocess
import sys
from contextlib import AsyncExitStack, suppress

import psycopg
import pytest
from psycopg import waiting
from psycopg.pq import PipelineStatus
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine

from mnemolog.adapters import keys
from mnemolog.adapters.engine import connections
from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.postgres import pool, sqlalchemy
from mnemolog.adapters.postgres.as_of import NoSeal
from mnemolog.adapters.postgres.lease import lease_session
from mnemolog.adapters.postgres.pipelining import PipeliningConnection, pipelining
from mnemolog.adapters.postgres.pool import CONNECT_SECONDS, NOTICE_SILENCE, Pool, open_pool
from mnemolog.adapters.postgres.sqlalchemy import checked, connected, create_engine
from tests.testkit.eventually import eventually


async def pid(engine: AsyncEngine) -> int:
    async with engine.connect() as connection:
        return int((await connection.execute(text("SELECT pg_backend_pid()"))).scalar_one())


async def pid_of(opened: Pool) -> int:
    async with opened.connection() as connection:
        return connection.info.backend_pid


async def end(dsn: str, backend: int) -> None:
    async with await psycopg.AsyncConnection.connect(dsn, autocommit=True) as other:
        await other.execute("SELECT pg_terminate_backend(%s)", [backend])

        async def ended() -> bool:
            cursor = await other.execute("SELECT FROM pg_stat_activity WHERE pid = %s", [backend])
            return await cursor.fetchone() is None

        await eventually(ended)


async def test_a_connection_notices_a_server_that_disappeared_without_a_word(engine: Engine) -> None:
    dsn = engine.endpoints.postgres_dsn
    of_projections, tried = create_engine(dsn, NoSeal()), await open_pool(dsn)
    async with of_projections.connect() as one, tried.connection() as another, lease_session(dsn) as lease:
        known = [each.info.get_parameters() for each in (pipelining(one), another, lease._connection)]
    await of_projections.dispose()
    await tried.close()

    for name, value in {**NOTICE_SILENCE, "connect_timeout": CONNECT_SECONDS}.items():
        assert [each.get(name) for each in known] == [str(value)] * 3, name


@pytest.mark.parametrize("seconds", [0.0, 3600.0])
async def test_a_connection_that_the_server_closed_is_replaced(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, seconds: float
) -> None:
    monkeypatch.setattr(sqlalchemy, "UNTESTED_SECONDS", seconds)
    dsn = engine.endpoints.postgres_dsn
    readers = checked(create_engine(dsn, NoSeal()))
    first = await pid(readers)
    await end(dsn, first)

    assert await pid(readers) != first
    await readers.dispose()


@pytest.mark.parametrize(("seconds", "tests"), [(0.0, 2), (3600.0, 0)])
async def test_one_that_was_just_in_use_is_not_tested(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, seconds: float, tests: int
) -> None:
    monkeypatch.setattr(sqlalchemy, "UNTESTED_SECONDS", seconds)
    readers = checked(create_engine(engine.endpoints.postgres_dsn, NoSeal()))
    pinged: list[object] = []
    monkeypatch.setattr(readers.sync_engine.dialect, "do_ping", pinged.append)

    used = {await pid(readers) for _ in range(3)}

    assert (len(used), len(pinged)) == (1, tests)
    await readers.dispose()


@pytest.mark.parametrize("seconds", [0.0, 3600.0])
async def test_one_of_the_jobs_that_the_server_closed_is_replaced(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, seconds: float
) -> None:
    monkeypatch.setattr(pool, "UNTESTED_SECONDS", seconds)
    dsn = engine.endpoints.postgres_dsn
    async with await open_pool(dsn, size=1) as connections:
        first = await pid_of(connections)
        await end(dsn, first)

        assert await pid_of(connections) != first


@pytest.mark.parametrize(("seconds", "tests"), [(0.0, 3), (3600.0, 1)])
async def test_one_of_the_jobs_that_was_just_in_use_is_not_tested(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, seconds: float, tests: int
) -> None:
    monkeypatch.setattr(pool, "UNTESTED_SECONDS", seconds)
    tested: list[int] = []  # Those of the engine are among them.

    async def test(connection: psycopg.AsyncConnection) -> None:
        tested.append(connection.info.backend_pid)

    monkeypatch.setattr("psycopg_pool.AsyncConnectionPool.check_connection", test)
    async with await open_pool(engine.endpoints.postgres_dsn, size=1) as connections:
        [used] = {await pid_of(connections) for _ in range(3)}

    assert tested.count(used) == tests


@pytest.mark.parametrize("several", [False, True])
async def test_what_is_prepared_is_planned_anew_after_another_version_added_a_column(
    engine: Engine, several: bool
) -> None:
    dsn, insert = engine.endpoints.postgres_dsn, "INSERT INTO public.planned VALUES (%s) RETURNING *"
    opened = await open_pool(dsn, size=1)
    async with await psycopg.AsyncConnection.connect(dsn, autocommit=True) as other, opened.connection() as connection:
        await other.execute("DROP TABLE IF EXISTS public.planned; CREATE TABLE public.planned (id int)")
        await other.execute("GRANT ALL ON public.planned TO PUBLIC")
        cursor = connection.cursor()

        async def write() -> None:
            await (cursor.executemany(insert, [[1], [2]]) if several else cursor.execute(insert, [1]))

        for _ in range(10):
            await write()
        await other.execute("ALTER TABLE public.planned ADD COLUMN later text")
        for _ in range(10):
            await write()
        rows = await (await connection.execute("SELECT id FROM public.planned")).fetchall()
        await other.execute("DROP TABLE public.planned")
    await opened.close()
    assert len(rows) == (40 if several else 20)


async def test_no_worker_is_left_of_a_pool_whose_opening_was_cancelled(engine: Engine) -> None:
    """Ctrl-C on a command that has just begun: what is left would keep it from ending."""
    before = asyncio.all_tasks()
    for steps in range(60):
        opening = asyncio.create_task(open_pool(engine.endpoints.postgres_dsn))
        for _ in range(steps):
            await asyncio.sleep(0.0005)
        opening.cancel()
        with suppress(asyncio.CancelledError):
            await (await opening).close()
        workers = [one for one in asyncio.all_tasks() - before if one.get_name().startswith("pool-")]
        assert workers == []


async def test_one_whose_user_is_cancelled_at_any_step_of_a_pipeline_is_returned_without_it(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """psycopg gives others a turn once the loop was busy for some milliseconds: here always, also as it begins."""

    async def use(connections: Pool) -> None:
        async with connections.connection() as connection, connection.pipeline(), connection.transaction():
            await connection.execute("SELECT 1")

    monkeypatch.setattr(waiting, "MAX_BUSY_TIME", 0)
    async with await open_pool(engine.endpoints.postgres_dsn, size=1) as connections:
        for steps in range(40):
            using = asyncio.create_task(use(connections))
            for _ in range(steps):
                await asyncio.sleep(0)
            using.cancel()
            await asyncio.wait([using])
            async with connections.connection() as connection:
                assert connection.pgconn.pipeline_status == PipelineStatus.OFF, f"{steps} steps"


@pytest.mark.parametrize("opened", [False, True])
async def test_one_whose_reader_is_cancelled_again_and_again_is_closed_with_its_pool(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, opened: bool
) -> None:
    made, connect = list[PipeliningConnection](), sqlalchemy._connect
    waiting, reads = asyncio.Event(), asyncio.Event()

    async def listed(*args: object, **kwargs: object) -> PipeliningConnection:
        made.append(await connect(*args, **kwargs))
        waiting.set()
        return made[-1]

    async def read() -> None:
        async with connected(readers):
            reads.set()
            await asyncio.Event().wait()

    monkeypatch.setattr(sqlalchemy, "_connect", listed)
    readers = create_engine(engine.endpoints.postgres_dsn, NoSeal())
    reading = asyncio.create_task(read())
    await (reads if opened else waiting).wait()
    while not reading.done():
        reading.cancel()
        await asyncio.sleep(0)
    await readers.dispose()

    assert reading.cancelled()
    assert [one.closed for one in made] == [True]


async def test_a_connection_that_is_returned_after_the_end_of_its_pool_is_closed(engine: Engine) -> None:
    readers = checked(create_engine(engine.endpoints.postgres_dsn, NoSeal()))
    async with connected(readers) as connection:
        driver = (await connection.get_raw_connection()).driver_connection
        assert isinstance(driver, PipeliningConnection)
        await readers.dispose()
        assert (await connection.execute(text("SELECT 1"))).scalar_one() == 1

    assert driver.closed


async def test_a_reader_that_is_cancelled_does_not_wait_for_ever_for_a_server_that_hangs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sqlalchemy, "CONNECT_SECONDS", 2)  # libpq's shortest
    taken, over = asyncio.Event(), asyncio.Event()

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        taken.set()
        await over.wait()
        writer.close()

    async def read(readers: AsyncEngine) -> None:
        async with connected(readers):
            pass

    async with await asyncio.start_server(silent, "127.0.0.1") as server:
        port = server.sockets[0].getsockname()[1]
        readers = create_engine(f"postgresql://ana@127.0.0.1:{port}/none", NoSeal())
        reading = asyncio.create_task(read(readers))
        await taken.wait()
        reading.cancel()
        async with asyncio.timeout(60):
            await asyncio.wait([reading])
        assert reading.cancelled() or reading.exception()
        await readers.dispose()
        over.set()  # From Python 3.12 on, a server waits for its connections, and the cancelled task still has one.


@pytest.mark.parametrize("hangs", ["before it is used", "while it is used"])
async def test_a_reader_that_is_cancelled_does_not_wait_for_ever_for_a_backend_that_hangs(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, hangs: str
) -> None:
    monkeypatch.setattr(sqlalchemy, "UNTESTED_SECONDS", 0.0)
    monkeypatch.setattr(sqlalchemy, "GIVE_UP_SECONDS", 0.1)
    readers = checked(create_engine(engine.endpoints.postgres_dsn, NoSeal()))
    reads = asyncio.Event()

    async def read() -> None:
        async with connected(readers) as connection:
            await connection.execute(text("SELECT 1"))
            reads.set()
            await asyncio.Event().wait()

    backend = await pid(readers)
    if hangs == "before it is used":
        os.kill(backend, signal.SIGSTOP)
    reader = asyncio.create_task(read())
    try:
        if hangs == "while it is used":
            await reads.wait()
            os.kill(backend, signal.SIGSTOP)
        await asyncio.wait([reader], timeout=0.2)
        reader.cancel()
        await asyncio.wait([reader], timeout=60)
        assert reader.cancelled()
    finally:
        os.kill(backend, signal.SIGCONT)
        await asyncio.wait([reader])
    assert readers.pool.checkedout() == 0  # type: ignore[attr-defined]
    await readers.dispose()


async def test_who_goes_on_after_the_end_of_a_pool_leaves_no_connection_open(engine: Engine) -> None:
    readers = checked(create_engine(engine.endpoints.postgres_dsn, NoSeal()))
    await readers.dispose()

    async with connected(readers) as connection:
        later = pipelining(connection)

    assert later.closed


async def test_who_reads_at_the_same_time_again_needs_no_new_connections(engine: Engine) -> None:
    """A program on an engine that runs elsewhere: to connect takes Postgres longer than to search."""
    key = keys.from_file(engine.settings.directory / "master.key")
    async with AsyncExitStack() as stack:
        reading = (await connections.connect(stack, engine.endpoints, key, migrating=False)).reading

        async def backends() -> set[int]:
            async with AsyncExitStack() as open_at_once:
                entered = [await open_at_once.enter_async_context(reading.connect()) for _ in range(8)]
                asked = [await one.execute(text("SELECT pg_backend_pid()")) for one in entered]
                return {one.scalar_one() for one in asked}

        assert await backends() == await backends()


WARNS = """
import logging
from mnemolog.adapters.postgres import pool
{configured}
logging.getLogger("psycopg.pool").warning("discarding closed connection")
"""


@pytest.mark.parametrize(("configured", "shown"), [("", b""), ("logging.basicConfig()", b"discarding")])
def test_only_programs_with_logging_are_told_of_lost_connections(configured: str, shown: bytes) -> None:
    program = WARNS.format(configured=configured)
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, timeout=120)

    assert shown in ran.stderr
    assert bool(ran.stderr) is bool(shown)
