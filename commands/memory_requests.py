"""What may be asked of memories: the requests, each checked by the domain's rules."""

from datetime import datetime
from typing import Annotated, ClassVar, Literal, Self
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, Strict, WithJsonSchema, model_validator

from mnemolog.commands.decider import Command
from mnemolog.commands.scoped import Scoped
from mnemolog.domain import importance
from mnemolog.domain.bands import Bands
from mnemolog.domain.importance import Scale
from mnemolog.domain.memory import SEMANTIC, Cause, Content, Kind, Status, default_importance
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
from mnemolog.events.shapes import label_shape, ref_shape

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

    memory_id: Uuid

    def reads(self) -> tuple[UUID, ...]:
        """The memories that the decision depends on, the subject first."""
        return (self.memory_id,)


class Writing(MemoryCommand):
    """Words of a memory. `similar` is found for it, not asked."""

    generated: ClassVar[frozenset[str]] = frozenset({"similar"})

    importance_scale: Scale = Scale.UNIT
    similar: Similar | None = None

    def reads(self) -> tuple[UUID, ...]:
        return (self.memory_id, *(one.memory_id for one in (self.similar.near if self.similar else ())))


class CreateMemory(Writing, Scoped):
    """A memory to keep; where one of the same key is visible, it is updated or observed instead (D §memoryKey).

    With `merge_similar`, one that says the same without having the key counts as well (B §13).
    """

    generated: ClassVar[frozenset[str]] = frozenset({"memory_id", "similar"})

    text: Text
    kind: Kind = Kind.FACT
    category: Id = "note"
    importance: Weight | None = None
    confidence: Unit = 1.0
    pinned: Flag = False
    role: Role | None = None
    type: WrittenType | None = None
    entity_type: EntityType | None = None
    fact_type: FactType | None = None
    source: Source = Source.API
    memory_key: Key = ""
    entity_refs: EntityRefs = ()
    entity_ids: EntityIds = ()
    entity_label: Label = ""
    topics: Topics = ()
    source_turn_ids: TurnIds = ()
    merge_similar: Flag = False

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

    text: Text | None = None
    category: Id | None = None
    importance: Weight | None = None
    confidence: Unit | None = None
    pinned: Flag | None = None

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

    absorbed_ids: tuple[Uuid, ...]
    text: Text | None = None

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
    to_id: Uuid
    relation_type: Id = "related_to"
    strength: Unit = 1.0

    def reads(self) -> tuple[UUID, ...]:
        return (self.memory_id, self.to_id)


class UndoChange(MemoryCommand):
    """The change `event_id` of a memory or of one of its links; without it, the last one that stands on the memory."""

    event_id: Uuid | None = None
    at: Instant

    generated: ClassVar[frozenset[str]] = frozenset({"at"})
