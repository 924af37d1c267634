"""Events of memories."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, ClassVar, Self
from uuid import UUID

from pydantic import BaseModel, ConfigDict, JsonValue

from mnemolog.domain.bands import Band
from mnemolog.domain.memory import EPISODIC, Cause, Content, Kind, Status
from mnemolog.domain.memory_key import EntityType, FactType, Identity, MemoryType, Source, slugged_ref
from mnemolog.domain.origin import Origin
from mnemolog.domain.scene import Experience
from mnemolog.domain.scope import Scope
from mnemolog.domain.text import same_text
from mnemolog.domain.turn import Role
from mnemolog.events.conversation import turn_tag
from mnemolog.events.event import Event, Personal, PersonalText, blind_tag, memory_tag

RECALLS = "recalls"
PersonalTexts = Annotated[tuple[str, ...], Personal()]


class Match(BaseModel):
    """How a statement matched a known memory: the band, and the similarity if a model found it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    band: Band
    similarity: float | None = None
    model: str | None = None
    candidate_id: UUID | None = None


class Observation(StrEnum):
    """What corroborates a memory: it was stated again, or used repeatedly."""

    REPEAT = "repeat"
    USE = "use"


class Recall(StrEnum):
    """How memories were found (C)."""

    QUERY = "query"
    RECALL = "recall"
    RECALL_MEMORY = "recall_memory"
    SEARCH_MEMORY = "search_memory"


class MemoryEvent(Event):
    """An event of one memory, encrypted with that memory's key."""

    memory_id: UUID

    def key_scope(self) -> str:
        return memory_tag(self.memory_id)


class ContentFields(BaseModel):
    """The content of a memory, as stored in events and shown by readers."""

    category: str
    importance: float
    confidence: float
    pinned: bool
    text: PersonalText = ""
    metadata: Annotated[dict[str, JsonValue], Personal()] = {}
    experience: Annotated[Experience | None, Personal()] = None


class ContentEvent(ContentFields, MemoryEvent):
    """Carries the complete new content of the memory, so no earlier event is needed to read it."""

    def tags(self) -> frozenset[str]:
        return super().tags() | ({text_tag(self.text)} if self.text else set())

    @property
    def content(self) -> Content:
        return Content(**{name: getattr(self, name) for name in Content.__slots__})

    @classmethod
    def of(cls, memory_id: UUID, content: Content, **fields: object) -> Self:
        given = {name: getattr(content, name) for name in Content.__slots__}
        return cls.model_validate({"memory_id": memory_id, **given, **fields})


class MemoryCreated(ContentEvent):
    """A memory was created. `source_turn_ids` are the turns it was extracted from (A10, X04).

    Its subject and key never change; `match` is a similar memory. Only semantic memories are found by their text,
    because episodes may repeat. Before version 5, which recorded its `origin`, that follows from the role.
    """

    version: ClassVar[int] = 6

    kind: Kind
    scope: Scope
    agent_id: str | None = None
    role: Role | None = None
    run_id: str | None = None
    source_turn_ids: tuple[str, ...] = ()
    entity_ids: tuple[UUID, ...] = ()
    type: MemoryType | None = None
    entity_type: EntityType | None = None
    fact_type: FactType | None = None
    source: Source = Source.API
    origin: Origin = Origin.USER
    match: Match | None = None
    memory_key: PersonalText = ""
    entity_refs: PersonalTexts = ()
    entity_label: PersonalText = ""
    topics: PersonalTexts = ()

    def tags(self) -> frozenset[str]:
        key = {key_tag(self.scope, self.agent_id, self.memory_key)} if self.memory_key else set()
        own = frozenset({memory_tag(self.memory_id)}) if self.kind in EPISODIC else super().tags()
        return own | _turn_tags(self.source_turn_ids) | key

    @property
    def identity(self) -> Identity:
        return Identity(
            self.type,
            self.entity_type,
            self.fact_type,
            self.source,
            self.memory_key,
            tuple(map(slugged_ref, self.entity_refs)),
            self.entity_label,
            self.topics,
        )


class MemoryUpdated(ContentEvent):
    """A memory changed. `changed` lists the fields that were set, `match` the band.

    `entity_ids` are the entities that the statement is about. `origin`: None if that did not change.
    """

    version: ClassVar[int] = 6

    changed: tuple[str, ...]
    origin: Origin | None = None
    match: Match | None = None
    source_turn_ids: tuple[str, ...] = ()
    entity_ids: tuple[UUID, ...] = ()

    def tags(self) -> frozenset[str]:
        return super().tags() | _turn_tags(self.source_turn_ids)


