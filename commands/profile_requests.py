"""What may be asked of the profile: the requests, each checked by the domain's rules."""

from typing import Annotated, ClassVar, Literal

from pydantic import WithJsonSchema

from mnemolog.commands.decider import Command
from mnemolog.domain import text
from mnemolog.domain.consent import Status
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


class ProposeProfile(ProfileCommand):
    """`sensitive` is what the policy says of the field, `confidence` lies in [0, 1].

    `turn_id` is the turn that the value was extracted from; without one, a second signal cannot be told from the first.
    """

    generated: ClassVar[frozenset[str]] = frozenset({"patch_id", "sensitive", "at"})

    patch_id: Uuid
    field: Id
    value: Value
    sensitive: Flag
    confidence: Unit = SIGNAL
    turn_id: Id | None = None
    source: Id = "api"
    at: Instant

    def subject(self) -> str:
        return field_tag(self.field)


class StateProfile(ProposeProfile):
    """The person himself says so, here and now: a proposal that is granted with it."""

    needs: ClassVar[Role] = Role.CONSENT


class PatchCommand(ProfileCommand):
    """A request about one proposal."""

    generated: ClassVar[frozenset[str]] = frozenset({"at"})

    patch_id: Uuid
    at: Instant

    def subject(self) -> str:
        return patch_tag(self.patch_id)


class DecidePatch(PatchCommand):
    """Whoever asks grants or refuses it."""

    needs: ClassVar[Role] = Role.CONSENT

    decision: Literal[Status.GRANTED, Status.REFUSED]


class ExpirePatch(PatchCommand):
    """Nothing when it was decided, or has time left."""


class UndoProfile(ProfileCommand):
    """The change `event_id` of what a field holds."""

    field: Id
    event_id: Uuid

    def subject(self) -> str:
        return field_tag(self.field)
