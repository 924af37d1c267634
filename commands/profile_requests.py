"""The commands on the profile, validated by the domain's rules."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field, WithJsonSchema

from mnemolog.commands.decider import Command
from mnemolog.commands.sourced import Sourced
from mnemolog.domain import text
from mnemolog.domain.consent import PatchStatus
from mnemolog.domain.principal import Role
from mnemolog.events.fields import Flag, Id, Instant, Unit, Uuid, checked_by
from mnemolog.events.profile import field_tag, patch_tag
from mnemolog.events.shapes import text_shape

MAX_VALUE_BYTES = 2000
SIGNAL = 0.5

Value = Annotated[
    str,
    checked_by(lambda value, field: text.clean(value, field, max_bytes=MAX_VALUE_BYTES)),
    WithJsonSchema(text_shape(MAX_VALUE_BYTES)),
]


class ProfileCommand(Command):
    """A request about one field of the profile."""

    def subject(self) -> str:
        raise NotImplementedError


class ProposeProfile(ProfileCommand, Sourced):
    """Proposes a profile change. `sensitive` comes from the policy."""

    generated: ClassVar[frozenset[str]] = frozenset({"patch_id", "sensitive", "at"})

    patch_id: Uuid
    field: Annotated[Id, Field(description="The field, such as city, tone or goals_add (which adds a goal).")]
    value: Annotated[Value, Field(description="The new value, at most 2,000 bytes of UTF-8.")]
    sensitive: Flag
    confidence: Annotated[
        Unit, Field(description="The confidence, 0 to 1. From 0.8 on, a field that needs no consent is set at once.")
    ] = SIGNAL
    turn_id: Annotated[
        Id | None,
        Field(description="The recorded turn that supports it; two turns with the same value corroborate each other."),
    ] = None
    source: Annotated[Id, Field(description="The origin.")] = "api"
    at: Instant

    def subject(self) -> str:
        return field_tag(self.field)


class StateProfile(ProposeProfile):
    """A proposal by the user, which is granted at once."""

    needs: ClassVar[Role] = Role.CONSENT


class PatchCommand(ProfileCommand):
    """A request about one proposal."""

    generated: ClassVar[frozenset[str]] = frozenset({"at"})

    patch_id: Annotated[Uuid, Field(description="The proposal's id.")]
    at: Instant

    def subject(self) -> str:
        return patch_tag(self.patch_id)


class DecidePatch(PatchCommand):
    """Grants or refuses a proposal."""

    needs: ClassVar[Role] = Role.CONSENT

    decision: Literal[PatchStatus.GRANTED, PatchStatus.REFUSED]


class ExpirePatch(PatchCommand):
    """Expires a proposal; no effect if it was decided or is not due."""


class UndoDecision(PatchCommand):
    """Undoes the change `event_id` of a proposal's status: the proposal itself, a refusal, or the undo of either."""

    event_id: Uuid


class UndoProfile(ProfileCommand):
    """Undoes the change `event_id` of a field."""

    field: Id
    event_id: Uuid

    def subject(self) -> str:
        return field_tag(self.field)
