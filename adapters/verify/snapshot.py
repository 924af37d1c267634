"""A snapshot of all projections during which no rebuild swaps tables."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from mnemolog.adapters.postgres.store import PostgresStore


@asynccontextmanager
async def snapshot(connection: AsyncConnection, stores: Sequence[PostgresStore]) -> AsyncIterator[None]:
    """A transaction, rolled back at its end. Swaps wait meanwhile, because they take the same locks exclusively.

    The locks are taken by the session before the transaction begins: otherwise its snapshot would date from the first
    statement, which would be the one waiting for them.
    """
    names = [func.hashtextextended(f"mnemolog {store.schema}", 0) for store in stores]
    await connection.execute(select(*map(func.pg_advisory_lock_shared, names)))
    await connection.commit()
    try:
        async with connection.begin() as transaction:
            yield
            await transaction.rollback()
    finally:
        await connection.execute(select(func.pg_advisory_unlock_all()))
        await connection.commit()
