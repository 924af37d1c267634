"""Events cannot be changed, by the engine's role or by the superuser; and the engine's role can do little else."""

import psycopg
import pytest
from psycopg.errors import InsufficientPrivilege, RestrictViolation

from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.postgres.log import PostgresLog
from mnemolog.adapters.postgres.pool import Pool
from mnemolog.events.envelope import StreamId
from mnemolog.events.log import Append
from tests.testkit.events import created, new

CHANGES = [
    "UPDATE mnemolog.events SET data = ''",
    "UPDATE mnemolog.events SET link = '' WHERE false",
    "DELETE FROM mnemolog.events",
    "DELETE FROM mnemolog.events WHERE false",
    "TRUNCATE mnemolog.events",
    "INSERT INTO mnemolog.events TABLE mnemolog.events ON CONFLICT (tenant, stream, seq) DO UPDATE SET type = ''",
]
BEYOND = [
    "DELETE FROM mnemolog.tags",
    "UPDATE mnemolog.tags SET seq = 1",
    "DELETE FROM mnemolog.receipts",
    "UPDATE mnemolog.receipts SET first_seq = 1",
    "DELETE FROM mnemolog.heads",
    "ALTER TABLE mnemolog.events DISABLE TRIGGER ALL",
    "DROP TABLE mnemolog.events",
]


@pytest.fixture
async def event(log: PostgresLog, stream: StreamId) -> None:
    await log.append([Append(stream, (new(created()),))])


@pytest.mark.spec("X01", "X08")
@pytest.mark.usefixtures("event")
@pytest.mark.parametrize("change", CHANGES)
async def test_the_superuser_cannot_change_an_event(engine: Engine, change: str) -> None:
    async with await psycopg.AsyncConnection.connect(engine.endpoints.postgres_dsn) as connection:
        with pytest.raises(RestrictViolation, match="events are immutable"):
            await connection.execute(change.encode())


@pytest.mark.spec("X01", "X08")
@pytest.mark.usefixtures("event")
@pytest.mark.parametrize("change", [*CHANGES, *BEYOND])
async def test_the_engine_has_no_right_to_change_an_event_or_what_guards_it(pool: Pool, change: str) -> None:
    async with pool.connection() as connection:
        with pytest.raises(InsufficientPrivilege):
            await connection.execute(change.encode())


async def test_the_pool_works_as_the_engine_role(pool: Pool) -> None:
    async with pool.connection() as connection:
        found = await connection.execute("SELECT current_user AS role")
        row = await found.fetchone()

    assert row == {"role": "mnemolog_engine"}
