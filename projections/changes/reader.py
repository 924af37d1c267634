"""Reads the revision of a thread and what changed since one."""

from collections.abc import Sequence

from sqlalchemy import or_, select
from sqlalchemy.ext.asyncio import AsyncConnection

from mnemolog.domain.delta import Change, Entry
from mnemolog.domain.scope import Scope
from mnemolog.events.envelope import StreamId
from mnemolog.projections.changes.tables import change_log, thread_revision
from mnemolog.projections.memories.tables import memories


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
    log = change_log.c
    memory = memories.c
    statement = (
        select(log.rev, log.memory_id, log.event, log.meta, memory.category, memory.text, memory.importance)
        .join(
            memories,
            (memory.tenant == log.tenant) & (memory.user_id == log.user_id) & (memory.memory_id == log.memory_id),
        )
        .where(log.tenant == stream.tenant, log.user_id == stream.owner, log.thread_id == thread_id, log.rev > rev)
        .where(or_(memory.scope == Scope.GLOBAL, memory.agent_id == agent_id))
        .order_by(log.rev.desc())
        .limit(limit)
    )
    rows = (await connection.execute(statement)).all()
    return [
        Entry(
            row.rev,
            row.memory_id,
            Change(row.event),
            row.category,
            row.text,
            row.importance,
            combined=1 + len(row.meta.get("absorbed", ())),
        )
        for row in reversed(rows)
    ]
