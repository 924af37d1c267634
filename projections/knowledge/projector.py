"""Folds documents and their chunks into rows. Exactly once: rows and progress share a transaction.

Only the rows of chunks that an event names are written.
"""

from collections.abc import Iterable, Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import MetaData, delete, tuple_
from sqlalchemy.ext.asyncio import AsyncConnection

from mnemolog.domain.document import indexed_text
from mnemolog.domain.memory import Status
from mnemolog.domain.text import search_document
from mnemolog.events import documents as events
from mnemolog.events.envelope import Recorded
from mnemolog.projections.forgetting import NOT_FORGOTTEN, forgotten, reverted
from mnemolog.projections.kinds import Kinds
from mnemolog.projections.knowledge.tables import NAME, READABLE_FROM, VERSION, chunks, documents, metadata
from mnemolog.projections.owner import indexed, owner, owner_row
from mnemolog.projections.rows import Key, Row, load, upsert


class KnowledgeProjector:
    name = NAME
    version = VERSION
    readable_from = READABLE_FROM
    variant = ""
    tables: MetaData = metadata
    kinds = Kinds(events.DocumentEvent)

    async def apply(self, connection: AsyncConnection, batch: Sequence[Recorded]) -> None:
        own = [(event, event.payload) for event in batch if isinstance(event.payload, events.DocumentEvent)]
        rows = await load(connection, documents, {(*owner(event), one.document_id) for event, one in own})
        named = {(*owner(event), id_) for event, one in own for id_ in _chunks(one)}
        parts = await load(connection, chunks, named)
        erased = set[Key]()
        for event, payload in own:
            key = (*owner(event), payload.document_id)
            row = _row(event, payload, rows.get(key))
            if row is None:  # Its first event was skipped.
                continue
            rows[key] = row
            for part in _parts(event, payload, parts):
                parts[(*owner(event), part["chunk_id"])] = part
            if isinstance(payload, events.DocumentErased):
                erased.add(key)
                parts = {id_: part for id_, part in parts.items() if part["document_id"] != payload.document_id}
        await upsert(connection, documents, list(rows.values()))
        if erased:
            of = tuple_(*indexed(chunks), chunks.c.document_id)
            await connection.execute(delete(chunks).where(of.in_(sorted(erased))))
        await upsert(connection, chunks, list(parts.values()))


def _chunks(payload: events.DocumentEvent) -> Iterable[UUID]:
    match payload:
        case events.RevisionEvent(added=added, moved=moved, removed=removed):
            return [*(one.chunk_id for one in (*added, *moved)), *removed]
        case events.DocumentChunksStored(chunk_ids=chunk_ids):
            return chunk_ids
        case _:
            return ()


def _row(event: Recorded, payload: events.DocumentEvent, before: Row | None) -> Row | None:
    """The row after an event; None for a document that is not known."""
    if isinstance(payload, events.DocumentAdded):
        first = {"source": payload.source, "chunks": 0, "status": Status.ACTIVE, "purge_at": None, **NOT_FORGOTTEN}
        before = {**first, "document_id": payload.document_id, **owner_row(event), "created_at": event.recorded_at}
    if before is None:
        return None
    now = {**before, "updated_at": event.recorded_at, "seq": event.seq}
    if isinstance(payload, events.RevisionEvent):
        now |= payload.model_dump(include=_REVISED)
        now |= {"actor_id": event.meta.actor, "run_id": event.meta.run_id}
        now["chunks"] = before["chunks"] + len(payload.added) - len(payload.removed)
    match payload:
        case events.DocumentDeleted(purge_at=purge_at, reason=reason):
            now |= {"status": Status.SOFT_DELETED, "purge_at": purge_at, **forgotten(event, reason)}
        case events.DocumentRestored():
            now |= {"status": Status.ACTIVE, "purge_at": None, **NOT_FORGOTTEN}
        case events.DocumentReverted(status=status, purge_at=purge_at):
            hidden = reverted(event, before, hidden=status is Status.SOFT_DELETED)
            now |= {"status": status, "purge_at": purge_at, **hidden}
        case events.DocumentErased():
            now |= {**dict.fromkeys(_PERSONAL, ""), "chunks": 0, "status": Status.PURGED, "purge_at": None}
    return now


_REVISED = {"title", "domain", "mime", "sha256", "size_bytes", "reader"}
_PERSONAL = ("source", "title", "domain", "mime", "sha256", "forget_reason")


def _parts(event: Recorded, payload: events.DocumentEvent, known: dict[Key, Row]) -> Iterable[dict[str, Any]]:
    """The rows of the chunks that an event names, after it."""
    whose = owner(event)
    if isinstance(payload, events.RevisionEvent):
        for one in (*payload.added, *payload.moved):
            before = known.get((*whose, one.chunk_id)) or _empty(event, payload.document_id, one.chunk_id)
            yield {**before, "rank": one.rank}
        for id_ in payload.removed:
            if (*whose, id_) in known:
                yield {**known[*whose, id_], "rank": None}
    elif isinstance(payload, events.DocumentChunksStored):
        for id_, chunk in zip(payload.chunk_ids, payload.chunks, strict=False):  # Erased chunks have no text.
            before = known.get((*whose, id_)) or _empty(event, payload.document_id, id_)
            text = search_document(indexed_text(chunk.place, chunk.text))
            yield {**before, "place": chunk.place, "text": chunk.text, "document": text, "seq": event.seq}


def _empty(event: Recorded, document_id: UUID, chunk_id: UUID) -> Row:
    """The row of a chunk whose text follows."""
    return {
        **owner_row(event),
        "chunk_id": chunk_id,
        "document_id": document_id,
        "rank": None,
        "place": "",
        "text": "",
        "actor_id": event.meta.actor,
        "created_at": event.recorded_at,
        "seq": event.seq,
        "document": "",
    }
