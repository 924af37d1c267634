"""Previous versions of a projection's tables, which readers use until the new one is built (X05).

A column says since which version it is there, and what the rows of before read as; or since which it has its type or
its name.
All else follows from that: the shape of every former version, what is written to it, and what its MACs cover.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from sqlalchemy import Column, MetaData, Table
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlalchemy.types import TypeEngine

from mnemolog.projections.seal import RowSeal

_SINCE, _READS, _WAS, _READ, _NAMED = "since", "reads", "was", "read", "named"


def added(version: int, *, reads: Any = None) -> dict[str, Any]:
    """The `info` of a column that was added in a version: rows of earlier versions read as this constant.

    For a table: it is empty until the version is built.
    """
    return {_SINCE: version, _READS: reads}


def retyped(version: int, *, was: TypeEngine[Any], read: Callable[[Any], Any]) -> dict[str, Any]:
    """The `info` of a column whose type changed in a version.

    Old values are cast by the database; `read` converts what it shows back into the old value.
    """
    return {_SINCE: version, _WAS: was, _READ: read}


def renamed(version: int, *, was: str) -> dict[str, Any]:
    """The `info` of a column that has its name since a version."""
    return {_SINCE: version, _NAMED: was}


class FormerSchema(str):
    """The name of a schema with views of the previous version's tables, which are in the schema `behind` it."""

    __slots__ = ("behind", "version")
    behind: str
    version: int

    def __new__(cls, name: str, behind: str, version: int) -> "FormerSchema":
        schema = super().__new__(cls, name)
        schema.behind, schema.version = behind, version
        return schema


@dataclass(frozen=True, slots=True)
class Shape:
    """The columns that an earlier version wrote, the constants of the others, and how retyped ones are read.

    The key of a column is its present name.
    """

    table: Table
    reads: Mapping[str, Any]
    read: Mapping[str, Callable[[Any], Any]]

    def is_genuine(self, seal: RowSeal, row: Mapping[str, Any]) -> bool:
        """Whether a row, in the current shape, was written in this shape."""
        if any(row[name] != value for name, value in self.reads.items()):
            return False
        try:
            was = {name: read(row[name]) for name, read in self.read.items() if row[name] is not None}
        except (ValueError, RecursionError):  # No projector wrote what cannot be parsed.
            return False
        return seal.fits(self.table, {**row, **was})


@cache
def shape_in(table: Table, version: int) -> Shape | None:
    """A table as it was in an earlier version; None if it did not exist."""
    if _since(table) > version:
        return None
    later = [one for one in table.columns if _since(one) > version]
    reads = {str(one.name): one.info[_READS] for one in later if _READS in one.info}
    read = {str(one.name): one.info[_READ] for one in later if _READ in one.info}
    named = {str(one.name): one.info[_NAMED] for one in later if _NAMED in one.info}
    columns = [
        Column(
            named.get(one.name, one.name),
            one.info[_WAS] if one.name in read else one.type,
            key=one.name,
            primary_key=one.primary_key,
        )
        for one in table.columns
        if one.computed is None and one.name not in reads
    ]
    return Shape(Table(table.name, MetaData(schema=table.schema), *columns), reads, read)


def as_written(connection: AsyncConnection, table: Table) -> tuple[Table, str]:
    """The table with the columns that this connection writes to, and their schema."""
    sync_connection = connection.sync_connection
    assert sync_connection is not None, "the connection is open"
    place = sync_connection.get_execution_options().get("schema_translate_map", {}).get(table.schema, table.schema)
    shape = shape_in(table, place.version) if isinstance(place, FormerSchema) else None
    return (shape.table, place.behind) if shape else (table, str(place))


def is_genuine(seal: RowSeal, table: Table, row: Mapping[str, Any]) -> bool:
    """Whether a projector of this or an earlier version wrote the row as it reads."""
    return seal.fits(table, row) or any(shape.is_genuine(seal, row) for shape in _shapes(table))


@cache
def _shapes(table: Table) -> tuple[Shape, ...]:
    """The shapes that differ from the current one."""
    versions = {_since(one) - 1 for one in table.columns if _since(one)}
    return tuple(shape for version in sorted(versions, reverse=True) if (shape := shape_in(table, version)))


def _since(one: Column[Any] | Table) -> int:
    since: int = one.info.get(_SINCE, 0)
    return since
