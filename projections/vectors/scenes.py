"""The scenes of an agent with their vectors, as its patrol sees them (C)."""

from collections.abc import Sequence

from sqlalchemy import select, tuple_
from sqlalchemy.ext.asyncio import AsyncConnection

from mnemolog.domain.memory import VISIBLE, Kind, Status
from mnemolog.domain.nodes import Board, SceneNode
from mnemolog.domain.patrol import Node
from mnemolog.domain.scene import Experience
from mnemolog.domain.scope import Scope
from mnemolog.domain.viewer import Viewer
from mnemolog.projections.memories.stored import as_memory
from mnemolog.projections.memories.tables import memories
from mnemolog.projections.owner import indexed, owner_of
from mnemolog.projections.rows import Row, fetch, stored
from mnemolog.projections.vectors.embedder import Vectors
from mnemolog.projections.vectors.index import VectorIndex
from mnemolog.projections.vectors.question import Question
from mnemolog.projections.visibility import viewed


async def board_of(
    connection: AsyncConnection, viewer: Viewer, index: VectorIndex, questions: Sequence[Question]
) -> Board:
    """The viewer's own scenes, active, dying and dead, oldest first, with their vectors."""
    column = memories.c
    own = tuple_(*indexed(memories), column.agent_id) == tuple_(*owner_of(viewed(viewer)), viewer.agent_id)
    dead = (column.status == Status.DORMANT) & column.deleted_cause.is_(None)
    scenes = (column.kind == Kind.SCENE) & (column.scope == Scope.AGENT) & (column.status.in_(sorted(VISIBLE)) | dead)
    statement = select(*stored(memories)).where(own, scenes).order_by(column.created_at, column.memory_id)
    rows = await fetch(connection, memories, statement)
    vectors = await index.vectors_of(connection, viewer, [row["memory_id"] for row in rows])
    return {row["memory_id"]: _on_board(row, vectors.get(row["memory_id"])) for row in rows}


def _on_board(row: Row, vector: Vectors | None) -> SceneNode:
    memory = as_memory(row)
    return SceneNode(
        memory_id=memory.memory_id,
        text=memory.content.text,
        experience=memory.content.experience or Experience(),
        node=Node.of(memory, row["session_count"]),
        fresh=row["fresh"],
        external=memory.origin.external,
        merged=memory.merged_into is not None,
        vector=None if vector is None else vector.tolist(),
    )
