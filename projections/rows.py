"""Rows of a projection's table: read those that a batch touches, write them back, all at once."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from sqlalchemy import Table, select, tuple_
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from mnemolog.events.envelope import Recorded

Row = dict[str, Any]
Key = tuple[Any, ...]


def owner(event: Recorded) -> tuple[str, str]:
    """(tenant, user): the first two columns of every primary key, so that no row can be found without them."""
    return event.stream.tenant, event.stream.owner


async def load(connection: AsyncConnection, table: Table, keys: Collection[Key]) -> dict[Key, Row]:
    """The rows under these primary keys, by key."""
    if not keys:
        return {}
    columns = list(table.primary_key.columns)
    stored = [column for column in table.columns if column.computed is None]
    rows = await connection.execute(select(*stored).where(tuple_(*columns).in_(sorted(keys))))
    return {tuple(row[column.name] for column in columns): dict(row) for row in rows.mappings()}


async def upsert(connection: AsyncConnection, table: Table, rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert rows, or replace those that have their primary key."""
    if not rows:
        return
    key = [column.name for column in table.primary_key.columns]
    statement = insert(table)
    others = {name: statement.excluded[name] for name in rows[0] if name not in key}
    await connection.execute(statement.on_conflict_do_update(index_elements=key, set_=others), list(rows))
