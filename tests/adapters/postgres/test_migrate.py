"""Migrations: running them again, or two at once, is harmless."""

import asyncio
import os
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import make_url

from mnemolog.adapters.engine.engine import Engine, now, open_engine
from mnemolog.adapters.postgres.log import PostgresLog
from mnemolog.adapters.postgres.migrate import migrate
from mnemolog.adapters.postgres.pool import open_pool
from mnemolog.adapters.postgres.roots import open_roots
from mnemolog.domain.errors import EngineError
from mnemolog.events.codec import Codec
from mnemolog.events.envelope import Receipt, StreamId
from mnemolog.events.log import Append
from tests.testkit.events import KEY, created, new
from tests.testkit.settings import settings_in


@pytest.fixture
async def empty(engine: Engine) -> AsyncIterator[str]:
    """The URL of a database that nothing was done to yet, on the engine's Postgres."""
    dsn = engine.endpoints.postgres_dsn
    async with await psycopg.AsyncConnection.connect(dsn, autocommit=True) as connection:
        await connection.execute("CREATE DATABASE empty_one")
        yield make_url(dsn).set(database="empty_one").render_as_string(hide_password=False)
        await connection.execute("DROP DATABASE empty_one WITH (FORCE)")


async def tables(dsn: str) -> set[str]:
    async with await psycopg.AsyncConnection.connect(dsn) as connection:
        found = await connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'mnemolog'")
        return {row[0] for row in await found.fetchall()}


async def append(dsn: str) -> Receipt:
    async with await open_pool(dsn, size=1) as pool:
        [receipt] = await PostgresLog(pool, Codec(), await open_roots(pool, KEY, os.urandom), now).append(
            [Append(StreamId.of_user("ana"), (new(created()),))]
        )
    assert isinstance(receipt, Receipt)
    return receipt


async def test_migrating_twice_keeps_what_is_there(empty: str) -> None:
    await asyncio.to_thread(migrate, empty)
    before = await tables(empty)
    assert (await append(empty)).last_seq == 1

    await asyncio.to_thread(migrate, empty)

    assert await tables(empty) == before
    assert before >= {"events", "heads", "tags", "receipts", "outbox", "embeddings", "migrations"}
    assert (await append(empty)).last_seq == 2


async def test_two_engines_can_migrate_at_once(empty: str) -> None:
    await asyncio.gather(*(asyncio.to_thread(migrate, empty) for _ in range(4)))

    assert (await append(empty)).last_seq == 1


@pytest.mark.parametrize("zone", ["Asia/Tokyo", "America/Los_Angeles"])
async def test_the_first_and_the_last_moment_are_read_on_a_server_of_any_time_zone(empty: str, zone: str) -> None:
    """psycopg gives times in the zone of the session, where they may lie outside the years 1 to 9999."""
    async with await psycopg.AsyncConnection.connect(empty, autocommit=True) as connection:
        await connection.execute(f"ALTER DATABASE empty_one SET timezone = '{zone}'".encode())
    await asyncio.to_thread(migrate, empty)
    moments = [datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)]
    stream = StreamId.of_user("ana")

    async with await open_pool(empty, size=1) as pool:
        log = PostgresLog(pool, Codec(), await open_roots(pool, KEY, os.urandom), now)
        await log.append([Append(stream, tuple(new(created(), occurred_at=moment) for moment in moments))])
        events = await log.read(stream)

    assert [event.occurred_at for event in events] == moments


async def test_a_database_of_a_newer_version_is_left_alone(empty: str) -> None:
    await asyncio.to_thread(migrate, empty)
    async with await psycopg.AsyncConnection.connect(empty) as connection:
        await connection.execute("UPDATE mnemolog.migrations SET version_num = '9999'")
    with pytest.raises(EngineError, match="a newer version of Mnemolog"):
        await asyncio.to_thread(migrate, empty)


async def test_an_engine_with_another_master_key_is_refused_before_it_migrates(empty: str, tmp_path: Path) -> None:
    await asyncio.to_thread(migrate, empty, "0016")
    async with await open_pool(empty, size=1) as pool:
        await open_roots(pool, KEY, os.urandom)

    with pytest.raises(EngineError, match="another master key"):
        async with open_engine(settings_in(tmp_path, postgres_url=empty)):
            pass

    async with await psycopg.AsyncConnection.connect(empty) as connection:
        found = await connection.execute("SELECT version_num FROM mnemolog.migrations")
        assert await found.fetchall() == [("0016",)]
