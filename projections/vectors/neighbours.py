"""What a statement is like, among the memories that its writer sees (B §2, §13)."""

from collections.abc import Mapping
from itertools import islice
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from mnemolog.domain.memory import SEMANTIC
from mnemolog.domain.viewer import Viewer
from mnemolog.projections.memories.filters import Candidates
from mnemolog.projections.vectors.index import VectorIndex
from mnemolog.projections.vectors.question import Question

NEAREST = 5


async def nearest(
    connection: AsyncConnection, viewer: Viewer, memory_id: UUID, index: VectorIndex, question: Question
) -> Mapping[UUID, float]:
    """The cosine similarity, in [-1, 1], of the five semantic memories nearest to `memory_id`, nearest first."""
    semantic = Candidates(kinds=SEMANTIC)
    found = await index.search(connection, viewer, semantic, question.model, question.meaning(), NEAREST + 1)
    return dict(islice(((id_, score) for id_, score in found.items() if id_ != memory_id), NEAREST))
