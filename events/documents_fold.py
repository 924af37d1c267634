"""The fold of documents."""

from collections.abc import Iterable
from dataclasses import replace
from uuid import UUID

from mnemolog.domain.document import Document, Ranks, Revision, after, no_such_document
from mnemolog.domain.memory import Status
from mnemolog.events import documents as events
from mnemolog.events.subject import Subject


def ranks_of(chunks: Iterable[events.ChunkRank]) -> Ranks:
    return {one.chunk_id: one.rank for one in chunks}


def revision_of(event: events.RevisionEvent) -> Revision:
    return Revision(event.title, event.domain, event.mime, event.sha256, event.size_bytes, event.reader)


def _added(_: Document | None, event: events.DocumentAdded) -> Document:
    return Document(event.document_id, event.agent_id, event.source, revision_of(event), ranks_of(event.added))


def _revised(document: Document, event: events.RevisionEvent) -> Document:
    ranks = after(document.ranks, ranks_of(event.added), ranks_of(event.moved), event.removed)
    return replace(document, revision=revision_of(event), ranks=ranks)


def _reverted(document: Document, event: events.DocumentReverted) -> Document:
    return replace(_revised(document, event), status=event.status, purge_at=event.purge_at)


DOCUMENT: Subject[UUID, Document] = Subject(
    name="document",
    read_id=UUID,
    ids=lambda event: (event.document_id,),
    begins=frozenset({events.DocumentAdded}),
    folds={
        events.DocumentAdded: _added,
        events.DocumentRevised: _revised,
        events.DocumentChunksStored: lambda document, event: document,
        events.DocumentDeleted: lambda document, event: replace(
            document, status=Status.SOFT_DELETED, purge_at=event.purge_at
        ),
        events.DocumentRestored: lambda document, event: replace(document, status=Status.ACTIVE, purge_at=None),
        events.DocumentReverted: _reverted,
        events.DocumentErased: lambda document, event: document.erased(),
    },
    erased=Document.erased,
    erase=lambda document_id: events.DocumentErased(document_id=document_id),
    missing=no_such_document,
)
