"""A log of its own key and clock on the engine's Postgres, and a stream of its own for each test."""

from collections.abc import AsyncIterator

import pytest

from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.postgres.log import PostgresLog
from mnemolog.adapters.postgres.pool import Pool, open_pool
from mnemolog.events.codec import Codec
from mnemolog.events.envelope import StreamId
from tests.testkit.clock import Clock
from tests.testkit.events import KEY


@pytest.fixture(scope="session")
async def pool(engine: Engine) -> AsyncIterator[Pool]:
    opened = await open_pool(engine.endpoints.postgres_dsn, size=20)
    yield opened
    await opened.close()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def log(pool: Pool, clock: Clock) -> PostgresLog:
    return PostgresLog(pool, Codec(), KEY, clock)


@pytest.fixture
def stream(user: str) -> StreamId:
    return StreamId.of_user(user)
