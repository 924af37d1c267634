"""An engine that starts makes nothing where every table is as it should be, and whatever is not."""

from collections.abc import AsyncIterator

import pytest
from sqlalchemy import text

from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.postgres.sqlalchemy import alone
from mnemolog.adapters.postgres.store import PostgresStore, created
from mnemolog.projections.memories.projector import MemoriesProjector


@pytest.fixture
async def store(engine: Engine) -> AsyncIterator[PostgresStore]:
    store = PostgresStore(engine.projections.live, MemoriesProjector(), "of_test")
    await store.create()
    yield store
    await store.drop()


async def is_created(store: PostgresStore) -> bool:
    async with alone(store.engine) as connection:
        return await created(connection, [store]) == [store]


@pytest.mark.parametrize(
    "change",
    [
        "DROP TABLE {}.memories CASCADE",
        "DROP TABLE {}.skipped",
        "DROP POLICY one_tenant ON {0}.memories; ALTER TABLE {0}.memories DISABLE ROW LEVEL SECURITY",
        "ALTER TABLE {}.progress DROP COLUMN mac",
        "ALTER TABLE {0}.progress RENAME TO p; CREATE VIEW {0}.progress AS SELECT * FROM {0}.p",
        "DROP SCHEMA {} CASCADE",
    ],
)
async def test_what_lacks_something_is_made_anew(store: PostgresStore, change: str) -> None:
    assert await is_created(store)
    async with store.engine.begin() as connection:
        for statement in change.format(store.schema).split(";"):
            await connection.execute(text(statement))

    assert not await is_created(store)
    if "VIEW" not in change:  # A view shows a former version.
        await store.create()
        assert await is_created(store)
