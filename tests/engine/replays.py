"""Replays of their own for a test, on the log and the servers of a shared engine."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from sqlalchemy import NullPool, text

from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.postgres.as_of import NoSeal
from mnemolog.adapters.postgres.sqlalchemy import create_engine
from mnemolog.adapters.reads.replays import Replays
from mnemolog.projections.projector import Projector


@asynccontextmanager
async def opened_replays(
    engine: Engine, *projectors: Projector, at_once: int = 2, kept: int = 2, deadline: float = 30.0
) -> AsyncIterator[Replays]:
    """As another process on the same database has them; the engine's own projectors unless others are given."""
    connecting = create_engine(engine.endpoints.postgres_dsn, NoSeal(), poolclass=NullPool)
    bounds = {"at_once": at_once, "kept": kept}
    seen = engine.projections.seen_on(connecting)
    replays = Replays(seen, engine.log, projectors or engine.projections.projectors, **bounds, deadline=deadline)
    try:
        yield replays
    finally:
        await replays.aclose()
        await connecting.dispose()


async def replaying(engine: Engine) -> set[int]:
    """The backends of all replays on the engine's Postgres, in whatever process."""
    async with engine.projections.live.connect() as connection:
        named = text("SELECT pid FROM pg_stat_activity WHERE starts_with(application_name, 'mnemolog as of')")
        return set((await connection.execute(named)).scalars())
