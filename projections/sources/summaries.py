"""Summaries of conversations as a source of a search."""

from sqlalchemy import ColumnElement, select

from mnemolog.domain.message import CATEGORY
from mnemolog.domain.origin import Origin
from mnemolog.domain.viewer import Viewer
from mnemolog.projections.retrieval import Hit
from mnemolog.projections.rows import Row
from mnemolog.projections.sources.source import SAID, Asked, Found, Source, hit_of
from mnemolog.projections.summaries import reader
from mnemolog.projections.summaries.tables import NAME, summaries

SUMMARY = "summary"
LATEST = 50
"""How many summaries a search looks through, the newest first."""


def _holds(viewer: Viewer) -> ColumnElement[bool]:
    return select(summaries.c.summary_id).where(*reader.visible_to(viewer), summaries.c.text != "").exists()


async def _find(asked: Asked) -> Found:
    """Of each thread and kind, the newest summary that the question mentions something of.

    An extract repeats messages, which are found themselves, so it is only found if summaries are asked for. A summary
    from before a message was hidden may contain its words.
    """
    hits = []
    seen: set[tuple[object, ...]] = set()
    extracts = SUMMARY in asked.kinds
    for row in await reader.found(asked.connection, asked.viewer, asked.among.filters, LATEST, extracts=extracts):
        place = (row["thread_id"], row["kind"], row.get("episode_id"))
        if place in seen or not (score := asked.match(row["text"])):
            continue
        seen.add(place)
        hits.append(summary_hit(row, score))
    return Found(hits=hits)


def summary_hit(row: Row, score: float = 0.0) -> Hit:
    """A summary as a hit, whether it was searched for or not."""
    id_, at = str(row["summary_id"]), row["created_at"]
    return hit_of(SUMMARY, id_, SUMMARY, row["text"], date=at, score=score, details=row, origin=Origin.AGENT)


SUMMARIES = Source(
    kinds=frozenset({SUMMARY}),
    projections=(NAME,),
    holds=_holds,
    find=_find,
    category=CATEGORY,
    filters=SAID,
    origins=frozenset({Origin.AGENT}),
)
