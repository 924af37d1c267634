"""Operations on the library of an agent: documents, divided into chunks (A §2.4).

Adding a document is not in the registry, since each face carries bytes in its own way.
"""

from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field, Strict

from mnemolog.adapters.operations.engine import Engine
from mnemolog.adapters.operations.erasure import Erased, Proof, carried_out
from mnemolog.adapters.operations.operation import operation
from mnemolog.adapters.operations.requests import (
    LibraryRequest,
    Paging,
    ReadOptions,
    Rehearsal,
    WriteOptions,
    command_of,
    fields_of,
    library_of,
)
from mnemolog.adapters.operations.results import HistoryEntry, Page, Result, Written, written
from mnemolog.commands import documents as commands
from mnemolog.commands.documents import EraseDocument, Source
from mnemolog.domain.document import Outcome
from mnemolog.domain.memory import Status
from mnemolog.domain.principal import Role
from mnemolog.events.documents_fold import DOCUMENT
from mnemolog.events.envelope import StreamId
from mnemolog.events.fields import WHOLE, Instant, Label, Text, Uuid


class AddDocument(WriteOptions, LibraryRequest):
    """A document, whose bytes come beside this. The same source again updates it."""

    source: Annotated[
        Source, Field(description="Its path or name, unique in the library.", examples=["handbook/sleep.md"])
    ]
    domain: Annotated[
        Label | None,
        Field(description="The field of knowledge it belongs to. Default: unchanged.", examples=["health"]),
    ] = None
    mime: Annotated[Label, Field(description="The media type. Default: from the source.")] = ""


class DocumentAdded(Written):
    """The receipt, and what it did: `unchanged` if the file is known."""

    document_id: UUID
    outcome: Outcome
    added: int = Field(description="How many chunks are new in the document.")
    moved: int = Field(description="How many chunks are at another place.")
    removed: int = Field(description="How many chunks are no longer in the document.")


class DocumentRead(ReadOptions, LibraryRequest):
    """One document."""

    document_id: Annotated[Uuid, Field(description="The document's id.")]


class DocumentsRead(Paging, ReadOptions, LibraryRequest):
    """The documents of a library, by source."""

    domain: Annotated[Label | None, Field(description="Only documents of this domain.")] = None
    source: Annotated[Label | None, Field(description="Only the document with this path or name.")] = None
    status: Annotated[
        Literal[Status.ACTIVE, Status.SOFT_DELETED], Field(description="Only documents with this status.")
    ] = Status.ACTIVE


class KnowledgeSearch(ReadOptions, LibraryRequest):
    """A search of the chunks of a library."""

    query: Annotated[Text, Field(description="What to search for.")]
    domain: Annotated[Label | None, Field(description="Only chunks of documents of this domain.")] = None
    document_id: Annotated[Uuid | None, Field(description="Only chunks of this document.")] = None
    top_k: Annotated[int, Strict(), Field(ge=1, le=100, description="The maximum number of results."), WHOLE] = 5


class DocumentHistory(Paging, DocumentRead):
    """The history of one document."""


class DocumentWrite(WriteOptions, LibraryRequest):
    """One document."""

    document_id: Annotated[Uuid, Field(description="The document's id.")]


class DeleteDocument(DocumentWrite):
    """The document to delete."""

    reason: Annotated[Label, Field(description="The reason, stored encrypted.")] = ""


class UndoDocument(DocumentWrite):
    """The change to undo."""

    event_id: Annotated[Uuid | None, Field(description="The change to undo. Default: the last one.")] = None


class EraseDocumentRequest(Rehearsal, LibraryRequest):
    """The document to erase."""

    document_id: Annotated[Uuid, Field(description="The document's id.")]


class ProveDocumentErased(LibraryRequest):
    """The erased document."""

    document_id: Annotated[Uuid, Field(description="The document's id.")]


class ChunkView(Result):
    """A chunk of a document."""

    chunk_id: UUID
    position: int = Field(description="Its place in the document, from 0.")
    place: str = Field(description="Its headings, or its page.", examples=["Sleep > Caffeine"])
    text: str
    actor_id: str = Field(description="Who added it.")
    created_at: Instant


class ChunkHit(ChunkView):
    """A chunk that matches a query, with its document and its scores."""

    document_id: UUID
    source: str
    title: str
    domain: str
    sha256: str = Field(description="The SHA-256 of the document's file.")
    score: float = Field(description="The fused score, in [0, 1].")
    similarity: float | None = Field(description="The cosine similarity to the query.")
    text_rank: float | None = Field(description="The keyword (BM25) score.")


class DocumentView(Result):
    """A document of an agent's library."""

    agent_id: str
    document_id: UUID
    source: str
    title: str
    domain: str
    mime: str
    sha256: str
    size_bytes: int
    reader: str = Field(description="The program that read its text.")
    chunks: int = Field(description="How many chunks it has.")
    status: Status
    purge_at: Instant | None
    forgotten_at: Instant | None = Field(description="When it was hidden.")
    forget_reason: str = Field(description='The reason for its deletion, or "".')
    actor_id: str = Field(description="Who added its current version.")
    run_id: str | None
    created_at: Instant
    updated_at: Instant
    seq: int


