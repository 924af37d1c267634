"""The routes of what an agent is told before it answers: its context (B §5), and entity cards (D06)."""

from typing import Annotated, Self

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from mnemolog.adapters.http.requests import Asker, CardsRead, TheEngine, When, viewer_of
from mnemolog.adapters.http.responses import Bullet, MemoryView
from mnemolog.domain.category import Context
from mnemolog.domain.ranking import bullet
from mnemolog.events.fields import validated
from mnemolog.projections.context import AgentContext, ContextRequest, Section
from mnemolog.projections.memories.cards import Card

router = APIRouter(tags=["reading"])


class ContextBody(Asker, ContextRequest):
    """Who asks, about whom, and what is about to be answered."""


class SectionView(BaseModel):
    """A category in its mode. `rag_length` is null where the whole category is told."""

    category: str
    context: Context
    rag_length: int | None
    memories: list[MemoryView]

    @classmethod
    def of(cls, section: Section) -> Self:
        length = section.mode.rag_length if section.mode.context is Context.RAG else None
        rows = [MemoryView.model_validate(row) for row in section.memories]
        return cls(category=section.category, context=section.mode.context, rag_length=length, memories=rows)


class CardView(BaseModel):
    """What matters most about somebody or something: at most three memories, and these in one line."""

    ref: str
    line: str
    memories: list[MemoryView]

    @classmethod
    def of(cls, card: Card) -> Self:
        rows = [MemoryView.model_validate(row) for row in card.memories]
        return cls(ref=card.ref, line=card.line, memories=rows)


class ContextView(BaseModel):
    """`foundation`: pinned memories, which stand in their categories too. `bullets` tells each memory once."""

    cards: list[CardView] = Field(description="Of whom the memories of the categories are about; tell them first.")
    foundation: list[MemoryView]
    categories: list[SectionView]
    bullets: list[Bullet] = Field(description="What fits into `budget_tokens`: foundation first, then by category.")

    @classmethod
    def of(cls, found: AgentContext) -> Self:
        return cls(
            cards=[CardView.of(card) for card in found.cards],
            foundation=[MemoryView.model_validate(row) for row in found.foundation],
            categories=[SectionView.of(section) for section in found.sections],
            bullets=[Bullet(id=row["memory_id"], category=row["category"], text=bullet(row)) for row in found.memories],
        )


class CardsView(BaseModel):
    """In the order of the references; none of one that nothing is told of."""

    cards: list[CardView]


@router.get("/memory/cards", summary="Read what matters most about somebody or something")
async def read_cards(asked: Annotated[CardsRead, Query()], engine: TheEngine) -> CardsView:
    """At most three memories a reference: the pinned, then what matters most, then the newest (D06)."""
    found = await engine.reads.cards(viewer_of(engine, asked), asked.ref, asked.moment())
    return CardsView(cards=[CardView.of(card) for card in found])


@router.post("/memory/context", summary="Read what an agent is told before it answers")
async def read_context(body: ContextBody, when: Annotated[When, Query()], engine: TheEngine) -> ContextView:
    """Each category that the agent may read: whole, or what answers the query, as the policy says."""
    request = validated(ContextRequest, body.model_dump(include=set(ContextRequest.model_fields)))
    return ContextView.of(await engine.reads.context(viewer_of(engine, body), request, when.moment()))
