"""The route that tells why something is known (X04)."""

from typing import Annotated, Any, Self
from uuid import UUID

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel, Field

from mnemolog.adapters.engine.why import Why
from mnemolog.adapters.http.requests import MemoryRead, TheEngine, viewer_of
from mnemolog.events.fields import Instant

router = APIRouter(tags=["reading"])


class CauseView(BaseModel):
    """One event. `policy_version` is that of the policy which it was decided under."""

    seq: int
    event_id: UUID
    type: str
    occurred_at: Instant
    recorded_at: Instant
    actor: str
    agent_id: str
    thread_id: str
    run_id: str | None
    policy_version: str
    match: dict[str, Any] | None = Field(description="How a statement met what was known: band, similarity, model.")
    undoes: UUID | None
    about: list[str] = Field(description="Others of its kind that it touched, as far as they may be seen.")


class SourceTurnView(BaseModel):
    """What was said; "" once it was erased."""

    turn_id: str
    thread_id: str
    role: str
    speaker: str
    text: str
    occurred_at: Instant
    seq: int
    erased: bool


class WhyView(BaseModel):
    """`merged_from`: over any number of merges that stand."""

    id: str
    kind: str = Field(examples=["memory", "entity", "relation", "todo", "profile"])
    events: list[CauseView]
    turns: list[SourceTurnView]
    merged_from: list[str]
    merged_into: str | None
    unseen_turns: int = Field(description="So many more turns are behind it that this agent may not see.")

    @classmethod
    def of(cls, found: Why) -> Self:
        return cls.model_validate(found.as_dict())


@router.get("/why/{id}", summary="Read why something is known")
async def get_why(
    id_: Annotated[str, Path(alias="id")], asked: Annotated[MemoryRead, Query()], engine: TheEngine
) -> WhyView:
    """Its events, what it was merged from, and the turns behind it. `id` may be a profile field's name."""
    return WhyView.of(await engine.reads.why(viewer_of(engine, asked), id_, asked.moment()))
