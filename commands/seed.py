"""Give a user an initial profile, once per seed (D §What Persists Where, D14)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Annotated, Any, ClassVar
from uuid import UUID

from pydantic import BaseModel, BeforeValidator, ConfigDict, FailFast, Field
from pydantic_core import to_json

from mnemolog.commands.decider import Command, Decider
from mnemolog.commands.profile import Value
from mnemolog.domain.errors import IdempotencyConflict, InvalidInput
from mnemolog.domain.profile import SEEDED
from mnemolog.domain.updated import updated
from mnemolog.events.envelope import Happened
from mnemolog.events.erasure import USER, UserErased
from mnemolog.events.event import Event
from mnemolog.events.fields import Flag, Id, Uuid, checked_by
from mnemolog.events.profile import UserSeeded, seed_tag

Held = Annotated[
    tuple[Value, ...], FailFast(), BeforeValidator(lambda value: (value,) if isinstance(value, str) else value)
]


MAX_FIELDS = 1000


def _few(value: object, field: str) -> object:
    if isinstance(value, dict) and len(value) > MAX_FIELDS:
        raise InvalidInput(
            f"has {len(value):,} fields, at most {MAX_FIELDS:,} are accepted", field=field, fix="split it"
        )
    return value


class Seed(BaseModel):
    """An initial profile: fields, memories and facts."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    seed_id: Annotated[Id | None, Field(description="Your own id for the seed. Default: a digest of the content.")] = (
        None
    )
    consent: Annotated[
        Flag, Field(description="Whether the user consented to the sensitive fields; otherwise they await consent.")
    ] = False
    profile: Annotated[
        dict[str, Held],
        checked_by(_few),
        Field(
            description="Values by field: a text, or a list of texts for fields with several values.",
            json_schema_extra={"maxProperties": MAX_FIELDS},
        ),
    ] = {}
    memories: Annotated[
        tuple[dict[str, Any], ...], FailFast(), Field(description="Memories, each with the fields of `create`.")
    ] = ()
    facts: Annotated[
        tuple[dict[str, Any], ...], FailFast(), Field(description="Facts, each with the fields of `add_fact`.")
    ] = ()

    @property
    def values(self) -> Sequence[tuple[str, str]]:
        """Each profile value with its field."""
        return [(name, value) for name, held in self.profile.items() for value in held]

    @property
    def digest(self) -> str:
        """The same for the same content: SHA-256 in hex."""
        held = self.model_dump(mode="json", exclude={"seed_id"})
        return sha256(to_json(_ordered(held))).hexdigest()

    @property
    def name(self) -> str:
        return self.seed_id or self.digest


def _ordered(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _ordered(value[key]) for key in sorted(value)}
    return [_ordered(one) for one in value] if isinstance(value, list) else value


class SeedUser(Command):
    """Gives a user an initial profile. `seed` is the correlation id of all its events."""

    generated: ClassVar[frozenset[str]] = frozenset({"seed", "correlation_id"})

    seed: Uuid
    content: Annotated[Seed, Field(description="The content of the initial profile.")]


@dataclass(frozen=True, slots=True)
class Seeds:
    """The seeds that a user was given, by name."""

    given: Mapping[str, UserSeeded] = field(default_factory=dict)


def evolve(state: Seeds, event: Happened) -> Seeds:
    match event.payload:
        case UserSeeded() as seeded:
            return replace(state, given=updated(state.given, {seeded.seed_id: seeded}))
        case UserErased():
            return Seeds()
        case _:
            return state


def decide(state: Seeds, command: SeedUser) -> Sequence[Event]:
    """No event for a seed that was already given."""
    content = command.content
    earlier = state.given.get(content.name)
    if earlier is None:
        return [
            UserSeeded(
                seed=command.seed,
                source=SEEDED,
                fields=tuple(sorted(content.profile)),
                memories=len(content.memories),
                facts=len(content.facts),
                seed_id=content.name,
                digest=content.digest,
            )
        ]
    if earlier.digest != content.digest:
        raise IdempotencyConflict(
            "this seed id was already used with different content",
            field="content.seed_id",
            fix="use another seed id",
        )
    return []


def seed_of(state: Seeds, command: SeedUser) -> UUID:
    """The correlation id of a seed that was already given."""
    return state.given[command.content.name].seed


SEED: Decider[SeedUser, Seeds] = Decider(
    initial=Seeds(),
    subject=lambda command: seed_tag(command.content.name),
    tags=lambda state, command: frozenset({USER, seed_tag(command.content.name)}),
    evolve=evolve,
    decide=decide,
)
