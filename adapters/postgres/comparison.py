"""Compares the rows of two stores of a projection exactly, in bounded memory."""

from collections import Counter
from collections.abc import Collection

from sqlalchemy import FromClause, Table, and_, case, func, or_, select
from sqlalchemy.ext.asyncio import AsyncConnection

from mnemolog.adapters.postgres.sqlalchemy import in_schema
from mnemolog.adapters.postgres.store import PostgresStore
from mnemolog.projections.owner import OWNER, Owner
from mnemolog.projections.rows import any_of


async def differing_rows(
    connection: AsyncConnection, one: PostgresStore, other: PostgresStore, owners: Collection[Owner] | None = None
) -> dict[str, Counter[Owner]]:
    """By table and owner, how many rows are in only one of the stores; for these owners, or all."""
    # Of whole tables both sides come in primary key order, so that nothing is sorted or kept in memory. Rows of some
    # owners are found by hashing these: otherwise each row would be compared with each owner.
    for name in ("enable_hashjoin", "enable_sort"):
        await connection.execute(select(func.set_config(name, "off" if owners is None else "on", True)))
    return {
        table.name: await _differing(connection, table, (one.schema, other.schema), owners)
        for table in one.projector.tables.sorted_tables
    }


async def _differing(
    connection: AsyncConnection, table: Table, schemas: tuple[str, str], owners: Collection[Owner] | None
) -> Counter[Owner]:
    left, right = (_rows_of(in_schema(table, schema), owners) for schema in schemas)
    key = [column.name for column in table.primary_key.columns]
    both = left.join(right, and_(*(left.c[name] == right.c[name] for name in key)), full=True)
    differ = or_(*(left.c[column.name].is_distinct_from(right.c[column.name]) for column in table.columns))
    alone = or_(left.c[key[0]].is_(None), right.c[key[0]].is_(None))
    owner = [func.coalesce(left.c[name], right.c[name]) for name in OWNER]
    statement = select(*owner, func.sum(case((alone, 1), else_=2))).select_from(both).where(differ).group_by(*owner)
    return Counter({(row[0], row[1], row[2]): int(row[3]) for row in await connection.execute(statement)})


def _rows_of(table: Table, owners: Collection[Owner] | None) -> FromClause:
    if owners is None:
        return table
    return select(table).where(any_of([table.c[name] for name in OWNER], owners)).subquery()
