"""A queue on the engine's Postgres, and a kind of its own for each test: the engine's worker knows none of these."""

import os
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from uuid import UUID

import pytest

from mnemolog.adapters.clock import new_id
from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.jobs.queue import JobQueue
from mnemolog.adapters.keys import from_file
from mnemolog.adapters.postgres.pool import Pool, open_pool
from mnemolog.adapters.postgres.roots import open_roots


@pytest.fixture(scope="session")
async def pool(engine: Engine) -> AsyncIterator[Pool]:
    opened = await open_pool(engine.endpoints.postgres_dsn, size=5)
    yield opened
    await opened.close()


@pytest.fixture(scope="session")
async def key(engine: Engine, pool: Pool) -> bytes:
    roots = await open_roots(pool, from_file(engine.settings.directory / "master.key"), os.urandom)
    return roots.derived("jobs")


@pytest.fixture
def queue(pool: Pool, key: bytes) -> JobQueue:
    def now() -> datetime:
        return datetime.now(UTC)

    def an_id() -> UUID:
        return new_id()

    return JobQueue(pool, key, now, an_id)


@pytest.fixture
async def kind(user: str, pool: Pool) -> AsyncIterator[str]:
    """A kind of job that no other test uses. Of those that failed for good, /health would tell every later test."""
    name = f"kind of {user}"
    yield name
    async with pool.connection() as connection:
        await connection.execute("DELETE FROM mnemolog.jobs WHERE kind = %s AND status = 'failed'", [name])
