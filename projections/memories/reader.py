"""Reads memories: by full text, by vector, by id."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from mnemolog.domain.errors import NotFound
from mnemolog.domain.text import search_terms
from mnemolog.events.envelope import StreamId
from mnemolog.projections.memories.filters import active, identified, visible_to
from mnemolog.projections.memories.tables import links, memories
from mnemolog.projections.vectors.embedder import Vectors
from mnemolog.projections.vectors.tables import vectors

Row = dict[str, Any]
Conditions = Sequence[ColumnElement[bool]]

_SHOWN = [column for column in memories.c if column.name not in ("search", "document", "tenant")]


async def by_vector(
    connection: AsyncConnection, conditions: Conditions, model: str, vector: Vectors, limit: int
) -> dict[UUID, float]:
    """Cosine similarity in [-1, 1] of the nearest memories. Exact: the conditions come first, then the distance."""
    distance = vectors.c.embedding.cosine_distance(vector)
    joined = (
        (vectors.c.tenant == memories.c.tenant)
        & (vectors.c.user_id == memories.c.user_id)
        & (vectors.c.memory_id == memories.c.memory_id)
    )
    statement = (
        select(memories.c.memory_id, (1 - distance).label("score"))
        .join(vectors, joined)
        .where(vectors.c.model == model, *conditions)
        .order_by(distance, memories.c.memory_id)
        .limit(limit)
    )
    return {row[0]: float(row[1]) for row in await connection.execute(statement)}


async def by_text(connection: AsyncConnection, conditions: Conditions, query: str, limit: int) -> dict[UUID, float]:
    """Full-text rank of the memories that hold any word of the query."""
    terms = search_terms(query)
    if not terms:
        return {}
    wanted = func.to_tsquery("english", " | ".join(terms))
    rank = func.ts_rank_cd(memories.c.search, wanted, 1)
    statement = (
        select(memories.c.memory_id, rank.label("score"))
        .where(memories.c.search.op("@@")(wanted), *conditions)
        .order_by(rank.desc(), memories.c.memory_id)
        .limit(limit)
    )
    return {row[0]: float(row[1]) for row in await connection.execute(statement)}


async def by_ids(
    connection: AsyncConnection, stream: StreamId, agent_id: str, memory_ids: set[UUID]
) -> dict[UUID, Row]:
    """The rows of these ids that the agent may see, hidden ones included."""
    statement = select(*_SHOWN).where(*visible_to(stream, agent_id), identified(memory_ids))
    return {row["memory_id"]: dict(row) for row in (await connection.execute(statement)).mappings()}


async def one(connection: AsyncConnection, stream: StreamId, agent_id: str, memory_id: UUID) -> Row:
    """One memory, hidden or not; NotFound when the user has none of this id that the agent may see."""
    rows = await by_ids(connection, stream, agent_id, {memory_id})
    if memory_id not in rows:
        raise NotFound(
            f"user {stream.owner!r} has no memory {memory_id}",
            field="memory_id",
            fix="look it up with `mnemolog query`",
        )
    return rows[memory_id]


async def newest(connection: AsyncConnection, stream: StreamId, agent_id: str, limit: int) -> Sequence[Row]:
    """The active memories of a user that the agent may see, changed last first."""
    statement = (
        select(*_SHOWN)
        .where(*visible_to(stream, agent_id), active())
        .order_by(memories.c.seq.desc(), memories.c.memory_id)
        .limit(limit)
    )
    return [dict(row) for row in (await connection.execute(statement)).mappings()]


async def linked(
    connection: AsyncConnection, stream: StreamId, agent_id: str, memory_id: UUID
) -> Sequence[tuple[UUID, float]]:
    """The active memories that this one is linked to, strongest first, with the strength of the link."""
    statement = (
        select(links.c.to_id, links.c.strength)
        .join(
            memories,
            (memories.c.tenant == links.c.tenant)
            & (memories.c.user_id == links.c.user_id)
            & (memories.c.memory_id == links.c.to_id),
        )
        .where(links.c.from_id == memory_id, *visible_to(stream, agent_id), active())
        .order_by(links.c.strength.desc(), links.c.to_id)
    )
    return [(row[0], float(row[1])) for row in await connection.execute(statement)]
