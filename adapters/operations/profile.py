"""Operations on the profile: what is known of a user, what waits for consent, and how a user is seeded (B §10, D14)."""

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field

from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.engine.seeding import seed
from mnemolog.adapters.operations.operation import Operation
from mnemolog.adapters.operations.requests import (
    PagedRead,
    Read,
    Write,
    command_of,
    fields_of,
    request_of,
    viewer_of,
)
from mnemolog.adapters.operations.results import HistoryEntry, Page, Result, Written
from mnemolog.commands.profile import ProposeProfile
from mnemolog.commands.profile_requests import PatchCommand
from mnemolog.commands.seed import SeedUser
from mnemolog.domain.consent import Status
from mnemolog.domain.principal import Role
from mnemolog.events.fields import Flag, Id


class ProfileRead(Read):
    """What is known of a user."""


Consented = Annotated[Flag, Field(description="The user says so themselves, here and now.")]


class ProfileHistoryRead(PagedRead):
    """The history of a field of the profile, newest first."""

    field: Annotated[Id, Field(description="The field, such as city.")]


class ConsentRead(PagedRead):
    """Proposals, newest first."""

    status: Annotated[
        Literal[Status.PROPOSED, Status.GRANTED, Status.REFUSED, Status.EXPIRED, Status.CORROBORATED, "all"],
        Field(description="Only proposals of this status, or `all`; `proposed` ones wait for consent."),
    ] = Status.PROPOSED


class ProfileField(Result):
    """A field of the profile. `value` is a list where values are added to it."""

    field: str
    value: str | list[str]
    source: str
    source_turn_ids: list[str]
    patch_id: UUID | None = Field(description="The proposal that set it.")
    actor_id: str
    updated_at: datetime
    seq: int


class Profile(Result):
    """What is known of a user, field by field."""

    fields: list[ProfileField]

    def get(self, field: str) -> str | list[str] | None:
        """What a field holds, if anything."""
        return next((one.value for one in self.fields if one.field == field), None)


class Proposal(Result):
    """A proposed change of the profile, its signals, and what became of it."""

    patch_id: UUID
    field: str
    value: str
    sensitive: bool = Field(description="Whether it needs the user's consent.")
    signals: int = Field(description="How many turns say so.")
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


class Proposed(Written):
    """The receipt, and what became of the proposal: `proposed` waits, `granted` and `corroborated` are applied."""

    patch_id: UUID
    field: str
    status: Status


class SeededView(Written):
    """The receipt of the last write, and what the seed wrote."""

    correlation_id: UUID = Field(description="Shared by all that the seed wrote.")
    applied: list[str] = Field(description="The fields of the profile that were set.")
    queued: list[str] = Field(description="The fields of the profile that wait for consent.")
    memory_ids: list[UUID]
    facts: int = Field(description="How many facts were recorded.")


async def _get_profile(engine: Engine, asked: ProfileRead) -> Profile:
    """Read what is known of a user, field by field.

    Proposals that wait for consent are not part of it.
    """
    rows = await engine.reads.profile(viewer_of(engine, asked), asked.moment())
    return Profile.model_validate({"fields": rows})


async def _propose(engine: Engine, asked: Write) -> Proposed:
    """Propose a change of the profile.

    preferred_name, pronouns, city and language wait 7 days for the user's consent. Other fields are set by a second
    signal from another turn, or at once by one of confidence 0.8.
    """
    fields = fields_of(engine, asked)
    consented, field = fields.pop("consent", False), fields["field"]
    found = await engine.writes.propose(fields, asked.idempotency_key, consented=consented)
    return Proposed.of(found.receipt, patch_id=found.patch_id, field=field, status=found.status)


async def _profile_history(engine: Engine, asked: ProfileHistoryRead) -> Page[HistoryEntry]:
    """Read the history of a field of the profile, newest first.

    What was proposed, decided and set.
    """
    viewer, moment = viewer_of(engine, asked), asked.moment()
    rows = await engine.reads.field_history(viewer, asked.field, asked.limit, moment, asked.cursor)
    return Page[HistoryEntry].of(rows)


