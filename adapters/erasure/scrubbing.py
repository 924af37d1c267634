"""Removes freed data from disk: dead rows, statistics, old write-ahead log, and the log of Redis.

An erasure takes a text out of every table; its bytes stay in freed pages and in WAL until they are used again.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import psycopg
from psycopg import AsyncConnection
from psycopg.sql import SQL, Identifier
from redis.asyncio import Redis
from redis.exceptions import ResponseError

from mnemolog.adapters.unreachable import own_words
from mnemolog.domain.errors import EngineError

Progressed = Callable[[str], None]

# Keys are deleted in their own tables. The log's own tables never lose a row, and contain no plain text.
_TABLES = """
SELECT place.nspname, held.relname FROM pg_class AS held JOIN pg_namespace AS place ON place.oid = held.relnamespace
WHERE held.relkind = 'r' AND (starts_with(place.nspname, 'mnemolog_')
      OR (place.nspname, held.relname) IN (('mnemolog', 'embeddings'), ('mnemolog', 'jobs'), ('mnemolog', 'outbox'),
          ('mnemolog', 'checkpoint_threads'), ('mnemolog', 'supervisor_checkpoints'), ('mnemolog', 'checkpoint_chunks'),
          ('mnemolog', 'checkpoint_writes'), ('mnemolog', 'webhooks'), ('mnemolog', 'webhook_deliveries'),
          ('mnemolog', 'webhook_requests')))
ORDER BY place.nspname, held.relname
"""
# VACUUM keeps what a transaction that is still open can see. A vacuum itself sees nothing, and is left out.
_MARK = "SELECT pg_current_xact_id()::xid"
_OLDER = """
SELECT pid, coalesce(nullif(application_name, ''), backend_type), coalesce(xact_start, backend_start)
FROM pg_stat_activity
WHERE pid <> pg_backend_pid() AND (datname = current_database() OR backend_type = 'walsender')
      AND greatest(age(backend_xmin), age(backend_xid)) > age(%s::xid)
      AND pid NOT IN (SELECT pid FROM pg_stat_progress_vacuum WHERE pid IS NOT NULL)
ORDER BY 3 LIMIT 1
"""
# Of another login, Postgres may tell the process alone.
_HOLDING = """
SELECT pid, coalesce(nullif(application_name, ''), backend_type, 'another login'),
       coalesce(xact_start, backend_start, now())
FROM pg_stat_activity
WHERE pid IN (SELECT pid FROM pg_locks WHERE relation = to_regclass(%s) AND granted
              AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))
      AND pid <> pg_backend_pid()
