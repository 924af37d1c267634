"""The connection pool of the log, using the role that may not change events if it exists."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

import psycopg
from psycopg import AsyncConnection
from psycopg.rows import DictRow, dict_row
from psycopg.types.json import set_json_loads
from psycopg_pool import AsyncConnectionPool, PoolTimeout
from pydantic_core import from_json

T = TypeVar("T")
Connection = AsyncConnection[DictRow]
Pool = AsyncConnectionPool[Connection]

UNREACHABLE = (psycopg.OperationalError, psycopg.InterfaceError, PoolTimeout, OSError)
# Class 54, such as an index entry that is too long: an operational error that no repetition cures.
_OVER_A_LIMIT = "54"

ATTEMPTS = 5

# A server that is gone without a word is noticed by libpq within ten seconds, and a client by the server.
NOTICE_SILENCE = {"keepalives_idle": 4, "keepalives_interval": 2, "keepalives_count": 3, "tcp_user_timeout": 10_000}
CONNECT_SECONDS = 5

_BECOME = """
SELECT set_config('role', 'mnemolog_engine', false) FROM pg_roles
WHERE rolname = 'mnemolog_engine' AND pg_has_role(current_user, oid, 'member')
"""

# In another zone psycopg cannot read the first and the last hours of the years 1 to 9999, which events may hold.
_IN_UTC = "SELECT set_config('TimeZone', 'UTC', false)"


def unreachable(error: Exception) -> bool:
    """Whether the server cannot be reached, so that the same may succeed later."""
    over = isinstance(error, psycopg.Error) and str(error.sqlstate).startswith(_OVER_A_LIMIT)
    return isinstance(error, UNREACHABLE) and not over


# The queries of the log and of the projectors look rows up by key. A plan that was made while a table was small would
# scan it for as long as the plan is kept, until the next ANALYZE; and a join with a list, whose length no plan knows,
# would hash some thousand rows to find one.
_JOINS = ("enable_hashjoin", "enable_mergejoin")
BY_KEY = {**dict.fromkeys(("enable_seqscan", *_JOINS), "off"), "plan_cache_mode": "force_generic_plan"}
# For a transaction that compares whole tables.
WHOLE_TABLES = "SELECT " + ", ".join(f"set_config('{name}', 'on', true)" for name in _JOINS)
_BY_KEY = "SELECT " + ", ".join(f"set_config('{name}', '{value}', false)" for name, value in BY_KEY.items())


# A process that hangs in the middle of a group does not hold its streams for longer.
_LET_GO = "SELECT set_config('idle_in_transaction_session_timeout', '10s', false)"


async def open_pool(postgres_dsn: str, *, size: int = 10, check: bool = True) -> Pool:
    """An open pool. With `check` connections are tried before use, so that a restarted server is not noticed."""
    pool: Pool = AsyncConnectionPool(
        postgres_dsn,
        kwargs={"row_factory": dict_row, "autocommit": True, "connect_timeout": CONNECT_SECONDS, **NOTICE_SILENCE},
        connection_class=Connection,
        configure=_prepare,
        check=AsyncConnectionPool.check_connection if check else None,
        min_size=1,
        max_size=size,
        timeout=30.0,
        open=False,
    )
    await pool.open(wait=True, timeout=30.0)
    return pool


async def repeated(pool: Pool, step: Callable[[Connection], Awaitable[T]]) -> T:
    """Run a step that may be run again, until a connection holds: for pools whose connections are not tried before.

    A restarted server leaves nothing but dead ones; what is still missing after five attempts is raised.
    """
    for _ in range(ATTEMPTS - 1):
        try:
            async with pool.connection() as connection:
                return await step(connection)
        except UNREACHABLE as error:
            if not unreachable(error):
                raise
            await pool.check()
    async with pool.connection() as connection:
        return await step(connection)


async def _prepare(connection: Connection) -> None:
    set_json_loads(from_json, connection)  # A third of the time that Python's own takes.
    await connection.execute(_BECOME)
    await connection.execute(_IN_UTC)
    await connection.execute(_BY_KEY)
    await connection.execute(_LET_GO)
