"""Events of an agent's library (A §2.4): documents, and the chunks they are divided into. In the agent's own stream."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated
from uuid import UUID

from pydantic import BaseModel, ConfigDict

from mnemolog.domain.memory import Status
from mnemolog.events.envelope import Recorded
from mnemolog.events.event import Event, Personal, PersonalText, ShredsItsKey, blind_tag
from mnemolog.events.unread import Unread


class DocumentEvent(Event):
    """An event of one document, encrypted with its key."""

    document_id: UUID

    def key_scope(self) -> str:
        return document_tag(self.document_id)


class ChunkRank(BaseModel):
    """The place of a chunk: chunks are sorted by rank."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    chunk_id: UUID
    rank: float


class RevisionEvent(DocumentEvent):
    """A document's file, and how its chunks differ from before. Chunks that are not named are unchanged.

    The text of new chunks follows in `DocumentChunksStored`. `domain` is the field of knowledge that it belongs to.
    """

    title: PersonalText = ""
    domain: PersonalText = ""
    mime: PersonalText = ""
    sha256: PersonalText = ""
    size_bytes: int = 0
    reader: str = ""
    added: tuple[ChunkRank, ...] = ()
    moved: tuple[ChunkRank, ...] = ()
    removed: tuple[UUID, ...] = ()


class DocumentAdded(RevisionEvent):
    """A document was added to the library of an agent. `source` is its path or name, which is unique in the library."""

    agent_id: str
    source: PersonalText = ""

    def tags(self) -> frozenset[str]:
        return super().tags() | ({source_tag(self.source)} if self.source else set())


class DocumentRevised(RevisionEvent):
    """The file of a document, or its domain, changed."""


class StoredChunk(BaseModel):
    """The text of a chunk, under its heading path."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    text: str
    place: str = ""


class DocumentChunksStored(DocumentEvent):
    """The text of new chunks of a document. Chunk `chunk_ids[n]` has the text `chunks[n]`."""

    chunk_ids: tuple[UUID, ...]
    chunks: Annotated[tuple[StoredChunk, ...], Personal()] = ()


class DocumentDeleted(DocumentEvent):
    """The document is hidden, and is erased at `purge_at`."""

    purge_at: datetime
    reason: PersonalText = ""


class DocumentRestored(DocumentEvent):
    """A deleted document is visible again."""


class DocumentReverted(RevisionEvent):
    """Undo: the document has this status, file and order of chunks again."""

    undoes: UUID
    status: Status
    purge_at: datetime | None = None


class DocumentErased(ShredsItsKey, DocumentEvent):
    """The text of a document is destroyed."""


def document_tag(document_id: UUID) -> str:
    return f"document:{document_id}"


def source_tag(source: str) -> str:
    """Finds the document with this path or name. Stored as an HMAC, because a path is text."""
    return blind_tag("source", source)


def chunks_in(event: Recorded) -> Sequence[UUID]:
    """The ids of the chunks whose text an event has, also of one that cannot be decrypted any more."""
    payload = event.payload.shape if isinstance(event.payload, Unread) else event.payload
    return payload.chunk_ids if isinstance(payload, DocumentChunksStored) else ()
