"""Adds a document to an agent's library: its file is read in a process of its own, and only its chunks are kept."""

import mimetypes
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any
from uuid import UUID

from mnemolog.adapters.artifacts.reading import Refused
from mnemolog.adapters.artifacts.sandbox import read_apart
from mnemolog.adapters.services import Services
from mnemolog.commands.documents import DOCUMENTS, AddDocument, OfLibrary, same_file, same_source
from mnemolog.domain.document import Document, Outcome
from mnemolog.domain.errors import InvalidInput
from mnemolog.domain.memory import Status
from mnemolog.events import documents as events
from mnemolog.events.envelope import Receipt
from mnemolog.events.fields import validated
from mnemolog.events.log import event_of

# So that a change of all of them fits into one event.
MAX_CHUNKS = 5000
# Not known to every system.
TYPES = {"md": "text/markdown", "markdown": "text/markdown"}
UNKNOWN = "application/octet-stream"


@dataclass(frozen=True, slots=True)
class Addition:
    """What adding a document did, and how many chunks it changed."""

    document_id: UUID
    outcome: Outcome
    receipt: Receipt
    added: int = 0
    moved: int = 0
    removed: int = 0


async def add(engine: Services, content: bytes, fields: Mapping[str, Any], idempotency_key: str | None) -> Addition:
    """Add a document, or update the one with the same source. A file that is known is not read again."""
    whose = {name: value for name, value in fields.items() if name in ("tenant", "agent_id")}
    engine.writes.admitted(validated(OfLibrary, whose))
    if len(content) > (limit := engine.settings.artifact_max_bytes):
        message = f"has {len(content):,} bytes, at most {limit:,} are accepted"
        raise InvalidInput(message, field="content", fix="send a smaller file, or raise `artifact_max_bytes`")
    ids = {name: engine.writes.new_id() for name in ("document_id", "revision_id")}
    file = {"sha256": sha256(content).hexdigest(), "size_bytes": len(content)}
    command = validated(AddDocument, {**fields, **ids, **file})
    command = command.model_copy(update={"mime": command.mime or _type(command.source)})
    known = same_source(await engine.writes.handler.read(DOCUMENTS, command), command.source)
    if known is None or not same_file(known, command):
        command = command.model_copy(update=await _read(content, command, known))
    receipt = await engine.writes.handler.handle(DOCUMENTS, command, idempotency_key=idempotency_key)
    [first, *_] = found = [await event_of(engine.log, receipt, place) for place in range(len(receipt.event_ids[:2]))]
    assert isinstance(first, events.DocumentEvent)
    id_ = first.document_id
    if receipt.already:
        return Addition(id_, Outcome.UNCHANGED, receipt)
    kinds = {events.DocumentAdded: Outcome.ADDED, events.DocumentRestored: Outcome.RESTORED}
    outcome = kinds.get(type(first), Outcome.CHANGED)
    revision = next((one for one in found if isinstance(one, events.RevisionEvent)), None)
    counts = {name: len(getattr(revision, name, ())) for name in ("added", "moved", "removed")}
    return Addition(id_, outcome, receipt, **counts)


def _type(source: str) -> str:
    return TYPES.get(source.rpartition(".")[2].lower()) or mimetypes.guess_type(source)[0] or UNKNOWN


async def _read(content: bytes, command: AddDocument, known: Document | None) -> dict[str, Any]:
    """The title, the reader and the chunks of a file; InvalidInput if it is not a document that can be read."""
    if not content:
        raise _without_text("is empty", known)
    try:
        found = await read_apart(content, command.source, command.mime)
    except Refused as refused:
        detail = f": {refused.detail}" if refused.detail else ""
        raise _unreadable(f"{refused.reason.replace('_', ' ')}{detail}") from refused
    if found.kind != "document":
        raise _unreadable(f"it is {found.kind}, not text")
    if not found.chunks:
        raise _without_text("cannot be read: it holds no text", known)
    if len(found.chunks) > MAX_CHUNKS:
        raise _unreadable(f"it has {len(found.chunks):,} chunks, at most {MAX_CHUNKS:,} are kept")
    chunks = tuple(events.StoredChunk(text=text, place=place) for place, text in found.chunks)
    heading = next((place for place, _ in found.chunks if place), "")
    first = "" if found.pages is not None else heading.partition(" > ")[0]
    return {"title": " ".join((found.title or first).split())[:200], "reader": found.reader, "chunks": chunks}


def _without_text(message: str, known: Document | None) -> InvalidInput:
    """A file may be empty because it is being written, so what the library has of it is not deleted for that."""
    fix = "send a file with text"
    if known is not None and known.status is Status.ACTIVE:
        fix = f"{fix}, or delete document {known.document_id}: its former text stays until then"
    return InvalidInput(message, field="content", fix=fix)


def _unreadable(why: str) -> InvalidInput:
    fix = "send Markdown, HTML, PDF, DOCX or plain text"
    return InvalidInput(f"cannot be read: {why}", field="content", fix=fix)
