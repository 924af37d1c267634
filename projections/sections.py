"""The categories of an agent's context, each with all that it has or with what a search finds in it (B §5)."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from sqlalchemy import Select, literal, select, union
from sqlalchemy.ext.asyncio import AsyncConnection

from mnemolog.domain import ranking
from mnemolog.domain.category import PROCEDURAL, CategoryPolicy, Context, ContextMode
from mnemolog.domain.message import CATEGORY, found_id
from mnemolog.domain.message import KIND as MESSAGE
from mnemolog.domain.origin import EXTERNAL
from mnemolog.domain.ranking import DEFAULT, FORMER
from mnemolog.domain.viewer import Viewer
from mnemolog.projections import full_text
from mnemolog.projections.asking import ask, together
from mnemolog.projections.conversation import reader as conversation
from mnemolog.projections.graph.facts import outlived
from mnemolog.projections.memories import reader as memories
from mnemolog.projections.memories.filters import Candidates, active, unasked, visible_to
from mnemolog.projections.memories.reader import Row
from mnemolog.projections.memories.tables import memories as table
from mnemolog.projections.retrieval import CANDIDATES, Hit
from mnemolog.projections.sources.changed import corrections_first
from mnemolog.projections.sources.graph import FACT
from mnemolog.projections.sources.ranked import settled, told_former
from mnemolog.projections.sources.recorded import RECORDED
from mnemolog.projections.sources.source import Asked
from mnemolog.projections.sources.telling import told_first
from mnemolog.projections.sources.weighing import best_first, is_answer, weighed


@dataclass(frozen=True, slots=True)
class Section:
    """A category with its content: by importance if the category is included completely, else best first.

    `rows` are memories and, in the category of messages, messages.
    """

    category: str
    mode: ContextMode
    rows: Sequence[Row]

    @property
    def searched(self) -> bool:
        """Whether it has what a search found, and not all that there is."""
        return self.mode.context is not Context.ALL


class Collected(NamedTuple):
    """A category with all that it has, or with what a search finds in it."""

    category: str
    mode: ContextMode
    rows: Sequence[Row] = ()
    hits: Sequence[Hit] = ()


async def collect(asked: Asked, policy: CategoryPolicy) -> Sequence[Collected]:
    """Each category that is not empty, as its mode says."""
    held = await _categories(asked.connection, asked.viewer)
    return await together(*(_collected_of(asked, one, policy.mode(one)) for one in held))


async def _collected_of(asked: Asked, category: str, mode: ContextMode) -> Collected:
    viewer, connection = asked.viewer.within(frozenset({category})), asked.connection
    if mode.context is Context.ALL:
        ids = [id_ for (id_,) in await ask(connection, viewer, _whole, asked.among)]
        rows = await memories.by_ids(connection, viewer, set(ids))
        return Collected(category, mode, rows=[rows[id_] for id_ in ids if id_ in rows and rows[id_]["text"]])
    compared = asked.profile is not DEFAULT or asked.slot is not None or asked.ahead is not None
    limit = max(mode.rag_length, CANDIDATES) if compared else mode.rag_length
    asked = replace(asked, viewer=viewer, limit=limit)
    hits = (await RECORDED.find(asked)).hits
    return Collected(category, mode, hits=_related_enough(asked, best_first(asked, weighed(asked, hits))))


def _related_enough(asked: Asked, hits: Sequence[Hit]) -> Sequence[Hit]:
    """The hits without the messages that would only fill the context: to thanks or a greeting, none is an answer."""
    said, floor = [hit for hit in hits if hit.kind == MESSAGE], asked.question.calibration.question_floor
    if any(is_answer(asked, hit, floor) for hit in said):
        kept = {said[place].id for place in ranking.related([hit.score for hit in said])}
    else:
        kept = {hit.id for hit in said[: ranking.UNRELATED]}
    return [hit for hit in hits if hit.kind != MESSAGE or hit.id in kept]


async def in_sections(
    asked: Asked, collected: Sequence[Collected], hits: Sequence[Hit]
) -> tuple[Sequence[Section], Sequence[Hit]]:
    """The categories, and the hits of what is known without what a message in them has corrected or outdated."""
    known = _not_outdated(asked, hits, [hit for one in collected for hit in one.hits])
    facts_found = [hit for hit in known if hit.kind == FACT]
    in_order = await together(*(_section(asked, one, facts_found) for one in collected))
    outdated = frozenset[str]().union(*(ids for _, ids in in_order))
    return [section for section, _ in in_order], [hit for hit in known if hit.id not in outdated]


def _not_outdated(asked: Asked, hits: Sequence[Hit], said: Sequence[Hit]) -> Sequence[Hit]:
    """What is known without what a message has corrected, and the figures that one has outdated since."""
    messages = {hit.id for hit in said}
    in_order = told_first(asked, corrections_first(asked, [*hits, *said]))
    over = {hit.id for hit in in_order if hit.superseded_by in messages}
    return [hit for hit in hits if hit.id not in over]


async def _section(asked: Asked, found: Collected, known: Sequence[Hit]) -> tuple[Section, Collection[str]]:
    """A category without what a later statement or a known fact supersedes, unless all of it is wanted.

    And the known facts that something in it has outdated.

    Messages are marked with the facts that they stated and that no longer hold; those with no other facts come last.
    A memory that another one contradicts stays: its bullet names the newer one (B02).
    """
    if found.mode.context is Context.ALL:
        return Section(found.category, found.mode, found.rows), ()
    viewer, connection = asked.viewer.within(frozenset({found.category})), asked.connection
    asked = replace(asked, viewer=viewer)
    beside = {hit.id for hit in known}
    in_order = await settled(asked, [*known, *found.hits])
    outdated = {hit.id for hit in in_order if hit.id in beside and hit.superseded_by}
    kept = [hit for hit in in_order if hit.id not in beside and (hit.current or hit.row.get("contradicted_by"))]
    said = {hit.row["message_id"]: hit.date for hit in kept if hit.kind == MESSAGE}
    over = await outlived(connection, viewer, asked.point, asked.predicates, said) if said else {}
    marked = [told_former(hit.row, *over.get(hit.row.get("message_id", ""), ((), ()))) for hit in kept]
    rows = sorted(marked, key=lambda row: row["former"] == FORMER)[: found.mode.rag_length]
    return Section(found.category, found.mode, rows), outdated


def most_relevant_first(
    told: Mapping[str, Row], foundation: Sequence[Row], collected: Sequence[Collected], sections: Sequence[Section]
) -> Sequence[Row]:
    """What is pinned, what a search found in any category, and the rest, so that a budget cuts off the least relevant.

    Scores are relative to a category, so they are recomputed. Within a category the order stays: a row ranks with the
    best one behind it.
    """
    hits = {hit.id: hit for one in collected for hit in one.hits}
    near = {id_: hit.similarity for id_, hit in hits.items() if hit.similarity is not None}
    scores = ranking.fuse(near, {id_: hit.text_rank for id_, hit in hits.items() if hit.text_rank is not None})
    ranks = {found_id(row): 2.0 for row in foundation}
    for section in sections:
        best = -1.0
        for row in reversed(section.rows):
            best = max(best, scores.get(found_id(row), -1.0))
            ranks.setdefault(found_id(row), best)
    return [told[id_] for id_ in sorted(told, key=lambda id_: -ranks.get(id_, -1.0))]


def _whole(viewer: Viewer, among: Candidates) -> Select[Any]:
    """What comes from outside last; pinned ones first, then by importance, then the newest."""
    outside, column = table.c.origin.in_(sorted(EXTERNAL)), table.c
    order = (outside, column.pinned.desc(), column.importance.desc(), column.created_at.desc(), column.memory_id)
    return select(column.memory_id).where(*visible_to(viewer), active(), *among.narrowed(viewer)).order_by(*order)


async def _categories(connection: AsyncConnection, viewer: Viewer) -> Sequence[str]:
    """The categories that are not empty, so that the others cost no search."""
    kept = await full_text.categories(connection, viewer, Candidates(messages=True).words)
    if kept is not None:
        return sorted(kept if PROCEDURAL in (viewer.categories or ()) else kept - {PROCEDURAL})
    held = select(table.c.category).where(*visible_to(viewer), active(), unasked(viewer.categories or frozenset()))
    messages = select(literal(CATEGORY)).where(conversation.any_of(viewer))
    return sorted((await connection.execute(union(held, messages))).scalars())
