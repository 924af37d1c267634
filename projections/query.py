"""memory.query: allowlist and filters in the store, hybrid search, budget, delta header (B §6, design §6)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, Strict
from sqlalchemy import ColumnElement
from sqlalchemy.ext.asyncio import AsyncConnection

from mnemolog.domain import delta, ranking
from mnemolog.domain.category import CategoryPolicy
from mnemolog.domain.memory import VISIBLE
from mnemolog.domain.viewer import Viewer
from mnemolog.events.envelope import DEFAULT_AGENT, DEFAULT_TENANT, DEFAULT_THREAD, StreamId
from mnemolog.events.fields import Id, Tenant, Text
from mnemolog.projections.changes import reader as changes
from mnemolog.projections.graph import reader as entities
from mnemolog.projections.memories import reader as memories
from mnemolog.projections.memories.filters import Filters, about, active, identified, retrievable, unasked, visible_to
from mnemolog.projections.vectors.embedder import Embedder, Vectors

CANDIDATES = 50  # D: the top 50 by cosine, and as many by full text; more when more are asked for.


class MemoryQuery(BaseModel):
    """The request of B §6. `since_rev` asks for the delta header of `thread_id`; `threshold` is a cosine similarity."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    tenant: Tenant = DEFAULT_TENANT
    agent: Id = DEFAULT_AGENT
    query: Text
    categories: tuple[str, ...] = ()
    filters: Filters
    top_k: Annotated[int, Strict(), Field(ge=1, le=100)] = 5
    returns: Literal["bullets", "full"] = Field("bullets", alias="return")
    budget_tokens: Annotated[int, Strict(), Field(ge=1)] | None = None
    threshold: Annotated[float, Strict(), Field(ge=-1, le=1)] | None = None
    thread_id: Id = DEFAULT_THREAD
    since_rev: Annotated[int, Strict(), Field(ge=0)] | None = None

    @property
    def viewer(self) -> Viewer:
        return Viewer(self.tenant, self.filters.user_id, self.agent)

    @property
    def stream(self) -> StreamId:
        return self.filters.stream(self.tenant)


@dataclass(frozen=True, slots=True)
class Hit:
    """One memory that answers. `score` in [0, 1] is the fused rank; `similarity` the cosine; `row` the whole memory."""

    memory_id: UUID
    category: str
    text: str
    score: float
    similarity: float | None
    text_rank: float | None
    row: Mapping[str, Any] = field(repr=False)

    @property
    def bullet(self) -> str:
        return ranking.bullet(self.row)


@dataclass(frozen=True, slots=True)
class Answer:
    """The delta header ("" when nothing changed or none was asked for), the thread's revision, and the hits."""

    header: str
    rev: int
    hits: Sequence[Hit]


@dataclass(frozen=True, slots=True)
class Question:
    """What is looked for: its words, and its vector in a model's space."""

    text: str
    model: str
    vector: Vectors = field(repr=False)


async def answer(
    connection: AsyncConnection, viewer: Viewer, request: MemoryQuery, policy: CategoryPolicy, embedder: Embedder
) -> Answer:
    """Search one user's memories as one agent. CategoryNotAllowed when it asks for what its allowlist leaves out."""
    hits = await _search(connection, viewer.within(_categories(request, policy)), request, embedder)
    kept = ranking.within_budget(hits, request.budget_tokens, lambda hit: hit.bullet)
    rev = await changes.revision(connection, viewer, request.thread_id)
    return Answer(await _header(connection, viewer, request, rev), rev, kept)


def _categories(request: MemoryQuery, policy: CategoryPolicy) -> frozenset[str]:
    """A category that a filter names is asked for like any other, and refused like any other."""
    if request.filters.category is None:
        return policy.allowed(request.agent, request.categories)
    named = policy.allowed(request.agent, [request.filters.category], "filters.category")
    return named & policy.allowed(request.agent, request.categories or [request.filters.category])


async def _header(connection: AsyncConnection, viewer: Viewer, request: MemoryQuery, rev: int) -> str:
    if request.since_rev is None or request.since_rev >= rev:
        return ""
    entries = await changes.last_of_each(connection, viewer, request.thread_id, request.since_rev, rev)
    return delta.header(request.since_rev, entries)


async def _search(
    connection: AsyncConnection, viewer: Viewer, request: MemoryQuery, embedder: Embedder
) -> Sequence[Hit]:
    [vector] = await embedder.embed([request.query])
    question = Question(request.query, embedder.model, vector)
    narrowed = request.filters.conditions()
    if wanted := request.filters.entity_ids:
        known = await entities.survivors(connection, viewer, await entities.by_ids(connection, viewer, wanted))
        narrowed.append(about(await entities.kin(connection, viewer, {row["entity_id"] for row in known.values()})))
    return await hybrid(connection, viewer, question, request.top_k, narrowed, request.threshold)


async def hybrid(
    connection: AsyncConnection,
    viewer: Viewer,
    question: Question,
    limit: int,
    narrowed: Sequence[ColumnElement[bool]] = (),
    threshold: float | None = None,
) -> Sequence[Hit]:
    """The memories that answer, best first: by meaning and by words, fused; `threshold` is a cosine similarity."""
    conditions = [*visible_to(viewer), active(), retrievable(), unasked(viewer.categories or frozenset()), *narrowed]
    candidates = max(CANDIDATES, limit)
    nearest = partial(memories.by_vector, connection, viewer, model=question.model, vector=question.vector)
    near = await nearest(conditions=conditions, limit=candidates)
    worded = await memories.by_text(connection, conditions, question.text, candidates)
    if threshold is not None:
        if far := worded.keys() - near.keys():  # By words only, but perhaps as similar as the threshold asks.
            near |= await nearest(conditions=[*conditions, identified(far)], limit=len(far))
        near = {id_: score for id_, score in near.items() if score >= threshold}
        worded = {id_: score for id_, score in worded.items() if id_ in near}
    fused = ranking.fuse(near, worded)
    best = sorted(fused, key=lambda id_: (-fused[id_], id_))[:limit]
    rows = await memories.by_ids(connection, viewer, set(best))
    return [_hit(rows[id_], fused[id_], near.get(id_), worded.get(id_)) for id_ in best if _still_visible(rows, id_)]


def _still_visible(rows: Mapping[UUID, Mapping[str, Any]], id_: UUID) -> bool:
    """A memory may be forgotten between the search and the reading of its row."""
    return id_ in rows and rows[id_]["status"] in VISIBLE


def _hit(row: Mapping[str, Any], score: float, similarity: float | None, text_rank: float | None) -> Hit:
    return Hit(row["memory_id"], row["category"], row["text"], score, similarity, text_rank, row)
