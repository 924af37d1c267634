"""memory.query: allowlist and filters in the store, hybrid search, budget, delta header (B §6, design §6)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, Strict, model_validator
from sqlalchemy.ext.asyncio import AsyncConnection

from mnemolog.domain import delta, ranking
from mnemolog.domain.category import CategoryPolicy
from mnemolog.domain.errors import InvalidInput
from mnemolog.domain.memory import VISIBLE
from mnemolog.domain.message import KIND, found_id
from mnemolog.domain.text import same_text
from mnemolog.domain.viewer import Viewer
from mnemolog.events.envelope import DEFAULT_AGENT, DEFAULT_TENANT, DEFAULT_THREAD, StreamId
from mnemolog.events.fields import WHOLE, Id, Tenant, Text
from mnemolog.projections.changes import reader as changes
from mnemolog.projections.conversation import reader as conversation
from mnemolog.projections.graph import reader as entities
from mnemolog.projections.memories import reader as memories
from mnemolog.projections.memories.filters import Candidates, Filters
from mnemolog.projections.vectors.index import VectorIndex
from mnemolog.projections.vectors.question import Question

CANDIDATES = 50  # D: the top 50 by cosine and by full text; more if requested.
EVERYTHING = Candidates(messages=True)


class Searching(BaseModel):
    """A request of memory.query (B §6), without its user and agent."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    query: Annotated[Text, Field(description="What to search for.")]
    categories: Annotated[
        tuple[str, ...], Field(description="Only these categories; by default all that the agent may read.")
    ] = ()
    filters: Annotated[Filters, Field(description="Only memories with these properties.")] = Filters()
    top_k: Annotated[int, Strict(), Field(ge=1, le=100, description="The maximum number of results."), WHOLE] = 5
    returns: Annotated[
        Literal["bullets", "full"],
        Field(alias="return", description="`bullets` for a prompt, or `full` for complete memories."),
    ] = "bullets"
    budget_tokens: Annotated[
        int | None, Strict(), Field(ge=1, description="The maximum total number of tokens in the results."), WHOLE
    ] = None
    threshold: Annotated[
        float | None, Strict(), Field(ge=-1, le=1, description="The minimum cosine similarity to the query.")
    ] = None
    thread_id: Annotated[Id, Field(description="The thread of `since_rev`.")] = DEFAULT_THREAD
    since_rev: Annotated[
        int | None,
        Strict(),
        Field(ge=0, description="Also report what changed in the thread since this revision, as a delta header."),
        WHOLE,
    ] = None

    @model_validator(mode="before")
    @classmethod
    def _as_in_b(cls, fields: Any) -> Any:
        """In B §6, the agent is `agent`, and the user is among the filters."""
        if not isinstance(fields, dict):
            return fields
        lifted = dict(fields)
        if "agent" in lifted:
            lifted.setdefault("agent_id", lifted.pop("agent"))
        filters = lifted.get("filters")
        if isinstance(filters, dict) and "user_id" in filters:
            lifted["filters"] = {name: value for name, value in filters.items() if name != "user_id"}
            if str(lifted.setdefault("user_id", filters["user_id"])) != str(filters["user_id"]):
                raise InvalidInput(
                    "differs from `user_id`", field="filters.user_id", fix="omit it, or use the same user"
                )
        return lifted


class MemoryQuery(Searching):
    """A search of one user's memories, as one agent."""

    tenant: Tenant = DEFAULT_TENANT
    user_id: Id
    agent_id: Id = DEFAULT_AGENT

    @property
    def viewer(self) -> Viewer:
        return Viewer(self.tenant, self.user_id, self.agent_id)

    @property
    def stream(self) -> StreamId:
        return StreamId.of_user(self.user_id, self.tenant)


@dataclass(frozen=True, slots=True)
class Hit:
    """A memory or a message in the result. `score` in [0, 1] is the fused rank; `similarity` the cosine.

    `row` is the complete memory or message.
    """

    id: str
    kind: str
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
    """The delta header ("" if nothing changed or it was not requested), the thread's revision, and the hits.

    `skipped` is what the answer is made without.
    """

    header: str
    rev: int
    hits: Sequence[Hit]
    skipped: Sequence[str] = ()


