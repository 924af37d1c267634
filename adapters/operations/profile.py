"""Operations on the profile: fields, proposals, consent and seeding (B §10, D14)."""

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field

from mnemolog.adapters.operations.engine import Engine
from mnemolog.adapters.operations.operation import operation
from mnemolog.adapters.operations.requests import PagedRead, Read, Write, command_of, fields_of, request_of, viewer_of
from mnemolog.adapters.operations.results import ORIGIN, HistoryEntry, Page, Result, Written, written
from mnemolog.commands.profile import DecidePatch, ProposeProfile
from mnemolog.commands.profile_requests import PatchCommand
from mnemolog.commands.seed import SeedUser
from mnemolog.domain.consent import PatchStatus
from mnemolog.domain.origin import Origin
from mnemolog.domain.principal import Role
from mnemolog.events.fields import Flag, Id


class ProfileRead(Read):
    """A read of a user's profile."""


Consented = Annotated[Flag, Field(description="The user consents directly with this request.")]


class ProfileHistoryRead(PagedRead):
    """The history of a profile field, newest first."""

    field: Annotated[Id, Field(description="The field, such as city.")]


class ConsentRead(PagedRead):
    """Proposals, newest first."""

    status: Annotated[
        Literal[
            PatchStatus.PROPOSED,
            PatchStatus.GRANTED,
            PatchStatus.REFUSED,
            PatchStatus.EXPIRED,
            PatchStatus.CORROBORATED,
            "all",
        ],
        Field(description="Only proposals with this status, or `all`; `proposed` ones await consent."),
    ] = PatchStatus.PROPOSED


class ProfileField(Result):
    """A profile field. `value` is a list if values are added to it."""

    field: str
    value: str | list[str]
    source: str
    origin: Origin = Field(description=ORIGIN)
    source_turn_ids: list[str]
    patch_id: UUID | None = Field(description="The proposal that set it.")
    actor_id: str
    updated_at: datetime
    seq: int


class Profile(Result):
    """A user's profile, field by field."""

    fields: list[ProfileField]

    def get(self, field: str) -> str | list[str] | None:
        """The value of a field, if it has one."""
        return next((one.value for one in self.fields if one.field == field), None)


class Proposal(Result):
    """A proposed profile change, its signals and its status."""

    patch_id: UUID
    field: str
    value: str
    sensitive: bool = Field(description="Whether it needs the user's consent.")
    signals: int = Field(description="The number of turns that support it.")
    confidence: float
    source: str
    origin: Origin = Field(description=ORIGIN)
    source_turn_ids: list[str]
    proposed_by: list[str]
    status: PatchStatus
    decided_by: str | None
    decided_at: datetime | None
    proposed_at: datetime
    expires_at: datetime
    seq: int


class Proposed(Written):
    """The receipt and the proposal's status: `proposed` is open, `granted` and `corroborated` are applied."""

    patch_id: UUID
    field: str
    status: PatchStatus


class SeededView(Written):
    """The receipt of the last write, and the content of the seed."""

    correlation_id: UUID = Field(description="The correlation id of all events of the seed.")
    applied: list[str] = Field(description="Profile fields that were set.")
    queued: list[str] = Field(description="Profile fields that await consent.")
    memory_ids: list[UUID]
    facts: int = Field(description="The number of facts that were recorded.")


@operation("profile get", "GET /profile", tag="profile")
async def get_profile(engine: Engine, request: ProfileRead) -> Profile:
    """Read a user's profile, field by field.

    Proposals that await consent are left out.
    """
    rows = await engine.reads.profile(viewer_of(engine, request), request.moment())
    return Profile.model_validate({"fields": rows})


@operation(
    "profile propose",
    "POST /profile",
    request_of(ProposeProfile, consent=(Consented, False)),
    tag="profile",
    arguments=("field", "value"),
    done="Proposed",
    status=201,
    example={"user_id": "ana", "field": "city", "value": "Lisbon", "turn_id": "m-17"},
)
async def propose_profile(engine: Engine, request: Write) -> Proposed:
    """Propose a profile change.

    preferred_name, pronouns, city and language wait up to 7 days for the user's consent. Other fields are set by a
    second signal from another turn, or at once by a signal with confidence 0.8.
    """
    fields = fields_of(engine, request)
    consented, field = fields.pop("consent", False), fields["field"]
    found = await engine.writes.propose(fields, request.idempotency_key, consented=consented)
    return Proposed.of(found.receipt, patch_id=found.patch_id, field=field, status=found.status)


@operation("profile history", "GET /profile/{field}/history", tag="profile")
async def profile_history(engine: Engine, request: ProfileHistoryRead) -> Page[HistoryEntry]:
    """Read the history of a profile field, newest first.

    Returns what was proposed, decided and set.
    """
    viewer, moment = viewer_of(engine, request), request.moment()
    rows = await engine.reads.field_history(viewer, request.field, request.limit, moment, request.cursor)
    return Page[HistoryEntry].of(rows)


@operation("consent list", "GET /consent", tag="profile")
async def list_consent(engine: Engine, request: ConsentRead) -> Page[Proposal]:
    """List proposed profile changes, newest first.

    Returns those that await consent, unless `status` is given; with the proposers and the decider.
    """
    status = None if request.status == "all" else request.status
    viewer, moment = viewer_of(engine, request), request.moment()
    return Page[Proposal].of(await engine.reads.consent(viewer, status, request.limit, moment, request.cursor))


@operation(
    "consent grant", "POST /consent/{patch_id}/grant", PatchCommand, tag="profile", done="Granted", role=Role.CONSENT
)
async def grant_consent(engine: Engine, request: Write) -> Written:
    """Grant a proposed change, in the user's name.

    It is applied at once. An agent cannot grant its own proposals.
    """
    return await written(engine, DecidePatch, request, decision=PatchStatus.GRANTED)


@operation(
    "consent refuse", "POST /consent/{patch_id}/refuse", PatchCommand, tag="profile", done="Refused", role=Role.CONSENT
)
async def refuse_consent(engine: Engine, request: Write) -> Written:
    """Refuse a proposed change, in the user's name.

    The profile does not change.
    """
    return await written(engine, DecidePatch, request, decision=PatchStatus.REFUSED)


@operation(
    "seed",
    "POST /seed",
    SeedUser,
    tag="profile",
    arguments=("content",),
    done="Seeded",
    lasting=True,
    status=201,
    example={
        "user_id": "ana",
        "content": {"profile": {"tone": "brief"}, "memories": [{"text": "Ana drinks tea", "category": "preferences"}]},
    },
)
async def seed(engine: Engine, request: Write) -> SeededView:
    """Give a user an initial profile: fields, memories and facts.

    All events share one correlation id. Seeding the same content again writes only what is missing.
    """
    seed_id = engine.writes.new_id()
    command = command_of(SeedUser, engine, request, seed=seed_id, correlation_id=seed_id)
    found = await engine.writes.seed(command, request.idempotency_key)
    return SeededView.of(
        found.receipt,
        correlation_id=found.correlation_id,
        applied=found.applied,
        queued=found.queued,
        memory_ids=found.memory_ids,
        facts=found.facts,
    )
