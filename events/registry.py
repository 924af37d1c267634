"""The registry: every event type by name, and the upcasters for older versions."""

from collections.abc import Callable, Iterable, Mapping
from types import UnionType
from typing import Any

from mnemolog.domain.errors import UnknownEvent
from mnemolog.domain.origin import Origin
from mnemolog.domain.turn import Role
from mnemolog.events import (
    access,
    artifacts,
    being,
    checkpoints,
    conversation,
    documents,
    episodes,
    erasure,
    extraction,
    graph,
    memory,
    message,
    minds,
    patrol,
    profile,
    serving,
    summaries,
)
from mnemolog.events.event import Event

Fields = dict[str, Any]
Upcaster = Callable[[Fields], Fields]
# Event classes, as accepted by `issubclass`.
Types = type[Event] | UnionType | tuple["Types", ...]


class Registry:
    """Types by name. An upcaster for (type, n) converts the fields of version n into those of version n + 1."""

    def __init__(self, types: Iterable[type[Event]], upcasters: Mapping[tuple[str, int], Upcaster]) -> None:
        self.types = {event_type.type_name(): event_type for event_type in types}
        self.upcasters = dict(upcasters)
        for name, event_type in self.types.items():
            _require_defaults(event_type)
            for version in range(1, event_type.version):
                if (name, version) not in self.upcasters:
                    raise ValueError(f"{name} version {version} has no upcaster")

    def resolve(self, type_name: str, version: int) -> type[Event]:
        """The class of this type; raises UnknownEvent for an unknown type or a newer version."""
        event_type = self.types.get(type_name)
        if event_type is None:
            raise UnknownEvent(
                f"event type {type_name!r} is not known here", field="type", fix="run a newer Mnemolog on this log"
            )
        if not 1 <= version <= event_type.version:
            raise UnknownEvent(
                f"{type_name} version {version} is not known here (versions 1 to {event_type.version} are)",
                field="version",
                fix="run a newer Mnemolog on this log",
            )
        return event_type

    def is_one_of(self, type_name: str, kinds: Types) -> bool:
        """Whether a type is a subclass of one of these kinds; True for unknown types."""
        event_type = self.types.get(type_name)
        return event_type is None or issubclass(event_type, kinds)

    def upcast(self, type_name: str, version: int, fields: Fields) -> Fields:
        """The fields upcast from `version` to the current version, one step at a time."""
        for step in range(version, self.types[type_name].version):
            fields = self.upcasters[type_name, step](fields)
        return fields


def _role(fields: Fields) -> Role | None:
    return Role(fields["role"]) if fields.get("role") else None


def _require_defaults(event_type: type[Event]) -> None:
    for name in sorted(event_type.personal_fields()):
        if event_type.model_fields[name].is_required():
            raise ValueError(f"{event_type.type_name()}.{name} is personal and has no default to read as once erased")


