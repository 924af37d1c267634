"""Reads memories: by full text, by vector, by id."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, any_, func, select, true
from sqlalchemy.ext.asyncio import AsyncConnection

from mnemolog.domain.memory import erased_memory, no_such_memory
from mnemolog.domain.text import search_terms
from mnemolog.events.envelope import StreamId
from mnemolog.projections.memories.filters import active, identified, visible_to
from mnemolog.projections.memories.tables import CONFIGURATION, memories
from mnemolog.projections.rows import fetch, stored
from mnemolog.projections.vectors.embedder import Vectors
from mnemolog.projections.vectors.tables import vectors

Row = dict[str, Any]
Conditions = Sequence[ColumnElement[bool]]

K1, B = 1.5, 0.75

_INTERNAL = frozenset({"document", "tenant"})


async def by_vector(
    connection: AsyncConnection, stream: StreamId, conditions: Conditions, model: str, vector: Vectors, limit: int
) -> dict[UUID, float]:
    """Cosine similarity in [-1, 1] of the nearest memories. Exact: the conditions come first, then the distance.

    The ids go to the vectors as an array: a join of the two tables turns quadratic while neither has statistics.
    """
    distance = vectors.c.embedding.cosine_distance(vector)
    wanted = func.array(select(memories.c.memory_id).where(*conditions).scalar_subquery())
    statement = (
        select(vectors.c.memory_id, (1 - distance).label("score"))
        .where(vectors.c.tenant == stream.tenant, vectors.c.user_id == stream.owner, vectors.c.model == model)
        .where(vectors.c.memory_id == any_(wanted))
        .order_by(distance, vectors.c.memory_id)
        .limit(limit)
    )
    return {row[0]: float(row[1]) for row in await connection.execute(statement)}


async def by_text(connection: AsyncConnection, conditions: Conditions, query: str, limit: int) -> dict[UUID, float]:
    """BM25 of the memories that hold any word of the query, over the memories that the conditions leave.

    Robertson and Zaragoza, The Probabilistic Relevance Framework (2009), with the idf that is never negative.
    """
    terms = search_terms(query)
    if not terms:
        return {}
    wanted = func.to_tsquery(CONFIGURATION, " | ".join(terms))
    lexemes = func.tsvector_to_array(func.to_tsvector(CONFIGURATION, " ".join(terms)))
    among = select(func.count().label("n"), func.avg(func.length(memories.c.search)).label("length")).where(*conditions)
    collection = among.subquery()
    word = func.unnest(memories.c.search).table_valued("lexeme", "positions", "weights").render_derived()
    matches = (
        select(
            memories.c.memory_id,
            func.cardinality(word.c.positions).label("tf"),
            (func.length(memories.c.search) / collection.c.length).label("length"),
            func.count().over(partition_by=word.c.lexeme).label("df"),
            collection.c.n,
        )
        .select_from(memories)
        .join(word, true())
        .join(collection, true())
        .where(memories.c.search.op("@@")(wanted), word.c.lexeme == any_(lexemes), *conditions)
        .subquery()
    )
    idf = func.ln(1 + (matches.c.n - matches.c.df + 0.5) / (matches.c.df + 0.5))
    frequency = matches.c.tf * (K1 + 1) / (matches.c.tf + K1 * (1 - B + B * matches.c.length))
    score = func.sum(idf * frequency)
    statement = (
        select(matches.c.memory_id, score)
        .group_by(matches.c.memory_id)
        .order_by(score.desc(), matches.c.memory_id)
        .limit(limit)
    )
    return {row[0]: float(row[1]) for row in await connection.execute(statement)}


async def by_ids(
    connection: AsyncConnection,
    stream: StreamId,
    agent_id: str,
    memory_ids: set[UUID],
    categories: frozenset[str] | None = None,
) -> dict[UUID, Row]:
    """The rows of these ids that the agent may see, hidden ones included."""
    statement = select(*stored(memories)).where(*visible_to(stream, agent_id, categories), identified(memory_ids))
    return {row["memory_id"]: _shown(row) for row in await fetch(connection, memories, statement)}


async def one(
    connection: AsyncConnection,
    stream: StreamId,
    agent_id: str,
    memory_id: UUID,
    categories: frozenset[str] | None = None,
) -> Row:
    """One memory, hidden or not; NotFound when the user has none of this id the agent may see, Erased if it was."""
    rows = await by_ids(connection, stream, agent_id, {memory_id}, categories)
    if memory_id not in rows:
        raise no_such_memory(stream.owner, memory_id)
    if not rows[memory_id]["text"]:
        raise erased_memory(memory_id)
    return rows[memory_id]


async def newest(
    connection: AsyncConnection,
    stream: StreamId,
    agent_id: str,
    limit: int,
    categories: frozenset[str] | None = None,
) -> Sequence[Row]:
    """The active memories of a user that the agent may see, changed last first."""
    statement = (
        select(*stored(memories))
        .where(*visible_to(stream, agent_id, categories), active())
        .order_by(memories.c.seq.desc(), memories.c.memory_id)
        .limit(limit)
    )
    return [_shown(row) for row in await fetch(connection, memories, statement)]


def _shown(row: Row) -> Row:
    return {name: value for name, value in row.items() if name not in _INTERNAL}
