"""Passages of the agent's library as a source of a search.

A library is a stream of its own: it is read first, as of the same moment, and what it has comes with the question.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import ColumnElement, true

from mnemolog.domain.origin import Origin
from mnemolog.domain.text import same_text
from mnemolog.domain.viewer import Viewer
from mnemolog.projections.retrieval import Hit
from mnemolog.projections.sources.source import Asked, Found, Source, hit_of
from mnemolog.projections.vectors.question import Question

PASSAGE = "passage"


def _holds(viewer: Viewer) -> ColumnElement[bool]:
    return true()


async def _find(asked: Asked) -> Found:
    return Found(hits=[_hit(row) for row in answering(asked.passages, asked.question, asked.threshold)])


def answering(
    found: Sequence[Mapping[str, Any]], question: Question, threshold: float | None = None
) -> Sequence[Mapping[str, Any]]:
    """Those within the relative cutoff (A §6.3), or with at least this similarity; without a model all of them.

    What several documents have under the same headings, such as two copies of a file, is told once.
    """
    once = list({(same_text(one["place"]), same_text(one["text"])): one for one in reversed(found)}.values())[::-1]
    if question.vector is None:
        return once
    similar = [one for one in once if one["similarity"] is not None]
    if threshold is not None:
        return [one for one in similar if one["similarity"] >= threshold]
    best = max((one["similarity"] for one in similar), default=-1.0)
    return [one for one in similar if one["similarity"] > question.calibration.relevant_above(best)]


def _hit(row: Mapping[str, Any]) -> Hit:
    return hit_of(
        PASSAGE,
        str(row["chunk_id"]),
        PASSAGE,
        row["text"],
        date=row["created_at"],
        score=row["similarity"] or row["score"],
        details=row,
        similarity=row["similarity"],
        text_rank=row["text_rank"],
        origin=Origin.DOCUMENT,
        label=row["source"],
        line=f"{row['place']}: {row['text']}" if row["place"] else "",
    )


PASSAGES = Source(
    kinds=frozenset({PASSAGE}),
    projections=(),
    holds=_holds,
    find=_find,
    similar=True,
    origins=frozenset({Origin.DOCUMENT}),
)
