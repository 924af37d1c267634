"""What happens to a memory, from its making to its end."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, ClassVar, Self
from uuid import UUID

from pydantic import BaseModel, ConfigDict, JsonValue

from mnemolog.domain.bands import Band
from mnemolog.domain.memory import EPISODIC, Cause, Content, Kind, Status
from mnemolog.domain.memory_key import EntityType, FactType, Identity, MemoryType, Source, slugged_ref
from mnemolog.domain.scope import Scope
from mnemolog.domain.text import same_text
from mnemolog.domain.turn import Role
from mnemolog.events.conversation import turn_tag
from mnemolog.events.event import Event, Personal, PersonalText, blind_tag, memory_tag

RECALLS = "recalls"
PersonalTexts = Annotated[tuple[str, ...], Personal()]


class Match(BaseModel):
    """How a statement met a memory that was known: its band, and the similarity that a model found, if one did."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    band: Band
    similarity: float | None = None
    model: str | None = None
    candidate_id: UUID | None = None


class Observation(StrEnum):
    """What corroborates a memory: it is said again, or used again and again."""

    REPEAT = "repeat"
    USE = "use"


class Recall(StrEnum):
    """By what memories were found (C)."""

    QUERY = "query"
    RECALL = "recall"
    RECALL_MEMORY = "recall_memory"
    SEARCH_MEMORY = "search_memory"


class MemoryEvent(Event):
    """An event whose subject is one memory, sealed with that memory's key."""

    memory_id: UUID

    def tags(self) -> frozenset[str]:
        return frozenset({memory_tag(self.memory_id)})

    def key_scope(self) -> str:
        return memory_tag(self.memory_id)


class ContentFields(BaseModel):
    """The content of a memory, as events keep it and readers show it."""

    category: str
    importance: float
    confidence: float
    pinned: bool
    text: PersonalText = ""
    metadata: Annotated[dict[str, JsonValue], Personal()] = {}


class ContentEvent(ContentFields, MemoryEvent):
    """Carries the whole content that the memory has afterwards, so that no earlier event is needed to read it."""

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
    """A memory begins. `source_turn_ids` are the turns that it was extracted from (A10, X04).

    What it is about, and its key, are for life; `match` says what else it is like. What happened may happen again: only
    what is known is found by its text.
    """

    version: ClassVar[int] = 4

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
    """A memory reads differently from now on. `changed` names the fields that were set; `match`, by which band.

    `entity_ids` are those that what was said is about: here, and wherever a memory is met again.
    """

    version: ClassVar[int] = 4

    changed: tuple[str, ...]
    match: Match | None = None
    source_turn_ids: tuple[str, ...] = ()
    entity_ids: tuple[UUID, ...] = ()

    def tags(self) -> frozenset[str]:
        return super().tags() | _turn_tags(self.source_turn_ids)


class MemoriesMerged(ContentEvent):
    """`memory_id` survives with this content; the absorbed are hidden and point to it."""

    version: ClassVar[int] = 4

    absorbed_ids: tuple[UUID, ...]
    match: Match | None = None
    source_turn_ids: tuple[str, ...] = ()
    entity_ids: tuple[UUID, ...] = ()

    def tags(self) -> frozenset[str]:
        absorbed = map(memory_tag, self.absorbed_ids)
        return super().tags().union(absorbed) | _turn_tags(self.source_turn_ids)


class MemoryObserved(MemoryEvent):
    """A memory is corroborated: `confidence` and `importance` are those afterwards (D13).

    `text` is what was said, "" when those were its own words; `entity_ids`, of whom.
    """

    version: ClassVar[int] = 2

    confidence: float
    importance: float
    cause: Observation
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
    """A memory goes from active to dying to dormant, or back (C03); `was` is its status until now."""

    was: Status
    status: Status
    cause: Cause | None = None


class MemoriesRecalled(Event):
    """Memories were found, each so many times by its weight: for their last access and their reactivations (B §7, C).

    It changes no memory and stands in no writer's way: it has a tag of its own.
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
    """Undo: one memory is as it was before the event `undoes`; `was` is its status until now (X03).

    An undone merge leaves one of these for each of its memories.
    """

    version: ClassVar[int] = 4

    undoes: UUID
    was: Status
    status: Status
    merged_into: UUID | None = None
    purge_at: datetime | None = None
    cause: Cause | None = None


class MemoriesLinked(MemoryEvent):
    """An edge from `memory_id` to `to_id`; `strength` in [0, 1] (B §2)."""

    to_id: UUID
    relation_type: str = "related_to"
    strength: float

    def tags(self) -> frozenset[str]:
        return frozenset({memory_tag(self.memory_id), memory_tag(self.to_id)})


class LinkReverted(MemoryEvent):
    """Undo: the edge from `memory_id` to `to_id` is as it was before the event `undoes`; None where there was none."""

    to_id: UUID
    undoes: UUID
    relation_type: str | None = None
    strength: float | None = None

    def tags(self) -> frozenset[str]:
        return frozenset({memory_tag(self.memory_id), memory_tag(self.to_id)})


def key_tag(scope: Scope, agent_id: str | None, key: str) -> str:
    """By which writers of one key find each other (D04). It would show the key, so the log keeps it blind."""
    return blind_tag("key", f"{scope}|{agent_id or ''}|{key}")


def text_tag(text: str) -> str:
    """By which writers of one statement find each other, whatever a projection shows by then. Blind, as a key is."""
    return blind_tag("text", same_text(text))


def _turn_tags(turn_ids: tuple[str, ...]) -> frozenset[str]:
    return frozenset(map(turn_tag, turn_ids))
