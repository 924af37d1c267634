"""memory.query: allowlist and filters in the store, hybrid search, budget, delta header (B §6, design §6)."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from mnemolog.domain import ranking
from mnemolog.domain.anaphora import Reference
from mnemolog.domain.category import CategoryPolicy
from mnemolog.domain.predicates import PredicatePolicy
from mnemolog.domain.text import CountTokens
from mnemolog.domain.viewer import Viewer
from mnemolog.projections.asking import together
from mnemolog.projections.candidates import candidates, categories
from mnemolog.projections.changes import reader as changes
from mnemolog.projections.excerpts import in_excerpts
from mnemolog.projections.graph.facts import Point
from mnemolog.projections.memories import reader as memories
from mnemolog.projections.requests import MemoryQuery, restrictions
from mnemolog.projections.retrieval import Hit
from mnemolog.projections.sources.every import SOURCES
from mnemolog.projections.sources.ranked import hit_of_memory, ranked
from mnemolog.projections.sources.recorded import RECORDED
from mnemolog.projections.sources.source import Asked, Source
from mnemolog.projections.vectors.index import VectorIndex
from mnemolog.projections.vectors.question import Question


@dataclass(frozen=True, slots=True)
class Answer:
    """The delta header ("" if nothing changed or it was not requested), the thread's revision, and the hits.

    `unknown` are the names in the query that are not known, and what is not known of whom it asks about.
    `references` is what its pronouns were taken to mean. `skipped` is what the answer is made without.
    `profile` is how the hits are ranked. `nothing` says, if nothing was found, that nothing is known and what was
    looked for. `related` are memories linked to the hits.
    """

    header: str
    rev: int
    hits: Sequence[Hit]
    unknown: Sequence[str] = ()
    skipped: Sequence[str] = ()
    references: Sequence[Reference] = ()
    profile: str = ranking.DEFAULT.name
    nothing: str = ""
    related: Sequence[Hit] = ()


def sources(request: MemoryQuery) -> Sequence[Source]:
    """The sources that can answer a request: of its kinds and categories, and able to apply all its filters."""
    named = {*request.categories, *filter(None, [request.filters.category])}
    return [
        one
        for one in SOURCES
        if (not request.kinds or one.kinds & set(request.kinds))
        and (not named or one is RECORDED or one.category in named)
        and one.applies(request.filters)
        and (request.threshold is None or one.similar)
    ]


async def answer(
    connection: AsyncConnection,
    viewer: Viewer,
    request: MemoryQuery,
    policy: CategoryPolicy,
    predicates: PredicatePolicy,
    point: Point,
    referred: Collection[UUID],
    sources: Sequence[Source],
    passages: Sequence[Mapping[str, Any]],
    count_tokens: CountTokens,
    index: VectorIndex,
    question: Question,
) -> Answer:
    """Search these sources for what is known of one user, as one agent, beside passages of the agent's library.

    CategoryNotAllowed for a category outside its allowlist.
    """
    within = viewer.within(categories(policy, viewer.agent_id, request.categories, request.filters))
    asked = Asked(
        connection=connection,
        viewer=within,
        question=question,
        index=index,
        predicates=predicates,
        point=point,
        among=await candidates(connection, within, request.filters, request.kinds),
        limit=request.top_k,
        threshold=request.threshold,
        entity_ids={*request.filters.entity_ids, *referred},
        former=request.superseded == "include",
        kinds=frozenset(request.kinds),
        profile=ranking.PROFILES[request.profile],
        cutoff=request.cutoff,
        asked_at=request.asked_at,
        passages=passages,
    )
    able = [one for one in sources if one.category is None or within.may_read(one.category)]
    # The revision first: a change that the hits do not show yet is reported after it.
    rev, found = await together(
        changes.revision(connection, viewer, request.thread_id), ranked(asked, able, request.top_k)
    )
    budget, bullet = request.budget_tokens, attrgetter("bullet")
    hits = in_excerpts(found.hits, asked.stems, budget, bullet, count_tokens)
    kept = ranking.within_budget(hits, budget, bullet, count_tokens)
    header = await changes.header_of(connection, viewer, request.thread_id, request.since_rev, rev)
    related = await _related(asked, kept)
    if budget is not None and related:
        budget -= sum(count_tokens(hit.bullet) for hit in kept)
    related = ranking.within_budget(related, budget, bullet, count_tokens)
    nothing = "" if found.hits else ranking.nothing_known(request.query, restrictions(request))
    if found.hits and not kept and request.budget_tokens is not None:
        nothing = ranking.over_budget(request.budget_tokens)
    unknown = [*found.unknown, *found.untold]
    return Answer(
        header, rev, kept, unknown, question.skipped, profile=request.profile, nothing=nothing, related=related
    )


async def _related(asked: Asked, hits: Sequence[Hit]) -> Sequence[Hit]:
    """Memories that are linked to these hits, if a link counted in their ranking (B §2)."""
    if not any(hit.parts.get("links") for hit in hits):
        return []
    ids = {hit.row["memory_id"] for hit in hits if "memory_id" in hit.row}
    found = await memories.related(asked.connection, asked.viewer, ids, asked.among)
    return [replace(hit_of_memory(row), parts={"links": strength}) for row, strength in found]
