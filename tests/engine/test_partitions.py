"""Engines that share their servers share the partitions: fairly, one owner each, and whoever dies is replaced."""

import asyncio
import os
import signal
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

import psycopg
import pytest

from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.nats.subjects import PARTITIONS, partition_of
from mnemolog.adapters.postgres.leases import NOBODY, Leases
from mnemolog.adapters.postgres.queries import query
from mnemolog.events.envelope import StreamId
from tests.engine.engine_process import another
from tests.engine.equality import assert_live_equals_replayed
from tests.engine.person import Person
from tests.testkit.settings import PATIENCE

SESSION_PID = int


async def held(engine: Engine) -> Mapping[SESSION_PID, int]:
    """How many partitions each worker holds."""
    async with await psycopg.AsyncConnection.connect(engine.endpoints.postgres_dsn) as connection:
        rows = await (await connection.execute(query("look_at_leases"), {"kept": engine.projections.kept})).fetchall()
    counts = Counter({pid: 0 for pid, partition in rows if partition == NOBODY})
    counts.update(pid for pid, partition in rows if partition != NOBODY)
    assert len({partition for _, partition in rows if partition != NOBODY}) == sum(counts.values()), "one owner each"
    return counts


async def until(reached: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not await reached():  # noqa: ASYNC110  Another process does it: it is looked for.
            await asyncio.sleep(0.1)


def shared_by(engine: Engine, workers: int) -> Callable[[], Awaitable[bool]]:
    async def fairly() -> bool:
        counts = await held(engine)
        return (
            len(counts) == workers
            and sum(counts.values()) == PARTITIONS
            and max(counts.values()) <= -(-PARTITIONS // workers)
        )

    return fairly


@pytest.mark.faults
@pytest.mark.spec("X09")
@pytest.mark.spec_part("X11")
async def test_a_worker_that_joins_gets_its_share_and_one_that_is_killed_is_replaced(
    engine: Engine, user: str, tmp_path: Path
) -> None:
    people = [Person(engine, f"{user}-{number}") for number in range(24)]
    await until(shared_by(engine, 1))

    async with another(engine, tmp_path) as other:
        await until(shared_by(engine, 2))
        for ana in people:
            await ana.creates("Ana drinks tea")
        await engine.settled(60)  # Half of them by the other process.
        os.kill(other.pid, signal.SIGKILL)
        for ana in people:
            await ana.creates("Ana has a cat")
        await until(shared_by(engine, 1))

    await engine.settled(60)
    for ana in people:
        assert sorted(await ana.finds("Ana")) == ["Ana drinks tea", "Ana has a cat"]
    await assert_live_equals_replayed(engine, *(ana.stream for ana in people))


@pytest.mark.faults
@pytest.mark.spec("X09")
async def test_a_worker_that_hangs_loses_its_partitions(engine: Engine, user: str, tmp_path: Path) -> None:
    await until(shared_by(engine, 1))
    async with another(engine, tmp_path) as other:
        await until(shared_by(engine, 2))
        os.kill(other.pid, signal.SIGSTOP)
        await until(shared_by(engine, 1))
        ana = Person(engine, user)
        await ana.creates("Ana drinks tea")
        assert await ana.finds("tea") == ["Ana drinks tea"]
        os.kill(other.pid, signal.SIGCONT)
        await until(shared_by(engine, 2))


async def test_only_the_owner_of_a_partition_applies_its_events(
    engine: Engine, user: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here: set[StreamId] = set()
    running = engine.projections.running["memories"]
    open_session = running.store.session

    def noticed(streams: list[StreamId]) -> object:
        here.update(streams)
        return open_session(streams)

    monkeypatch.setattr(running.store, "session", noticed)
    monkeypatch.setattr(engine.projections._shared_transaction, "_at_once", _never)
    people = [Person(engine, f"{user}-{number}") for number in range(40)]
    async with another(engine, tmp_path):
        await until(shared_by(engine, 2))
        await asyncio.sleep(0.5)
        for ana in people:
            await ana.creates("Ana drinks tea")
        await engine.settled(60)
        ours = {partition_of(stream) for stream in here}
    everybody = {partition_of(ana.stream) for ana in people}
    assert 0 < len(everybody & ours) < len(everybody)
    assert len(ours) <= PARTITIONS // 2
    await until(shared_by(engine, 1))


async def _never(*_: object) -> bool:
    return False


KEPT = "mnemolog_memories_v10"


async def test_three_workers_and_a_prime_number_of_partitions_end_with_fair_shares(engine: Engine) -> None:
    shares: dict[int, frozenset[int]] = {}

    def changed(worker: int) -> Callable[[frozenset[int]], Awaitable[None]]:
        async def keep(partitions: frozenset[int]) -> None:
            shares[worker] = partitions

        return keep

    # Another database of the same server: its locks are its own.
    dsn = await _own_database(engine)
    tasks = [asyncio.create_task(Leases(dsn, 7, KEPT).run(changed(worker))) for worker in range(3)]

    async def fair() -> bool:
        return sorted(len(one) for one in shares.values()) == [2, 2, 3]

    try:
        await until(fair)
        assert frozenset().union(*shares.values()) == frozenset(range(7))
        tasks[0].cancel()
        shares.pop(0)

        async def taken_over() -> bool:
            return sorted(len(one) for one in shares.values()) == [3, 4]

        await until(taken_over)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def test_a_version_with_other_tables_has_all_partitions_for_itself(engine: Engine) -> None:
    shares: dict[str, frozenset[int]] = {}

    def changed(kept: str) -> Callable[[frozenset[int]], Awaitable[None]]:
        async def keep(partitions: frozenset[int]) -> None:
            shares[kept] = partitions

        return keep

    dsn = await _own_database(engine)
    versions = ("mnemolog_memories_v10", "mnemolog_memories_v11")
    tasks = [asyncio.create_task(Leases(dsn, 7, kept).run(changed(kept))) for kept in versions]

    async def everything() -> bool:
        return shares == dict.fromkeys(versions, frozenset(range(7)))

    try:
        await until(everything)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _own_database(engine: Engine) -> str:
    async with await psycopg.AsyncConnection.connect(engine.endpoints.postgres_dsn, autocommit=True) as connection:
        await connection.execute("DROP DATABASE IF EXISTS leases")
        await connection.execute("CREATE DATABASE leases")
    return psycopg.conninfo.make_conninfo(engine.endpoints.postgres_dsn, dbname="leases")
