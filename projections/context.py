"""The context of an agent: entity cards, pinned memories, and each category in its mode (B §5, D06)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Annotated
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, Strict
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from mnemolog.domain import ranking
from mnemolog.domain.category import CategoryPolicy, Context, ContextMode
from mnemolog.domain.message import CATEGORY, found_id
from mnemolog.domain.viewer import Viewer
from mnemolog.events.fields import WHOLE, Text
from mnemolog.projections.conversation import reader as conversation
from mnemolog.projections.memories import reader as memories
from mnemolog.projections.memories.cards import Card, cards
from mnemolog.projections.memories.filters import active, unasked, visible_to
from mnemolog.projections.memories.reader import Row
from mnemolog.projections.memories.tables import memories as table
from mnemolog.projections.retrieval import hybrid
from mnemolog.projections.vectors.index import VectorIndex
from mnemolog.projections.vectors.question import Question


class ContextRequest(BaseModel):
    """What the agent is about to answer. Without `categories`, everything it may read except procedures."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    query: Annotated[Text, Field(description="What the agent is about to answer.")]
    categories: Annotated[
        tuple[str, ...], Field(description="Only these categories; by default all that the agent may read.")
    ] = ()
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
class AgentContext:
    """`foundation` are pinned memories, which are also in their sections; `rows` has each row once, in order.

    `cards` are those of the entities that the memories of the sections are about. `skipped` is what the context is
    made without.
    """

    cards: Sequence[Card]
    foundation: Sequence[Row]
    sections: Sequence[Section]
    rows: Sequence[Row]
    skipped: Sequence[str] = ()

    @property
    def shown(self) -> Iterator[Row]:
        """The memories shown to the agent, some twice: in a card and separately."""
        return chain(self.rows, *(card.memories for card in self.cards))

    @property
    def bullets(self) -> list[str]:
        return [*(card.line for card in self.cards), *map(ranking.bullet, self.rows)]


async def gather(
    connection: AsyncConnection,
    viewer: Viewer,
    request: ContextRequest,
    policy: CategoryPolicy,
    index: VectorIndex,
    question: Question,
) -> AgentContext:
    """CategoryNotAllowed if the request names a category outside the agent's allowlist."""
    viewer = viewer.within(policy.allowed(viewer.agent_id, request.categories))
    foundation = await memories.foundation(connection, viewer)
    sections = [
        Section(category, policy.mode(category), await _section(connection, viewer, category, policy, index, question))
        for category in await _categories(connection, viewer)
    ]
    told = {found_id(row): row for rows in (foundation, *(one.rows for one in sections)) for row in rows}
    about = await cards(connection, viewer, (ref for row in told.values() for ref in row.get("entity_refs", ())))
    block: list[Card | Row] = [*about, *told.values()]
    within = ranking.within_budget(block, request.budget_tokens, _line)
    cards_within = [one for one in within if isinstance(one, Card)]
    rows = [one for one in within if not isinstance(one, Card)]
    return AgentContext(cards_within, foundation, [one for one in sections if one.rows], rows, question.skipped)


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
    held = (
        select(table.c.category)
        .where(*visible_to(viewer), active(), unasked(viewer.categories or frozenset()))
        .distinct()
    )
    found = set((await connection.execute(held)).scalars())
    if await conversation.any_of(connection, viewer):
        found.add(CATEGORY)
    return sorted(found)


def _line(one: Card | Row) -> str:
    return one.line if isinstance(one, Card) else ranking.bullet(one)
