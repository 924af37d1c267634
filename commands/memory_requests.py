"""The commands on memories, validated by the domain's rules."""

from datetime import datetime
from typing import Annotated, ClassVar, Literal, Self
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, JsonValue, Strict, WithJsonSchema, model_validator

from mnemolog.commands.decider import Command
from mnemolog.commands.scoped import Scoped
from mnemolog.commands.sourced import Sourced
from mnemolog.domain import importance
from mnemolog.domain.bands import Bands
from mnemolog.domain.errors import InvalidInput
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
from mnemolog.domain.scene import Experience, experience_of
from mnemolog.domain.scope import Scope
from mnemolog.domain.turn import Role
from mnemolog.events.fields import AtMost, Flag, Id, Instant, Label, Text, Unit, Uuid, Uuids, checked_by
from mnemolog.events.shapes import distinct, label_shape, ref_shape

EntityRef = Annotated[str, checked_by(entity_ref), WithJsonSchema(ref_shape(EntityType, MAX_KEY_BYTES))]
EntityRefs = Annotated[tuple[EntityRef, ...], AtMost(MAX_REFS)]
Topics = Annotated[tuple[Label, ...], AtMost(MAX_REFS)]
EntityIds = Annotated[tuple[Uuid, ...], AtMost(MAX_REFS)]
TurnIds = Annotated[tuple[Id, ...], AtMost(MAX_REFS)]
Key = Annotated[str, checked_by(named_key), WithJsonSchema(label_shape(MAX_KEY_BYTES))]
WrittenType = Literal[MemoryType.PROFILE, MemoryType.PEOPLE, MemoryType.PROJECT]
"""Open loops are only read from older systems; they were replaced by todos (D §OPEN_LOOP)."""
Weight = Annotated[float, Strict()]
"""An importance on the scale in `importance_scale`."""


Metadata = Annotated[
    dict[str, JsonValue],
    checked_by(checked_json),
    Field(description="Your own JSON object; searches can filter by it."),
]


SceneExperience = Annotated[
    Experience,
    checked_by(experience_of),
    Field(
        description="For a scene: the scene itself (`action`, `actors`, `when`, `setting`, `dialogue`, `sensory`), and "
        "its `feeling`, `themes`, `emotion` and `cluster`."
    ),
]


class Near(BaseModel):
    """A similar memory, with its cosine similarity in [-1, 1]."""

    model_config = ConfigDict(frozen=True)

    memory_id: UUID
    similarity: float


class Similar(BaseModel):
    """Similar memories found by a model before the decision, nearest first, with the model's calibration."""

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
    """The content of a memory. `similar` is looked up, not part of the request."""

    generated: ClassVar[frozenset[str]] = frozenset({"similar"})

    importance_scale: Annotated[
        Scale, Field(description="The scale of `importance`: `unit` is 0 to 1, `level3` 0 to 3, `level5` 1 to 5.")
    ] = Scale.UNIT
    similar: Similar | None = None

    def reads(self) -> tuple[UUID, ...]:
        return (self.memory_id, *(one.memory_id for one in (self.similar.near if self.similar else ())))


class CreateMemory(Writing, Scoped, Sourced):
    """Creates a memory, or updates or confirms a visible one with the same key (D §memoryKey).

    With `merge_similar`, one with the same meaning but without the key counts too (B §13).
    """

    generated: ClassVar[frozenset[str]] = frozenset({"memory_id", "similar"})

    text: Annotated[Text, Field(description="The text to remember.")]
    kind: Annotated[Kind, Field(description="The kind of memory.")] = Kind.FACT
    category: Annotated[Id, Field(description="The category, such as profile, preferences or tasks.")] = "note"
    importance: Annotated[
        Weight | None,
        Field(description="The importance, on the scale of `importance_scale`. The default depends on the kind."),
    ] = None
    confidence: Annotated[Unit, Field(description="The confidence, 0 to 1.")] = 1.0
    pinned: Annotated[Flag, Field(description="Pinned memories never fade and have the highest importance.")] = False
    role: Annotated[Role | None, Field(description="The role of its speaker.")] = None
    type: Annotated[
        WrittenType | None,
        Field(description="The topic type; with `fact_type` and `entity_refs` it forms a memory key."),
    ] = None
    entity_type: Annotated[EntityType | None, Field(description="The type of the entity it is about.")] = None
    fact_type: Annotated[FactType | None, Field(description="The type of statement.")] = None
    source: Annotated[Source, Field(description="The origin.")] = Source.API
    memory_key: Annotated[
        Key, Field(description="Your own key: a visible memory with this key is updated or confirmed instead.")
    ] = ""
    entity_refs: Annotated[
        EntityRefs,
        Field(
            description="The entities it is about, such as `person:ana_silva`; the first one is part of the memory key."
        ),
    ] = ()
    entity_ids: Annotated[EntityIds, Field(description="The ids of the entities it is about.")] = ()
    entity_label: Annotated[Label, Field(description="The display name of the entity it is about.")] = ""
    topics: Annotated[Topics, Field(description="Its topics.")] = ()
    source_turn_ids: Annotated[TurnIds, Field(description="The turns it was extracted from.")] = ()
    metadata: Metadata = {}  # noqa: RUF012
    experience: SceneExperience | None = None
    merge_similar: Annotated[
        Flag, Field(description="Update or confirm a memory with the same meaning instead of adding one.")
    ] = False

    @model_validator(mode="after")
    def _weighed(self) -> Self:
        _ = self.weight
        if self.experience is not None and self.kept_as[0] is not Kind.SCENE:
            raise InvalidInput("only a scene has one", field="experience", fix="omit it, or give kind `scene`")
        return self

    @property
    def finds_same_text(self) -> bool:
        """Whether a memory with the same text counts as this one; not for episodes, which may repeat."""
        return self.merge_similar and self.kept_as[0] in SEMANTIC

    @property
    def owner(self) -> str | None:
        """The owning agent, if agent-scoped."""
        return self.agent_id if self.scope is Scope.AGENT else None

    @property
    def weight(self) -> float:
        if self.importance is None:
            return default_importance(self.kept_as[0])
        return importance.of_scale(self.importance, self.importance_scale)

    @property
    def kept_as(self) -> tuple[Kind, str]:
        """The kind and the category, which belong together for procedures (B §12)."""
        return kind_and_category(self.kind, self.category)

    @property
    def key(self) -> str:
        """The given key, or the one derived from the memory's subject."""
        return self.memory_key or memory_key(self.type, self.entity_type, self.entity_refs, self.fact_type)

    def key_about(self, ref: str) -> str:
        """The derived key for another reference."""
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


