"""Advisory locks by name."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from sqlalchemy import Select, func, select
from sqlalchemy.ext.asyncio import AsyncConnection


def advisory_lock(name: str, *, shared: bool = False) -> Select[tuple[None]]:
    """A statement that takes a named lock until the end of the transaction."""
    take = func.pg_advisory_xact_lock_shared if shared else func.pg_advisory_xact_lock
    return select(take(func.hashtextextended(f"mnemolog {name}", 0)))


@asynccontextmanager
async def lock_if_free(connection: AsyncConnection, name: str) -> AsyncIterator[bool]:
    """Take a named lock if nobody has it, and say whether it was free.

    For a connection each of whose statements is a transaction of its own: neither who has the lock nor who asks again
    keeps a snapshot, for which an index that is built concurrently would wait.
    """
    key = func.hashtextextended(f"mnemolog {name}", 0)
    if not (await connection.execute(select(func.pg_try_advisory_lock(key)))).scalar_one():
        yield False
        return
    try:
        yield True
    finally:
        await connection.execute(select(func.pg_advisory_unlock(key)))
