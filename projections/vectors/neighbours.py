"""What a text is like, among the memories that an agent sees (B §2, §13)."""

from collections.abc import Mapping, Sequence
from itertools import islice
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from mnemolog.domain.memory import SEMANTIC, Kind
from mnemolog.domain.viewer import Viewer
from mnemolog.projections import full_text
from mnemolog.projections.memories import reader as memories
from mnemolog.projections.memories.filters import Candidates
from mnemolog.projections.requests import Filters
from mnemolog.projections.rows import Row
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


async def similar(
    connection: AsyncConnection,
    viewer: Viewer,
    categories: frozenset[str] | None,
    filters: Filters,
    limit: int,
    index: VectorIndex,
    question: Question,
) -> Sequence[tuple[Row, float]]:
    """The memories that are most similar to a text, each with its cosine similarity, the most similar first.

    Without a vector of the text, those that have words of it, each with its score.
    """
    among = Candidates(filters=filters, kinds=frozenset(Kind))
    viewer = viewer.within(categories)
    near: Mapping[UUID, float]
    if question.vector is None:
        near = (await full_text.search(connection, among, viewer, question.text, limit)).scores
    else:
        near = await index.search(connection, viewer, among, question.model, question.vector, limit)
    rows = await memories.by_ids(connection, viewer, set(near))
    return [(rows[id_], score) for id_, score in near.items() if id_ in rows]
