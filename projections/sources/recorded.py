"""Memories and messages as a source of a search: by meaning and by words."""

from sqlalchemy import true

from mnemolog.domain import hydration
from mnemolog.domain.memory import Kind
from mnemolog.domain.message import KIND
from mnemolog.projections.conversation.tables import NAME as CONVERSATION
from mnemolog.projections.memories.filters import Filters
from mnemolog.projections.memories.tables import NAME as MEMORIES
from mnemolog.projections.retrieval import hybrid
from mnemolog.projections.sources.source import Asked, Found, Source
from mnemolog.projections.vectors.projector import NAME as VECTORS

ENOUGH = 0.5
"""The part of what is asked for that a text must have, if it is not similar to the question."""


async def _find(asked: Asked) -> Found:
    """The best hits, unless all are a weak guess: neither similar to the question nor with half of its words."""
    hits = await hybrid(
        asked.connection, asked.viewer, asked.index, asked.question, asked.limit, asked.among, asked.threshold
    )
    known, stems = asked.question.calibration, asked.stems
    if asked.threshold is not None or asked.question.vector is None or not stems:
        return Found(hits=hits)
    for hit in hits:
        similarity = -1.0 if hit.similarity is None else hit.similarity
        if similarity >= known.nothing_below or len(hydration.stems(hit.text) & stems) >= ENOUGH * len(stems):
            return Found(hits=hits)
    return Found()


RECORDED = Source(
    kinds=frozenset(Kind) | {KIND},
    projections=(MEMORIES, CONVERSATION, VECTORS),
    holds=lambda viewer: true(),
    find=_find,
    filters=frozenset(Filters.model_fields),
    similar=True,
)
