"""Divides the log's large tables by the hash of the stream, while engines read and write them.

Events, tags and receipts are only ever inserted. So they are copied while writers go on, and writers wait only while
the rest is copied and counted and the tables are exchanged. It is one transaction: whatever ends it early leaves the
tables as they were.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from psycopg import AsyncConnection, IsolationLevel
from psycopg.errors import DeadlockDetected, InsufficientPrivilege, LockNotAvailable
from psycopg.rows import DictRow, dict_row
from psycopg.sql import SQL, Identifier

from mnemolog.adapters.postgres.pool import CONNECTION
from mnemolog.adapters.postgres.queries import query
from mnemolog.adapters.unreachable import own_words
from mnemolog.domain.errors import EngineError, InvalidInput, LogError

HERE = "mnemolog.adapters.partitions"
LOG = ("events", "tags", "receipts")
NAMES = [f"mnemolog.{name}" for name in LOG]
MOST = 128
# Events of a batch, after which the progress is shown. A stream is never split.
BATCH = 20_000
# For three tables less than `deadlock_timeout`, which is a second by default: who waits for a lock has writers wait
# behind it, and writers take the same locks in another order. A divided table has more locks, and may take longer.
LOCK_MILLISECONDS = 250
PAUSE_SECONDS = 0.5
WAIT_SECONDS = 600.0

Connection = AsyncConnection[DictRow]
Progressed = Callable[[int], None]
Said = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Partitioned:
    """Into how many partitions the log is divided and was before; the rows of each table that were moved."""

    partitions: int
    before: int
    rows: Mapping[str, int]

    @property
    def changed(self) -> bool:
        return self.partitions != self.before

    def as_dict(self) -> dict[str, Any]:
        return {"partitions": self.partitions, "before": self.before, "changed": self.changed, "rows": dict(self.rows)}


def require_count(into: int) -> None:
    if not 1 <= into <= MOST:
        raise InvalidInput(f"{into} is not between 1 and {MOST}", field="into", fix="give a number such as 16")


async def size(postgres_dsn: str) -> int:
    """The number of events to be copied, for a progress bar."""
    async with await _connected(postgres_dsn) as connection:
        [row] = await _rows(connection, "size")
        return int(row["events"])


async def partitions(postgres_dsn: str) -> int:
    """Into how many partitions the log is divided; 1 if its tables are plain."""
    async with await _connected(postgres_dsn) as connection:
        return await _partitions(connection)


async def partition(
    postgres_dsn: str,
    into: int,
    progressed: Progressed = lambda count: None,
    said: Said = lambda sentence: None,
    wait: float = WAIT_SECONDS,
) -> Partitioned:
    """Divide the log into so many partitions; into 1 makes its tables plain again.

    EngineError if a transaction still has one of the tables after `wait` seconds, if something that is not Mnemolog's
    depends on them, or if this login does not own them. LogError if the log has rows that its heads do not know.
    """
    require_count(into)
    async with await _connected(postgres_dsn) as connection:
        try:
            async with connection.transaction():
                await _run(connection, "begin", patience=_milliseconds(wait))
                if not await _took(connection, "hold"):
                    raise await _held(connection)
                before = await _partitions(connection)
                rows = await _divide(connection, into, progressed, said, wait) if before != into else {}
                return Partitioned(into, before, rows)
        except InsufficientPrivilege as error:
            raise EngineError(
                f"this Postgres login may not replace the log's tables: {own_words(error)}",
                field="postgres_url",
                fix="run it as the owner of the tables",
            ) from error


async def _divide(
    connection: Connection, into: int, progressed: Progressed, said: Said, wait: float
) -> Mapping[str, int]:
    if dependents := await _rows(connection, "dependents", tables=NAMES):
        raise EngineError(
            f"the log's tables cannot be replaced under {', '.join(row['name'] for row in dependents)}",
            field="postgres_url",
            fix="drop these, run the command again, and create them again",
        )
    indexes, rest = list[DictRow](), list[str]()
    for name in NAMES:
        indexes += await _rows(connection, "indexes", table=name)
        rest += _statements(await _rows(connection, "rest", table=name))
        await _execute(connection, _statements(await _rows(connection, "create", table=name, into=into)))
    copied = Counter[str]()
    await _run(connection, "begin_copy")
    await _run(connection, "index_batches")
    await _copy_round(connection, copied, progressed)
    await _execute(connection, _statements(indexes))
    for name in LOG:
        if copied[name]:  # A table that is known to be empty would be planned for as such when it no longer is.
            await connection.execute(SQL("ANALYZE {}").format(Identifier("mnemolog", f"{name}_next")))
    await _copy_round(connection, copied, progressed)
    await _lock(connection, said, wait)
    await _copy_round(connection, copied, progressed)
    await _count(connection, copied)
    for name in LOG:
        old, new = Identifier("mnemolog", name), Identifier("mnemolog", f"{name}_next")
        await connection.execute(SQL("DROP TABLE {}").format(old))
        await connection.execute(SQL("ALTER TABLE {} RENAME TO {}").format(new, Identifier(name)))
    await _execute(connection, [one["renaming"] for one in indexes])
    await _execute(connection, rest)
    for name in NAMES:
        await _execute(connection, _statements(await _rows(connection, "rest_of_partitions", table=name)))
    return dict(copied)


async def _copy_round(connection: Connection, copied: Counter[str], progressed: Progressed) -> None:
    """Copy what was written since the last round, batch by batch."""
    await _run(connection, "end_round")
    await _run(connection, "begin_round", size=BATCH)
    await _run(connection, "joins", value="off")
    for batch in await _rows(connection, "batches"):
        for name in LOG:
            copied[name] += await _run(connection, f"copy_{name}", batch=batch["batch"])
        progressed(batch["events"])
    await _run(connection, "joins", value="on")


async def _lock(connection: Connection, said: Said, wait: float) -> None:
    """Take all tables at once, or none of them until the next attempt."""
    give_up, told = time.monotonic() + wait, set[int]()
    await _run(connection, "patience", patience=f"{LOCK_MILLISECONDS}ms")
    while not await _took(connection, "lock"):
        if time.monotonic() > give_up:
            raise await _held(connection)
        for one in await _rows(connection, "holder", tables=NAMES):
            if one["pid"] not in told:
                said(f"waiting for a transaction of {one['name']} (process {one['pid']})")
                told.add(one["pid"])
        await asyncio.sleep(PAUSE_SECONDS)
    await _run(connection, "patience", patience=_milliseconds(wait))


async def _took(connection: Connection, lock: str) -> bool:
    """Whether the lock was free in time."""
    with suppress(LockNotAvailable, DeadlockDetected):
        async with connection.transaction():
            await _run(connection, lock)
        return True
    return False


async def _held(connection: Connection) -> EngineError:
    found = await _rows(connection, "holder", tables=NAMES)
    name = f"{found[0]['name']} (process {found[0]['pid']})" if found else "another session"
    return EngineError(
        f"a transaction of {name} still has a lock on the log's tables; nothing was changed",
        field="postgres_url",
        fix="end it, or wait for its end; then run the command again",
    )


async def _count(connection: Connection, copied: Counter[str]) -> None:
    """LogError unless each row of the old tables is in the new ones."""
    [counts] = await _rows(connection, "counts")
    if copied["receipts"] < counts["receipts"]:
        copied["receipts"] += await _run(connection, "copy_other_receipts")
    for name in LOG:
        if copied[name] != counts[name]:
            raise LogError(
                f"{name} has {counts[name]:,} rows, and the heads of all streams lead to {copied[name]:,}",
                field="postgres_url",
                fix="nothing was changed; run `mnemolog verify` to see what is damaged",
            )


async def _partitions(connection: Connection) -> int:
    """0 if the tables differ, as they never do after this command."""
    found = {row["partitions"] for row in await _rows(connection, "partitions", tables=NAMES)}
    return found.pop() if len(found) == 1 else 0


async def _connected(postgres_dsn: str) -> Connection:
    connection = await AsyncConnection[DictRow].connect(
        postgres_dsn, row_factory=dict_row, application_name="mnemolog partition-log", **CONNECTION
    )
    # Whatever the database's default. With one snapshot for all rounds, what was written meanwhile would be lost.
    await connection.set_isolation_level(IsolationLevel.READ_COMMITTED)
    await connection.set_read_only(False)
    return connection


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1000:.0f}ms"


async def _run(connection: Connection, name: str, **values: Any) -> int:
    """The number of rows."""
    return (await connection.execute(query(name, HERE), values)).rowcount


async def _rows(connection: Connection, name: str, **values: Any) -> list[DictRow]:
    return await (await connection.execute(query(name, HERE), values)).fetchall()


async def _execute(connection: Connection, statements: Iterable[str]) -> None:
    for statement in statements:
        await connection.execute(statement.encode())


def _statements(rows: Sequence[DictRow]) -> list[str]:
    return [row["statement"] for row in rows]
