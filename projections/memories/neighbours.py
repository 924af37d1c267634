"""What a statement is like, among the memories that its writer sees (B §2, §13)."""

from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from mnemolog.domain.memory import SEMANTIC
from mnemolog.domain.viewer import Viewer
from mnemolog.projections.memories.filters import active, visible_to
from mnemolog.projections.memories.reader import by_vector
from mnemolog.projections.memories.tables import memories
from mnemolog.projections.query import Question

NEAREST = 5


async def nearest(
    connection: AsyncConnection, viewer: Viewer, memory_id: UUID, question: Question
) -> dict[UUID, float]:
    """The cosine similarity, in [-1, 1], of the nearest five semantic memories beside `memory_id`, nearest first."""
    semantic = memories.c.kind.in_(sorted(SEMANTIC)), memories.c.memory_id != memory_id
    conditions = [*visible_to(viewer), active(), *semantic]
    return await by_vector(connection, viewer, conditions, question.model, question.vector, NEAREST)
