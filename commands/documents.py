"""Commands on an agent's library: add, delete, restore and undo documents (A §2.4)."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Annotated, Any, ClassVar
from uuid import UUID, uuid5

from pydantic import Field, WithJsonSchema

from mnemolog.commands.change_history import ChangeHistory
from mnemolog.commands.decider import Command, Decider, Decisions
from mnemolog.commands.erasure_requests import EraseKnown
from mnemolog.commands.portions import portions
from mnemolog.domain import memory
from mnemolog.domain.document import Document, Reordering, Revision, erased_document, no_such_document, reordered
from mnemolog.domain.errors import Conflict, NotFound
from mnemolog.domain.identity import identifier
from mnemolog.domain.memory import Status
from mnemolog.domain.principal import Principal
from mnemolog.domain.updated import updated
from mnemolog.events import documents as events
from mnemolog.events.documents import ChunkRank, StoredChunk, document_tag, source_tag
from mnemolog.events.documents_fold import DOCUMENT
from mnemolog.events.envelope import Happened, StreamId
from mnemolog.events.erasure import USER
from mnemolog.events.event import Event
from mnemolog.events.fields import Instant, Label, Uuid, checked_by
from mnemolog.events.shapes import id_text_shape

MAX_SOURCE = 500
Source = Annotated[
    str,
    checked_by(lambda value, field: identifier(value, field, MAX_SOURCE)),
    WithJsonSchema(id_text_shape(MAX_SOURCE)),
]


class OfLibrary(Command):
    """A request about the library of `agent_id`, which serves all of its users."""

    user_id: str = ""

    def stream(self) -> StreamId:
        return StreamId.of_agent(self.agent_id, self.tenant)

    def require_scope(self, principal: Principal) -> None:
        principal.require_library(self.tenant, self.agent_id)
        principal.require_every_user()


class DocumentCommand(OfLibrary):
    """A request about one document."""

    document_id: Annotated[Uuid, Field(description="The document's id.")]


class AddDocument(DocumentCommand):
    """Adds a document, or updates the one with the same source. Without `domain`, that of a known document is kept.

    `revision_id` is what the ids of new chunks are made from. Without `chunks`, the file is as it is known.
    """

    # A file determines what is read from it.
    generated: ClassVar[frozenset[str]] = frozenset({"document_id", "revision_id", "title", "reader", "chunks"})

    revision_id: Uuid
    source: Source
    title: Label = ""
    domain: Label | None = None
    mime: Label = ""
    sha256: str
    size_bytes: int
    reader: str = ""
    chunks: tuple[StoredChunk, ...] | None = None


class DeleteDocument(DocumentCommand):
    """Hides a document. It can be restored until it is erased after 30 days."""

    generated: ClassVar[frozenset[str]] = frozenset({"at"})

    reason: Annotated[Label, Field(description="The reason, stored encrypted.")] = ""
    at: Instant


class RestoreDocument(DocumentCommand):
    """Restores a deleted document."""


class UndoDocument(DocumentCommand):
    """Undoes the change `event_id`, or else the last one."""

    event_id: Annotated[Uuid | None, Field(description="The change to undo. Default: the last one.")] = None


class EraseDocument(OfLibrary, EraseKnown):
    """Erases a document of the agent's library."""

    kind: str = DOCUMENT.name

    def missing(self) -> NotFound:
        return no_such_document(self.agent_id, UUID(self.name))


Texts = Mapping[UUID, StoredChunk]


@dataclass(frozen=True, slots=True)
class Library:
    """The documents of a decision, every change of them, and every chunk that they ever had, by document."""

    known: Mapping[UUID, Document] = field(default_factory=dict)
    changes: ChangeHistory[Document] = field(default_factory=ChangeHistory)
    chunks: Mapping[UUID, Texts] = field(default_factory=dict)


def evolve(state: Library, event: Happened) -> Library:
    payload = event.payload
    changed = DOCUMENT.evolve(state.known, payload)
    if not changed:
        return state
    if isinstance(payload, events.DocumentChunksStored):
        stored = dict(zip(payload.chunk_ids, payload.chunks, strict=False))  # Erased chunks have no text.
        own = updated(state.chunks.get(payload.document_id, {}), stored)
        return replace(state, chunks=updated(state.chunks, {payload.document_id: own}))
    if isinstance(payload, events.DocumentEvent) and not isinstance(payload, events.DocumentErased):
        befores, undoes = DOCUMENT.befores(state.known, payload), getattr(payload, "undoes", None)
        state = replace(state, changes=state.changes.with_change(event, befores, undoes))
    return replace(state, known=updated(state.known, changed))


_decide = Decisions[DocumentCommand, Library]()


