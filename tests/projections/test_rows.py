"""Rows that go by COPY are the rows that go one by one: the same values, the same MACs, the same replacements."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from math import inf
from typing import Any
from unittest.mock import patch
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Table
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncConnection

from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.postgres.as_of import TEMPORARY
from mnemolog.domain.errors import TamperedRow
from mnemolog.domain.memory import Status
from mnemolog.domain.text import search_document
from mnemolog.projections import seal as seal_module
from mnemolog.projections.history.tables import history
from mnemolog.projections.memories.tables import memories
from mnemolog.projections.rows import COPY_FROM, Row, load, upsert
from mnemolog.projections.seal import LARGEST, RowSeal, seal_of
from tests.testkit.examples import examples

AT = datetime(2026, 1, 3, 1, 2, 10, 123456, tzinfo=UTC)
BIG = COPY_FROM + 10
KEY = [("default", "user", "ana", UUID(int=1))]


@pytest.fixture
async def connection(engine: Engine) -> AsyncIterator[AsyncConnection]:
    """Sees tables of its own, which end with it."""
    own = {"memories": TEMPORARY, "history": TEMPORARY}
    async with engine.projections.live.execution_options(schema_translate_map=own).connect() as opened:
        for table in (memories, history):
            await opened.run_sync(table.metadata.create_all, checkfirst=False)
        yield opened
        await opened.rollback()


@contextmanager
def counted() -> Iterator[list[Any]]:
    """The primary keys of the rows whose MAC is checked."""
    checked, fits = list[Any](), RowSeal.fits

    def counting(self: RowSeal, table: Table, row: Any) -> bool:
        checked.append(row["memory_id"])
        return fits(self, table, row)

    with patch.object(RowSeal, "fits", counting):
        yield checked


def memory(number: int, text: str = "Ana drinks tea", **fields: Any) -> Row:
    return {
        "tenant": "default",
        "stream_kind": "user",
        "user_id": "ana",
        "memory_id": UUID(int=number),
        "kind": "fact",
        "scope": "global",
        "agent_id": None,
        "text": text,
        "category": "note",
        "importance": 0.1 + 0.2,
        "confidence": 1,
        "pinned": False,
        "metadata": {"a": 6.02214076e23},
        "experience": {"feeling": "glad"},
        "status": Status.ACTIVE,
        "merged_into": UUID(int=7),
        "purge_at": None,
        "role": None,
        "run_id": 'a "quoted" \\N name\t',
        "actor_id": "user",
        "thread_id": "main",
        "source_turn_ids": ["t1", "", "NULL", '{"a"}'],
        "entity_ids": [UUID(int=number), UUID(int=2)],
        "type": None,
        "entity_type": None,
        "fact_type": None,
        "source": "api",
        "origin": "user",
        "memory_key": "",
        "entity_refs": ["person:ana", "place:東京"],
        "entity_label": "",
        "topics": [],
        "observations": 1,
        "last_accessed": AT,
        "reactivation_count": 0,
        "recalls": 0,
        "fresh": True,
        "session_count": 0,
        "deleted_cause": None,
        "forgotten_at": None,
        "forget_reason": "",
        "occurred_at": AT,
        "created_at": AT.replace(year=1),
        "updated_at": AT.replace(year=9999),
        "seq": 2**62,
        "document": search_document(text),
        **fields,
    }


def told(number: int, meta: dict[str, Any]) -> Row:
    who = {
        "tenant": "default",
        "stream_kind": "user",
        "user_id": "ana",
        "id": UUID(int=number),
        "memory_id": UUID(int=1),
    }
    who |= {"subject": "memory", "subject_id": str(UUID(int=1))}
    about = {"event": "ADD", "old_ref": None, "new_ref": "x", "actor": "user", "meta": meta, "seq": number, "ts": AT}
    return {**who, **about}


async def one_by_one(connection: AsyncConnection, table: Table, rows: Sequence[Row]) -> None:
    for row in rows:
        await upsert(connection, table, [row])


async def read(connection: AsyncConnection, table: Table) -> list[tuple[Any, ...]]:
    """Every column, generated ones and the MAC included."""
    return sorted(map(tuple, await connection.execute(table.select())), key=lambda row: row[3])


async def emptied(connection: AsyncConnection, table: Table) -> list[tuple[Any, ...]]:
    found = await read(connection, table)
    await connection.execute(table.delete())
    return found


texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=30)
json = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda values: st.lists(values, max_size=3) | st.dictionaries(texts, values, max_size=3),
    max_leaves=5,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=examples(20), deadline=None)
@given(st.lists(st.tuples(texts, json), min_size=1, max_size=5))
async def test_a_big_batch_leaves_what_single_rows_leave(
    connection: AsyncConnection, said: list[tuple[str, Any]]
) -> None:
    many = [said[number % len(said)] for number in range(BIG)]
    memory_rows = [memory(number, text) for number, (text, _) in enumerate(many)]
    told_rows = [told(number, {"what": meta}) for number, (_, meta) in enumerate(many)]

    for table, rows in ((memories, memory_rows), (history, told_rows)):
        await one_by_one(connection, table, rows)
        expected = await emptied(connection, table)
        await upsert(connection, table, rows)
        assert await emptied(connection, table) == expected


@pytest.mark.parametrize("named", [True, False])
async def test_a_big_batch_replaces_the_rows_that_are_there(connection: AsyncConnection, named: bool) -> None:
    before = [memory(number) for number in range(0, 2 * BIG, 2)]
    after = [memory(number, "Ana drinks coffee", status="dormant") for number in range(BIG)]
    await upsert(connection, memories, before)
    keys = [("default", "user", "ana", row["memory_id"]) for row in after]

    known = set(await load(connection, memories, keys))
    await upsert(connection, memories, after, known if named else None)

    rows = await load(connection, memories, [("default", "user", "ana", UUID(int=number)) for number in range(2 * BIG)])
    changed = {key[-1].int for key, row in rows.items() if row["text"] == "Ana drinks coffee"}
    assert changed == set(range(BIG))
    assert len(rows) == BIG + BIG // 2


@pytest.mark.parametrize("forged", [2, True, 1.5, "1", [1], None])
async def test_a_row_that_was_found_genuine_is_not_taken_for_another(connection: AsyncConnection, forged: Any) -> None:
    await upsert(connection, history, [told(1, {"times": 1})])
    key = [("default", "user", "ana", UUID(int=1))]
    [row] = (await load(connection, history, key)).values()
    assert list((await load(connection, history, key)).values()) == [row]

    row["meta"]["times"] = forged  # Whoever holds a row may change it: that makes no other one genuine.
    await connection.execute(history.update().values(meta={"times": forged}))
    with pytest.raises(TamperedRow):
        await load(connection, history, key)

    await connection.execute(history.update().values(meta={"times": 1}))
    assert (await load(connection, history, key))[key[0]]["meta"] == {"times": 1}


async def test_a_negative_zero_is_not_taken_for_zero(connection: AsyncConnection) -> None:
    await upsert(connection, memories, [memory(1, importance=0.0)])
    await load(connection, memories, KEY)

    await connection.execute(memories.update().values(importance=-0.0))
    with pytest.raises(TamperedRow):
        await load(connection, memories, KEY)


async def test_large_rows_are_not_kept(connection: AsyncConnection) -> None:
    await upsert(connection, memories, [memory(1, text="tea " * LARGEST), memory(2, text="read twice")])
    with counted() as checked:
        for _ in range(2):
            await load(connection, memories, [("default", "user", "ana", UUID(int=one)) for one in (1, 2)])
    assert len(checked) == 3


async def test_what_was_kept_is_forgotten_after_a_time(connection: AsyncConnection) -> None:
    await upsert(connection, memories, [memory(1)])
    await load(connection, memories, KEY)
    with counted() as checked, patch.object(seal_of(connection), "_clock", lambda: inf):
        await load(connection, memories, KEY)
    assert len(checked) == 1


async def test_what_was_kept_is_forgotten_though_nobody_reads(connection: AsyncConnection) -> None:
    kept: dict[object, object] = {}
    with patch.object(seal_module, "SECONDS", 0.01), patch.object(seal_of(connection), "_kept", kept):
        await upsert(connection, memories, [memory(1)])
        await load(connection, memories, KEY)
        assert kept
        async with asyncio.timeout(10):
            while kept:  # noqa: ASYNC110  Nothing tells of it.
                await asyncio.sleep(0.01)


async def test_a_row_that_postgres_refuses_is_sqlalchemys_error_in_a_big_batch_too(
    connection: AsyncConnection,
) -> None:
    rows = [memory(1, source_turn_ids=None), *(memory(number) for number in range(2, BIG))]

    with pytest.raises(DBAPIError, match="NotNullViolation") as refused:
        await upsert(connection, memories, rows)
    await connection.rollback()

    assert "tea" not in str(refused.value).splitlines()[0]
