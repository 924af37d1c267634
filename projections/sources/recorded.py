"""Memories and messages as a source of a search: by meaning, by words, and by the conversation around them (B §6)."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

from sqlalchemy import true

from mnemolog.domain import hydration
from mnemolog.domain.memory import VISIBLE, Kind
from mnemolog.domain.message import KIND, found_id
from mnemolog.domain.origin import TRUSTED, Origin
from mnemolog.domain.relevance import SIMILAR, Document, relevance
from mnemolog.domain.relevance import Found as Pool
from mnemolog.domain.text import same_text
from mnemolog.projections import full_text
from mnemolog.projections.asking import together
from mnemolog.projections.conversation import reader as conversation
from mnemolog.projections.conversation.tables import NAME as CONVERSATION
from mnemolog.projections.memories import reader as memories
from mnemolog.projections.memories.tables import NAME as MEMORIES
from mnemolog.projections.requests import Filters
from mnemolog.projections.retrieval import CANDIDATES, Hit
from mnemolog.projections.sources.source import ENOUGH, Asked, Found, Source
from mnemolog.projections.vectors.projector import NAME as VECTORS


async def _find(asked: Asked) -> Found:
    """The best hits, unless all are a weak guess: neither similar to the question nor with half of its words.

    However much comes from outside, it takes no place of what does not.
    """
    hits = await _hits(asked)
    if any(hit.origin.external for hit in hits) and asked.among.filters.origins & TRUSTED:
        filters = asked.among.filters.model_copy(update={"trusted_only": True})
        inside = await _hits(replace(asked, among=replace(asked.among, filters=filters)))
        known_ids = {hit.id for hit in hits}
        hits = [*hits, *(hit for hit in inside if hit.id not in known_ids)]
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
    at = asked.asked_at or asked.point.valid_at
    scores = relevance(asked.text, found, pool, at, present=asked.present)
    best = sorted(scores, key=lambda id_: (-scores[id_], id_))[: 2 * asked.limit]
    messages = {one.id for run in found.runs for one in run}
    remembered_ids = {UUID(int=id_) for id_ in best if id_ not in messages}
    weighs_links = bool(asked.profile.links)
    rows, said, links = await together(
        memories.by_ids(asked.connection, asked.viewer, remembered_ids),
        conversation.found(asked.connection, asked.viewer, {UUID(int=id_) for id_ in best if id_ in messages}),
        memories.link_strengths(asked.connection, asked.viewer, remembered_ids if weighs_links else set()),
    )
    known = {id_.int: row for id_, row in (*rows.items(), *said.items()) if row["status"] in VISIBLE}
    strengths = {id_.int: strength for id_, strength in links.items()}
    # A memory may be deleted between the search and the read of its row.
    hits = [
        hit_of_row(known[id_], scores[id_], found.near.get(id_), found.words(id_), strengths.get(id_))
        for id_ in best
        if id_ in known
    ]
    remembered = {(turn_id, same_text(hit.text)) for hit in hits for turn_id in hit.row.get("source_turn_ids", ())}
    return _each_once([hit for hit in hits if (hit.id, same_text(hit.text)) not in remembered])[: asked.limit]


def _each_once(hits: Sequence[Hit]) -> Sequence[Hit]:
    """Without the messages that repeat the words of a better one from the same origin."""
    best = dict[tuple[Origin, str], str]()
    for hit in hits:
        if hit.kind == KIND:
            best.setdefault((hit.origin, same_text(hit.text)), hit.id)
    return [hit for hit in hits if hit.kind != KIND or best[hit.origin, same_text(hit.text)] == hit.id]


async def _pool(asked: Asked, limit: int) -> tuple[Pool[int], set[int]]:
    """All that the ranking looks at, and which of it may be a hit: what was found, and the messages beside it.

    By the ids as numbers: those of a UUID are computed again for each look-up, thousands of times in a search.
    """
    connection, viewer, among, question = asked.connection, asked.viewer, asked.among, asked.question
    by_meaning = asked.threshold is not None or question.vector is not None
    vector = question.meaning() if by_meaning else None

    async def nearest(limit: int, only: Collection[UUID] | None = None) -> Mapping[int, float]:
        if vector is None or (only is not None and not only):
            return {}
        found = await asked.index.search(connection, viewer, among, question.model, vector, limit, only)
        return {id_.int: similarity for id_, similarity in found.items()}

    async def documents(ids: Collection[UUID]) -> Mapping[int, Document]:
        found = await full_text.documents(connection, among, viewer, question.text, ids) if ids else {}
        return {id_.int: document for id_, document in found.items()}

    worded, telling, near = await together(
        full_text.search(connection, among, viewer, question.text, limit),
        full_text.search(connection, among, viewer, asked.slot.slot.words if asked.slot else "", limit),
        nearest(limit),
    )
    first = {*near, *(id_.int for id_ in (*worded.scores, *telling.scores))}
    ids, far = _uuids(first), _uuids(first - near.keys())
    runs, texts, others = await together(
        among.runs(connection, viewer, ids), documents(ids), nearest(len(far), only=far)
    )
    pool = set(first)
    for run in runs:
        places = [one.id for one in run]
        pool |= {beside for n, id_ in enumerate(places) if id_ in first for beside in places[max(0, n - 1) : n + 2]}
    around, beside = _uuids({one.id for run in runs for one in run} - first), _uuids(pool - first)
    more_texts, more = await together(documents(around), nearest(len(beside), only=beside))
    similar = SIMILAR * question.calibration.question_floor
    return Pool({**near, **others, **more}, worded.collection, {**texts, **more_texts}, runs, similar), pool


def _uuids(numbers: Collection[int]) -> list[UUID]:
    return [UUID(int=one) for one in numbers]


def hit_of_row(
    row: Mapping[str, Any],
    score: float = 0.0,
    similarity: float | None = None,
    text_rank: float | None = None,
    links: float | None = None,
) -> Hit:
    text, parts = row["line" if row["kind"] == KIND else "text"], {} if links is None else {"links": links}
    return Hit(found_id(row), row["kind"], row["category"], text, score, similarity, text_rank, row, parts=parts)


RECORDED = Source(
    kinds=frozenset(Kind) | {KIND},
    projections=(MEMORIES, CONVERSATION, VECTORS),
    holds=lambda viewer: true(),
    find=_find,
    filters=frozenset(Filters.model_fields),
    similar=True,
)
