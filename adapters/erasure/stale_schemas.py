"""Schemas that are no longer projected into, left by a crashed rebuild or an older version (X07).

They are behind the log and stay so, and with them what was erased since.
"""

from collections.abc import Collection, Sequence

from sqlalchemy import column, delete, select, table, tuple_
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from mnemolog.adapters.postgres.locks import advisory_lock
from mnemolog.adapters.postgres.sqlalchemy import is_gone
from mnemolog.adapters.postgres.store import SHADOW
from mnemolog.events.envelope import USER, StreamId
from mnemolog.projections.owner import OWNER, owner_of

PREFIX = "mnemolog_"
KEYS = "mnemolog_keys"
_COLUMNS = table(
    "columns", column("table_schema"), column("table_name"), column("column_name"), schema="information_schema"
)


async def forget_in_stale_schemas(engine: AsyncEngine, live: Collection[str], stream: StreamId) -> Sequence[str]:
    """Delete a user's rows and progress in every stale schema; returns those schemas.

    A rebuild that continues there reads the user's events again, in their current form.
    """
    async with engine.connect() as connection:
        name = _COLUMNS.c.table_schema
        ours = select(name).distinct().where(name.startswith(PREFIX, autoescape=True), name != KEYS)
        schemas = sorted(set((await connection.execute(ours)).scalars()) - set(live))
    for schema in schemas:
        try:
            async with engine.begin() as connection:
                await _forget(connection, schema, stream)
        except DBAPIError as error:
            if not is_gone(error):
                raise
    return schemas


async def forget_embeddings(engine: AsyncEngine, stream: StreamId) -> None:
    """Delete a user's embeddings from caches that no projection uses any more."""
    kept = table("embeddings", *map(column, OWNER), schema="mnemolog")
    async with engine.begin() as connection:
        await connection.execute(delete(kept).where(tuple_(*kept.columns) == tuple_(*owner_of(stream))))


async def _forget(connection: AsyncConnection, schema: str, stream: StreamId) -> None:
    # A rebuild that is about to swap holds the live schema's lock: before that, it reads again what is deleted here.
    await connection.execute(advisory_lock(schema.removesuffix(f"_{SHADOW}"), shared=True))
    # Writers to the schema hold this lock, shared: what they decoded before the keys were destroyed is now committed.
    await connection.execute(advisory_lock(schema))
    whole = await _with_columns(connection, schema, *OWNER)
    for name in whole:
        rows = table(name, *map(column, OWNER), schema=schema)
        await connection.execute(delete(rows).where(tuple_(*rows.columns) == tuple_(*owner_of(stream))))
    # From a version in which all owners were users.
    users = await _with_columns(connection, schema, "tenant", "user_id") if stream.kind == USER else ()
    for name in set(users).difference(whole):
        rows = table(name, column("tenant"), column("user_id"), schema=schema)
        await connection.execute(delete(rows).where(tuple_(*rows.columns) == tuple_(stream.tenant, stream.owner)))
    for name in await _with_columns(connection, schema, "tenant", "stream", "stopped_at"):
        progress = table(name, column("tenant"), column("stream"), schema=schema)
        own = tuple_(progress.c.tenant, progress.c.stream) == tuple_(stream.tenant, stream.name)
        await connection.execute(delete(progress).where(own))


async def _with_columns(connection: AsyncConnection, schema: str, *names: str) -> Sequence[str]:
    """The tables of a schema that have all these columns."""
    columns = _COLUMNS.c
    statement = select(columns.table_name, columns.column_name).where(columns.table_schema == schema)
    found: dict[str, set[str]] = {}
    for name, one in await connection.execute(statement):
        found.setdefault(name, set()).add(one)
    return sorted(name for name, own in found.items() if own.issuperset(names))
