"""Writes that wait for the next round trip: in order, in their transaction, and none of them lost."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from random import Random
from unittest.mock import Mock

import pytest
from psycopg import waiting
from psycopg.errors import DivisionByZero
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.postgres.pipelining import PipeliningConnection
from mnemolog.adapters.postgres.sqlalchemy import create_engine
from mnemolog.projections.applying import side_by_side
from mnemolog.projections.raw_sql import driver_of, fetch_all
from mnemolog.projections.seal import RowSeal

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
async def driver(engine: Engine, sqlalchemy: AsyncEngine) -> AsyncIterator[PipeliningConnection]:
    async with await PipeliningConnection.connect(engine.endpoints.postgres_dsn) as made:
        yield made


async def notes(sqlalchemy: AsyncEngine) -> list[str]:
    async with sqlalchemy.connect() as connection:
        return list((await connection.execute(text(NOTES))).scalars())


async def test_deferred_statements_run_in_order_before_the_next_query(sqlalchemy: AsyncEngine) -> None:
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


async def test_a_rollback_forgets_what_was_deferred(driver: PipeliningConnection, sqlalchemy: AsyncEngine) -> None:
    driver.defer(ADD, ["never"])
    await driver.rollback()
    await driver.commit()
    assert await notes(sqlalchemy) == []


async def test_more_than_a_socket_buffer_is_sent_completely_with_the_commit(
    driver: PipeliningConnection, sqlalchemy: AsyncEngine
) -> None:
    await driver.execute("SELECT 1")
    driver.defer(ADD, ["x" * 20_000_000])
    await driver.commit()
    assert [len(note) for note in await notes(sqlalchemy)] == [20_000_000]


async def test_a_deferred_statement_that_fails_takes_its_transaction_along(
    driver: PipeliningConnection, sqlalchemy: AsyncEngine
) -> None:
    await driver.execute(ADD, ["before"])
    driver.defer(b"SELECT 1 / %s::int", [0])
    with pytest.raises(DivisionByZero):
        await driver.commit()
    await driver.rollback()
    await driver.execute(ADD, ["after"])
    await driver.commit()
    assert await notes(sqlalchemy) == ["after"]


async def test_a_copy_runs_after_deferred_statements(driver: PipeliningConnection, sqlalchemy: AsyncEngine) -> None:
    driver.defer(ADD, ["before"])
    async with driver.cursor() as cursor, cursor.copy("COPY deferred_notes (note) FROM STDIN") as copy:
        await copy.write_row(["copied"])
    await driver.commit()
    assert await notes(sqlalchemy) == ["before", "copied"]


async def test_executemany_runs_after_deferred_statements(
    driver: PipeliningConnection, sqlalchemy: AsyncEngine
) -> None:
    driver.defer(ADD, ["before"])
    async with driver.cursor() as cursor:
        await cursor.executemany("UPDATE deferred_notes SET note = note || %s", [(" and",), (" after",)])
    await driver.commit()
    assert await notes(sqlalchemy) == ["before and after"]


async def test_what_several_ask_for_at_once_goes_in_one_round_trip(
    driver: PipeliningConnection, sqlalchemy: AsyncEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipelines = Mock(side_effect=driver.pipeline)
    monkeypatch.setattr(driver, "pipeline", pipelines)
    driver.defer(ADD, ["before"])

    answers = await asyncio.gather(
        *(driver.ask(b"SELECT %s::int, count(*) FROM deferred_notes", [n]) for n in range(4))
    )

    assert answers == [[(number, 1)] for number in range(4)]
    assert pipelines.call_count == 1


async def test_an_error_of_one_query_reaches_all_that_shared_its_round_trip(driver: PipeliningConnection) -> None:
    asked = (driver.ask(b"SELECT 1 / %s::int", [divisor]) for divisor in (1, 0, 2))
    answers = await asyncio.gather(*asked, return_exceptions=True)
    assert [type(answer) for answer in answers] == [DivisionByZero] * 3
    await driver.rollback()
    assert await driver.ask(b"SELECT 2", []) == [(2,)]


@pytest.mark.parametrize("ends", ["a query fails", "all are cancelled"])
async def test_what_would_be_prepared_after_a_query_without_an_answer_can_be_asked_again(
    driver: PipeliningConnection, ends: str
) -> None:
    await driver.set_autocommit(True)
    again = b"SELECT %s::int"
    for number in range(driver.prepare_threshold or 0):
        assert await driver.ask(again, [number]) == [(number,)]

    before = driver.ask(b"SELECT 1 / 0", []) if ends == "a query fails" else driver.ask(b"SELECT pg_sleep(60)", [])
    asked = asyncio.gather(before, driver.ask(again, [1]))
    if ends == "all are cancelled":
        await asyncio.sleep(0.2)
        asked.cancel()
    with pytest.raises(DivisionByZero if ends == "a query fails" else asyncio.CancelledError):
        await asked
    await driver.rollback()

    assert [await driver.ask(again, [number]) for number in range(3)] == [[(0,)], [(1,)], [(2,)]]


async def test_who_asked_first_may_be_cancelled(driver: PipeliningConnection) -> None:
    first, second = (asyncio.create_task(driver.ask(b"SELECT %s::int", [number])) for number in (1, 2))
    await asyncio.sleep(0)
    first.cancel()
    assert await second == [(2,)]
    assert first.cancelled()


async def test_a_rollback_keeps_what_is_prepared(driver: PipeliningConnection) -> None:
    for _ in range(1 + (driver.prepare_threshold or 0)):
        await driver.ask(b"SELECT %s::int", [1])
    await driver.rollback()
    await driver.ask(b"SELECT %s::int", [1])
    assert await driver.ask(b"SELECT generic_plans + custom_plans FROM pg_prepared_statements", []) == [(2,)]


async def test_what_was_prepared_for_a_table_that_a_rollback_removed_can_be_asked_of_another(
    driver: PipeliningConnection,
) -> None:
    for kind in (b"int", b"int", b"text"):
        await driver.execute(b"CREATE TEMP TABLE short (told " + kind + b")")
        for _ in range(2 + (driver.prepare_threshold or 0)):
            assert await driver.ask(b"SELECT count(told) FROM short", []) == [(0,)]
        await driver.rollback()


async def test_a_rollback_drops_pending_queries(driver: PipeliningConnection, sqlalchemy: AsyncEngine) -> None:
    asked = asyncio.create_task(driver.ask(ADD + b" RETURNING note", ["never"]))
    await asyncio.sleep(0)

    await driver.rollback()

    with pytest.raises(asyncio.CancelledError):
        await asked
    assert await driver.ask(b"SELECT 1", []) == [(1,)]
    await driver.commit()
    assert await notes(sqlalchemy) == []


async def test_a_question_waits_for_the_copy_of_another(driver: PipeliningConnection, sqlalchemy: AsyncEngine) -> None:
    async with driver.cursor() as cursor, cursor.copy("COPY deferred_notes (note) FROM STDIN") as copy:
        asked = asyncio.create_task(driver.ask(b"SELECT count(*) FROM deferred_notes", []))
        await asyncio.sleep(0.05)
        await copy.write_row(["copied"])
        assert not asked.done()
    assert await asked == [(1,)]


@pytest.mark.parametrize("ends", ["a projector fails", "the caller is cancelled"])
async def test_tasks_that_share_a_connection_leave_it_usable(sqlalchemy: AsyncEngine, ends: str) -> None:
    random = Random(5)
    rows = "SELECT * FROM generate_series(1, 200) AS row"

    async def apply(connection: AsyncConnection, steps: Sequence[str]) -> None:
        for step in steps:
            match step:
                case "ask":
                    assert len(await fetch_all(connection, rows.encode(), [])) == 200
                case "select":
                    assert len((await connection.execute(text(rows))).all()) == 200
                case _:
                    await connection.execute(text("SELECT 1 / 0"))

    async def batch(projectors: Sequence[Sequence[str]]) -> None:
        async with sqlalchemy.begin() as connection:
            await side_by_side(apply(connection, steps) for steps in projectors)

    for turn in range(60):
        projectors = [random.choices(("ask", "select"), k=5) for _ in range(5)]
        if ends == "a projector fails":
            projectors[turn % 5][random.randrange(5)] = "fail"
        task = asyncio.create_task(batch(projectors))
        if ends == "the caller is cancelled":
            await asyncio.sleep(random.random() * 0.01)
            task.cancel()
        await asyncio.wait([task], timeout=60)
        assert task.done()
        async with asyncio.timeout(60), sqlalchemy.connect() as connection:
            assert (await connection.execute(text("SELECT 1"))).scalar_one() == 1


async def test_who_is_cancelled_at_any_step_of_a_trip_leaves_the_connection_usable(
    driver: PipeliningConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """psycopg gives others a turn once the loop was busy for some milliseconds: here always, also as a trip begins."""
    monkeypatch.setattr(waiting, "MAX_BUSY_TIME", 0)
    for steps in range(40):
        trip = asyncio.create_task(driver.ask_all([(b"SELECT 1", []), (b"SELECT 2", [])]))
        for _ in range(steps):
            await asyncio.sleep(0)
        trip.cancel()
        await asyncio.wait([trip])
        await driver.rollback()
        async with asyncio.timeout(10):
            assert await driver.ask(b"SELECT 3", []) == [(3,)]
            cursor = await driver.execute("SELECT 4")
            assert cursor.description, "it has its answer already"
            assert await cursor.fetchone() == (4,)
        await driver.rollback()


async def test_who_is_cancelled_while_a_lock_is_held_waits_for_it_no_longer(sqlalchemy: AsyncEngine) -> None:
    async with sqlalchemy.begin() as holder:
        await holder.execute(text("SELECT pg_advisory_xact_lock(77)"))

        async def wait_for_it() -> None:
            async with sqlalchemy.begin() as connection:
                await fetch_all(connection, b"SELECT pg_advisory_xact_lock(77)", [])

        waiting = asyncio.create_task(wait_for_it())
        await asyncio.sleep(0.2)
        waiting.cancel()
        done, _ = await asyncio.wait([waiting], timeout=30)
        assert done == {waiting}
