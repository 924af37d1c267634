"""Writes that wait for the next round trip: in order, in their transaction, and none of them lost."""

from collections.abc import AsyncIterator

import pytest
from psycopg.errors import DivisionByZero
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine

from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.postgres.sqlalchemy import create_engine
from mnemolog.projections.deferring import DeferringConnection
from mnemolog.projections.seal import RowSeal
from mnemolog.projections.straight import driver_of

ADD = b"INSERT INTO deferred_notes (note) VALUES (%s)"
NOTES = "SELECT note FROM deferred_notes ORDER BY id"


@pytest.fixture
async def sqlalchemy(engine: Engine) -> AsyncIterator[AsyncEngine]:
    made = create_engine(engine.endpoints.postgres_dsn, RowSeal(b"a key of rows"))
    async with made.begin() as connection:
        await connection.execute(text("CREATE TABLE deferred_notes (id bigserial, note text)"))
    yield made
    async with made.begin() as connection:
        await connection.execute(text("DROP TABLE deferred_notes"))
    await made.dispose()


@pytest.fixture
async def driver(engine: Engine, sqlalchemy: AsyncEngine) -> AsyncIterator[DeferringConnection]:
    async with await DeferringConnection.connect(engine.endpoints.postgres_dsn) as made:
        yield made


async def notes(sqlalchemy: AsyncEngine) -> list[str]:
    async with sqlalchemy.connect() as connection:
        return list((await connection.execute(text(NOTES))).scalars())


async def test_what_is_deferred_comes_before_what_is_asked_next_and_in_order(sqlalchemy: AsyncEngine) -> None:
    async with sqlalchemy.begin() as connection:
        for note in ("first", "second"):
            driver_of(connection).defer(ADD, [note])
        assert list((await connection.execute(text(NOTES))).scalars()) == ["first", "second"]
        driver_of(connection).defer(ADD, ["third"])
        assert await notes(sqlalchemy) == []
    assert await notes(sqlalchemy) == ["first", "second", "third"]


async def test_what_is_deferred_first_begins_the_transaction(sqlalchemy: AsyncEngine) -> None:
    async with sqlalchemy.begin() as connection:
        driver_of(connection).defer(ADD, ["alone"])
    assert await notes(sqlalchemy) == ["alone"]


async def test_a_rollback_forgets_what_was_deferred(driver: DeferringConnection, sqlalchemy: AsyncEngine) -> None:
    driver.defer(ADD, ["never"])
    await driver.rollback()
    await driver.commit()
    assert await notes(sqlalchemy) == []


async def test_more_than_a_socket_holds_is_sent_whole_with_the_commit(
    driver: DeferringConnection, sqlalchemy: AsyncEngine
) -> None:
    await driver.execute("SELECT 1")
    driver.defer(ADD, ["x" * 20_000_000])
    await driver.commit()
    assert [len(note) for note in await notes(sqlalchemy)] == [20_000_000]


async def test_a_deferred_statement_that_fails_takes_its_transaction_along(
    driver: DeferringConnection, sqlalchemy: AsyncEngine
) -> None:
    await driver.execute(ADD, ["before"])
    driver.defer(b"SELECT 1 / %s::int", [0])
    with pytest.raises(DivisionByZero):
        await driver.commit()
    await driver.rollback()
    await driver.execute(ADD, ["after"])
    await driver.commit()
    assert await notes(sqlalchemy) == ["after"]


async def test_a_copy_comes_after_what_was_deferred(driver: DeferringConnection, sqlalchemy: AsyncEngine) -> None:
    driver.defer(ADD, ["before"])
    async with driver.cursor() as cursor, cursor.copy("COPY deferred_notes (note) FROM STDIN") as copy:
        await copy.write_row(["copied"])
    await driver.commit()
    assert await notes(sqlalchemy) == ["before", "copied"]


async def test_a_statement_for_many_rows_comes_after_what_was_deferred(
    driver: DeferringConnection, sqlalchemy: AsyncEngine
) -> None:
    driver.defer(ADD, ["before"])
    async with driver.cursor() as cursor:
        await cursor.executemany("UPDATE deferred_notes SET note = note || %s", [(" and",), (" after",)])
    await driver.commit()
    assert await notes(sqlalchemy) == ["before and after"]
