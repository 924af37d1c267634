"""Rows of a projection's table: read those that a batch touches, write them back, all at once, each under its MAC."""

from collections.abc import Collection, Mapping, Sequence
from functools import cache
from typing import Any

from sqlalchemy import ARRAY, Column, ColumnElement, Select, Table, and_, bindparam, delete, func, select
from sqlalchemy.dialects.postgresql import Insert, insert
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlalchemy.sql.selectable import TableValuedAlias

from mnemolog.events.envelope import Recorded
from mnemolog.projections.copying import copy_in
from mnemolog.projections.seal import MAC, seal_of

Row = dict[str, Any]
Key = tuple[Any, ...]

# Fewer rows go by INSERT: a COPY costs two round trips more.
COPY_FROM = 50


def owner(event: Recorded) -> tuple[str, str]:
    """(tenant, user): the first two columns of every primary key, so that no row can be found without them."""
    return event.stream.tenant, event.stream.owner


async def load(connection: AsyncConnection, table: Table, keys: Collection[Key]) -> dict[Key, Row]:
    """The rows under these primary keys, by key."""
    if not keys:
        return {}
    columns = list(table.primary_key.columns)
    wanted = among(columns, keys)
    rows = await fetch(connection, table, select(*stored(table)).join(wanted, matches(columns, wanted)))
    return {tuple(row[column.name] for column in columns): row for row in rows}


def among(columns: Sequence[Column[Any]], keys: Collection[Key]) -> TableValuedAlias:
    """The keys as a relation with the columns' names, to join with: one statement for any number of them."""
    arrays = [
        bindparam(None, list(values), type_=ARRAY(column.type))
        for column, values in zip(columns, zip(*sorted(keys), strict=True), strict=True)
    ]
    return func.unnest(*arrays).table_valued(*(column.name for column in columns), name="wanted").render_derived()


def matches(columns: Sequence[Column[Any]], wanted: TableValuedAlias) -> ColumnElement[bool]:
    """That a row has one of the keys."""
    return and_(*(column == wanted.c[column.name] for column in columns))


def stored(table: Table) -> list[Column[Any]]:
    """The columns of a table that are written, its MAC among them."""
    return [column for column in table.columns if column.computed is None]


async def fetch(connection: AsyncConnection, table: Table, statement: Select[Any]) -> list[Row]:
    """The rows of `select(*stored(table))...`, without their MACs; TamperedRow names the first that does not fit.

    What a projector reads is checked as well: else it would seal anew what somebody else had changed.
    """
    rows = [dict(row) for row in (await connection.execute(statement)).mappings()]
    if rows and MAC in table.columns:
        seal = seal_of(connection)
        for row in rows:
            seal.require(table, row)
            del row[MAC]
    return rows


async def upsert(
    connection: AsyncConnection,
    table: Table,
    rows: Sequence[Mapping[str, Any]],
    known: Collection[Key] | None = None,
) -> None:
    """Insert rows, or replace those that have their primary key.

    `known` are the keys among theirs that are in the table already; without it any may be.
    """
    if not rows:
        return
    if MAC in table.columns:
        seal = seal_of(connection)
        rows = [{**row, MAC: seal.mac(table, row)} for row in rows]
    if len(rows) < COPY_FROM:
        await _insert(connection, table, rows)
    else:
        await _replace(connection, table, rows, known)


async def _insert(connection: AsyncConnection, table: Table, rows: Sequence[Mapping[str, Any]]) -> None:
    await connection.execute(_upserting(table, tuple(rows[0])), list(rows))


@cache
def _upserting(table: Table, names: tuple[str, ...]) -> Insert:
    key = [column.name for column in table.primary_key.columns]
    statement = insert(table)
    others = {name: statement.excluded[name] for name in names if name not in key}
    return statement.on_conflict_do_update(index_elements=key, set_=others)


async def _replace(
    connection: AsyncConnection, table: Table, rows: Sequence[Mapping[str, Any]], known: Collection[Key] | None
) -> None:
    columns = list(table.primary_key.columns)
    by_key = {tuple(row[column.name] for column in columns): row for row in rows}
    if old := by_key.keys() if known is None else by_key.keys() & known:
        await connection.execute(delete(table).where(matches(columns, among(columns, old))))
    await copy_in(connection, table, list(by_key.values()))
