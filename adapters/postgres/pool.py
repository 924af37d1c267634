"""The pool of connections that the log uses: as the role that may not change an event, where that role exists."""

from psycopg import AsyncConnection
from psycopg.rows import DictRow, dict_row
from psycopg_pool import AsyncConnectionPool

Connection = AsyncConnection[DictRow]
Pool = AsyncConnectionPool[Connection]

_BECOME = """
SELECT set_config('role', 'mnemolog_engine', false) FROM pg_roles
WHERE rolname = 'mnemolog_engine' AND pg_has_role(current_user, oid, 'member')
"""

# In another zone psycopg cannot read the first and the last hours of the years 1 to 9999, which events may hold.
_IN_UTC = "SELECT set_config('TimeZone', 'UTC', false)"


async def open_pool(postgres_dsn: str, *, size: int = 10) -> Pool:
    """An open pool. Connections are checked before use, so that a restarted server is not noticed."""
    pool: Pool = AsyncConnectionPool(
        postgres_dsn,
        kwargs={"row_factory": dict_row, "autocommit": True},
        connection_class=Connection,
        configure=_prepare,
        check=AsyncConnectionPool.check_connection,
        min_size=1,
        max_size=size,
        timeout=30.0,
        open=False,
    )
    await pool.open(wait=True, timeout=30.0)
    return pool


async def _prepare(connection: Connection) -> None:
    await connection.execute(_BECOME)
    await connection.execute(_IN_UTC)
