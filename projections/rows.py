"""Rows of a projection's table: read those that a batch touches, write them back, all at once, each under its MAC."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cache
from operator import itemgetter
from typing import Any

from psycopg.sql import SQL, Identifier
from sqlalchemy import ARRAY, Column, ColumnElement, Select, Table, and_, bindparam, delete, false, func, select, tuple_
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlalchemy.sql.selectable import TableValuedAlias

from mnemolog.events.stored_json import read_json
from mnemolog.projections.former import as_written, is_genuine
from mnemolog.projections.raw_sql import (
    as_sqlalchemy_raises,
    driver_of,
    fetch_all,
    keyed,
    names,
    one_each,
    plain_names,
    relation,
    schema_of,
    type_name,
    write,
)
from mnemolog.projections.seal import MAC, json_columns, seal_of, sealed_columns, tampered

Row = dict[str, Any]
Key = tuple[Any, ...]

# Fewer rows are written with INSERT: a COPY takes two more round trips.
COPY_FROM = 50


@cache
def primary_key(table: Table) -> Callable[[Mapping[str, Any]], Key]:
    """A function that returns a row's primary key."""
    return itemgetter(*plain_names(table.primary_key.columns))


async def load(connection: AsyncConnection, table: Table, keys: Collection[Key]) -> dict[Key, Row]:
    """The rows with these primary keys, by key."""
    if not keys:
        return {}
    wanted = keyed(list(table.primary_key.columns), keys)
    rows = await fetch_raw(connection, table, _loading(table, schema_of(connection, table)), [wanted])
    take_key = primary_key(table)
    return {take_key(row): row for row in rows}


def among(columns: Sequence[Column[Any]], keys: Collection[Key]) -> TableValuedAlias:
    """The keys as a relation with the columns' names, to join with: one statement for any number of keys."""
    arrays = [
        bindparam(None, list(values), type_=ARRAY(column.type))
        for column, values in zip(columns, zip(*sorted(keys), strict=True), strict=True)
    ]
    return func.unnest(*arrays).table_valued(*(column.name for column in columns), name="wanted").render_derived()


def matches(columns: Sequence[Column[Any]], wanted: TableValuedAlias) -> ColumnElement[bool]:
    """Whether a row has one of the keys."""
    return and_(*(column == wanted.c[column.name] for column in columns))


def any_of(columns: Sequence[Column[Any]], keys: Collection[Key]) -> ColumnElement[bool]:
    """Whether the columns are one of the keys: one statement for any number of keys, of which there may be none."""
    if not keys:
        return false()
    wanted = among(columns, keys)
    return tuple_(*columns).in_(select(*(wanted.c[column.name] for column in columns)))


def stored(table: Table) -> list[Column[Any]]:
    """The columns of a table that are written, including its MAC."""
    return [column for column in table.columns if column.computed is None]


async def fetch(connection: AsyncConnection, table: Table, statement: Select[Any]) -> list[Row]:
    """The rows of `select(*stored(table))...`, without their MACs; TamperedRow for the first whose MAC does not match.

    Rows that a projector reads are checked as well: otherwise it would reseal what somebody else changed.
    """
    found = await connection.execute(statement)
    return _genuine(connection, table, list(map(str, found.keys())), found)


async def fetch_raw(connection: AsyncConnection, table: Table, statement: bytes, values: Sequence[Any]) -> list[Row]:
    """Like `fetch`, for a statement that returns the `stored` columns in their order, with `%s` for each value."""
    return genuine(connection, table, await fetch_all(connection, statement, values))


def genuine(connection: AsyncConnection, table: Table, found: Iterable[Sequence[Any]]) -> list[Row]:
    """Rows of the `stored` columns in their order, without their MACs; TamperedRow like `fetch`."""
    return _genuine(connection, table, plain_names(stored(table)), found)


