"""What may be asked of memories: the requests, each checked by the domain's rules."""

from datetime import datetime
from typing import Annotated, ClassVar, Literal, Self
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, JsonValue, Strict, WithJsonSchema, model_validator

from mnemolog.commands.decider import Command
from mnemolog.commands.scoped import Scoped
from mnemolog.domain import importance
from mnemolog.domain.bands import Bands
from mnemolog.domain.importance import Scale
from mnemolog.domain.json_value import checked_json
from mnemolog.domain.memory import MAX_MERGE, SEMANTIC, Cause, Content, Kind, Status, default_importance
from mnemolog.domain.memory_key import (
    MAX_KEY_BYTES,
    MAX_REFS,
    EntityType,
    FactType,
    Identity,
    MemoryType,
    Source,
    entity_ref,
    memory_key,
    named_key,
)
from mnemolog.domain.procedure import kind_and_category
from mnemolog.domain.retention import Retention
from mnemolog.domain.scope import Scope
from mnemolog.domain.turn import Role
from mnemolog.events.fields import Flag, Id, Instant, Label, Text, Unit, Uuid, checked_by
from mnemolog.events.shapes import distinct, label_shape, ref_shape

EntityRef = Annotated[str, checked_by(entity_ref), WithJsonSchema(ref_shape(EntityType, MAX_KEY_BYTES))]
EntityRefs = Annotated[tuple[EntityRef, ...], Field(max_length=MAX_REFS)]
Topics = Annotated[tuple[Label, ...], Field(max_length=MAX_REFS)]
EntityIds = Annotated[tuple[Uuid, ...], Field(max_length=MAX_REFS)]
TurnIds = Annotated[tuple[Id, ...], Field(max_length=MAX_REFS)]
Key = Annotated[str, checked_by(named_key), WithJsonSchema(label_shape(MAX_KEY_BYTES))]
WrittenType = Literal[MemoryType.PROFILE, MemoryType.PEOPLE, MemoryType.PROJECT]
"""An open loop is read where an older system wrote it: todos took its place (D §OPEN_LOOP)."""
Weight = Annotated[float, Strict()]
"""An importance on the scale that `importance_scale` names."""


Metadata = Annotated[
    dict[str, JsonValue],
    checked_by(checked_json),
    Field(description="A JSON object of your own; searches can filter by it."),
]


class Near(BaseModel):
    """A memory that is like what is written, by a cosine similarity in [-1, 1]."""

    model_config = ConfigDict(frozen=True)

    memory_id: UUID
    similarity: float


class Similar(BaseModel):
    """What a model found before the decision, and what its similarities mean. Nearest first."""

    model_config = ConfigDict(frozen=True)

    model: str
    bands: Bands
    link_min: float
    near: tuple[Near, ...] = ()


class MemoryCommand(Command):
    """A request about one memory."""

    memory_id: Annotated[Uuid, Field(description="The memory's id.")]

    def reads(self) -> tuple[UUID, ...]:
        """The memories that the decision depends on, the subject first."""
        return (self.memory_id,)


class Writing(MemoryCommand):
    """Words of a memory. `similar` is found for it, not asked."""

    generated: ClassVar[frozenset[str]] = frozenset({"similar"})

    importance_scale: Annotated[
        Scale, Field(description="The scale of `importance`: `unit` is 0 to 1, `level3` 0 to 3, `level5` 1 to 5.")
    ] = Scale.UNIT
    similar: Similar | None = None

    def reads(self) -> tuple[UUID, ...]:
        return (self.memory_id, *(one.memory_id for one in (self.similar.near if self.similar else ())))


