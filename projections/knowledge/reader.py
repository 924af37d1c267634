"""Reads an agent's library: documents, and the chunks that answer a query."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Select, and_, func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from mnemolog.domain import ranking
from mnemolog.domain.document import erased_document, no_such_document
from mnemolog.domain.memory import VISIBLE, Status
from mnemolog.domain.text import search_terms
from mnemolog.domain.viewer import Viewer
from mnemolog.projections import full_text
from mnemolog.projections.asking import together
from mnemolog.projections.knowledge.tables import chunks, documents
from mnemolog.projections.owner import OWNER, without
from mnemolog.projections.paging import Slice, page_of, sliced
from mnemolog.projections.rows import Row, fetch, stored
from mnemolog.projections.vectors.index import VectorIndex
from mnemolog.projections.vectors.question import Question
from mnemolog.projections.visibility import owned

BY_SOURCE = ("source", "document_id")
CANDIDATES = 50


async def one(connection: AsyncConnection, viewer: Viewer, document_id: UUID) -> Row:
    """A document, deleted or not, with its chunks in order; NotFound or Erased."""
    wanted = select(*stored(documents)).where(owned(documents, viewer), documents.c.document_id == document_id)
    rows = await fetch(connection, documents, wanted)
    if not rows:
        raise no_such_document(viewer.agent_id, document_id)
    if rows[0]["status"] == Status.PURGED or not rows[0]["source"]:
        raise erased_document(document_id)
    column = chunks.c
    current = column.rank.is_not(None) & (column.text != "")
    of = select(*stored(chunks)).where(owned(chunks, viewer), column.document_id == document_id, current)
    parts = await fetch(connection, chunks, of.order_by(column.rank))
    shown = [{**_chunk(part), "position": place} for place, part in enumerate(parts)]
    return {**_document(rows[0]), "content": shown}


async def listed(
    connection: AsyncConnection,
    viewer: Viewer,
    domain: str | None = None,
    source: str | None = None,
    status: Status = Status.ACTIVE,
    limit: int = 100,
    cursor: str | None = None,
) -> Slice:
    """Documents by source; with `source`, the one with that path or name."""
    column = documents.c
    statement = select(*stored(documents)).where(owned(documents, viewer), column.status == status, column.source != "")
    if domain is not None:
        statement = statement.where(column.domain == domain)
    if source is not None:
        statement = statement.where(column.source == source)
    rows = await fetch(connection, documents, page_of(statement, documents, BY_SOURCE, limit, cursor))
    return sliced([_document(row) for row in rows], BY_SOURCE, limit)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkCandidates:
    """Which chunks a search may find, of those in the viewer's library. None leaves nothing out."""

    domain: str | None = None
    document_id: UUID | None = None
    chunk_ids: frozenset[UUID] | None = None

    words = ()

    def documents(self, viewer: Viewer) -> Select[Any]:
        """The candidates: each `id` with the terms that a full-text search finds it by, as `search`."""
        column = chunks.c
        return select(column.chunk_id.label("id"), column.search.label("search")).where(*self.conditions(viewer))

    def conditions(self, viewer: Viewer) -> list[ColumnElement[bool]]:
        """As a statement over chunks says it."""
        column = chunks.c
        same = and_(*(documents.c[name] == chunks.c[name] for name in (*OWNER, "document_id")))
        of = [owned(documents, viewer), documents.c.status.in_(sorted(VISIBLE)), same]
        if self.domain is not None:
            of.append(documents.c.domain == self.domain)
        found = [owned(chunks, viewer), column.rank.is_not(None), column.text != ""]
        found.append(select(documents.c.document_id).where(*of).exists())
        if self.document_id is not None:
            found.append(column.document_id == self.document_id)
        if self.chunk_ids is not None:
            found.append(column.chunk_id.in_(sorted(self.chunk_ids)))
        return found


async def search(
    connection: AsyncConnection,
    viewer: Viewer,
    among: ChunkCandidates,
    limit: int,
    index: VectorIndex,
    questions: Sequence[Question],
) -> Sequence[Sequence[Row]]:
    """The chunks that answer each question, best first: by meaning and by words, fused.

    Without a vector, by words alone.
    """
    found = await together(*(_scores(connection, viewer, among, limit, index, one) for one in questions))
    ids = frozenset(id_ for one in found for id_ in one)
    if not ids:
        return [[] for _ in found]
    wanted = replace(among, chunk_ids=ids).conditions(viewer)
    rows = {row["chunk_id"]: row for row in await fetch(connection, chunks, select(*stored(chunks)).where(*wanted))}
    of = await _by_ids(connection, viewer, {row["document_id"] for row in rows.values()})
    places = await _positions(connection, viewer, of.keys())
    shown = {
        id_: {
            **_chunk(row),
            "position": places.get(id_, 0),
            "document_id": row["document_id"],
            **{name: of[row["document_id"]][name] for name in ("source", "title", "domain", "sha256")},
        }
        for id_, row in rows.items()
        if row["document_id"] in of
    }
    return [[{**shown[id_], **scores} for id_, scores in one.items() if id_ in shown] for one in found]


async def told_of(connection: AsyncConnection, viewer: Viewer, text: str) -> Sequence[str]:
    """The words of a text that a chunk of the library has, the rarest there first."""
    found = (await full_text.search(connection, ChunkCandidates(), viewer, text, 1)).collection.idf
    words = {lexeme: next((word for word in search_terms(text) if word.startswith(lexeme)), lexeme) for lexeme in found}
    return [words[one] for one in sorted(found, key=lambda one: (-found[one], one))]


async def _scores(
    connection: AsyncConnection,
    viewer: Viewer,
    among: ChunkCandidates,
    limit: int,
    index: VectorIndex,
    question: Question,
) -> Mapping[UUID, Mapping[str, float | None]]:
    """The scores of the best chunks, in their order."""
    at_most = max(CANDIDATES, limit)
    near: Mapping[UUID, float] = {}
    if question.vector is not None:
        near = await index.search(connection, viewer, among, question.model, question.vector, at_most)
    worded = (await full_text.search(connection, among, viewer, question.text, at_most)).scores
    fused = ranking.fuse(near, worded)
    best = sorted(fused, key=lambda id_: (-fused[id_], id_))[:limit]
    return {id_: {"score": fused[id_], "similarity": near.get(id_), "text_rank": worded.get(id_)} for id_ in best}


async def _by_ids(connection: AsyncConnection, viewer: Viewer, ids: Collection[UUID]) -> Mapping[UUID, Row]:
    if not ids:
        return {}
    wanted = select(*stored(documents)).where(owned(documents, viewer), documents.c.document_id.in_(sorted(ids)))
    return {row["document_id"]: row for row in await fetch(connection, documents, wanted)}


async def _positions(connection: AsyncConnection, viewer: Viewer, ids: Collection[UUID]) -> Mapping[UUID, int]:
    """The place of each chunk in these documents, from 0."""
    if not ids:
        return {}
    column = chunks.c
    place = func.row_number().over(partition_by=column.document_id, order_by=column.rank) - 1
    current = column.rank.is_not(None) & (column.text != "") & column.document_id.in_(sorted(ids))
    found = await connection.execute(select(column.chunk_id, place).where(owned(chunks, viewer), current))
    return {row[0]: row[1] for row in found}


def _document(row: Row) -> Row:
    return {**without(row), "agent_id": row["user_id"]}


def _chunk(row: Row) -> Row:
    return {name: row[name] for name in ("chunk_id", "place", "text", "actor_id", "created_at", "seq")}