class MemoriesMerged(ContentEvent):
    """`memory_id` survives with this content; the absorbed memories are hidden and point to it."""

    version: ClassVar[int] = 6

    absorbed_ids: tuple[UUID, ...]
    origin: Origin | None = None
    match: Match | None = None
    source_turn_ids: tuple[str, ...] = ()
    entity_ids: tuple[UUID, ...] = ()

    def tags(self) -> frozenset[str]:
        absorbed = map(memory_tag, self.absorbed_ids)
        return super().tags().union(absorbed) | _turn_tags(self.source_turn_ids)


class SceneMoved(MemoryEvent):
    """A scene moved to the cluster with this label (C ❶, ❻, ❼). Its text and its use stay as they are."""

    cluster: PersonalText = ""


class MemoryObserved(MemoryEvent):
    """A memory was corroborated; `confidence` and `importance` are the new values (D13).

    `text` is the statement, "" if it equals the memory's text; `entity_ids` are the entities it is about. One from
    outside names its `origin`: it strengthens nothing that did not come from there.
    """

    version: ClassVar[int] = 3

    confidence: float
    importance: float
    cause: Observation
    origin: Origin | None = None
    match: Match | None = None
    source_turn_ids: tuple[str, ...] = ()
    entity_ids: tuple[UUID, ...] = ()
    text: PersonalText = ""

    def tags(self) -> frozenset[str]:
        return super().tags() | _turn_tags(self.source_turn_ids)


class MemorySoftDeleted(MemoryEvent):
    """A memory is hidden and will be purged at `purge_at` unless it is restored (B §7)."""

    version: ClassVar[int] = 2

    purge_at: datetime
    cause: Cause = Cause.ASKED
    reason: PersonalText = ""


class MemoryStatusChanged(MemoryEvent):
    """A memory's status changed between active, dying and dormant (C03); `was` is the previous one."""

    was: Status
    status: Status
    cause: Cause | None = None


class MemoriesRecalled(Event):
    """Memories were found; the weights say how often. Used for their last access and reactivations (B §7, C).

    It changes no memory and has its own tag, so it never conflicts with writers.
    """

    memory_ids: tuple[UUID, ...]
    weights: tuple[int, ...]
    by: Recall

    def tags(self) -> frozenset[str]:
        return frozenset({RECALLS})

    def key_scope(self) -> str:
        return "user"


class MemoryRestored(MemoryEvent):
    """A hidden memory is active again."""


class MemoryReverted(ContentEvent):
    """Undo: one memory is restored to its state before the event `undoes`; `was` is its previous status (X03).

    Undoing a merge writes one of these for each of its memories.
    """

    version: ClassVar[int] = 6

    undoes: UUID
    was: Status
    status: Status
    origin: Origin | None = None
    merged_into: UUID | None = None
    purge_at: datetime | None = None
    cause: Cause | None = None


class LinkEvent(MemoryEvent):
    """A change of the link from `memory_id` to `to_id`."""

    to_id: UUID

    def tags(self) -> frozenset[str]:
        return super().tags() | {memory_tag(self.to_id)}


class MemoriesLinked(LinkEvent):
    """A link from `memory_id` to `to_id`; `strength` is in [0, 1] (B §2)."""

    relation_type: str = "related_to"
    strength: float


class LinkReverted(LinkEvent):
    """Undo: the link from `memory_id` to `to_id` is restored to its state before the event `undoes`; None if there was
    none.
    """

    undoes: UUID
    relation_type: str | None = None
    strength: float | None = None


def key_tag(scope: Scope, agent_id: str | None, key: str) -> str:
    """Tag by which writers of the same key find each other (D04). Stored as an HMAC, so as not to reveal it."""
    return blind_tag("key", f"{scope}|{agent_id or ''}|{key}")


def text_tag(text: str) -> str:
    """Tag by which writers of the same text find each other, whatever a projection shows. Stored as an HMAC too."""
    return blind_tag("text", same_text(text))


def _turn_tags(turn_ids: tuple[str, ...]) -> frozenset[str]:
    return frozenset(map(turn_tag, turn_ids))
