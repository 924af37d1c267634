"""What may be asked of the graph over HTTP, and what is answered."""

from typing import Annotated, Any, Self
from uuid import UUID

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationInfo, WithJsonSchema

from mnemolog.adapters.engine.graph_reads import Known
from mnemolog.adapters.engine.graph_reads import When as Held
from mnemolog.adapters.http.requests import Asker, AsOf, When, path_id
from mnemolog.domain import identity
from mnemolog.domain.memory import Status
from mnemolog.domain.scope import Scope
from mnemolog.events.fields import Id, Instant
from mnemolog.events.shapes import DAY


def _instant(value: object, info: ValidationInfo) -> object:
    return identity.day_or_instant(value, info.field_name or "valid_at")


ValidAt = Annotated[
    Instant,
    BeforeValidator(_instant),
    WithJsonSchema(DAY),
    Field(description="What held then: a time with its offset, or a day.", examples=["2026-02-01"]),
]


class EntitiesRead(Asker, When):
    """The people, places and things that a user mentions; with `name`, only those with that name or alias."""

    name: Id | None = None


class EntityRead(Asker, When):
    """One entity."""


class HeldRead(EntityRead):
    """What held at `valid_at`, as it was known at `known_at`; both are now unless said. `as_of` says both at once."""

    valid_at: ValidAt | None = None
    known_at: AsOf | None = None

    def held(self) -> Held:
        return Held(self.valid_at, self.known_at)


class FactsRead(HeldRead):
    """Facts, of all or about an entity."""

    about: Annotated[Id | None, Field(description="An entity's name, alias or id; `me` is the user himself.")] = None


EntityId = Annotated[UUID, path_id("entity_id")]
RelationId = Annotated[UUID, path_id("relation_id")]


class _View(BaseModel):
    model_config = ConfigDict(from_attributes=True)


class EntityView(_View):
    """A person, place or thing that a user mentions (A §4.1)."""

    user_id: str
    entity_id: UUID
    scope: Scope
    agent_id: str | None = Field(description="The owner of an agent-scoped entity.")
    name: str
    name_normalized: str
    aliases: list[str]
    category: str = Field(examples=["Person"])
    attributes: dict[str, Any]
    confidence: float
    status: Status
    purge_at: Instant | None
    forgotten_at: Instant | None
    forget_reason: str
    source_turn_ids: list[str]
    last_seen: Instant = Field(description="When it was last spoken of, or spoke.")
    created_at: Instant
    updated_at: Instant
    seq: int


class EntityList(_View):
    """Entities, last seen first."""

    entities: list[EntityView]


class KnownView(EntityView):
    """An entity, or what it was merged into, and its card."""

    card: str = Field(description="Its first facts in one line.", examples=["[person:marta]: lives_in Porto"])

    @classmethod
    def of(cls, known: Known) -> Self:
        return cls.model_validate({**known.entity, "card": known.card})


class FactView(_View):
    """A fact, when it holds, and from when until when that is known (X13)."""

    user_id: str
    relation_id: UUID
    scope: Scope
    agent_id: str | None
    subject_id: UUID
    subject: str = Field(description="The name of whom or what it is told of.")
    predicate: str
    object_id: UUID | None
    object: str | None = Field(description="The name of the entity that it points to; nothing when it has a `value`.")
    value: Any
    metadata: dict[str, Any]
    confidence: float
    critical: bool = Field(description="Never to be left out of a context.")
    overridden_by: UUID | None = Field(description="The fact of the other scope that wins over this one.")
    valid_from: Instant
    valid_to: Instant | None
    known_from: Instant
    known_to: Instant | None
    memory_id: UUID | None
    source_turn_ids: list[str]
    created_at: Instant
    updated_at: Instant
    seq: int


class FactList(_View):
    """Facts: the agent's own first, then what is critical, what is sure, what is new."""

    facts: list[FactView]


class RelationsView(_View):
    """What is told of an entity: `outgoing` where it is the subject, `incoming` where it is the object."""

    entity_id: UUID
    outgoing: list[FactView]
    incoming: list[FactView]

    @classmethod
    def of(cls, known: Known) -> Self:
        id_ = known.entity["entity_id"]
        facts = [(row["subject_id"] == id_, FactView.model_validate(row)) for row in known.facts]
        return cls(
            entity_id=id_,
            outgoing=[fact for own, fact in facts if own],
            incoming=[fact for own, fact in facts if not own],
        )