def _genuine(
    connection: AsyncConnection, table: Table, shown: Sequence[str], found: Iterable[Sequence[Any]]
) -> list[Row]:
    if MAC not in table.columns:
        return [dict(zip(shown, one, strict=True)) for one in found]
    seal, rows = seal_of(connection), []
    for one in found:
        row = dict(zip(shown, one, strict=True))
        if not seal.knows(table, row):
            if not is_genuine(seal, table, row):
                raise tampered(table, row)
            seal.keep(table, row)
        del row[MAC]
        for name in json_columns(table):
            row[name] = None if row[name] is None else read_json(row[name])
        rows.append(row)
    return rows


async def upsert(
    connection: AsyncConnection,
    table: Table,
    rows: Sequence[Mapping[str, Any]],
    known: Collection[Key] | None = None,
) -> None:
    """Insert rows, or replace those with the same primary key.

    `known` are the keys that are already in the table; without it, any may be.
    """
    if not rows:
        return
    take_key = primary_key(table)
    last = {take_key(row): row for row in rows}
    stored_names, values = _laid_out(connection, table, list(last.values()))
    shape, schema = as_written(connection, table)
    if len(values) < COPY_FROM or shape is not table:
        columns = tuple(shape.columns[name] for name in stored_names)
        write(connection, _upserting(shape, schema, columns), [keyed(columns, values)])
        return
    await remove(connection, table, last if known is None else last.keys() & known)
    await _copy_in(connection, table, stored_names, values)


async def _copy_in(
    connection: AsyncConnection, table: Table, columns: Sequence[str], rows: Iterable[Sequence[Any]]
) -> None:
    """Insert rows with new primary keys, given as values of these columns, at a third of the cost of single INSERTs."""
    place = Identifier(schema_of(connection, table), table.name)
    statement = SQL("COPY {} ({}) FROM STDIN (FORMAT binary)").format(place, SQL(",").join(map(Identifier, columns)))
    with as_sqlalchemy_raises("COPY"):
        async with driver_of(connection).cursor() as cursor, cursor.copy(statement) as copy:
            copy.set_types([type_name(table.columns[name].type) for name in columns])
            for row in rows:
                await copy.write_row(row)


def _laid_out(
    connection: AsyncConnection, table: Table, rows: Sequence[Mapping[str, Any]]
) -> tuple[list[str], list[tuple[Any, ...]]]:
    """The names of the columns to write, and each row's values in that order; with its MAC if the table has one."""
    assert rows[0].keys() <= {column.name for column in table.columns}, "a key that is not a column would be lost"
    shape, _ = as_written(connection, table)
    if MAC not in table.columns:
        columns = [name for name in rows[0] if name in shape.columns]
        return columns, [tuple(row[name] for name in columns) for row in rows]
    seal = seal_of(connection)
    return sealed_columns(shape), [seal.sealed(shape, row) for row in rows]


async def remove(connection: AsyncConnection, table: Table, keys: Collection[Key]) -> None:
    """Delete the rows with these primary keys that exist."""
    if keys:
        columns = list(table.primary_key.columns)
        await connection.execute(delete(table).where(matches(columns, among(columns, keys))))


# As bytes, because psycopg caches their conversion; there are few tables and schemas.


@cache
def _loading(table: Table, schema: str) -> bytes:
    key, place = list(table.primary_key.columns), Identifier(schema, table.name)
    found = one_each(SQL("SELECT {} FROM {}").format(names(stored(table)), place), key)
    return SQL("SELECT found.* FROM {} CROSS JOIN {}").format(relation(key, "wanted"), found).as_bytes()


@cache
def _upserting(table: Table, schema: str, columns: Sequence[Column[Any]]) -> bytes:
    key = list(table.primary_key.columns)
    replaced = SQL(", ").join(
        SQL("{0} = excluded.{0}").format(Identifier(one.name)) for one in columns if not one.primary_key
    )
    statement = SQL("INSERT INTO {} ({}) SELECT {} FROM {} ON CONFLICT ({}) DO UPDATE SET {}")
    place, shown = Identifier(schema, table.name), names(columns)
    return statement.format(place, shown, shown, relation(columns, "fresh"), names(key), replaced).as_bytes()