async def _list_consent(engine: Engine, asked: ConsentRead) -> Page[Proposal]:
    """List proposed changes of the profile, newest first.

    Those that wait for consent, unless `status` says otherwise; with who proposed and who decided.
    """
    status = None if asked.status == "all" else asked.status
    viewer, moment = viewer_of(engine, asked), asked.moment()
    return Page[Proposal].of(await engine.reads.consent(viewer, status, asked.limit, moment, asked.cursor))


async def _grant(engine: Engine, asked: Write) -> Written:
    """Grant a proposed change, in the user's name.

    It is applied at once. An agent cannot grant what it proposed itself.
    """
    return await _decide(engine, asked, Status.GRANTED)


async def _refuse(engine: Engine, asked: Write) -> Written:
    """Refuse a proposed change, in the user's name.

    The profile stays as it is.
    """
    return await _decide(engine, asked, Status.REFUSED)


async def _decide(engine: Engine, asked: Write, decision: Status) -> Written:
    fields = {**fields_of(engine, asked), "decision": decision}
    return Written.of(await engine.writes.decide_patch(fields, asked.idempotency_key))


async def _seed(engine: Engine, asked: Write) -> SeededView:
    """Give a user an initial profile: fields, memories and facts.

    All of it has one correlation id. Seeding the same content again writes only what is still missing.
    """
    drawn = engine.writes.new_id()
    command = command_of(SeedUser, engine, asked, seed=drawn, correlation_id=drawn)
    found = await seed(engine.writes, command, asked.idempotency_key)
    return SeededView.of(
        found.receipt,
        correlation_id=found.correlation_id,
        applied=found.applied,
        queued=found.queued,
        memory_ids=found.memory_ids,
        facts=found.facts,
    )


ONE = request_of(PatchCommand)

GET_PROFILE = Operation(
    name="get_profile",
    command="profile get",
    route="GET /profile",
    request=ProfileRead,
    result=Profile,
    run=_get_profile,
    role=Role.READ,
    tag="profile",
)
PROPOSE_PROFILE = Operation(
    name="propose_profile",
    command="profile propose",
    route="POST /profile",
    request=request_of(ProposeProfile, consent=(Consented, False)),
    result=Proposed,
    run=_propose,
    role=Role.WRITE,
    tag="profile",
    arguments=("field", "value"),
    done="Proposed",
    status=201,
    example={"user_id": "ana", "field": "city", "value": "Lisbon", "turn_id": "m-17"},
)
PROFILE_HISTORY = Operation(
    name="profile_history",
    command="profile history",
    route="GET /profile/{field}/history",
    request=ProfileHistoryRead,
    result=Page[HistoryEntry],
    run=_profile_history,
    role=Role.READ,
    tag="profile",
    arguments=("field",),
)
LIST_CONSENT = Operation(
    name="list_consent",
    command="consent list",
    route="GET /consent",
    request=ConsentRead,
    result=Page[Proposal],
    run=_list_consent,
    role=Role.READ,
    tag="profile",
)
GRANT_CONSENT = Operation(
    name="grant_consent",
    command="consent grant",
    route="POST /consent/{patch_id}/grant",
    request=ONE,
    result=Written,
    run=_grant,
    role=Role.CONSENT,
    tag="profile",
    arguments=("patch_id",),
    done="Granted",
)
REFUSE_CONSENT = Operation(
    name="refuse_consent",
    command="consent refuse",
    route="POST /consent/{patch_id}/refuse",
    request=ONE,
    result=Written,
    run=_refuse,
    role=Role.CONSENT,
    tag="profile",
    arguments=("patch_id",),
    done="Refused",
)
SEED = Operation(
    name="seed",
    command="seed",
    route="POST /seed",
    request=request_of(SeedUser),
    result=SeededView,
    run=_seed,
    role=Role.WRITE,
    tag="profile",
    arguments=("content",),
    done="Seeded",
    status=201,
    example={
        "user_id": "ana",
        "content": {"profile": {"tone": "brief"}, "memories": [{"text": "Ana drinks tea", "category": "preferences"}]},
    },
)
PROFILE = (
    GET_PROFILE,
    PROPOSE_PROFILE,
    PROFILE_HISTORY,
    LIST_CONSENT,
    GRANT_CONSENT,
    REFUSE_CONSENT,
    SEED,
)