async def answer(
    connection: AsyncConnection,
    viewer: Viewer,
    request: MemoryQuery,
    policy: CategoryPolicy,
    index: VectorIndex,
    question: Question,
) -> Answer:
    """Search one user's memories as one agent. CategoryNotAllowed for a category outside its allowlist."""
    within = viewer.within(categories(request, policy))
    among = await _candidates(connection, within, request.filters)
    hits = await hybrid(connection, within, index, question, request.top_k, among, request.threshold)
    kept = ranking.within_budget(hits, request.budget_tokens, lambda hit: hit.bullet)
    rev = await changes.revision(connection, viewer, request.thread_id)
    return Answer(await _header(connection, viewer, request, rev), rev, kept, question.skipped)


def categories(request: MemoryQuery, policy: CategoryPolicy) -> frozenset[str] | None:
    """The categories that a request may search. One named by a filter counts as requested, and may be refused."""
    if request.filters.category is None:
        return policy.allowed(request.agent_id, request.categories)
    named = policy.allowed(request.agent_id, [request.filters.category], "filters.category")
    asked = policy.allowed(request.agent_id, request.categories or [request.filters.category])
    return named if named is None or asked is None else named & asked


async def _header(connection: AsyncConnection, viewer: Viewer, request: MemoryQuery, rev: int) -> str:
    if request.since_rev is None or request.since_rev >= rev:
        return ""
    entries = await changes.last_of_each(connection, viewer, request.thread_id, request.since_rev, rev)
    return delta.header(request.since_rev, entries)


async def _candidates(connection: AsyncConnection, viewer: Viewer, filters: Filters) -> Candidates:
    """The requested entities, with all that were merged with them."""
    if not filters.entity_ids:
        return Candidates(filters=filters, messages=True)
    known = await entities.survivors(connection, viewer, await entities.by_ids(connection, viewer, filters.entity_ids))
    kin = await entities.kin(connection, viewer, {row["entity_id"] for row in known.values()})
    return Candidates(filters=filters, messages=True, about=frozenset(kin))


async def hybrid(
    connection: AsyncConnection,
    viewer: Viewer,
    index: VectorIndex,
    question: Question,
    limit: int,
    among: Candidates = EVERYTHING,
    threshold: float | None = None,
) -> Sequence[Hit]:
    """The results of vector and keyword search, fused, best first; `threshold` is a cosine similarity.

    Without a vector of the query it searches by keywords alone; with a threshold it raises the model's error instead.
    A message is left out if a memory extracted from it says the same.
    """
    at_most = max(CANDIDATES, limit)
    near = dict[UUID, float]()
    if threshold is not None or question.vector is not None:
        nearest = partial(index.search, connection, viewer, model=question.model, vector=question.meaning())
        near |= await nearest(among, limit=at_most)
    worded = await memories.by_text(connection, among, viewer, question.text, at_most)
    if threshold is not None:
        if far := worded.keys() - near.keys():  # Found by words only, but maybe similar enough.
            near |= await nearest(replace(among, ids=frozenset(far)), limit=len(far))
        near = {id_: score for id_, score in near.items() if score >= threshold}
        worded = {id_: score for id_, score in worded.items() if id_ in near}
    fused = ranking.fuse(near, worded)
    best = sorted(fused, key=lambda id_: (-fused[id_], id_))[: 2 * limit]
    rows = await memories.by_ids(connection, viewer, set(best))
    rows |= await conversation.found(connection, viewer, set(best) - rows.keys())
    hits = [_hit(rows[id_], fused[id_], near.get(id_), worded.get(id_)) for id_ in best if _still_visible(rows, id_)]
    remembered = {(turn_id, same_text(hit.text)) for hit in hits for turn_id in hit.row.get("source_turn_ids", ())}
    return [hit for hit in hits if (hit.id, same_text(hit.text)) not in remembered][:limit]


def _still_visible(rows: Mapping[UUID, Mapping[str, Any]], id_: UUID) -> bool:
    """A memory may be deleted between the search and the read of its row."""
    return id_ in rows and rows[id_]["status"] in VISIBLE


def _hit(row: Mapping[str, Any], score: float, similarity: float | None, text_rank: float | None) -> Hit:
    text = row["line" if row["kind"] == KIND else "text"]
    return Hit(found_id(row), row["kind"], row["category"], text, score, similarity, text_rank, row)
