"""The rows of whole threads, for events that name a thread and not what is in it."""

from collections.abc import Collection

from sqlalchemy import Table, select, tuple_
from sqlalchemy.ext.asyncio import AsyncConnection

from mnemolog.projections.owner import indexed
from mnemolog.projections.rows import Key, Row, fetch, primary_key, stored


async def rows_of_threads(
    connection: AsyncConnection, table: Table, threads: Collection[tuple[str, str, str, str]]
) -> dict[Key, Row]:
    """The rows of a table, by key, whose owner and thread are among these."""
    if not threads:
        return {}
    of_them = tuple_(*indexed(table), table.c.thread_id).in_(sorted(threads))
    take_key = primary_key(table)
    return {take_key(row): row for row in await fetch(connection, table, select(*stored(table)).where(of_them))}
