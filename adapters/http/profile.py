"""Routes of the profile: what is known of a user, what waits for his consent, and how he is seeded (B §10, D14)."""

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel, ConfigDict, Field

from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.engine.seeding import seed
from mnemolog.adapters.http.requests import (
    Asker,
    HistoryRead,
    IdempotencyKey,
    Limit,
    TheEngine,
    When,
    Writer,
    fields_of,
    path_id,
    viewer_of,
)
from mnemolog.adapters.http.responses import HistoryEntry, HistoryView, ReceiptView
from mnemolog.commands.profile import SIGNAL, Value
from mnemolog.commands.seed import Seed
from mnemolog.domain.consent import Status
from mnemolog.events.fields import Flag, Id, Unit

router = APIRouter(tags=["profile"])

PatchId = Annotated[UUID, path_id("patch_id")]


class ProfileRead(Asker, When):
    """What is known of a user."""


class ConsentRead(Asker, When):
    """What was proposed, of one status or of any."""

    status: Status | None = None
    limit: Limit = 100


class Proposal(Writer):
    """A change of the profile. Two signals of different turns apply a benign one, or one of confidence 0.8."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"user_id": "ana", "field": "city", "value": "Lisbon", "turn_id": "m-17"}]}
    )

    field: Id
    value: Value
    confidence: Unit = SIGNAL
    turn_id: Annotated[Id | None, Field(description="The recorded turn that it was drawn from.")] = None
    source: Id = "api"
    consent: Annotated[Flag, Field(description="The user himself says so, here and now.")] = False


class SeedBody(Seed, Writer):
    """Whose seed it is, and what it holds."""


class FieldView(BaseModel):
    """One field; `value` is a list where values are added to it."""

    field: str
    value: str | list[str]
    source: str
    source_turn_ids: list[str]
    patch_id: UUID | None
    actor_id: str
    updated_at: datetime
    seq: int


class ProfileView(BaseModel):
    """What is set, by field."""

    profile: list[FieldView]


class PatchView(BaseModel):
    """One proposal, its signals, and what became of it."""

    patch_id: UUID
    field: str
    value: str
    sensitive: bool
    signals: int
    confidence: float
    source: str
    source_turn_ids: list[str]
    proposed_by: list[str]
    status: Status
    decided_by: str | None
    decided_at: datetime | None
    proposed_at: datetime
    expires_at: datetime
    seq: int


class ConsentView(BaseModel):
    """Proposals, newest first."""

    consent: list[PatchView]


class ProposedView(ReceiptView):
    """The receipt, and what became of the proposal: `proposed` waits, `granted` and `corroborated` are applied."""

    patch_id: UUID
    status: Status


class SeededView(ReceiptView):
    """The receipt of the last write; `seed` is the correlation id of all of them."""

    seed: UUID
    applied: list[str]
    queued: list[str]
    memory_ids: list[UUID]
    facts: int


@router.get("/profile", summary="Read what is known of a user")
async def get_profile(asked: Annotated[ProfileRead, Query()], engine: TheEngine) -> ProfileView:
    """What is set now, or was then."""
    rows = await engine.reads.profile(viewer_of(engine, asked), asked.moment())
    return ProfileView(profile=[FieldView.model_validate(row) for row in rows])


@router.get("/profile/{field}/history", summary="Read what happened to a field of the profile")
async def get_field_history(
    field: Annotated[str, Path()], asked: Annotated[HistoryRead, Query()], engine: TheEngine
) -> HistoryView:
    """What was proposed, decided and set, newest first; nothing where nothing ever was."""
    rows = await engine.reads.field_history(viewer_of(engine, asked), field, asked.limit, asked.moment())
    return HistoryView(history=[HistoryEntry.model_validate(row) for row in rows])


@router.post("/profile", status_code=201, summary="Propose a change of the profile")
async def propose_profile(body: Proposal, key: IdempotencyKey, engine: TheEngine) -> ProposedView:
    """preferred_name, pronouns, city and language wait for consent, 7 days long; other fields for a second signal."""
    fields = fields_of(engine, body, "consent")
    found = await engine.writes.propose(fields, key, consented=body.consent)
    return ProposedView.of(found.receipt, patch_id=found.patch_id, status=found.status)


@router.get("/consent", summary="List what was proposed for the profile")
async def list_consent(asked: Annotated[ConsentRead, Query()], engine: TheEngine) -> ConsentView:
    """Newest first, with who proposed and who decided."""
    rows = await engine.reads.consent(viewer_of(engine, asked), asked.status, asked.limit, asked.moment())
    return ConsentView(consent=[PatchView.model_validate(row) for row in rows])


@router.post("/consent/{patch_id}/grant", summary="Grant a proposal")
async def grant_consent(patch_id: PatchId, body: Writer, key: IdempotencyKey, engine: TheEngine) -> ReceiptView:
    """It applies at once. Whoever proposed it cannot grant it."""
    return await _decided(engine, body, key, patch_id, Status.GRANTED)


@router.post("/consent/{patch_id}/refuse", summary="Refuse a proposal")
async def refuse_consent(patch_id: PatchId, body: Writer, key: IdempotencyKey, engine: TheEngine) -> ReceiptView:
    """The profile stays as it is."""
    return await _decided(engine, body, key, patch_id, Status.REFUSED)


@router.post("/seed", status_code=201, summary="Give a user an initial profile")
async def seed_user(body: SeedBody, engine: TheEngine) -> SeededView:
    """Fields, memories and facts under one correlation id. The same seed again writes what is still lacking."""
    who = fields_of(engine, body, *Seed.model_fields)
    content = body.model_dump(include=set(Seed.model_fields))
    found = await seed(engine.writes, who, content)
    return SeededView.of(found.receipt, **found.parts)


async def _decided(
    engine: Engine,
    body: Writer,
    key: str | None,
    patch_id: UUID,
    decision: Literal[Status.GRANTED, Status.REFUSED],
) -> ReceiptView:
    fields = {**fields_of(engine, body), "patch_id": patch_id, "decision": decision}
    return ReceiptView.of(await engine.writes.decide_patch(fields, key))
