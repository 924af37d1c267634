"""Bulk inserts by binary COPY, at a third of the cost of single INSERTs."""

from collections.abc import Iterable, Sequence
from typing import Any

from psycopg.sql import SQL, Identifier
from sqlalchemy import Table
from sqlalchemy.ext.asyncio import AsyncConnection

from mnemolog.projections.raw_sql import as_sqlalchemy_raises, driver_of, schema_of, type_name


async def copy_in(
    connection: AsyncConnection, table: Table, names: Sequence[str], rows: Iterable[Sequence[Any]]
) -> None:
    """Insert rows with new primary keys, given as values of these columns, in the connection's current transaction."""
    place = Identifier(schema_of(connection, table), table.name)
    statement = SQL("COPY {} ({}) FROM STDIN (FORMAT binary)").format(place, SQL(",").join(map(Identifier, names)))
    with as_sqlalchemy_raises("COPY"):
        async with driver_of(connection).cursor() as cursor, cursor.copy(statement) as copy:
            copy.set_types([type_name(table.columns[name].type) for name in names])
            for row in rows:
                await copy.write_row(row)
