"""The connection pool of the log, using the role that may not change events if it exists."""

import logging
import select
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from math import inf
from typing import Any, LiteralString, TypeVar
from weakref import WeakKeyDictionary

import psycopg
from psycopg import AsyncConnection
from psycopg.rows import DictRow, dict_row
from psycopg.types.json import set_json_loads
from psycopg_pool import AsyncConnectionPool, PoolTimeout
from pydantic_core import from_json

from mnemolog.adapters.postgres.cancellable import CancellableConnection

T = TypeVar("T")
Connection = CancellableConnection[DictRow]
Pool = AsyncConnectionPool[Connection]

# Lost connections are replaced, and errors are raised: the driver's warnings are only for programs that have logging.
logging.getLogger("psycopg").addHandler(logging.NullHandler())

UNREACHABLE = (psycopg.OperationalError, psycopg.InterfaceError, PoolTimeout, OSError)
# Class 54, such as an index entry that is too long: an operational error that retrying does not fix.
_OVER_A_LIMIT = "54"

ATTEMPTS = 5
# A connection that was in use so lately is not tested, unless something arrived on it since.
UNTESTED_SECONDS = 1.0

# libpq notices within ten seconds that a server has disappeared, and the server that a client has.
NOTICE_SILENCE = {"keepalives_idle": 4, "keepalives_interval": 2, "keepalives_count": 3, "tcp_user_timeout": 10_000}
CONNECT_SECONDS = 5
CONNECTION: Mapping[str, Any] = {"autocommit": True, "connect_timeout": CONNECT_SECONDS, **NOTICE_SILENCE}

_BECOME = """
SELECT set_config('role', 'mnemolog_engine', false) FROM pg_roles
WHERE rolname = 'mnemolog_engine' AND pg_has_role(current_user, oid, 'member')
"""

# In other time zones psycopg cannot read the first and last hours of the years 1 to 9999, which events may contain.
_IN_UTC = "SELECT set_config('TimeZone', 'UTC', false)"


def unreachable(error: Exception) -> bool:
    """Whether the server cannot be reached, so that a retry may succeed."""
    over = isinstance(error, psycopg.Error) and str(error.sqlstate).startswith(_OVER_A_LIMIT)
    return isinstance(error, UNREACHABLE) and not over


# The queries of the log and of the projectors look rows up by key. A plan made while a table was small would scan it
# until the next ANALYZE; and a join with a list, whose length the planner does not know, would hash thousands of rows
# to find one.
_JOINS = ("enable_hashjoin", "enable_mergejoin")
BY_KEY = {**dict.fromkeys(("enable_seqscan", *_JOINS), "off"), "plan_cache_mode": "force_generic_plan"}
# For transactions that compare whole tables.
WHOLE_TABLES = "SELECT " + ", ".join(f"set_config('{name}', 'on', true)" for name in _JOINS)
_BY_KEY = "SELECT " + ", ".join(f"set_config('{name}', '{value}', false)" for name, value in BY_KEY.items())


# A process that hangs in the middle of a batch releases its streams after this.
_LET_GO = "SELECT set_config('idle_in_transaction_session_timeout', '10s', false)"

SESSION: Sequence[LiteralString] = (_BECOME, _IN_UTC, _BY_KEY, _LET_GO)


async def open_pool(postgres_dsn: str, *, size: int = 10, check: bool = True) -> Pool:
    """An open pool. With `check`, connections are tested before use, so that a server restart is not noticed."""
    pool: Pool = AsyncConnectionPool(
        postgres_dsn,
        kwargs={"row_factory": dict_row, **CONNECTION},
        connection_class=Connection,
        configure=_prepare,
        reset=_used if check else None,
        check=_checked if check else None,
        min_size=1,
        max_size=size,
        timeout=30.0,
        open=False,
    )
    try:
        await pool.open(wait=True, timeout=30.0)
    except BaseException:  # Also of a caller that is cancelled: its workers may ignore that, and would never end.
        await pool.close()
        raise
    return pool


def quiet(connection: AsyncConnection[Any]) -> bool:
    """Whether it is open, and nothing arrived that was not asked for, such as its end."""
    if connection.closed:
        return False
    arrived = select.poll()
    arrived.register(connection.fileno(), select.POLLIN)
    return not arrived.poll(0)


async def repeated(pool: Pool, step: Callable[[Connection], Awaitable[T]]) -> T:
    """Run an idempotent step, retrying on connection errors: for pools whose connections are not tested before use.

    After a server restart all connections are dead; an error after five attempts is raised. So is the pool's own
    timeout: it has tried to connect for that long.
    """
    for _ in range(ATTEMPTS - 1):
        try:
            async with pool.connection() as connection:
                return await step(connection)
        except UNREACHABLE as error:
            if isinstance(error, PoolTimeout) or not unreachable(error):
                raise
            await pool.check()
    async with pool.connection() as connection:
        return await step(connection)


_used_at: WeakKeyDictionary[Connection, float] = WeakKeyDictionary()


async def _used(connection: Connection) -> None:
    _used_at[connection] = time.monotonic()


async def _checked(connection: Connection) -> None:
    if time.monotonic() - _used_at.get(connection, -inf) >= UNTESTED_SECONDS or not quiet(connection):
        await AsyncConnectionPool.check_connection(connection)


async def _prepare(connection: Connection) -> None:
    set_json_loads(from_json, connection)  # Takes a third of the time of Python's.
    for statement in SESSION:
        await connection.execute(statement)