class CreateMemory(Writing, Scoped):
    """A memory to keep; where one of the same key is visible, it is updated or observed instead (D §memoryKey).

    With `merge_similar`, one that says the same without having the key counts as well (B §13).
    """

    generated: ClassVar[frozenset[str]] = frozenset({"memory_id", "similar"})

    text: Annotated[Text, Field(description="What to remember.")]
    kind: Annotated[Kind, Field(description="What kind of memory it is.")] = Kind.FACT
    category: Annotated[Id, Field(description="Its category, such as profile, preferences or tasks.")] = "note"
    importance: Annotated[
        Weight | None,
        Field(description="How much it matters, on the scale of `importance_scale`; by its kind unless given."),
    ] = None
    confidence: Annotated[Unit, Field(description="How certain it is, 0 to 1.")] = 1.0
    pinned: Annotated[Flag, Field(description="Pinned memories never fade and are of the highest importance.")] = False
    role: Annotated[Role | None, Field(description="Whose words it comes from.")] = None
    type: Annotated[
        WrittenType | None,
        Field(description="What it is about; with `fact_type` and `entity_refs` it makes a memory key."),
    ] = None
    entity_type: Annotated[EntityType | None, Field(description="The type of the entity that it is about.")] = None
    fact_type: Annotated[FactType | None, Field(description="The type of statement that it is.")] = None
    source: Annotated[Source, Field(description="Where it comes from.")] = Source.API
    memory_key: Annotated[
        Key, Field(description="A key of your own: a visible memory with this key is updated or observed instead.")
    ] = ""
    entity_refs: Annotated[
        EntityRefs,
        Field(description="Who or what it is about, as `person:ana_silva`; the first one makes the memory key."),
    ] = ()
    entity_ids: Annotated[EntityIds, Field(description="The ids of entities that it is about.")] = ()
    entity_label: Annotated[Label, Field(description="The display name of who or what it is about.")] = ""
    topics: Annotated[Topics, Field(description="Its topics.")] = ()
    source_turn_ids: Annotated[TurnIds, Field(description="The turns that it was extracted from.")] = ()
    metadata: Metadata = {}  # noqa: RUF012
    merge_similar: Annotated[
        Flag, Field(description="Update or observe a memory that says the same, instead of adding one.")
    ] = False

    @model_validator(mode="after")
    def _weighed(self) -> Self:
        _ = self.weight
        return self

    @property
    def finds_same_text(self) -> bool:
        """Whether a memory of the same text counts as this one; what happened may have happened twice."""
        return self.merge_similar and self.kept_as[0] in SEMANTIC

    @property
    def owner(self) -> str | None:
        """Whose alone it is."""
        return self.agent_id if self.scope is Scope.AGENT else None

    @property
    def weight(self) -> float:
        if self.importance is None:
            return default_importance(self.kept_as[0])
        return importance.of_scale(self.importance, self.importance_scale)

    @property
    def kept_as(self) -> tuple[Kind, str]:
        """The kind and the category, which a procedure ties together (B §12)."""
        return kind_and_category(self.kind, self.category)

    @property
    def key(self) -> str:
        """The key that is named, or the one that follows from what the memory is about."""
        return self.memory_key or memory_key(self.type, self.entity_type, self.entity_refs, self.fact_type)

    def key_about(self, ref: str) -> str:
        """The key that follows where it is about another reference."""
        return memory_key(self.type, self.entity_type, (ref,), self.fact_type)

    @property
    def identity(self) -> Identity:
        return Identity(
            self.type,
            self.entity_type,
            self.fact_type,
            self.source,
            self.key,
            self.entity_refs,
            self.entity_label,
            self.topics,
        )


class UpdateMemory(Writing):
    """Fields that are None stay as they are."""

    text: Annotated[Text | None, Field(description="Its new text.")] = None
    category: Annotated[Id | None, Field(description="Its new category.")] = None
    importance: Annotated[
        Weight | None, Field(description="Its new importance, on the scale of `importance_scale`.")
    ] = None
    confidence: Annotated[Unit | None, Field(description="Its new confidence, 0 to 1.")] = None
    pinned: Annotated[Flag | None, Field(description="Whether it is pinned: never fades, highest importance.")] = None
    metadata: Metadata | None = None

    @model_validator(mode="after")
    def _weighed(self) -> Self:
        _ = self.asked
        return self

    @property
    def asked(self) -> dict[str, object]:
        """What shall be otherwise, by field."""
        found = self.model_dump(include=set(Content.__slots__), exclude_none=True)
        if self.importance is not None:
            found["importance"] = importance.of_scale(self.importance, self.importance_scale)
        return found


class MergeMemories(MemoryCommand):
    """`memory_id` survives and absorbs the others. Without a text it keeps its own."""

    absorbed_ids: Annotated[
        tuple[Uuid, ...], Field(description="The memories to merge into it.", json_schema_extra=distinct(MAX_MERGE))
    ]
    text: Annotated[Text | None, Field(description="The text of the merged memory; its own unless given.")] = None

    def reads(self) -> tuple[UUID, ...]:
        return (self.memory_id, *self.absorbed_ids)


class SoftDeleteMemory(MemoryCommand):
    reason: Label = ""
    cause: Cause = Cause.ASKED
    at: Instant

    generated: ClassVar[frozenset[str]] = frozenset({"at"})


class ExpireMemory(MemoryCommand):
    """Forget a memory softly when its time is up (B §7): `seen` and `last_accessed` are what a reader found of it."""

    retention: Retention
    seen: Content
    last_accessed: datetime
    at: Instant


class ObserveUse(MemoryCommand):
    """Count recalls as one observation: a memory that is used grows (D13)."""


class ChangeStatus(MemoryCommand):
    """Let a memory die, lie dormant, or live again (C03)."""

    status: Literal[Status.ACTIVE, Status.DYING, Status.DORMANT]
    cause: Cause = Cause.ASKED


class RestoreMemory(MemoryCommand):
    pass


class LinkMemories(MemoryCommand):
    to_id: Annotated[Uuid, Field(description="The memory to link to.")]
    relation_type: Annotated[Id, Field(description="The type of the link.")] = "related_to"
    strength: Annotated[Unit, Field(description="The strength of the link, 0 to 1.")] = 1.0

    def reads(self) -> tuple[UUID, ...]:
        return (self.memory_id, self.to_id)


class UndoChange(MemoryCommand):
    """The change `event_id` of a memory or of one of its links; without it, the last one that stands on the memory."""

    event_id: Uuid | None = None
    at: Instant

    generated: ClassVar[frozenset[str]] = frozenset({"at"})
