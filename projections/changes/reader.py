"""Reads the revision of a thread and what changed since one."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import ColumnElement, func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from mnemolog.domain.delta import Change, Entry
from mnemolog.domain.memory import VISIBLE
from mnemolog.events.envelope import StreamId
from mnemolog.projections.changes.tables import change_log
from mnemolog.projections.memories import reader as memories
from mnemolog.projections.memories.tables import memories as memory_table
from mnemolog.projections.rows import Row, fetch, stored

PAGE = 50
ENDS = frozenset({Change.DELETED, Change.SOFT_DELETED})


async def revision(connection: AsyncConnection, stream: StreamId, thread_id: str) -> int:
    """The revision of a thread that can be told of; 0 when nothing was ever changed in it.

    The memories are another projection: a change that it has not applied yet waits for the next reading, since whoever
    is told this revision asks for what comes after it.
    """
    memory = memory_table.c
    applied = select(func.max(memory.seq)).where(memory.tenant == stream.tenant, memory.user_id == stream.owner)
    statement = (
        select(*stored(change_log))
        .where(*_of_thread(stream, thread_id), change_log.c.seq <= applied.scalar_subquery())
        .order_by(change_log.c.rev.desc())
        .limit(1)
    )
    rows = await fetch(connection, change_log, statement)
    return int(rows[0]["rev"]) if rows else 0


async def between(
    connection: AsyncConnection,
    stream: StreamId,
    thread_id: str,
    agent_id: str,
    since: int,
    until: int,
    limit: int = 100,
    categories: frozenset[str] | None = None,
) -> Sequence[Entry]:
    """The newest changes of a thread with since < rev <= until that an agent may see, oldest first.

    Each shows its memory as it is now; of a hidden one only its end is told.
    """
    entries: list[Entry] = []
    while len(entries) < limit:
        page = await _page(connection, stream, thread_id, since, until)
        seen = await memories.by_ids(connection, stream, agent_id, {row["memory_id"] for row in page}, categories)
        entries += [_entry(row, seen[row["memory_id"]]) for row in page if _told(row, seen.get(row["memory_id"]))]
        if len(page) < PAGE:
            break
        until = page[-1]["rev"] - 1
    return entries[:limit][::-1]


async def _page(connection: AsyncConnection, stream: StreamId, thread_id: str, since: int, until: int) -> Sequence[Row]:
    log = change_log.c
    statement = (
        select(*stored(change_log))
        .where(*_of_thread(stream, thread_id), log.rev > since, log.rev <= until)
        .order_by(log.rev.desc())
        .limit(PAGE)
    )
    return await fetch(connection, change_log, statement)


def _of_thread(stream: StreamId, thread_id: str) -> list[ColumnElement[bool]]:
    log = change_log.c
    return [log.tenant == stream.tenant, log.user_id == stream.owner, log.thread_id == thread_id]


def _told(row: Row, memory: Mapping[str, Any] | None) -> bool:
    return memory is not None and (memory["status"] in VISIBLE or row["event"] in ENDS)


def _entry(row: Row, memory: Mapping[str, Any]) -> Entry:
    return Entry(
        row["rev"],
        row["memory_id"],
        Change(row["event"]),
        memory["category"],
        memory["text"],
        memory["importance"],
        combined=1 + len(row["meta"].get("absorbed", ())),
    )
