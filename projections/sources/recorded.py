"""Memories and messages as a source of a search: by meaning, by words, and by the conversation around them (B §6)."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import true

from mnemolog.domain import hydration
from mnemolog.domain.memory import VISIBLE, Kind
from mnemolog.domain.message import KIND, found_id
from mnemolog.domain.relevance import Document, relevance
from mnemolog.domain.relevance import Found as Pool
from mnemolog.domain.text import same_text
from mnemolog.projections import full_text
from mnemolog.projections.asking import together
from mnemolog.projections.conversation import reader as conversation
from mnemolog.projections.conversation.tables import NAME as CONVERSATION
from mnemolog.projections.memories import reader as memories
from mnemolog.projections.memories.filters import Filters
from mnemolog.projections.memories.tables import NAME as MEMORIES
from mnemolog.projections.retrieval import CANDIDATES, Hit
from mnemolog.projections.sources.source import Asked, Found, Source
from mnemolog.projections.vectors.projector import NAME as VECTORS

ENOUGH = 0.5
"""The part of what is asked for that a text must have, if it is not similar to the question."""


async def _find(asked: Asked) -> Found:
    """The best hits, unless all are a weak guess: neither similar to the question nor with half of its words."""
    hits = await _hits(asked)
    known, stems = asked.question.calibration, asked.stems
    if asked.threshold is not None or asked.question.vector is None or not stems:
        return Found(hits=hits)
    for hit in hits:
        similarity = -1.0 if hit.similarity is None else hit.similarity
        if similarity >= known.nothing_below or len(hydration.stems(hit.text) & stems) >= ENOUGH * len(stems):
            return Found(hits=hits)
    return Found()


async def _hits(asked: Asked) -> Sequence[Hit]:
    """What vector and keyword search find, with what stands beside it in a conversation, the most relevant first.

    Without a vector of the query it searches by keywords alone; with a `threshold`, a cosine similarity, it raises the
    model's error instead. A message is left out if a memory extracted from it says the same.
    """
    found, pool = await _pool(asked, max(CANDIDATES, asked.limit))
    if asked.threshold is not None:
        pool = {id_ for id_ in pool if found.near.get(id_, -1.0) >= asked.threshold}
    scores = relevance(asked.question.text, found, pool)
    best = sorted(scores, key=lambda id_: (-scores[id_], id_))[: 2 * asked.limit]
    rows = await memories.by_ids(asked.connection, asked.viewer, set(best))
    rows |= await conversation.found(asked.connection, asked.viewer, set(best) - rows.keys())
    hits = [
        _hit(rows[id_], scores[id_], found.near.get(id_), found.words(id_)) for id_ in best if _still_visible(rows, id_)
    ]
    remembered = {(turn_id, same_text(hit.text)) for hit in hits for turn_id in hit.row.get("source_turn_ids", ())}
    return [hit for hit in hits if (hit.id, same_text(hit.text)) not in remembered][: asked.limit]


async def _pool(asked: Asked, limit: int) -> tuple[Pool[UUID], set[UUID]]:
    """All that the ranking looks at, and which of it may be a hit: what was found, and the messages beside it."""
    connection, viewer, among, question = asked.connection, asked.viewer, asked.among, asked.question
    by_meaning = asked.threshold is not None or question.vector is not None
    vector = question.meaning() if by_meaning else None

    async def nearest(limit: int, only: Collection[UUID] | None = None) -> Mapping[UUID, float]:
        if vector is None or (only is not None and not only):
            return {}
        return await asked.index.search(connection, viewer, among, question.model, vector, limit, only)

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
    return Pool({**near, **others, **more}, worded.collection, {**texts, **more_texts}, runs), pool


def _still_visible(rows: Mapping[UUID, Mapping[str, Any]], id_: UUID) -> bool:
    """A memory may be deleted between the search and the read of its row."""
    return id_ in rows and rows[id_]["status"] in VISIBLE


def _hit(row: Mapping[str, Any], score: float, similarity: float | None, text_rank: float | None) -> Hit:
    text = row["line" if row["kind"] == KIND else "text"]
    return Hit(found_id(row), row["kind"], row["category"], text, score, similarity, text_rank, row)


RECORDED = Source(
    kinds=frozenset(Kind) | {KIND},
    projections=(MEMORIES, CONVERSATION, VECTORS),
    holds=lambda viewer: true(),
    find=_find,
    filters=frozenset(Filters.model_fields),
    similar=True,
)
