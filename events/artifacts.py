"""Events of artifacts (E §4): files and links of a conversation, and the texts that stand for them.

The bytes are in the blob store, encrypted with a key that only the event has. Destroying the artifact's key so destroys
the bytes and the texts alike.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated
from uuid import UUID, uuid5

from pydantic import BaseModel, ConfigDict

from mnemolog.domain.artifact import ArtifactType, Refusal, TextKind
from mnemolog.domain.memory import Status
from mnemolog.domain.scope import Scope
from mnemolog.events.conversation import turn_tag
from mnemolog.events.envelope import Header, Recorded
from mnemolog.events.event import Event, Personal, PersonalText, ShredsItsKey, blind_tag
from mnemolog.events.generation import Generation
from mnemolog.events.unread import Unread


class ArtifactEvent(Event):
    """An event of one artifact, encrypted with its key."""

    artifact_id: UUID

    def key_scope(self) -> str:
        return artifact_tag(self.artifact_id)


class ArtifactStored(ArtifactEvent):
    """A file or link was stored.

    `blob` is the SHA-256 of the stored ciphertext, which is the blob's name; "" for a link. `sha256` is that of the
    content. Without `source_turn_ids` it came without a message.
    """

    type: ArtifactType
    scope: Scope
    agent_id: str
    size_bytes: int = 0
    blob: str = ""
    source_turn_ids: tuple[str, ...] | None = None
    name: PersonalText = ""
    mime: PersonalText = ""
    sha256: PersonalText = ""
    content_key: PersonalText = ""
    url: PersonalText = ""

    def tags(self) -> frozenset[str]:
        content = {file_tag(self.scope, self.agent_id, self.sha256)} if self.sha256 else set()
        blob = {blob_tag(self.blob)} if self.blob else set()
        return super().tags() | content | blob | set(map(turn_tag, self.source_turn_ids or ()))


class ArtifactAttached(ArtifactEvent):
    """A message has the artifact as an attachment. An artifact is erased with the last of its messages."""

    source_turn_ids: tuple[str, ...]

    def tags(self) -> frozenset[str]:
        return super().tags() | set(map(turn_tag, self.source_turn_ids))


class Passage(BaseModel):
    """A part of an artifact's text, and its place: a page, a heading, a time."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    text: str
    place: str = ""


class ArtifactTextAdded(ArtifactEvent):
    """Text that stands for the artifact: a caption, a description, or what was extracted from it.

    The passages are numbered within their kind, from `first` on. `generation` names the program, model or person.
    """

    text_kind: TextKind
    generation: Generation
    first: int = 0
    count: int
    confidence: float | None = None
    passages: Annotated[tuple[Passage, ...], Personal()] = ()


class Skipped(BaseModel):
    """A kind of text that was not extracted, and what was missing for it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    text_kind: TextKind
    reason: str


class ArtifactExtracted(ArtifactEvent):
    """The extraction of the artifact's text ended; `skipped` names the kinds that it left out."""

    pages: int | None = None
    skipped: tuple[Skipped, ...] = ()


class ArtifactRefused(ArtifactEvent):
    """No text was extracted from the file, because it is broken, hostile or of an unknown type. Its bytes stay."""

    reason: Refusal
    detail: str = ""


class ArtifactDeleted(ArtifactEvent):
    """The artifact is hidden, and is erased at `purge_at`."""

    purge_at: datetime
    reason: PersonalText = ""


class ArtifactRestored(ArtifactEvent):
    """A deleted artifact is visible again."""


class ArtifactReverted(ArtifactEvent):
    """Undo: the artifact has this status again. `withdrawn` are the events whose texts are undone."""

    undoes: UUID
    status: Status
    purge_at: datetime | None = None
    withdrawn: tuple[UUID, ...] = ()


class ArtifactErased(ShredsItsKey, ArtifactEvent):
    """The content and the texts of an artifact are destroyed."""


def artifact_tag(artifact_id: UUID) -> str:
    return f"artifact:{artifact_id}"


def file_tag(scope: Scope, agent_id: str, sha256: str) -> str:
    """Finds the same content of the same owner. Stored as an HMAC, because a hash would identify the file."""
    return blind_tag("file", f"{agent_id if scope is Scope.AGENT else ''}/{sha256}")


def blob_tag(blob: str) -> str:
    return f"blob:{blob}"


def text_id(event_id: UUID, place: int) -> UUID:
    """The id of a passage, by its place in its event."""
    return uuid5(event_id, str(place))


def blobs_in(header: Header) -> Sequence[str]:
    """The blob of a stored artifact, even of one that can no longer be decrypted."""
    if header.type != ArtifactStored.type_name():
        return []
    return [tag.removeprefix(blob_tag("")) for tag in header.tags if tag.startswith(blob_tag(""))]


def texts_in(event: Recorded) -> Sequence[UUID]:
    """The ids of the passages that an event added, also of one that cannot be decrypted any more."""
    payload = event.payload.shape if isinstance(event.payload, Unread) else event.payload
    count = payload.count if isinstance(payload, ArtifactTextAdded) else 0
    return [text_id(event.event_id, place) for place in range(count)]
