"""SQLAlchemy's engine on a Postgres: rows under a seal, what leaves no answer deferred, and UTC."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import lru_cache
from typing import Any
from weakref import WeakKeyDictionary

import psycopg
from psycopg import adapters
from psycopg.abc import AdaptContext, Buffer
from psycopg.adapt import Loader
from psycopg.pq import Format
from pydantic_core import to_json
from sqlalchemy import MetaData, Table, event
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import DBAPIError, InvalidatePoolError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine
from sqlalchemy.pool import ConnectionPoolEntry

from mnemolog.adapters.postgres.pipelining import PipeliningConnection
from mnemolog.adapters.postgres.pool import BY_KEY, CONNECT_SECONDS, NOTICE_SILENCE, UNTESTED_SECONDS, quiet
from mnemolog.adapters.postgres.url import sqlalchemy_url
from mnemolog.events.stored_json import read_json
from mnemolog.projections.seal import OPTION as SEAL
from mnemolog.projections.seal import RowSeal

# As for psycopg: a connection that breaks is replaced, and what it was used for raises the error.
logging.getLogger("sqlalchemy.pool").addHandler(logging.NullHandler())

# For projectors. A power cut may lose the last commits, rows and progress alike: they are read again from the log. A
# process that hangs in a transaction holds its streams no longer than its lease.
_OPTIONS = {"synchronous_commit": "off", "idle_in_transaction_session_timeout": "10s", **BY_KEY}
PROJECTING = " ".join(f"-c {name}={value}" for name, value in _OPTIONS.items())

# For readers. Most of what they ask looks rows up by key, and to plan a search each time would take as long as the
# search. Such a plan is kept while a table grows, so it must not scan all rows because there were few.
READING = "-c plan_cache_mode=force_generic_plan -c enable_seqscan=off"

USED = "used at"

# Longer than it takes to connect, or to fail at it: SQLAlchemy loses a connection whose opening is cancelled.
GIVE_UP_SECONDS = 1.5 * CONNECT_SECONDS
_autocommitting = WeakKeyDictionary[AsyncEngine, AsyncEngine]()  # To make one takes half as long as a poll.
TIMESTAMPTZ = psycopg.postgres.types["timestamptz"].oid


@lru_cache(1024)
def in_schema(table: Table, schema: str) -> Table:
    """A copy of the table that names this schema. The same one each time, so that statements are compiled once."""
    return table.to_metadata(MetaData(), schema=schema)


def create_engine(postgres_dsn: str, seal: RowSeal, options: str = "", **pool: Any) -> AsyncEngine:
    """`options` in libpq's format; `pool` as for `create_async_engine`.

    A connection that is returned after the engine was disposed of is closed. SQLAlchemy leaves it to the garbage
    collector.
    """
    engine = create_async_engine(
        sqlalchemy_url(postgres_dsn),
        execution_options={SEAL: seal},
        json_serializer=to_json,
        json_deserializer=_read_json,
        hide_parameters=True,  # They contain what people said, and errors are logged.
        connect_args={
            "async_creator_fn": _connect,
            "options": f"-c timezone=UTC {options}",
            "connect_timeout": CONNECT_SECONDS,  # A reader that is cancelled waits until it has connected or failed.
            **NOTICE_SILENCE,
        },
        **pool,
    )
    pooling = engine.sync_engine
    at_first = pooling.pool

    @event.listens_for(at_first, "checkin")
    def checkin(connection: DBAPIConnection | None, record: ConnectionPoolEntry) -> None:
        if pooling.pool is not at_first:  # `dispose` replaces it.
            record.invalidate()

    return engine


async def _connect(*args: Any, **kwargs: Any) -> PipeliningConnection:
    connection = await PipeliningConnection.connect(*args, **kwargs)
    for one in (InstantText, InstantBinary):
        connection.adapters.register_loader("timestamptz", one)
    return connection


# What nobody here writes reads as NULL: an error of the driver would hide which row was forged, and keep it from being
# healed.


def _read_json(text: bytes | str) -> Any:
    try:
        return read_json(text)
    except (ValueError, RecursionError):
        return None


class InstantText(Loader):
    """A time; None if Python has no such date, such as infinity."""

    def __init__(self, oid: int, context: AdaptContext | None = None) -> None:
        super().__init__(oid, context)
        driver = adapters.get_loader(TIMESTAMPTZ, self.format)
        assert driver is not None, "psycopg reads times"
        self._load = driver(oid, context).load

    def load(self, data: Buffer) -> Any:
        try:
            return self._load(data)
        except psycopg.DataError:
            return None


class InstantBinary(InstantText):
    """The same in the binary format."""

    format = Format.BINARY


def checked(engine: AsyncEngine) -> AsyncEngine:
    """The engine, which from now on tests connections before their use, so that a server restart is not noticed."""
    dialect = engine.sync_engine.dialect

    @event.listens_for(engine.sync_engine, "checkin")
    def checkin(connection: DBAPIConnection | None, record: ConnectionPoolEntry) -> None:
        record.info[USED] = time.monotonic()

    @event.listens_for(engine.sync_engine, "checkout")
    def checkout(connection: Any, record: ConnectionPoolEntry, proxy: object) -> None:
        used_at = record.info.get(USED)
        if used_at is None or (time.monotonic() - used_at < UNTESTED_SECONDS and quiet(connection.driver_connection)):
            return
        try:
            dialect.do_ping(connection)
        except (psycopg.OperationalError, psycopg.InterfaceError) as error:
            raise InvalidatePoolError("the server closed the connection") from error

    return engine


@asynccontextmanager
async def connected(engine: AsyncEngine) -> AsyncIterator[AsyncConnection]:
    """A connection that is back in its pool at the end, however often its caller is cancelled meanwhile.

    SQLAlchemy leaves it to the garbage collector if the caller is cancelled while it is being opened, with a warning.
    """
    opening = asyncio.create_task(_opened(engine))
    hurried = False
    try:
        yield await asyncio.shield(opening)
    except asyncio.CancelledError:
        hurried = True
        raise
    finally:
        await _ended(opening, asyncio.create_task(_closed(opening)), hurried=hurried)


def alone(engine: AsyncEngine) -> AbstractAsyncContextManager[AsyncConnection]:
    """A connection on which each statement is a transaction of its own: for polls, a third of the round trips."""
    if engine not in _autocommitting:
        _autocommitting[engine] = engine.execution_options(isolation_level="AUTOCOMMIT")
    return connected(_autocommitting[engine])


async def _opened(engine: AsyncEngine) -> AsyncConnection:
    return await engine.connect()


async def _closed(opening: asyncio.Task[AsyncConnection]) -> None:
    await asyncio.wait([opening])
    if not opening.cancelled() and not opening.exception():
        await opening.result().close()


async def _ended(opening: asyncio.Task[AsyncConnection], closing: asyncio.Task[None], *, hurried: bool) -> None:
    """Wait until it has ended. If the caller is cancelled meanwhile, that is raised then.

    For a caller that was cancelled, `hurried` or meanwhile, a server that hangs is only waited for so long: nothing
    else limits the test of an idle connection, or a rollback.
    """
    time = asyncio.get_running_loop().time
    cancelled: asyncio.CancelledError | None = None
    until = time() + GIVE_UP_SECONDS if hurried else None
    while not closing.done():
        try:
            await asyncio.wait([closing], timeout=None if until is None else max(0.0, until - time()))
        except asyncio.CancelledError as error:
            cancelled, until = error, until or time() + GIVE_UP_SECONDS
        if until is not None and until <= time() and not closing.done():
            (closing if opening.done() else opening).cancel()
            until = time() + GIVE_UP_SECONDS
    try:
        closing.result()
    finally:
        if cancelled:
            raise cancelled


def is_gone(error: DBAPIError) -> bool:
    """Whether a table or schema does not exist: it was dropped or swapped, so its rows are gone or were rebuilt."""
    return sqlstate(error) in ("42P01", "3F000")


def sqlstate(error: DBAPIError) -> str:
    """The code of Postgres' error; "" if it is the driver's own."""
    return getattr(error.orig, "sqlstate", None) or ""
