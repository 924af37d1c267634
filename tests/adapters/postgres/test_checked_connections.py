"""Readers' connections are tested before their use, without a round trip if they were just in use."""

import psycopg
import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine

from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.postgres import sqlalchemy
from mnemolog.adapters.postgres.as_of import NoSeal
from mnemolog.adapters.postgres.sqlalchemy import checked, create_engine
from tests.testkit.eventually import eventually


async def pid(engine: AsyncEngine) -> int:
    async with engine.connect() as connection:
        return int((await connection.execute(text("SELECT pg_backend_pid()"))).scalar_one())


@pytest.mark.parametrize("seconds", [0.0, 3600.0])
async def test_a_connection_that_the_server_closed_is_replaced(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, seconds: float
) -> None:
    monkeypatch.setattr(sqlalchemy, "UNTESTED_SECONDS", seconds)
    dsn = engine.endpoints.postgres_dsn
    readers = checked(create_engine(dsn, NoSeal()))
    first = await pid(readers)
    async with await psycopg.AsyncConnection.connect(dsn, autocommit=True) as other:
        await other.execute("SELECT pg_terminate_backend(%s)", [first])

        async def ended() -> bool:
            cursor = await other.execute("SELECT FROM pg_stat_activity WHERE pid = %s", [first])
            return await cursor.fetchone() is None

        await eventually(ended)

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
