"""The context of an agent: entity cards, pinned memories, and each category in its mode (B §5, D06)."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Annotated
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, Strict
from sqlalchemy import literal, select, union
from sqlalchemy.ext.asyncio import AsyncConnection

from mnemolog.domain import ranking
from mnemolog.domain.anaphora import Reference
from mnemolog.domain.card import reference
from mnemolog.domain.category import CategoryPolicy, Context, ContextMode
from mnemolog.domain.mention import phrases
from mnemolog.domain.message import CATEGORY, found_id
from mnemolog.domain.predicates import PredicatePolicy
from mnemolog.domain.viewer import Viewer
from mnemolog.events.envelope import DEFAULT_THREAD
from mnemolog.events.fields import WHOLE, Id, Text
from mnemolog.projections.conversation import reader as conversation
from mnemolog.projections.graph import reader as entities
from mnemolog.projections.graph.facts import Point, entity_card, facts
from mnemolog.projections.memories import reader as memories
from mnemolog.projections.memories.cards import Card, cards
from mnemolog.projections.memories.filters import active, unasked, visible_to
from mnemolog.projections.memories.reader import Row
from mnemolog.projections.memories.tables import memories as table
from mnemolog.projections.retrieval import hybrid
from mnemolog.projections.vectors.index import VectorIndex
from mnemolog.projections.vectors.question import Question

MOST_ENTITIES = 5


class ContextRequest(BaseModel):
    """What the agent is about to answer. Without `categories`, everything it may read except procedures."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    query: Annotated[Text, Field(description="What the agent is about to answer.")]
    categories: Annotated[
        tuple[str, ...], Field(description="Only these categories; by default all that the agent may read.")
    ] = ()
    thread_id: Annotated[Id, Field(description="The thread whose conversation pronouns refer to.")] = DEFAULT_THREAD
    budget_tokens: Annotated[
        int | None,
        Strict(),
        Field(ge=1, description="The maximum number of tokens in `bullets`; unlimited by default."),
        WHOLE,
    ] = None


@dataclass(frozen=True, slots=True)
class Section:
    """A category with its content: by importance if the category is included completely, else best first.

    `rows` are memories and, in the category of messages, messages.
    """

    category: str
    mode: ContextMode
    rows: Sequence[Row]


@dataclass(frozen=True, slots=True)
class EntityCard:
    """An entity that the query is about, and its first facts in one line; "" if there are none."""

    row: Row
    line: str


@dataclass(frozen=True, slots=True)
class AgentContext:
    """`foundation` are pinned memories, which are also in their sections; `rows` has each row once, in order.

    `entities` are those that the query names or refers to. `cards` are those of what the query and the memories of the
    sections are about. `references` is what pronouns of the query were taken to mean. `skipped` is what the context is
    made without.
    """

    entities: Sequence[EntityCard]
    cards: Sequence[Card]
    foundation: Sequence[Row]
    sections: Sequence[Section]
    rows: Sequence[Row]
    skipped: Sequence[str] = ()
    references: Sequence[Reference] = ()

    @property
    def shown(self) -> Iterator[Row]:
        """The memories shown to the agent, some twice: in a card and separately."""
        return chain(self.rows, *(card.memories for card in self.cards))

    @property
    def bullets(self) -> list[str]:
        return [
            *(one.line for one in self.entities),
            *(card.line for card in self.cards),
            *map(ranking.bullet, self.rows),
        ]


async def gather(
    connection: AsyncConnection,
    viewer: Viewer,
    request: ContextRequest,
    policy: CategoryPolicy,
    predicates: PredicatePolicy,
    point: Point,
    referred: Collection[UUID],
    index: VectorIndex,
    question: Question,
) -> AgentContext:
    """CategoryNotAllowed if the request names a category outside the agent's allowlist."""
    viewer = viewer.within(policy.allowed(viewer.agent_id, request.categories))
    spoken_of: Sequence[EntityCard] = []
    if not request.categories:  # Facts are of no category.
        spoken_of = await _spoken_of(connection, viewer, question.text, referred, point, predicates)
    foundation = await memories.foundation(connection, viewer)
    sections = [
        Section(category, policy.mode(category), await _section(connection, viewer, category, policy, index, question))
        for category in await _categories(connection, viewer)
    ]
    told = {found_id(row): row for rows in (foundation, *(one.rows for one in sections)) for row in rows}
    refs = [reference(one.row["category"], one.row["name"]) for one in spoken_of]
    about = await cards(
        connection, viewer, [*refs, *(ref for row in told.values() for ref in row.get("entity_refs", ()))]
    )
    block: list[EntityCard | Card | Row] = [*(one for one in spoken_of if one.line), *about, *told.values()]
    within = ranking.within_budget(block, request.budget_tokens, _line)
    return AgentContext(
        [one for one in within if isinstance(one, EntityCard)],
        [one for one in within if isinstance(one, Card)],
        foundation,
        [one for one in sections if one.rows],
        [one for one in within if not isinstance(one, EntityCard | Card)],
        question.skipped,
    )


async def _section(
    connection: AsyncConnection,
    viewer: Viewer,
    category: str,
    policy: CategoryPolicy,
    index: VectorIndex,
    question: Question,
) -> Sequence[Row]:
    viewer, mode = viewer.within(frozenset({category})), policy.mode(category)
    if mode.context is Context.ALL:
        # Pinned ones first, then by importance, then the newest.
        order = (table.c.pinned.desc(), table.c.importance.desc(), table.c.created_at.desc(), table.c.memory_id)
        wanted = select(table.c.memory_id).where(*visible_to(viewer), active()).order_by(*order)
        ids: list[UUID] = list((await connection.execute(wanted)).scalars())
        rows = await memories.by_ids(connection, viewer, set(ids))
        return [rows[id_] for id_ in ids if id_ in rows and rows[id_]["text"]]
    return [dict(hit.row) for hit in await hybrid(connection, viewer, index, question, mode.rag_length)]


async def _categories(connection: AsyncConnection, viewer: Viewer) -> Sequence[str]:
    """The categories that are not empty, so that the others cost no search."""
    held = select(table.c.category).where(*visible_to(viewer), active(), unasked(viewer.categories or frozenset()))
    messages = select(literal(CATEGORY)).where(conversation.any_of(viewer))
    return sorted((await connection.execute(union(held, messages))).scalars())


async def _spoken_of(
    connection: AsyncConnection,
    viewer: Viewer,
    text: str,
    referred: Collection[UUID],
    point: Point,
    predicates: PredicatePolicy,
) -> Sequence[EntityCard]:
    """The entities that are referred to, and then those that the text names (A §6.1), with the facts about them."""
    named = [*referred, *await entities.named_in(connection, viewer, phrases(text))]
    if not named:
        return []
    found = await entities.survivors(connection, viewer, await entities.by_ids(connection, viewer, named))
    rows = {row["entity_id"]: row for id_ in named if (row := found.get(id_)) and row["name"]}
    known = await facts(connection, viewer, point, predicates, list(rows)[:MOST_ENTITIES])
    about = {id_: [fact for fact in known if id_ in (fact["subject_id"], fact["object_id"])] for id_ in rows}
    return [EntityCard(row, entity_card(row, about[id_])) for id_, row in list(rows.items())[:MOST_ENTITIES]]


def _line(one: EntityCard | Card | Row) -> str:
    return one.line if isinstance(one, EntityCard | Card) else ranking.bullet(one)
