"""memory.query: allowlist and filters in the store, hybrid search, budget, delta header (B §6, design §6)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, Strict, model_validator
from sqlalchemy.ext.asyncio import AsyncConnection

from mnemolog.domain import delta, ranking
from mnemolog.domain.anaphora import Reference
from mnemolog.domain.category import CategoryPolicy
from mnemolog.domain.errors import InvalidInput
from mnemolog.domain.viewer import Viewer
from mnemolog.events.envelope import DEFAULT_AGENT, DEFAULT_TENANT, DEFAULT_THREAD, StreamId
from mnemolog.events.fields import WHOLE, Id, Tenant, Text
from mnemolog.projections.changes import reader as changes
from mnemolog.projections.graph import reader as entities
from mnemolog.projections.memories.filters import Candidates, Filters
from mnemolog.projections.retrieval import Hit, hybrid
from mnemolog.projections.vectors.index import VectorIndex
from mnemolog.projections.vectors.question import Question


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
    thread_id: Annotated[
        Id, Field(description="The thread of `since_rev`, and of the conversation that pronouns refer to.")
    ] = DEFAULT_THREAD
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
class Answer:
    """The delta header ("" if nothing changed or it was not requested), the thread's revision, and the hits.

    `references` is what its pronouns were taken to mean. `skipped` is what the answer is made without.
    """

    header: str
    rev: int
    hits: Sequence[Hit]
    skipped: Sequence[str] = ()
    references: Sequence[Reference] = ()


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