REGISTRY = Registry(
    types=(
        access.ApiKeyCreated,
        access.ApiKeyImported,
        access.ApiKeyRevoked,
        artifacts.ArtifactStored,
        artifacts.ArtifactAttached,
        artifacts.ArtifactTextAdded,
        artifacts.ArtifactExtracted,
        artifacts.ArtifactRefused,
        artifacts.ArtifactDeleted,
        artifacts.ArtifactRestored,
        artifacts.ArtifactReverted,
        artifacts.ArtifactErased,
        being.BeingEntrySet,
        being.BeingEntryRead,
        being.BeingEntryRemoved,
        being.BeingEntryErased,
        checkpoints.CheckpointsStarted,
        checkpoints.CheckpointsErased,
        conversation.TurnRecorded,
        conversation.SessionForgotten,
        conversation.SessionReverted,
        conversation.AffectSet,
        conversation.FocusSet,
        documents.DocumentAdded,
        documents.DocumentRevised,
        documents.DocumentChunksStored,
        documents.DocumentDeleted,
        documents.DocumentRestored,
        documents.DocumentReverted,
        documents.DocumentErased,
        episodes.SessionStarted,
        episodes.SessionEnded,
        episodes.EpisodeStarted,
        episodes.EpisodeClosed,
        episodes.EpisodesReverted,
        extraction.MessagesExtracted,
        minds.MindRan,
        graph.EntityObserved,
        graph.EntityUpdated,
        graph.EntityAliased,
        graph.EntitiesMerged,
        graph.EntityForgotten,
        graph.EntityRestored,
        graph.EntityReverted,
        graph.EntityCleared,
        graph.EntityKept,
        graph.EntityErased,
        graph.RelationAsserted,
        graph.RelationObserved,
        graph.RelationEnded,
        graph.RelationRetired,
        graph.RelationWithdrawn,
        graph.RelationForgotten,
        graph.RelationRestored,
        graph.RelationReverted,
        graph.RelationErased,
        memory.MemoryCreated,
        memory.MemoryUpdated,
        memory.MemoriesMerged,
        memory.MemoryObserved,
        memory.SceneMoved,
        memory.MemorySoftDeleted,
        memory.MemoryStatusChanged,
        memory.MemoryRestored,
        memory.MemoryReverted,
        memory.MemoriesLinked,
        memory.LinkReverted,
        memory.MemoriesRecalled,
        message.MessageDeleted,
        message.MessageRestored,
        message.MessageReverted,
        message.MessagesErased,
        patrol.CycleClosed,
        patrol.ScenesReviewed,
        profile.ProfileProposed,
        profile.ProfileDecided,
        profile.ProfileSet,
        profile.ProfileErased,
        profile.TodoOpened,
        profile.TodoChanged,
        profile.TodoErased,
        profile.UserSeeded,
        serving.ContextServed,
        summaries.SummaryWritten,
        erasure.MemoryErased,
        erasure.ThreadErased,
        erasure.UserErased,
    ),
    upcasters={
        # Content only ever gains fields, with defaults, and tags.
        **{
            (event_type.type_name(), version): dict
            for event_type in memory.ContentEvent.__subclasses__()
            for version in range(1, event_type.version)
        },
        ("MemoryCreated", 4): lambda fields: {**fields, "origin": Origin.of_role(_role(fields))},
        ("EntityObserved", 1): dict,  # Different tags, same fields.
        ("EntityObserved", 2): dict,  # A different key, and fields with defaults.
        # Fields were added, with defaults.
        ("TurnRecorded", 1): dict,
        ("TurnRecorded", 2): lambda fields: {**fields, "remembered": True},
        ("TurnRecorded", 3): dict,
        ("EntityUpdated", 1): dict,
        ("RelationReverted", 1): dict,
        ("RelationReverted", 2): dict,
        ("RelationAsserted", 1): lambda fields: {**fields, "literal": True},
        ("RelationAsserted", 2): dict,
        ("RelationAsserted", 3): dict,
        ("RelationAsserted", 4): dict,
        ("RelationEnded", 1): dict,
        ("RelationEnded", 2): dict,
        ("RelationEnded", 3): dict,
        ("RelationEnded", 4): dict,
        ("RelationRetired", 1): dict,
        ("RelationRetired", 2): dict,
        ("RelationRetired", 3): dict,
        ("RelationObserved", 1): dict,
        ("RelationObserved", 2): dict,
        ("RelationObserved", 3): dict,
        ("RelationObserved", 4): dict,
        ("ProfileProposed", 1): dict,
        ("ProfileSet", 1): dict,
        ("ProfileDecided", 1): dict,
        ("MemorySoftDeleted", 1): dict,
        ("MemoryErased", 1): dict,
        ("SummaryWritten", 1): dict,
        # They got a tag, by which later ones are found.
        ("MemoryErased", 2): dict,
        ("MessagesErased", 1): dict,
        ("SessionForgotten", 1): dict,
        ("ThreadErased", 1): dict,
        ("MemoryObserved", 1): dict,
        ("MemoryObserved", 2): dict,
    },
)

# The event types that destroy keys, so that an event's header is enough to know.
SHREDDING = frozenset(name for name, event_type in REGISTRY.types.items() if event_type.shreds is not Event.shreds)
