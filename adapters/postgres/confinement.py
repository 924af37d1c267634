"""Row-level security between tenants: readers use a role that sees one tenant only (design §7).

The first is the condition of every query. Where the login may not become that role, such as on a Postgres where the
migrations could not make it, the first stands alone.
"""

from collections.abc import Collection

from sqlalchemy import func, select, text
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from mnemolog.adapters.postgres.ddl import Ddl

READER = "mnemolog_reader"
TENANT = "mnemolog.tenant"


async def may_read_as_reader(engine: AsyncEngine) -> bool:
    """Whether the login may assume the role of the readers."""
    async with engine.connect() as connection:
        return bool((await connection.execute(_MAY_READ, {"reader": READER})).scalar())


async def confine_to(connection: AsyncConnection, tenant: str) -> None:
    """Restrict a connection to this tenant's rows. Nothing is sent if it is restricted to them already."""
    if connection.info.get(TENANT) != tenant:
        await connection.execute(select(func.set_config(TENANT, tenant, False)))
        connection.info[TENANT] = tenant


async def confine(connection: AsyncConnection, schema: str, tables: Collection[str]) -> None:
    """Let readers see these tables, one tenant at a time; tables set up like this before stay as they are."""
    await connection.execute(_CONFINE, {"schema": schema, "tables": list(tables)})


async def show_to_readers(connection: AsyncConnection, schema: str, views: Collection[str]) -> None:
    """Let readers see views of restricted tables: they are read with the readers' own rights."""
    if (await connection.execute(_IS_READER, {"reader": READER})).scalar_one():
        await connection.execute(Ddl("GRANT USAGE ON SCHEMA {} TO {}", schema, READER))
        await connection.execute(Ddl("GRANT SELECT ON {} TO {}", [(schema, one) for one in views], READER))


async def admit(connection: AsyncConnection, schema: str) -> None:
    """Let readers use a schema whose tables come restricted from another one."""
    if (await connection.execute(_SHUT_OUT, {"schema": schema, "reader": READER})).scalar():
        await connection.execute(Ddl("GRANT USAGE ON SCHEMA {} TO {}", schema, READER))


_CONFINE = text("""
SELECT mnemolog.confine(CAST(place.oid AS regclass))
FROM pg_class AS place JOIN pg_namespace AS space ON space.oid = place.relnamespace
WHERE space.nspname = :schema AND place.relname = ANY(:tables) AND NOT place.relrowsecurity
""")
_MAY_READ = text("SELECT pg_has_role(session_user, oid, 'member') FROM pg_roles WHERE rolname = :reader")
_IS_READER = text("SELECT EXISTS (SELECT FROM pg_roles WHERE rolname = :reader)")
_SHUT_OUT = text("SELECT NOT has_schema_privilege(oid, :schema, 'USAGE') FROM pg_roles WHERE rolname = :reader")
