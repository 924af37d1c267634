"""Hybrid search: what a question finds among memories and messages by meaning and by words, best first (B §6)."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, cast
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from mnemolog.domain import ranking
from mnemolog.domain.memory import VISIBLE
from mnemolog.domain.message import KIND, found_id
from mnemolog.domain.relevance import Document, Found, relevance
from mnemolog.domain.text import same_text
from mnemolog.domain.viewer import Viewer
from mnemolog.projections import full_text
from mnemolog.projections.asking import together
from mnemolog.projections.conversation import reader as conversation
from mnemolog.projections.memories import reader as memories
from mnemolog.projections.memories.filters import Candidates
from mnemolog.projections.vectors.index import VectorIndex
from mnemolog.projections.vectors.question import Question

CANDIDATES = 50  # D: the top 50 by cosine and by full text; more if requested.
EVERYTHING = Candidates(messages=True)


@dataclass(frozen=True, slots=True)
class Hit:
    """One thing in the result. `score` in [0, 1] is the fused rank; `similarity` the cosine.

    `row` is the complete memory or message; of other kinds, what all kinds have in common, with the item as `details`.
    `superseded_by` is the id of what is current instead, if that is known. `parts` are what the score was made of.
    """

    id: str
    kind: str
    category: str
    text: str
    score: float
    similarity: float | None
    text_rank: float | None
    row: Mapping[str, Any] = field(repr=False)
    current: bool = True
    superseded_by: str | None = None
    parts: Mapping[str, float] = field(default_factory=dict)

    @property
    def date(self) -> datetime:
        """When it was said, or since when it has held."""
        return cast("datetime", self.row["occurred_at"])

    @property
    def bullet(self) -> str:
        return ranking.bullet(self.row, former=not self.current)


async def hybrid(
    connection: AsyncConnection,
    viewer: Viewer,
    index: VectorIndex,
    question: Question,
    limit: int,
    among: Candidates = EVERYTHING,
    threshold: float | None = None,
) -> Sequence[Hit]:
    """What vector and keyword search find, with what stands beside it in a conversation, the most relevant first.

    Without a vector of the query it searches by keywords alone; with a `threshold`, a cosine similarity, it raises the
    model's error instead. A message is left out if a memory extracted from it says the same.
    """
    found, pool = await _found(connection, viewer, index, question, among, max(CANDIDATES, limit), threshold)
    if threshold is not None:
        pool = {id_ for id_ in pool if found.near.get(id_, -1.0) >= threshold}
    scores = relevance(question.text, found, pool)
    best = sorted(scores, key=lambda id_: (-scores[id_], id_))[: 2 * limit]
    rows = await memories.by_ids(connection, viewer, set(best))
    rows |= await conversation.found(connection, viewer, set(best) - rows.keys())
    hits = [
        _hit(rows[id_], scores[id_], found.near.get(id_), found.words(id_)) for id_ in best if _still_visible(rows, id_)
    ]
    remembered = {(turn_id, same_text(hit.text)) for hit in hits for turn_id in hit.row.get("source_turn_ids", ())}
    return [hit for hit in hits if (hit.id, same_text(hit.text)) not in remembered][:limit]


async def _found(
    connection: AsyncConnection,
    viewer: Viewer,
    index: VectorIndex,
    question: Question,
    among: Candidates,
    limit: int,
    threshold: float | None,
) -> tuple[Found[UUID], set[UUID]]:
    """All that the ranking looks at, and which of it may be a hit: what was found, and the messages beside it."""
    by_meaning = threshold is not None or question.vector is not None
    vector = question.meaning() if by_meaning else None

    async def nearest(limit: int, only: Collection[UUID] | None = None) -> Mapping[UUID, float]:
        if vector is None or (only is not None and not only):
            return {}
        return await index.search(connection, viewer, among, question.model, vector, limit, only)

    async def documents(ids: Collection[UUID]) -> Mapping[UUID, Document]:
        return await full_text.documents(connection, among, viewer, question.text, ids) if ids else {}

    worded, near = await together(full_text.search(connection, among, viewer, question.text, limit), nearest(limit))
    first = near.keys() | worded.scores.keys()
    far = first - near.keys()
    runs, texts, others = await together(
        among.runs(connection, viewer, first), documents(first), nearest(len(far), only=far)
    )
    pool = set(first)
    for run in runs:
        ids = [one.id for one in run]
        pool |= {beside for n, id_ in enumerate(ids) if id_ in first for beside in ids[max(0, n - 1) : n + 2]}
    around, beside = {one.id for run in runs for one in run} - first, pool - first
    more_texts, more = await together(documents(around), nearest(len(beside), only=beside))
    return Found({**near, **others, **more}, worded.collection, {**texts, **more_texts}, runs), pool


def _still_visible(rows: Mapping[UUID, Mapping[str, Any]], id_: UUID) -> bool:
    """A memory may be deleted between the search and the read of its row."""
    return id_ in rows and rows[id_]["status"] in VISIBLE


def _hit(row: Mapping[str, Any], score: float, similarity: float | None, text_rank: float | None) -> Hit:
    text = row["line" if row["kind"] == KIND else "text"]
    return Hit(found_id(row), row["kind"], row["category"], text, score, similarity, text_rank, row)
