"""What is looked up by key is found by key, however many rows there are: no plan reads all of a table to find one."""

from collections.abc import Iterator, Mapping
from typing import Any

import psycopg
import pytest

from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.postgres.pool import BY_KEY
from mnemolog.adapters.postgres.queries import query

FILL = """
INSERT INTO mnemolog_keys.data_keys (tenant, stream, scope, key_id, wrapped)
SELECT 'default', 'user:' || n % 50, n::text, int4send(n), '' FROM generate_series(1, {0}) AS n;
INSERT INTO mnemolog.tags (tenant, stream, tag, seq)
SELECT 'default', 'user:' || n % 50, n::text, n FROM generate_series(1, {0}) AS n;
ANALYZE mnemolog_keys.data_keys;
ANALYZE mnemolog.tags;
"""
LISTS = ("events", "heads", "guards", "stream_keys", "data_keys", "used_keys", "receipts")


@pytest.mark.parametrize("count", [500, 2_000, 10_000])
async def test_a_group_is_judged_and_written_by_key(engine: Engine, count: int) -> None:
    statement = query("write").decode()
    for number, name in enumerate(LISTS, 1):
        statement = statement.replace(f"%({name})s", f"${number}")
    async with (
        await psycopg.AsyncConnection.connect(engine.endpoints.postgres_dsn) as connection,
        connection.transaction(force_rollback=True),
    ):
        await connection.execute(FILL.format(count).encode())
        for name, value in BY_KEY.items():
            await connection.execute("SELECT set_config(%s, %s, true)", [name, value])
        explained = await connection.execute(f"EXPLAIN (GENERIC_PLAN, FORMAT JSON) {statement}".encode())
        row = await explained.fetchone()

    assert row
    [plan] = row[0]
    looked_up = [step for step in steps(plan["Plan"]) if step.get("Relation Name") in {"data_keys", "tags"}]
    scans = [step for step in looked_up if step["Node Type"].endswith("Scan")]
    assert len(scans) == 4
    assert all("Index Cond" in scan for scan in scans), scans


def steps(plan: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield plan
    for below in plan.get("Plans", ()):
        yield from steps(below)
