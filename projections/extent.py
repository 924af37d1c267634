"""What a scope holds: the memories, entities and facts that a forgetting takes (A §9)."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from sqlalchemy import ColumnElement, Table, select
from sqlalchemy.ext.asyncio import AsyncConnection

from mnemolog.domain.memory import VISIBLE, Kind
from mnemolog.domain.scope import Scope
from mnemolog.domain.viewer import Viewer
from mnemolog.projections.graph.tables import entities, relations
from mnemolog.projections.memories.tables import memories
from mnemolog.projections.visibility import owned


async def memories_in(connection: AsyncConnection, viewer: Viewer, scope: Scope) -> Sequence[UUID]:
    """The memories of a scope that are not hidden; of the scope `agent` the viewing agent's own."""
    return await _ids(connection, memories, memories.c.memory_id, _within(memories, viewer, scope))


async def entities_in(connection: AsyncConnection, viewer: Viewer, scope: Scope) -> Sequence[UUID]:
    return await _ids(connection, entities, entities.c.entity_id, _within(entities, viewer, scope))


async def relations_in(connection: AsyncConnection, viewer: Viewer, scope: Scope) -> Sequence[UUID]:
    return await _ids(connection, relations, relations.c.relation_id, _within(relations, viewer, scope))


async def episodes_since(
    connection: AsyncConnection, viewer: Viewer, thread_id: str, since: datetime
) -> Sequence[UUID]:
    """The episodes of a thread that happened since then and that the viewer may see."""
    column = memories.c
    seen = _within(memories, viewer, Scope.GLOBAL) | _within(memories, viewer, Scope.AGENT)
    episodes = (column.kind == Kind.EPISODE) & (column.thread_id == thread_id) & (column.occurred_at >= since)
    return await _ids(connection, memories, column.memory_id, seen & episodes)


def _within(table: Table, viewer: Viewer, scope: Scope) -> ColumnElement[bool]:
    held = owned(table, viewer) & (table.c.scope == scope) & table.c.status.in_(sorted(VISIBLE))
    return held & (table.c.agent_id == viewer.agent_id) if scope is Scope.AGENT else held


async def _ids(
    connection: AsyncConnection, table: Table, id_: ColumnElement[UUID], where: ColumnElement[bool]
) -> Sequence[UUID]:
    return (await connection.execute(select(id_).select_from(table).where(where).order_by(id_))).scalars().all()
