"""Folds artifacts and their texts into rows. Exactly once: rows and progress share a transaction."""

from collections.abc import Iterable, Sequence

from sqlalchemy import MetaData, delete, tuple_
from sqlalchemy.ext.asyncio import AsyncConnection

from mnemolog.domain.artifact import Extraction
from mnemolog.domain.memory import Status
from mnemolog.domain.text import search_document
from mnemolog.events import artifacts as events
from mnemolog.events.envelope import Recorded
from mnemolog.projections.artifacts.tables import NAME, READABLE_FROM, VERSION, artifact_texts, artifacts, metadata
from mnemolog.projections.forgetting import NOT_FORGOTTEN, forgotten, reverted
from mnemolog.projections.kinds import Kinds
from mnemolog.projections.owner import indexed, owner, owner_row
from mnemolog.projections.rows import Key, Row, load, upsert


class ArtifactsProjector:
    name = NAME
    version = VERSION
    readable_from = READABLE_FROM
    variant = ""
    tables: MetaData = metadata
    kinds = Kinds(events.ArtifactEvent)

    async def apply(self, connection: AsyncConnection, batch: Sequence[Recorded]) -> None:
        touched = {
            (*owner(event), event.payload.artifact_id)
            for event in batch
            if isinstance(event.payload, events.ArtifactEvent)
        }
        rows = await load(connection, artifacts, touched)
        texts: dict[Key, list[Row]] = {}
        erased = set[Key]()
        for event in batch:
            if not isinstance(event.payload, events.ArtifactEvent):
                continue
            key = (*owner(event), event.payload.artifact_id)
            row = _row(event, event.payload, rows.get(key))
            if row is None:  # Its first event was skipped.
                continue
            rows[key] = row
            if isinstance(event.payload, events.ArtifactTextAdded):
                texts.setdefault(key, []).extend(_texts(event, event.payload))
            elif isinstance(event.payload, events.ArtifactErased):
                erased.add(key)
                texts.pop(key, None)
        await upsert(connection, artifacts, [row for key, row in rows.items() if key in touched])
        if erased:
            of = tuple_(*indexed(artifact_texts), artifact_texts.c.artifact_id)
            await connection.execute(delete(artifact_texts).where(of.in_(sorted(erased))))
        await upsert(connection, artifact_texts, [row for found in texts.values() for row in found])


def _row(event: Recorded, payload: events.ArtifactEvent, before: Row | None) -> Row | None:
    """The row after an event; None for an artifact that is not known."""
    if isinstance(payload, events.ArtifactStored):
        return _stored(event, payload)
    if before is None:
        return None
    now = {**before, "updated_at": event.recorded_at, "seq": event.seq}
    match payload:
        case events.ArtifactAttached(source_turn_ids=turns):
            return {**now, "source_turn_ids": list(dict.fromkeys([*before["source_turn_ids"], *turns]))}
        case events.ArtifactExtracted(pages=pages, skipped=skipped):
            left_out = [one.model_dump(mode="json") for one in skipped]
            return {**now, "extraction": Extraction.DONE, "pages": pages, "skipped": left_out}
        case events.ArtifactRefused(reason=reason, detail=detail):
            return {**now, "extraction": Extraction.REFUSED, "refused": reason, "detail": detail}
        case events.ArtifactDeleted(purge_at=purge_at, reason=reason):
            return {**now, "status": Status.SOFT_DELETED, "purge_at": purge_at, **forgotten(event, reason)}
        case events.ArtifactRestored():
            return {**now, "status": Status.ACTIVE, "purge_at": None, **NOT_FORGOTTEN}
        case events.ArtifactReverted(status=status, purge_at=purge_at, withdrawn=withdrawn):
            hidden = reverted(event, before, hidden=status is Status.SOFT_DELETED)
            return {**now, "status": status, "purge_at": purge_at, "withdrawn": list(withdrawn), **hidden}
        case events.ArtifactErased():
            return {**now, **dict.fromkeys(_PERSONAL, ""), "status": Status.PURGED, "purge_at": None}
        case _:
            return now


_PERSONAL = ("name", "mime", "sha256", "url", "blob", "forget_reason")


_AS_STORED = ("artifact_id", "type", "scope", "agent_id", "name", "mime", "size_bytes", "sha256", "url", "blob")


def _stored(event: Recorded, stored: events.ArtifactStored) -> Row:
    return {
        **owner_row(event),
        **{name: getattr(stored, name) for name in _AS_STORED},
        "status": Status.ACTIVE,
        "purge_at": None,
        **NOT_FORGOTTEN,
        "extraction": Extraction.PENDING if stored.blob else Extraction.DONE,
        "refused": None,
        "detail": "",
        "pages": None,
        "skipped": [],
        "withdrawn": [],
        "source_turn_ids": list(stored.source_turn_ids or ()),
        "thread_id": event.meta.thread_id,
        "run_id": event.meta.run_id,
        "actor_id": event.meta.actor,
        "occurred_at": event.occurred_at,
        "created_at": event.recorded_at,
        "updated_at": event.recorded_at,
        "seq": event.seq,
    }


def _texts(event: Recorded, added: events.ArtifactTextAdded) -> Iterable[Row]:
    """The passages; none of an erased event."""
    for place, passage in enumerate(added.passages):
        yield {
            **owner_row(event),
            "text_id": events.text_id(event.event_id, place),
            "artifact_id": added.artifact_id,
            "event_id": event.event_id,
            "text_kind": added.text_kind,
            "position": added.first + place,
            "place": passage.place,
            "text": passage.text,
            "writer": added.generation.model,
            "confidence": added.confidence,
            "created_at": event.recorded_at,
            "seq": event.seq,
            "document": search_document(passage.text),
        }
