"""Artifacts as a source of a search: the texts that were extracted from them."""

from sqlalchemy import ColumnElement, func, select

from mnemolog.domain.memory import VISIBLE
from mnemolog.domain.origin import Origin
from mnemolog.domain.viewer import Viewer
from mnemolog.projections.artifacts import reader
from mnemolog.projections.artifacts.tables import NAME, artifacts
from mnemolog.projections.conversation.tables import NAME as CONVERSATION
from mnemolog.projections.retrieval import Hit
from mnemolog.projections.sources.source import SAID, Asked, Found, Source, hit_of
from mnemolog.projections.vectors.projector import NAME as VECTORS

ARTIFACT = "artifact"


def _holds(viewer: Viewer) -> ColumnElement[bool]:
    there = artifacts.c.status.in_(sorted(VISIBLE))
    return select(artifacts.c.artifact_id).where(*reader.seen(viewer), there).exists()


async def _find(asked: Asked) -> Found:
    """The best text of each artifact that resembles the question, or has a word of it."""
    if asked.question.vector is None:
        return Found()
    at = func.coalesce(artifacts.c.occurred_at, artifacts.c.created_at)
    said = asked.among.said(asked.viewer, at, artifacts.c.source_turn_ids)
    among = reader.TextCandidates(where=tuple(said))
    texts = await reader.search(asked.connection, asked.viewer, among, asked.limit, asked.index, asked.question)
    hits: dict[str, Hit] = {}
    for row in texts:
        similarity, words = row["similarity"] or 0.0, asked.match(row["text"])
        if similarity < (asked.threshold or asked.question.calibration.question_floor) and (
            asked.threshold is not None or not words
        ):
            continue
        text = f"{row['surrogate']}: {row['text']}" if row["text"] not in row["surrogate"] else row["surrogate"]
        hit = hit_of(
            ARTIFACT,
            str(row["artifact_id"]),
            ARTIFACT,
            text,
            date=row["occurred_at"],
            score=max(similarity, words),
            details=row,
            similarity=row["similarity"],
            text_rank=row["text_rank"],
            origin=Origin.DOCUMENT,
        )
        hits.setdefault(hit.id, hit)
    return Found(hits=list(hits.values()))


ARTIFACTS = Source(
    kinds=frozenset({ARTIFACT}),
    projections=(NAME, CONVERSATION, VECTORS),
    holds=_holds,
    find=_find,
    filters=SAID,
    similar=True,
    origins=frozenset({Origin.DOCUMENT}),
)
