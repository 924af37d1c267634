"""Raw SQL through psycopg, in the transaction that SQLAlchemy began.

For what runs with every small batch: there, to build and compile an expression costs more than the statement itself.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, LiteralString, Protocol, cast

import psycopg
from pgvector.sqlalchemy import HALFVEC
from psycopg.sql import SQL, Composable, Identifier
from pydantic_core import to_json
from sqlalchemy import ARRAY, BigInteger, Boolean, Column, DateTime, Double, LargeBinary, Table, Text, Uuid
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlalchemy.types import TypeEngine

from mnemolog.projections.seal import JsonText

Values = Sequence[Any] | Mapping[str, Any]


class Numbered(bytes):
    """A statement with `$1` and so on for its values. The driver sends it as it is, instead of parsing it each time."""


class Driver(Protocol):
    """What is needed of the driver's connection; implemented in `mnemolog.adapters.postgres.pipelining`."""

    async def ask(self, statement: bytes, values: Values) -> list[tuple[Any, ...]]:
        """The rows that a statement returns."""
        ...

    def defer(self, statement: bytes, values: Values) -> None:
        """Send a statement without a result along with the next one, or with the commit."""
        ...

    def cursor(self) -> psycopg.AsyncCursor[Any]: ...


def driver_of(connection: AsyncConnection) -> Driver:
    """The driver's connection, in the same transaction."""
    sync_connection = connection.sync_connection
    assert sync_connection is not None, "the connection is open"
    return cast("Driver", sync_connection.connection.driver_connection)


def options_of(connection: AsyncConnection) -> Mapping[str, Any]:
    sync_connection = connection.sync_connection
    assert sync_connection is not None, "the connection is open"
    return sync_connection.get_execution_options()


def schema_of(connection: AsyncConnection, table: Table) -> str:
    return str(options_of(connection).get("schema_translate_map", {}).get(table.schema, table.schema))


def live_key(projection: str) -> str:
    """What the live schema of a projection is called on a connection, whatever place it writes to."""
    return f"{projection}, live"


def live_schema(connection: AsyncConnection, projection: str) -> str:
    """The schema that readers see, whatever schema this connection writes to."""
    return str(options_of(connection)["schema_translate_map"][live_key(projection)])


def type_name(kind: TypeEngine[Any]) -> LiteralString:
    """The type's name in psycopg and Postgres."""
    return f"{type_name(kind.item_type)}[]" if isinstance(kind, ARRAY) else _TYPE_NAMES[type(kind)]


_TYPE_NAMES: Mapping[type, LiteralString] = {
    BigInteger: "int8",
    Boolean: "bool",
    DateTime: "timestamptz",
    Double: "float8",
    HALFVEC: "halfvec",
    JSONB: "jsonb",
    JsonText: "text",
    LargeBinary: "bytea",
    Text: "text",
    Uuid: "uuid",
}


async def fetch_all(connection: AsyncConnection, statement: bytes, values: Values) -> list[tuple[Any, ...]]:
    """The rows that a statement returns, with `%s` for each value unless it is `Numbered`."""
    with as_sqlalchemy_raises(statement.split(maxsplit=1)[0].decode()):
        return await driver_of(connection).ask(statement, values)


def write(connection: AsyncConnection, statement: bytes, values: Values) -> None:
    """Defer a statement without a result: it is sent with the next one, or with the commit."""
    driver_of(connection).defer(statement, values)


def relation(columns: Iterable[Column[Any]], name: LiteralString) -> Composable:
    """What `keyed` lays out, as a relation with this name and these columns: one parameter for any number of rows."""
    typed = (SQL("{} {}").format(Identifier(one.name), SQL(type_name(one.type))) for one in columns)
    return SQL("json_to_recordset(%s::json) AS {} ({})").format(SQL(name), SQL(", ").join(typed))


def keyed(columns: Sequence[Column[Any]], rows: Iterable[tuple[Any, ...]]) -> str:
    """Rows or keys as JSON, with each value in the form that its column type parses.

    Writers to a table with other writers sort them, so that none deadlock.
    """
    binary = [place for place, column in enumerate(columns) if isinstance(column.type, LargeBinary)]
    names = plain_names(columns)
    laid_out = []
    for row in rows:
        values = dict(zip(names, row, strict=True))
        for place in binary:
            values[names[place]] = f"\\x{row[place].hex()}"
        laid_out.append(values)
    return to_json(laid_out).decode()


def plain_names(columns: Iterable[Column[Any]]) -> list[str]:
    """For the keys of rows: as JSON, names of SQLAlchemy's own string type take 75 times as long."""
    return [str(column.name) for column in columns]


def one_each(selection: Composable, key: Sequence[Column[Any]]) -> Composable:
    """The rows of a selection `found` for each row of `wanted`, by the index of its key, whatever the estimates."""
    keys = (names(key), names(key, "wanted"))
    return SQL("LATERAL ({} WHERE ({}) = ({}) OFFSET 0) AS found").format(selection, *keys)


def names(columns: Iterable[Column[Any]], of: LiteralString = "") -> Composable:
    """The columns' names, qualified with a relation if given."""
    return SQL(", ").join(Identifier(of, one.name) if of else Identifier(one.name) for one in columns)


@contextmanager
def as_sqlalchemy_raises(statement: str) -> Iterator[None]:
    """Raise the driver's errors as SQLAlchemy's, so that callers handle one kind."""
    try:
        yield
    except psycopg.Error as error:
        raise DBAPIError.instance(statement, None, error, psycopg.Error, hide_parameters=True) from error
