"""A lease: one holds it at a time; who dies or hangs is replaced, and does nothing more under it on waking (X11)."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import psycopg
import pytest

from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.postgres import lease as leases
from mnemolog.adapters.postgres.lease import Lease, lead, lease_session
from mnemolog.domain.errors import LeaseLost
from tests.testkit import warm

SILENCE_SECONDS = 2
PATIENCE_SECONDS = 60.0


@asynccontextmanager
async def leading(engine: Engine, output: int, name: str) -> AsyncIterator[warm.Process]:
    """A process that leads, or waits for that, and writes its pid into the pipe all the while it leads."""
    arguments = ["-m", "tests.adapters.postgres.lease_process", engine.endpoints.postgres_dsn, name]
    process = await warm.spawn(*arguments, str(SILENCE_SECONDS), stdout=output)
    try:
        yield process
    finally:
        process.kill()
        await process.wait()


async def said(reader: asyncio.StreamReader, pid: int) -> None:
    """Read on until this process says that it leads."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while int(await reader.readline()) != pid:
            pass


@pytest.mark.spec_part("X11")
async def test_a_leader_that_hangs_is_replaced_and_does_nothing_more_when_it_wakes(engine: Engine, user: str) -> None:
    reading, writing = os.pipe()
    reader = asyncio.StreamReader()
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(reading, "rb")
    )
    try:
        async with leading(engine, writing, user) as first:
            await said(reader, first.pid)
            async with leading(engine, writing, user) as second:
                os.kill(first.pid, signal.SIGSTOP)
                await said(reader, second.pid)
                os.kill(first.pid, signal.SIGCONT)
                heard = {int(await reader.readline()) for _ in range(100)}
                assert heard == {second.pid}
            await said(reader, first.pid)  # It follows, and leads again once the other is killed.
    finally:
        transport.close()
        os.close(writing)


async def test_one_session_has_the_lease_and_the_next_gets_it_when_that_ends(engine: Engine, user: str) -> None:
    dsn = engine.endpoints.postgres_dsn
    async with lease_session(dsn) as first, lease_session(dsn) as second:
        assert await first.take(user)
        assert not await second.take(user)
        assert await second.take(f"{user}-other")
        async with await psycopg.AsyncConnection.connect(dsn) as connection:
            await connection.execute("SELECT pg_terminate_backend(%s, 5000)", [first.pid])
        assert await second.take(user)
        with pytest.raises(psycopg.OperationalError):
            await first.execute("delivered", {"ids": []})


async def test_a_session_that_says_nothing_is_ended_by_the_server(
    engine: Engine, user: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leases, "SILENCE_SECONDS", 1)
    async with lease_session(engine.endpoints.postgres_dsn) as silent, asyncio.timeout(PATIENCE_SECONDS):
        assert await silent.take(user)
        async with lease_session(engine.endpoints.postgres_dsn) as other:
            while not await other.take(user):  # noqa: ASYNC110  The server ends the session.
                await asyncio.sleep(0.05)
        with pytest.raises(psycopg.OperationalError):
            await silent.take(user)


async def test_a_heartbeat_keeps_the_lease_while_its_work_says_nothing(
    engine: Engine, user: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leases, "SILENCE_SECONDS", 4)  # Longer than a loop that is starved of its processor.
    monkeypatch.setattr(leases, "HEARTBEAT_SECONDS", 0.1)
    async with lease_session(engine.endpoints.postgres_dsn) as lease:
        assert await lease.take(user)
        await lease.hold(asyncio.sleep(5))
        assert await lease.take(user)


async def test_work_that_hung_for_too_long_is_cancelled_before_it_goes_on(
    engine: Engine, user: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leases, "HEARTBEAT_SECONDS", 0.05)
    done: list[str] = []

    async def work(lease: Lease) -> None:
        lease.require()
        lease._heard -= 60.0  # As in a process that was stopped for a minute: its heartbeat was with it.
        with pytest.raises(LeaseLost):
            lease.require()
        await asyncio.sleep(PATIENCE_SECONDS)
        done.append("went on")

    async with lease_session(engine.endpoints.postgres_dsn) as lease:
        with pytest.raises(LeaseLost):
            await lease.hold(work(lease))
    assert done == []


async def test_a_session_closes_only_after_its_work_however_often_its_holder_is_cancelled(engine: Engine) -> None:
    began, may_end = asyncio.Event(), asyncio.Event()
    done: list[str] = []

    async def work() -> None:
        began.set()
        while not may_end.is_set():
            with suppress(asyncio.CancelledError):  # As in the middle of a query.
                await may_end.wait()
        done.append("work")

    async def holds() -> None:
        async with lease_session(engine.endpoints.postgres_dsn) as lease:
            await lease.hold(work())

    holder = asyncio.create_task(holds())
    await began.wait()
    for _ in range(3):
        holder.cancel()
        await asyncio.wait([holder], timeout=0.1)
        assert not holder.done()
    may_end.set()
    with pytest.raises(asyncio.CancelledError):
        await holder
    assert done == ["work"]


async def test_work_that_fails_lets_another_lead(engine: Engine, user: str) -> None:
    turns: list[str] = []

    async def fails(_: Lease) -> None:
        turns.append("first")
        raise ValueError("it fares no better here")

    async def works(_: Lease) -> None:
        turns.append("second")
        await asyncio.Event().wait()

    dsn = engine.endpoints.postgres_dsn
    first = asyncio.create_task(lead(dsn, user, fails))
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not turns:  # noqa: ASYNC110  The other task leads.
            await asyncio.sleep(0.01)
        second = asyncio.create_task(lead(dsn, user, works))
        while turns[-1] != "second":  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    for task in (first, second):
        task.cancel()
    await asyncio.wait([first, second])
