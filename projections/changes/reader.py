"""Reads the revision of a thread and what changed since one."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Row, select, true
from sqlalchemy.ext.asyncio import AsyncConnection

from mnemolog.domain.delta import Change, Entry
from mnemolog.events.envelope import StreamId
from mnemolog.projections.changes.tables import change_log, thread_revision
from mnemolog.projections.memories import reader as memories

PAGE = 50


async def revision(connection: AsyncConnection, stream: StreamId, thread_id: str) -> int:
    """The revision of a thread; 0 when nothing was ever changed in it."""
    statement = select(thread_revision.c.rev).where(
        thread_revision.c.tenant == stream.tenant,
        thread_revision.c.user_id == stream.owner,
        thread_revision.c.thread_id == thread_id,
    )
    return (await connection.execute(statement)).scalar_one_or_none() or 0


async def since(
    connection: AsyncConnection, stream: StreamId, thread_id: str, agent_id: str, rev: int, limit: int = 100
) -> Sequence[Entry]:
    """The newest changes of a thread after `rev` that an agent may see, oldest first, with the memories as they are."""
    entries: list[Entry] = []
    before: int | None = None
    while len(entries) < limit:
        page = await _page(connection, stream, thread_id, rev, before)
        seen = await memories.by_ids(connection, stream, agent_id, {row.memory_id for row in page})
        entries += [_entry(row, seen[row.memory_id]) for row in page if row.memory_id in seen]
        if len(page) < PAGE:
            break
        before = page[-1].rev
    return entries[:limit][::-1]


async def _page(
    connection: AsyncConnection, stream: StreamId, thread_id: str, after: int, before: int | None
) -> Sequence[Row[*tuple[Any, ...]]]:
    log = change_log.c
    statement = (
        select(log.rev, log.memory_id, log.event, log.meta)
        .where(log.tenant == stream.tenant, log.user_id == stream.owner, log.thread_id == thread_id)
        .where(log.rev > after, log.rev < before if before else true())
        .order_by(log.rev.desc())
        .limit(PAGE)
    )
    return (await connection.execute(statement)).all()


def _entry(row: Row[*tuple[Any, ...]], memory: Mapping[str, Any]) -> Entry:
    return Entry(
        row.rev,
        row.memory_id,
        Change(row.event),
        memory["category"],
        memory["text"],
        memory["importance"],
        combined=1 + len(row.meta.get("absorbed", ())),
    )