ORDER BY 3 LIMIT 1
"""
_STATISTICS = Identifier("pg_catalog", "pg_statistic")
_SEGMENTS = "SELECT count(*), coalesce(sum(size), 0)::bigint FROM pg_ls_waldir()"
_RECORD = "SELECT pg_logical_emit_message(false, 'mnemolog', 'scrub')"
_SWITCH = "SELECT pg_switch_wal()"
# A checkpoint renames used segments, with their content, for later use. The first round overwrites those renamed
# before, and the second what the first left behind.
ROUNDS = 2
WAIT_SECONDS = 60.0
# Who waits for a table has everybody else wait behind it, so it gives way in between. Longer than `deadlock_timeout`,
# after which Postgres cancels its own vacuum of that table.
LOCK_SECONDS = 2
PAUSE_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class Scrubbed:
    """How many tables were rewritten, and how many segments of WAL overwritten."""

    tables: int
    segments: int

    def as_dict(self) -> dict[str, Any]:
        return {"tables": self.tables, "wal_segments": self.segments}


async def scrub(
    databases: Sequence[str],
    redis: Redis | None,
    progressed: Progressed = lambda step: None,
    wait: float = WAIT_SECONDS,
) -> Scrubbed:
    """Rewrite the tables that lose rows, and overwrite the WAL and, if it is ours, the log of Redis.

    Each table is locked while it is rewritten. EngineError if this login has no permission, or if a transaction that
    began before, or has a lock on a table, is still open after `wait` seconds.
    """
    if redis:
        progressed("rewriting the Redis log")
        # Rewrite its append-only file. A running rewrite is awaited, since it may have begun before the deletion.
        for _ in range(2):
            with suppress(ResponseError):
                await redis.bgrewriteaof()
            while (await redis.info("persistence"))["aof_rewrite_in_progress"]:  # noqa: ASYNC110  no notification
                await asyncio.sleep(0.05)
    tables = segments = 0
    for setting, dsn in zip(("postgres_url", "projections_url"), databases, strict=False):
        async with await AsyncConnection.connect(dsn, autocommit=True) as connection:
            try:
                # No transaction may be open that began before this call.
                [(mark,)] = await (await connection.execute(_MARK)).fetchall()
                give_up = time.monotonic() + wait
                while found := await (await connection.execute(_OLDER, [str(mark)])).fetchone():
                    progressed(f"waiting for a transaction of {found[1]}")
                    if time.monotonic() > give_up:
                        raise _open("keeps Postgres from removing deleted rows", *found)
                    await asyncio.sleep(0.1)
                tables += await _rewrite_tables(connection, progressed, wait)
                segments += await _write_wal_over(connection, progressed)
            except psycopg.errors.InsufficientPrivilege as error:
                raise EngineError(
                    f"this Postgres login may not clear its files: {own_words(error)}",
                    field=setting,
                    fix="run it as a superuser, or as a member of pg_checkpoint that may execute pg_switch_wal()",
                ) from error
    return Scrubbed(tables, segments)


async def _rewrite_tables(connection: AsyncConnection[Any], progressed: Progressed, wait: float) -> int:
    """VACUUM FULL leaves no dead rows and no old pages. Statistics contain values, and are collected again."""
    found: Sequence[tuple[str, str]] = await (await connection.execute(_TABLES)).fetchall()
    for schema, name in found:
        progressed(f"rewriting {schema}.{name}")
        with suppress(psycopg.errors.UndefinedTable, psycopg.errors.InvalidSchemaName):  # Swapped or dropped meanwhile.
            await _vacuum(connection, Identifier(schema, name), progressed, wait)
    progressed("updating statistics")
    await connection.execute("ANALYZE")
    await _vacuum(connection, _STATISTICS, progressed, wait)
    return len(found)


async def _vacuum(connection: AsyncConnection[Any], table: Identifier, progressed: Progressed, wait: float) -> None:
    """Rewrite a table, as soon as nobody else has a lock on it."""
    give_up = time.monotonic() + wait
    await connection.execute(f"SET lock_timeout = '{LOCK_SECONDS}s'")
    while True:
        try:
            await connection.execute(SQL("VACUUM (FULL) {}").format(table))
            break
        except psycopg.errors.LockNotAvailable:
            if found := await (await connection.execute(_HOLDING, [table.as_string()])).fetchone():
                progressed(f"waiting for a transaction of {found[1]}")
                if time.monotonic() > give_up:
                    raise _open(f"has a lock on {table.as_string()}", *found) from None
            await asyncio.sleep(PAUSE_SECONDS)
    await connection.execute("RESET lock_timeout")


def _open(fault: str, pid: int, name: str, since: datetime) -> EngineError:
    return EngineError(
        f"a transaction of {name} (process {pid}), open since {since:%Y-%m-%d %H:%M:%S %Z}, {fault}",
        fix=f"end it, for example with `SELECT pg_terminate_backend({pid})`; then repeat the scrub",
    )


async def _write_wal_over(connection: AsyncConnection[Any], progressed: Progressed) -> int:
    """Postgres fills the rest of a segment with zeros when it switches to the next."""
    written = 0
    for number in range(ROUNDS):
        await connection.execute("CHECKPOINT")
        [(segments, _)] = await (await connection.execute(_SEGMENTS)).fetchall()
        for segment in range(segments + 1):
            progressed(f"writing WAL over: round {number + 1} of {ROUNDS}, segment {segment + 1} of {segments + 1}")
            await connection.execute(_RECORD)
            await connection.execute(_SWITCH)
        written += segments + 1
    await connection.execute("CHECKPOINT")
    return written
