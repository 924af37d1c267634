"""The tables of a former version, shown in the schema of the present one until that is built (X05).

The present schema then holds views. Readers and projectors of every process go through them, and what puts the built
tables in their place is the swap of any rebuild: nobody needs to be told.
"""

import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Column, ColumnElement, MetaData, Select, Table, Text, cast, column, func, literal, select, table
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.schema import CreateSchema, DropSchema, ExecutableDDLElement
from sqlalchemy.sql.compiler import DDLCompiler

from mnemolog.adapters.postgres.confinement import confine, show_to_readers
from mnemolog.adapters.postgres.ddl import Ddl
from mnemolog.adapters.postgres.locks import advisory_lock
from mnemolog.adapters.postgres.progress import add_seal, progress_table
from mnemolog.adapters.postgres.sqlalchemy import sqlstate
from mnemolog.events.envelope import USER, StreamId
from mnemolog.projections.former import shape_in
from mnemolog.projections.projector import Projector

_RELATIONS = table("pg_class", column("oid"), column("relname", Text), column("relkind", Text), column("relnamespace"))
_SCHEMAS = table("pg_namespace", column("oid"), column("nspname", Text))
_USAGE = table(
    "view_table_usage",
    *(column(name, Text) for name in ("view_schema", "view_name", "table_schema")),
    schema="information_schema",
)


@dataclass(frozen=True, slots=True)
class Former:
    """The schema of a previous version, or of this one with another variant (an embedding model)."""

    schema: str
    version: int
    variant: str

    @property
    def shown(self) -> str:
        return f"v{self.version} {self.variant}".strip()

    def holds(self, stream: StreamId, projector: Projector) -> bool:
        """Whether its tables can hold the stream's rows: in early versions all owners were users."""
        shapes = [shape_in(one, self.version) for one in projector.tables.sorted_tables]
        return stream.kind == USER or not any(shape and "stream_kind" in shape.reads for shape in shapes)


async def former_of(connection: AsyncConnection, projector: Projector, schema: str) -> Former | None:
    """The previous version that a schema shows; None if it has its own tables, or does not exist."""
    return (await formers_of(connection, {schema: projector.name})).get(schema)


async def formers_of(connection: AsyncConnection, names: Mapping[str, str]) -> Mapping[str, Former]:
    """The same of the schemas of several projections, by their names: those that show a previous version."""
    usage = _USAGE.c
    behind = select(usage.view_schema, usage.table_schema).where(
        usage.view_schema.in_(list(names)), usage.view_name == progress_table.name
    )
    found = {own: parsed(names[own], shown) for own, shown in await connection.execute(behind)}
    return {own: former for own, former in found.items() if former}


def parsed(name: str, schema: str) -> Former | None:
    """The version and variant in a schema's name."""
    found = re.fullmatch(rf"mnemolog_{name}_v(\d+)(?:_(.+))?", schema)
    return Former(schema, int(found[1]), found[2] or "") if found else None


async def candidates(connection: AsyncConnection, projector: Projector, own: Set[str]) -> Sequence[Former]:
    """Tables of other versions and variants that a projector may use, the most complete first."""
    schema, relation = _SCHEMAS.c, _RELATIONS.c
    made = (relation.relname == progress_table.name) & (relation.relkind == "r")
    statement = select(schema.nspname).join_from(_SCHEMAS, _RELATIONS, relation.relnamespace == schema.oid).where(made)
    names = set((await connection.execute(statement)).scalars()) - own
    found = [parsed(projector.name, name) for name in sorted(names)]
    readable = [one for one in found if one and projector.readable_from <= one.version <= projector.version]
    reached = {one: await reached_in(connection, one.schema) for one in readable}
    return sorted((one for one in readable if reached[one]), key=lambda one: (reached[one], one.version), reverse=True)


async def reached_in(connection: AsyncConnection, schema: str) -> int:
    """How many events it has applied."""
    progress = progress_table.to_metadata(MetaData(), schema=schema)
    return int((await connection.execute(select(func.coalesce(func.sum(progress.c.seq), 0)))).scalar_one())


async def set_aside(connection: AsyncConnection, schema: str, shadow: str) -> None:
    """Turn a schema's tables, which have the current version but are far behind, into the shadow to be completed."""
    await connection.execute(advisory_lock(schema))
    await connection.execute(DropSchema(shadow, cascade=True, if_exists=True))
    await connection.execute(Ddl("ALTER SCHEMA {} RENAME TO {}", schema, shadow))


async def show(connection: AsyncConnection, projector: Projector, former: Former, schema: str) -> bool:
    """Create views of a previous version in the schema; False if its tables are not what its name says."""
    tables = projector.tables.sorted_tables
    viewed = [one for one in tables if shape_in(one, former.version)]
    new = [one for one in tables if one not in viewed]
    try:
        async with connection.begin_nested():
            await connection.run_sync(add_seal, former.schema)
            await connection.execute(CreateSchema(schema, if_not_exists=True))
            for one in (*viewed, *progress_table.metadata.sorted_tables):
                await connection.execute(_CreateView((schema, one.name), _shown(one, former)))
            await show_to_readers(connection, schema, [one.name for one in viewed])
            for one in new:  # The previous version had none: its rows begin here.
                await connection.run_sync(one.to_metadata(MetaData(), schema=schema).create)
            await confine(connection, schema, [one.name for one in new])
    except DBAPIError as error:
        if sqlstate(error) not in _OTHERWISE:
            raise
        return False
    return True


# A column, table or schema that does not exist, or has another type; a table that exists already.
_OTHERWISE = frozenset({"42703", "42P01", "3F000", "42804", "42P07"})


def _shown(one: Table, former: Former) -> Select[Any]:
    """A table of the previous version, in the current shape."""
    shape = shape_in(one, former.version)
    assert shape, "a table that the former version has"

    def shown(present: Column[Any]) -> ColumnElement[Any]:
        name = present.name
        if name in shape.reads:
            return cast(literal(shape.reads[name], present.type), present.type).label(name)
        if name in shape.read:
            return cast(present, present.type).label(name)
        was = shape.table.columns.get(name, present).name
        return present if was == name else column(was).label(name)

    return select(*map(shown, one.to_metadata(MetaData(), schema=former.schema).columns))


class _CreateView(ExecutableDDLElement):
    """A view read with the rights of the reader, so that row-level security applies (design §7)."""

    def __init__(self, place: tuple[str, str], rows: Select[Any]) -> None:
        self.place, self.rows = place, rows


@compiles(_CreateView)
def _create_view(element: _CreateView, compiler: DDLCompiler, **_: object) -> str:
    place = ".".join(map(compiler.preparer.quote, element.place))
    rows = compiler.sql_compiler.process(element.rows, literal_binds=True)
    return f"CREATE VIEW {place} WITH (security_invoker = true) AS {rows}"
