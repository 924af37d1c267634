"""Reads entities."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import or_, select
from sqlalchemy.ext.asyncio import AsyncConnection

from mnemolog.domain.scope import Scope
from mnemolog.events.envelope import StreamId
from mnemolog.projections.graph.tables import entities
from mnemolog.projections.rows import fetch, stored


async def known(connection: AsyncConnection, stream: StreamId, agent_id: str) -> Sequence[dict[str, Any]]:
    """The entities of a user that an agent may see, last seen first."""
    statement = (
        select(*stored(entities))
        .where(entities.c.tenant == stream.tenant, entities.c.user_id == stream.owner)
        .where(or_(entities.c.scope == Scope.GLOBAL, entities.c.agent_id == agent_id))
        .order_by(entities.c.last_seen.desc(), entities.c.entity_id)
    )
    return await fetch(connection, entities, statement)
