"""A log of its own clock on the engine's Postgres, and a stream of its own for each test."""

import os
from collections.abc import AsyncIterator

import pytest

from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.keys import from_file
from mnemolog.adapters.postgres.log import PostgresLog
from mnemolog.adapters.postgres.pool import Pool, open_pool
from mnemolog.adapters.postgres.roots import Roots, open_roots
from mnemolog.events.codec import Codec
from mnemolog.events.envelope import StreamId
from tests.testkit.clock import Clock


@pytest.fixture(scope="session")
async def pool(engine: Engine) -> AsyncIterator[Pool]:
    opened = await open_pool(engine.endpoints.postgres_dsn, size=20)
    yield opened
    await opened.close()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(scope="session")
async def roots(engine: Engine, pool: Pool) -> Roots:
    """The engine's own, for its projections read along."""
    return await open_roots(pool, from_file(engine.settings.directory / "master.key"), os.urandom)


@pytest.fixture
def log(pool: Pool, roots: Roots, clock: Clock) -> PostgresLog:
    return PostgresLog(pool, Codec(), roots, clock)


@pytest.fixture
def stream(user: str) -> StreamId:
    return StreamId.of_user(user)