class PutMemory(CreateMemory):
    """Creates the memory with this id, or restores it and updates what is given.

    It is known by its id alone: it is neither compared with similar memories nor linked to them.
    """


class UpdateMemory(Writing, Sourced):
    """Fields that are None stay the same."""

    text: Annotated[Text | None, Field(description="Its new text.")] = None
    category: Annotated[Id | None, Field(description="Its new category.")] = None
    importance: Annotated[
        Weight | None, Field(description="Its new importance, on the scale of `importance_scale`.")
    ] = None
    confidence: Annotated[Unit | None, Field(description="Its new confidence, 0 to 1.")] = None
    pinned: Annotated[
        Flag | None,
        Field(description="Whether it is pinned, which means that it never fades and has the highest importance."),
    ] = None
    metadata: Metadata | None = None
    experience: SceneExperience | None = None

    @model_validator(mode="after")
    def _weighed(self) -> Self:
        _ = self.asked
        return self

    @property
    def asked(self) -> dict[str, object]:
        """The changed fields and their new values."""
        fields = {name: getattr(self, name) for name in Content.__slots__}
        found: dict[str, object] = {name: value for name, value in fields.items() if value is not None}
        if self.importance is not None:
            found["importance"] = importance.of_scale(self.importance, self.importance_scale)
        return found


class MergeMemories(MemoryCommand, Sourced):
    """`memory_id` survives and absorbs the others. Without `text` it keeps its own text."""

    absorbed_ids: Annotated[
        Uuids, Field(description="The memories to merge into it.", json_schema_extra=distinct(MAX_MERGE))
    ]
    text: Annotated[Text | None, Field(description="The text of the merged memory. Default: its current text.")] = None

    def reads(self) -> tuple[UUID, ...]:
        return (self.memory_id, *self.absorbed_ids)


class SoftDeleteMemory(MemoryCommand, Sourced):
    reason: Label = ""
    cause: Cause = Cause.ASKED
    at: Instant

    generated: ClassVar[frozenset[str]] = frozenset({"at"})


class ExpireMemory(MemoryCommand):
    """Soft-delete an expired memory (B §7). `seen` and `last_accessed` are the values found by a reader."""

    retention: Retention
    seen: Content
    last_accessed: datetime
    at: Instant


class ObserveUse(MemoryCommand):
    """Count recalls as one observation, which strengthens a memory (D13)."""


class ChangeStatus(MemoryCommand):
    """Set a memory's status to dying, dormant or active (C03)."""

    status: Literal[Status.ACTIVE, Status.DYING, Status.DORMANT]
    cause: Cause = Cause.ASKED


class RestoreMemory(MemoryCommand):
    pass


class ConfirmMemory(MemoryCommand):
    """Confirms a memory in the user's name: it is then trusted like the user's own words."""


class LinkMemories(MemoryCommand):
    to_id: Annotated[Uuid, Field(description="The memory to link to.")]
    relation_type: Annotated[Id, Field(description="The type of the link.")] = "related_to"
    strength: Annotated[Unit, Field(description="The strength of the link, 0 to 1.")] = 1.0

    def reads(self) -> tuple[UUID, ...]:
        return (self.memory_id, self.to_id)


class UndoChange(MemoryCommand):
    """Undoes the change `event_id` of a memory or one of its links. Default: the memory's last change in effect."""

    event_id: Uuid | None = None
    at: Instant

    generated: ClassVar[frozenset[str]] = frozenset({"at"})
