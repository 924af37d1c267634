"""Reads the revision of a thread and what changed since one."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Select, Text, func, or_, select
from sqlalchemy.dialects.postgresql import distinct_on
from sqlalchemy.ext.asyncio import AsyncConnection

from mnemolog.domain import delta
from mnemolog.domain.category import PROCEDURAL
from mnemolog.domain.delta import MAX_BULLETS, Change, Entry
from mnemolog.domain.memory import VISIBLE, Kind
from mnemolog.domain.origin import Origin
from mnemolog.domain.viewer import Viewer
from mnemolog.projections.asking import fetch_asked, given
from mnemolog.projections.changes.tables import change_log
from mnemolog.projections.memories import reader as memories
from mnemolog.projections.memories.filters import unasked, visible_to
from mnemolog.projections.memories.tables import memories as memory_table
from mnemolog.projections.rows import Row, fetch, stored
from mnemolog.projections.visibility import owned

PAGE = 50
ENDS = frozenset({Change.DELETED, Change.SOFT_DELETED})


async def revision(connection: AsyncConnection, viewer: Viewer, thread_id: str) -> int:
    """The latest revision of a thread that can be reported; 0 if nothing was ever changed in it.

    Memories are another projection. A change that it has not applied yet is left for the next read, because a caller
    that gets this revision asks for what comes after it.
    """
    rows = await fetch_asked(connection, change_log, viewer, _last, thread_id=thread_id)
    return int(rows[0]["rev"]) if rows else 0


def _last(viewer: Viewer) -> Select[Any]:
    applied = select(func.max(memory_table.c.seq)).where(owned(memory_table, viewer))
    return (
        select(*stored(change_log))
        .where(owned(change_log, viewer), change_log.c.thread_id == given("thread_id", Text()))
        .where(change_log.c.seq <= applied.scalar_subquery())
        .order_by(change_log.c.rev.desc())
        .limit(1)
    )


async def between(
    connection: AsyncConnection, viewer: Viewer, thread_id: str, since: int, until: int, limit: int = 100
) -> Sequence[Entry]:
    """The newest changes of a thread with since < rev <= until that an agent may see, oldest first.

    Each includes its memory in its current state; for a hidden memory, only the fact that it ended.
    """
    entries: list[Entry] = []
    while len(entries) < limit:
        log = change_log.c
        statement = (
            select(*stored(change_log))
            .where(*_of_thread(viewer, thread_id), log.rev > since, log.rev <= until)
            .order_by(log.rev.desc())
            .limit(PAGE)
        )
        page = await fetch(connection, change_log, statement)
        seen = await memories.by_ids(connection, viewer, {row["memory_id"] for row in page})
        entries += [
            _entry(row, seen[row["memory_id"]]) for row in page if _is_reported(row, seen.get(row["memory_id"]))
        ]
        if len(page) < PAGE:
            break
        until = page[-1]["rev"] - 1
    return entries[:limit][::-1]


async def last_of_each(
    connection: AsyncConnection, viewer: Viewer, thread_id: str, since: int, until: int
) -> Sequence[Entry]:
    """The content of a delta header: the last change of each of the most recently changed memories.

    A memory that changed often does not push out the others. A memory created since then is reported as created.
    """
    log, memory = change_log.c, memory_table.c
    created = log.event == Change.CREATED
    reported = or_(memory.status.in_(sorted(VISIBLE)), log.event.in_(sorted(ENDS)))
    last = (
        select(*stored(change_log), func.max(log.rev).over(partition_by=log.memory_id).label("last"))
        .join(memory_table, owned(memory_table, viewer) & (memory.memory_id == log.memory_id))
        .where(
            *_of_thread(viewer, thread_id), log.rev > since, log.rev <= until, reported, *visible_to(viewer), unasked()
        )
        .ext(distinct_on(log.memory_id, created))
        .order_by(log.memory_id, created, log.rev.desc())
        .subquery()
    )
    columns = [last.c[column.name] for column in stored(change_log)]
    statement = select(*columns).order_by(last.c.last.desc(), last.c.rev.desc()).limit(2 * MAX_BULLETS)
    rows = await fetch(connection, change_log, statement)
    seen = await memories.by_ids(connection, viewer, {row["memory_id"] for row in rows})
    return [_entry(row, seen[row["memory_id"]]) for row in rows if _is_reported(row, seen.get(row["memory_id"]))]


async def header(connection: AsyncConnection, viewer: Viewer, thread_id: str, since: int | None) -> tuple[str, int]:
    """The delta header of what changed in a thread since a revision, "" without one, and the current revision."""
    rev = await revision(connection, viewer, thread_id)
    return await header_of(connection, viewer, thread_id, since, rev), rev


async def header_of(connection: AsyncConnection, viewer: Viewer, thread_id: str, since: int | None, rev: int) -> str:
    """The delta header of what changed in a thread from one revision to another; "" without the first."""
    if since is None or since >= rev:
        return ""
    return delta.header(since, await last_of_each(connection, viewer, thread_id, since, rev))


def _of_thread(viewer: Viewer, thread_id: str) -> list[ColumnElement[bool]]:
    return [owned(change_log, viewer), change_log.c.thread_id == thread_id]


def _is_reported(row: Row, memory: Mapping[str, Any] | None) -> bool:
    """Whether the change is visible. Procedures are only reported on request (B §12)."""
    if memory is None or memory["kind"] == Kind.PROCEDURE or memory["category"] == PROCEDURAL:
        return False
    return memory["status"] in VISIBLE or row["event"] in ENDS


def _entry(row: Row, memory: Mapping[str, Any]) -> Entry:
    return Entry(
        row["rev"],
        row["memory_id"],
        Change(row["event"]),
        memory["category"],
        memory["text"],
        memory["importance"],
        combined=1 + len(row["meta"].get("absorbed", ())),
        origin=Origin(memory["origin"]),
    )
