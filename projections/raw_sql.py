"""Raw SQL through psycopg, in the transaction that SQLAlchemy began.

For what runs with every small batch: there, to build and compile an expression costs more than the statement itself.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, LiteralString, Protocol, cast

import psycopg
from pgvector.sqlalchemy import VECTOR
from psycopg.sql import SQL, Composable, Identifier
from pydantic_core import to_json
from sqlalchemy import ARRAY, BigInteger, Boolean, Column, DateTime, Double, LargeBinary, Table, Text, Uuid
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlalchemy.types import TypeEngine

from mnemolog.projections.seal import JsonText

Values = Sequence[Any] | Mapping[str, Any]


class Driver(Protocol):
    """What is asked of the driver's connection; `mnemolog.adapters.postgres.pipelining` has one."""

    async def ask(self, statement: bytes, values: Values) -> list[tuple[Any, ...]]:
        """What a statement gives."""
        ...

    def defer(self, statement: bytes, values: Values) -> None:
        """Send a statement that gives nothing along with the next one, or with the commit."""
        ...

    def cursor(self) -> psycopg.AsyncCursor[Any]: ...


def driver_of(connection: AsyncConnection) -> Driver:
    """The driver's own connection, in the same transaction."""
    sync_connection = connection.sync_connection
    assert sync_connection is not None, "the connection is open"
    return cast("Driver", sync_connection.connection.driver_connection)


def schema_of(connection: AsyncConnection, table: Table) -> str:
    """The schema that a table stands in on this connection."""
    sync_connection = connection.sync_connection
    assert sync_connection is not None, "the connection is open"
    schemas = sync_connection.get_execution_options().get("schema_translate_map", {})
    return str(schemas.get(table.schema, table.schema))


def type_name(kind: TypeEngine[Any]) -> LiteralString:
    """As psycopg and Postgres call it."""
    return f"{type_name(kind.item_type)}[]" if isinstance(kind, ARRAY) else _TYPE_NAMES[type(kind)]


_TYPE_NAMES: Mapping[type, LiteralString] = {
    BigInteger: "int8",
    Boolean: "bool",
    DateTime: "timestamptz",
    Double: "float8",
    JSONB: "jsonb",
    JsonText: "text",
    LargeBinary: "bytea",
    Text: "text",
    Uuid: "uuid",
    VECTOR: "vector",
}


async def fetch_all(connection: AsyncConnection, statement: bytes, values: Values) -> list[tuple[Any, ...]]:
    """What a statement gives, `%s` for each value."""
    with as_sqlalchemy_raises(statement.split(maxsplit=1)[0].decode()):
        return await driver_of(connection).ask(statement, values)


def write(connection: AsyncConnection, statement: bytes, values: Values) -> None:
    """Have a statement done that gives nothing: it goes with the next one, or with the commit."""
    driver_of(connection).defer(statement, values)


def relation(columns: Iterable[Column[Any]], name: LiteralString) -> Composable:
    """What `records` lays out, as a relation of this name with the columns' names: one value for any number of rows."""
    typed = (SQL("{} {}").format(Identifier(one.name), SQL(type_name(one.type))) for one in columns)
    return SQL("json_to_recordset(%s::json) AS {} ({})").format(SQL(name), SQL(", ").join(typed))


def records(columns: Iterable[Column[Any]], rows: Iterable[Mapping[str, Any]]) -> str:
    """Rows as JSON, each value of a column in the form that its type reads."""
    binary = [str(column.name) for column in columns if isinstance(column.type, LargeBinary)]
    if binary:
        rows = ({**row, **{name: f"\\x{row[name].hex()}" for name in binary}} for row in rows)
    return to_json(list(rows)).decode()


def keyed(columns: Sequence[Column[Any]], keys: Iterable[tuple[Any, ...]]) -> str:
    """Keys as `records`. Who writes by them to a table that others write to sorts them, so that none deadlock."""
    names = plain_names(columns)
    return records(columns, (dict(zip(names, key, strict=True)) for key in keys))


def plain_names(columns: Iterable[Column[Any]]) -> list[str]:
    """For the keys of rows: as JSON, a name of SQLAlchemy's own kind of string takes 75 times as long."""
    return [str(column.name) for column in columns]


def one_each(selection: Composable, key: Sequence[Column[Any]]) -> Composable:
    """What a selection `found` for each row of `wanted`: by its key's index, whatever the planner thinks of sizes."""
    keys = (names(key), names(key, "wanted"))
    return SQL("LATERAL ({} WHERE ({}) = ({}) OFFSET 0) AS found").format(selection, *keys)


def names(columns: Iterable[Column[Any]], of: LiteralString = "") -> Composable:
    """The columns' names, of a relation where it is named."""
    return SQL(", ").join(Identifier(of, one.name) if of else Identifier(one.name) for one in columns)


@contextmanager
def as_sqlalchemy_raises(statement: str) -> Iterator[None]:
    """The driver's errors as SQLAlchemy's, so that a caller tells them apart in one way."""
    try:
        yield
    except psycopg.Error as error:
        raise DBAPIError.instance(statement, None, error, psycopg.Error, hide_parameters=True) from error