class DocumentDetail(DocumentView):
    """A document with its chunks, in order."""

    content: list[ChunkView]


async def add_document(engine: Engine, request: AddDocument, content: bytes) -> DocumentAdded:
    """Add a document, or update the one with the same source."""
    from mnemolog.adapters.knowledge import adding

    done = await adding.add(engine, content, fields_of(engine, request), request.idempotency_key)
    counts = {"added": done.added, "moved": done.moved, "removed": done.removed}
    return DocumentAdded.of(done.receipt, document_id=done.document_id, outcome=done.outcome, **counts)


@operation(
    "knowledge search",
    "POST /knowledge/search",
    tag="knowledge",
    arguments=("query",),
    example={"agent_id": "coach", "query": "how late may I drink coffee?"},
)
async def search_knowledge(engine: Engine, request: KnowledgeSearch) -> Page[ChunkHit]:
    """Search an agent's library, by meaning and by words."""
    from mnemolog.projections.knowledge.reader import ChunkCandidates

    among = ChunkCandidates(domain=request.domain, document_id=request.document_id)
    found = await engine.reads.search_knowledge(
        library_of(engine, request), request.query, among, request.top_k, request.moment()
    )
    return Page[ChunkHit].model_validate({"items": found})


@operation("knowledge list", "GET /knowledge", tag="knowledge")
async def list_documents(engine: Engine, request: DocumentsRead) -> Page[DocumentView]:
    """List the documents of an agent's library, by source."""
    rows = await engine.reads.documents(
        library_of(engine, request),
        request.domain,
        request.source,
        Status(request.status),
        request.limit,
        request.moment(),
        request.cursor,
    )
    return Page[DocumentView].of(rows)


@operation("knowledge get", "GET /knowledge/{document_id}", tag="knowledge")
async def get_document(engine: Engine, request: DocumentRead) -> DocumentDetail:
    """Read a document with its chunks, in order.

    Deleted documents can be read too.
    """
    found = await engine.reads.document(library_of(engine, request), request.document_id, request.moment())
    return DocumentDetail.model_validate(found)


@operation("knowledge history", "GET /knowledge/{document_id}/history", tag="knowledge")
async def document_history(engine: Engine, request: DocumentHistory) -> Page[HistoryEntry]:
    """Read the history of a document, newest first."""
    viewer, moment = library_of(engine, request), request.moment()
    rows = await engine.reads.history(
        viewer, request.document_id, request.limit, moment, request.cursor, (DOCUMENT.name,)
    )
    return Page[HistoryEntry].of(rows)


@operation("knowledge delete", "DELETE /knowledge/{document_id}", tag="knowledge", done="Deleted")
async def delete_document(engine: Engine, request: DeleteDocument) -> Written:
    """Delete a document: hidden at once, and erased after 30 days unless it is restored."""
    return await written(engine, commands.DeleteDocument, request)


@operation(
    "knowledge restore",
    "POST /knowledge/{document_id}/restore",
    tag="knowledge",
    done="Restored",
    example={"agent_id": "coach"},
)
async def restore_document(engine: Engine, request: DocumentWrite) -> Written:
    """Restore a deleted document."""
    return await written(engine, commands.RestoreDocument, request)


@operation(
    "knowledge undo",
    "POST /knowledge/{document_id}/undo",
    tag="knowledge",
    done="Undone",
    example={"agent_id": "coach"},
)
async def undo_document(engine: Engine, request: UndoDocument) -> Written:
    """Undo a change of a document.

    Its chunks and their order are then as they were before. An undo can be undone.
    """
    return await written(engine, commands.UndoDocument, request)


@operation("knowledge erase", "POST /knowledge/{document_id}/erase", tag="knowledge", done="Erased", destroys=True)
async def erase_document(engine: Engine, request: EraseDocumentRequest) -> Erased:
    """Erase a document permanently, with all chunks that it ever had.

    `delete_document` hides it instead.
    """
    return await carried_out(engine, command_of(EraseDocument, engine, request, name=str(request.document_id)), request)


@operation(
    "knowledge prove-erased",
    "POST /knowledge/{document_id}/prove-erased",
    tag="knowledge",
    role=Role.ERASE,
    example={"agent_id": "coach"},
    lasting=True,
)
async def prove_document_erased(engine: Engine, request: ProveDocumentErased) -> Proof:
    """Prove that an erased document cannot be read anywhere."""
    from mnemolog.adapters.erasure.prove import prove
    from mnemolog.adapters.erasure.target import ProofSubject

    stream = StreamId.of_agent(request.agent_id, engine.settings.tenant)
    subject = ProofSubject(stream, known=DOCUMENT.tag(request.document_id))
    async with engine.reads.long_read():
        proof = await prove(engine, subject, agent_id=request.agent_id)
    return Proof.model_validate(proof.as_dict())
