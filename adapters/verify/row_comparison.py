"""Compares a projection's rows with those of a replay and classifies differences."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from sqlalchemy import (
    ColumnElement,
    CompoundSelect,
    Select,
    Table,
    and_,
    bindparam,
    case,
    exists,
    false,
    func,
    literal,
    select,
    true,
    tuple_,
    union_all,
)
from sqlalchemy.ext.asyncio import AsyncConnection

from mnemolog.adapters.postgres.as_of import TEMPORARY
from mnemolog.adapters.postgres.sqlalchemy import in_schema
from mnemolog.adapters.postgres.store import PostgresStore
from mnemolog.adapters.verify.damage import Damage, DamageKind, Part, Report
from mnemolog.events.envelope import StreamId
from mnemolog.projections.owner import Owner, indexed, owner_of, stream_of
from mnemolog.projections.seal import MAC, key_of, seal_of

LIMIT = 1000
_OWNERS = "owners"

Row = Mapping[str, Any]
Key = tuple[Any, ...]
Tables = tuple[Table, Table, Table]  # As its projector names it, live, and replayed.
# Returns the owners of a table's rows that the log does not know.
Unknown = Callable[[AsyncConnection, Table], Awaitable[Sequence[Owner]]]


def among(table: Table, streams: Sequence[StreamId]) -> ColumnElement[bool]:
    """Rows of these streams."""
    return tuple_(*indexed(table)).in_(list(map(owner_of, streams)))


class RowComparison:
    """The tables of one projection, live and replayed."""

    def __init__(self, store: PostgresStore) -> None:
        self._name = store.name
        self._tables: Sequence[Tables] = tuple(
            (table, in_schema(table, store.schema), in_schema(table, TEMPORARY))
            for table in store.projector.tables.sorted_tables
        )

    async def compare(self, connection: AsyncConnection, streams: Sequence[StreamId], report: Report) -> None:
        """Report every row of these streams that is on one side only."""
        if not streams:
            return
        found = await connection.execute(_summary(self._tables), {_OWNERS: list(map(owner_of, streams))})
        for number, count, differs in found.all():
            report.rows += count
            if differs:
                table, live, replayed = self._tables[number]
                left, right = (select(one).where(among(one, streams)) for one in (live, replayed))
                stand = await _rows(connection, left.except_all(right), table)
                expected = await _rows(connection, right.except_all(left), table)
                for key in [*stand, *(key for key in expected if key not in stand)]:
                    both = (stand.get(key), expected.get(key))
                    report.add(await self._damage(connection, table, (live, replayed), *both))

    async def compare_strangers(self, connection: AsyncConnection, unknown: Unknown, report: Report) -> None:
        """Report every row of a user that the log does not know."""
        for table, live, replayed in self._tables:
            owners = await unknown(connection, live)
            stand = await _rows(connection, select(live).where(tuple_(*indexed(live)).in_(owners[:LIMIT])), table)
            for row in stand.values():
                report.add(await self._damage(connection, table, (live, replayed), row, None))

    async def _damage(
        self, connection: AsyncConnection, table: Table, both: Sequence[Table], actual: Row | None, expected: Row | None
    ) -> Damage:
        row = actual or expected
        assert row is not None
        kind, detail = await _what(connection, table, both, actual, expected)
        key = key_of(table, row)
        return Damage(Part.ROW, kind, stream_of(row), detail, 0, "", self._name, table.name, key)


@lru_cache(128)
def _summary(tables: Sequence[Tables]) -> CompoundSelect[Any]:
    """The number of each table, how many live rows these owners have, and whether the two sides differ.

    One statement for all tables of a projection: mostly nothing differs, and many tables are empty.
    """
    return union_all(*(_sides(number, live, replayed) for number, (_, live, replayed) in enumerate(tables)))


def _sides(number: int, live: Table, replayed: Table) -> Select[Any]:
    left, right = (
        select(one).where(tuple_(*indexed(one)).in_(bindparam(_OWNERS, expanding=True))) for one in (live, replayed)
    )
    there, expected = (
        select(func.count().label("rows")).select_from(one.subquery()).subquery() for one in (left, right)
    )
    # As many rows on both sides, and none that is only on the left: they are the same.
    differs = case(
        (there.c.rows != expected.c.rows, true()),
        (there.c.rows == 0, false()),
        else_=exists(left.except_all(right).subquery().select()),
    )
    return select(literal(number), there.c.rows, differs).select_from(there.join(expected, true()))


async def _rows(
    connection: AsyncConnection, statement: Select[Any] | CompoundSelect[Any], table: Table
) -> dict[Key, Row]:
    found = await connection.execute(statement.limit(LIMIT))
    names = [column.name for column in table.primary_key.columns]
    return {tuple(row[name] for name in names): row for row in found.mappings()}


async def _what(
    connection: AsyncConnection, table: Table, both: Sequence[Table], actual: Row | None, expected: Row | None
) -> tuple[DamageKind, str]:
    if actual is None:
        return DamageKind.REMOVED, "the log has it, the table has not"
    if MAC in table.columns and seal_of(connection).fits(table, actual):
        return DamageKind.REPLAYED, "its MAC is valid: it is an earlier state of the row"
    if MAC in table.columns and await _twin(connection, both, actual):
        return DamageKind.COPIED, "another row has this MAC"
    return (
        (DamageKind.FORGED, "the log has no such row") if expected is None else (DamageKind.CHANGED, "it was changed")
    )


async def _twin(connection: AsyncConnection, both: Sequence[Table], row: Row) -> bool:
    """Whether another row has, or should have, this MAC: two rows may have been swapped."""
    for table in both:
        key = [column == row[column.name] for column in table.primary_key.columns]
        others = select(table.c[MAC]).where(table.c[MAC] == row[MAC], ~and_(*key)).limit(1)
        if (await connection.execute(others)).first() is not None:
            return True
    return False
