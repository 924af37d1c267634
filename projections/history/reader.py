"""Reads the history of a memory."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from mnemolog.domain.memory import no_such_memory
from mnemolog.events.envelope import StreamId
from mnemolog.projections.history.tables import history
from mnemolog.projections.memories.filters import visible_to
from mnemolog.projections.memories.tables import memories
from mnemolog.projections.rows import fetch, stored

_INTERNAL = frozenset({"tenant", "user_id"})


async def of_memory(
    connection: AsyncConnection,
    stream: StreamId,
    memory_id: UUID,
    agent_id: str,
    limit: int = 100,
    categories: frozenset[str] | None = None,
) -> Sequence[dict[str, Any]]:
    """What happened to a memory, newest first. NotFound when the user has none of this id that the agent may see."""
    log, memory = history.c, memories.c
    statement = (
        select(*stored(history))
        .join(
            memories,
            (memory.tenant == log.tenant) & (memory.user_id == log.user_id) & (memory.memory_id == log.memory_id),
        )
        .where(log.tenant == stream.tenant, log.user_id == stream.owner, log.memory_id == memory_id)
        .where(*visible_to(stream, agent_id, categories))
        .order_by(log.seq.desc())
        .limit(limit)
    )
    rows = await fetch(connection, history, statement)
    if not rows:
        raise no_such_memory(stream.owner, memory_id)
    return [{name: value for name, value in row.items() if name not in _INTERNAL} for row in rows]
