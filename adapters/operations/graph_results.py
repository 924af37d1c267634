"""What operations on the graph show: entities, facts, and what a write of them gives."""

from typing import TYPE_CHECKING, Annotated, Any
from uuid import UUID

from pydantic import Field

from mnemolog.adapters.operations.engine import Engine
from mnemolog.adapters.operations.requests import AnyTime, DayAsOf, Read, Request, viewer_of
from mnemolog.adapters.operations.results import ORIGIN, Result, Written
from mnemolog.domain.facts import State
from mnemolog.domain.memory import Status
from mnemolog.domain.origin import Origin
from mnemolog.domain.precision import Precision
from mnemolog.domain.principal import Role
from mnemolog.domain.scope import Scope
from mnemolog.events.envelope import Receipt
from mnemolog.events.fields import Instant

if TYPE_CHECKING:
    from mnemolog.projections.reads.graph import When

VARIANTS = "Entities whose names differ only by a possible typo: merge them if they are the same."


class EntityView(Result):
    """A person, place or thing that a user mentions."""

    def __str__(self) -> str:
        return self.name

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
    forgotten_at: Instant | None = Field(description="When it was hidden.")
    forget_reason: str
    source_turn_ids: list[str]
    last_seen: Instant = Field(description="When it was last mentioned or spoke.")
    created_at: Instant
    updated_at: Instant
    seq: int


class FactView(Result):
    """A fact, with its validity and the time during which that was known."""

    def __str__(self) -> str:
        return f"{self.subject} {self.predicate} {self.value if self.object is None else self.object}"

    user_id: str
    relation_id: UUID
    scope: Scope
    agent_id: str | None = Field(description="The owner of an agent-scoped fact.")
    subject_id: UUID
    subject: str = Field(description="The name of the entity it is about.")
    predicate: str
    object_id: UUID | None
    object: str | None = Field(description="The name of the entity it points to; null if it has a `value`.")
    value: Any
    metadata: dict[str, Any]
    confidence: float
    state: State
    critical: bool = Field(description="Whether it is never omitted from a context.")
    overridden_by: UUID | None = Field(description="The fact of the other scope that takes precedence.")
    valid_from: Instant
    valid_to: Instant | None
    valid_from_precision: Precision | None = Field(
        description="The precision of `valid_from`, if it is not known to the day."
    )
    valid_to_precision: Precision | None = Field(
        description="The precision of `valid_to`, if it is not known to the day."
    )
    known_from: Instant = Field(description="When the value was learned.")
    known_to: Instant | None = Field(description="When it turned out not to have held as it was known.")
    memory_id: UUID | None
    origin: Origin = Field(description=ORIGIN)
    source_turn_ids: list[str]
    created_at: Instant
    updated_at: Instant
    seq: int


class EntityDetail(EntityView):
    """An entity, or the one it was merged into, and the facts about it."""

    card: str = Field(description="Its first facts in one line.", examples=["[person:marta]: lives in Porto"])
    outgoing: list[FactView] = Field(description="Facts with this entity as the subject.")
    incoming: list[FactView] = Field(description="Facts with this entity as the object.")


class EntityAdded(Written):
    """The receipt, and the entity's id."""

    entity_id: UUID
    variants: list[EntityView] = Field(description=VARIANTS)


class EntityUpdated(Written):
    """The receipt, and entities with a similar name."""

    variants: list[EntityView] = Field(description=VARIANTS)


class FactAdded(Written):
    """The receipt, and the fact's id."""

    relation_id: UUID
    variants: list[EntityView] = Field(description=VARIANTS)


class Bitemporal(Read):
    """A read at a valid time, as known at the same or another time."""

    valid_at: Annotated[
        AnyTime | None,
        Field(
            description="The valid time: a day, a time with an offset, or a sequence number; `any` for all values that "
            "held at any time. Default: now.",
            examples=["2026-02-01", "any"],
        ),
    ] = None
    known_at: Annotated[
        DayAsOf | None,
        Field(
            description="The time of knowledge: a day, a time with an offset, or a sequence number. Default: now. "
            "`as_of` sets both times.",
            examples=["2026-02-01"],
        ),
    ] = None

    def when(self) -> "When":
        from mnemolog.projections.reads.graph import When

        return When(self.valid_at, self.known_at)


async def suggested(engine: Engine, request: Request, receipt: Receipt) -> list[EntityView]:
    """Empty for an API key without the role `read`."""
    if not engine.writes.may(Role.READ):
        return []
    rows = await engine.reads.suggested(viewer_of(engine, request), receipt)
    return [EntityView.model_validate(row) for row in rows]
