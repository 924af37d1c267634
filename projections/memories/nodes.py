"""Agents' scenes, as their patrols see them (C)."""

from collections.abc import AsyncIterator, Collection, Sequence
from uuid import UUID

from sqlalchemy import ColumnElement, select, tuple_
from sqlalchemy.ext.asyncio import AsyncConnection

from mnemolog.domain.memory import VISIBLE, Kind
from mnemolog.domain.patrol import Node
from mnemolog.domain.scope import Scope
from mnemolog.domain.viewer import Viewer
from mnemolog.events.envelope import StreamId
from mnemolog.projections.memories.stored import as_memory
from mnemolog.projections.memories.tables import memories
from mnemolog.projections.owner import indexed, owner_of
from mnemolog.projections.paging import beings
from mnemolog.projections.rows import Key, fetch, stored


def _is_node() -> ColumnElement[bool]:
    column = memories.c
    return (column.kind == Kind.SCENE) & (column.scope == Scope.AGENT) & column.status.in_(sorted(VISIBLE))


def nodes_of(beings: Collection[Key]) -> ColumnElement[bool]:
    """The active and dying scenes of these beings, each given by the owner's columns and its agent."""
    return _is_node() & tuple_(*indexed(memories), memories.c.agent_id).in_(sorted(beings))


def with_scenes(connection: AsyncConnection) -> AsyncIterator[Sequence[Viewer]]:
    """All beings that have scenes, in pages."""
    return beings(connection, memories, _is_node())


async def of_being(connection: AsyncConnection, viewer: Viewer) -> dict[UUID, Node]:
    """The viewer's own active and dying scenes, by id."""
    being = (*owner_of(StreamId.of_user(viewer.user_id, viewer.tenant)), viewer.agent_id)
    statement = select(*stored(memories)).where(nodes_of([being]))
    rows = await fetch(connection, memories, statement.order_by(memories.c.memory_id))
    return {row["memory_id"]: Node.of(as_memory(row), row["session_count"]) for row in rows}