@_decide.register
def _add(command: AddDocument, state: Library) -> Sequence[Event]:
    found = same_source(state, command.source)
    if command.chunks is None and not (found and same_file(found, command)):
        what = f"{command.source!r} was changed meanwhile"
        raise Conflict(what, field="source", fix="add it again")
    if found is None or command.chunks is None:
        known: Texts = {}
        ids = sorted(found.ranks, key=found.ranks.__getitem__) if found else _new(command)
    else:
        known = state.chunks.get(found.document_id, {})
        ids = _identified(command, found, known)
    new = {one: chunk for one, chunk in zip(ids, command.chunks or (), strict=False) if one not in known}
    revision = _revision(command, found)
    if found is None:
        fields = _revised(command.document_id, revision, reordered({}, ids))
        added = events.DocumentAdded(**fields, agent_id=command.agent_id, source=command.source)
        return [added, *_stored(command.document_id, new)]
    id_, change = found.document_id, reordered(found.ranks, ids)
    restored = [events.DocumentRestored(document_id=id_)] if found.status is Status.SOFT_DELETED else []
    if not change and revision == found.revision:
        return restored
    return [*restored, events.DocumentRevised(**_revised(id_, revision, change)), *_stored(id_, new)]


def _revision(command: AddDocument, found: Document | None) -> Revision:
    domain = command.domain if command.domain is not None else found.revision.domain if found else ""
    if found and command.chunks is None:
        return replace(found.revision, domain=domain)
    return Revision(command.title, domain, command.mime, command.sha256, command.size_bytes, command.reader)


def same_file(found: Document, command: AddDocument) -> bool:
    """Whether the document was read from the same file."""
    return (found.revision.sha256, found.revision.mime) == (command.sha256, command.mime)


def same_source(state: Library, source: str) -> Document | None:
    return next((one for one in state.known.values() if one.source == source and not one.is_erased), None)


def _new(command: AddDocument) -> Sequence[UUID]:
    return [uuid5(command.revision_id, str(place)) for place in range(len(command.chunks or ()))]


def _identified(command: AddDocument, document: Document, known: Texts) -> Sequence[UUID]:
    """The id of each chunk: that of a chunk with the same content which the document has or had, or else a new one."""
    by_content: dict[StoredChunk, list[UUID]] = defaultdict(list)
    last = float("inf")
    for id_ in sorted(known, key=lambda one: document.ranks.get(one, last), reverse=True):
        by_content[known[id_]].append(id_)  # Taken from the end: those in the document first, in their order.
    chunks = zip(command.chunks or (), _new(command), strict=True)
    return [by_content[chunk].pop() if by_content.get(chunk) else new for chunk, new in chunks]


def _revised(document_id: UUID, revision: Revision, change: Reordering) -> dict[str, Any]:
    """The fields of a RevisionEvent."""
    return {
        "document_id": document_id,
        **asdict(revision),
        "added": tuple(ChunkRank(chunk_id=id_, rank=rank) for id_, rank in change.added.items()),
        "moved": tuple(ChunkRank(chunk_id=id_, rank=rank) for id_, rank in change.moved.items()),
        "removed": change.removed,
    }


def _stored(document_id: UUID, chunks: Texts) -> Iterator[Event]:
    for ids in portions(chunks, lambda id_: len(chunks[id_].text.encode()) + len(chunks[id_].place.encode())):
        stored = tuple(chunks[id_] for id_ in ids)
        yield events.DocumentChunksStored(document_id=document_id, chunk_ids=tuple(ids), chunks=stored)


@_decide.register
def _delete(command: DeleteDocument, state: Library) -> Sequence[Event]:
    if _get(state, command).status is Status.SOFT_DELETED:
        return []
    purge_at = command.at + memory.PURGE_AFTER
    return [events.DocumentDeleted(document_id=command.document_id, purge_at=purge_at, reason=command.reason)]


@_decide.register
def _restore(command: RestoreDocument, state: Library) -> Sequence[Event]:
    if _get(state, command).status is Status.ACTIVE:
        return []
    return [events.DocumentRestored(document_id=command.document_id)]


@_decide.register
def _undo(command: UndoDocument, state: Library) -> Sequence[Event]:
    """A document that was added by the change is deleted, with its chunks as they are."""
    found = _get(state, command)
    event_id = command.event_id or state.changes.last(document_tag(command.document_id))
    if event_id is None:
        raise NotFound("there is no change to undo", field="document_id", fix="add the document again")
    if state.changes.undone(event_id):
        return []
    before = state.changes.befores(event_id).get(document_tag(command.document_id))
    then = before or replace(found, status=Status.SOFT_DELETED)
    order = sorted(then.ranks, key=lambda one: then.ranks[one])
    fields = _revised(found.document_id, then.revision, reordered(found.ranks, order))
    return [events.DocumentReverted(**fields, undoes=event_id, status=then.status, purge_at=then.purge_at)]


def _get(state: Library, command: DocumentCommand) -> Document:
    found = state.known.get(command.document_id)
    if found is None:
        raise no_such_document(command.agent_id, command.document_id)
    if found.is_erased:
        raise erased_document(command.document_id)
    return found


def _subject(command: DocumentCommand) -> str:
    return source_tag(command.source) if isinstance(command, AddDocument) else document_tag(command.document_id)


def _tags(state: Library, command: DocumentCommand) -> frozenset[str]:
    known = map(document_tag, state.known) if isinstance(command, AddDocument) else ()
    return frozenset({USER, _subject(command), *known})


DOCUMENTS: Decider[DocumentCommand, Library] = Decider(
    initial=Library(),
    subject=_subject,
    tags=_tags,
    evolve=evolve,
    decide=_decide,
)
