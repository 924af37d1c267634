"""New tables get statistics soon, whatever autovacuum does: without, a plan may read all of a user to find one row."""

from pathlib import Path

import psycopg

from mnemolog.adapters.engine.engine import open_engine
from tests.testkit.eventually import eventually
from tests.testkit.settings import settings_in

OFF = "ALTER TABLE {} SET (autovacuum_enabled = off)"
KNOWN = """
SELECT DISTINCT tablename FROM pg_stats WHERE schemaname LIKE 'mnemolog\\_%' AND attname = 'user_id'
"""


async def test_tables_that_were_filled_get_statistics_without_autovacuum(tmp_path: Path) -> None:
    async with (
        open_engine(settings_in(tmp_path)) as engine,
        await psycopg.AsyncConnection.connect(engine.endpoints.postgres_dsn, autocommit=True) as connection,
    ):
        for store in engine.projections.stores.values():
            for table in getattr(store, "tables", ()):
                await connection.execute(OFF.format(table).encode())
        for number in range(60):
            await engine.writes.create({"user_id": "ana", "text": f"Ana read page {number} of the book"})

        async def known() -> set[str]:
            return {name for (name,) in await (await connection.execute(KNOWN.encode())).fetchall()}

        async def gathered() -> bool:
            return {"memories", "change_log"} <= await known()

        await eventually(gathered, 30)
        assert "profile_fields" not in await known()
