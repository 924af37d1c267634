"""Folds what is seen of entities into rows. Exactly once: rows and progress share a transaction."""

from collections.abc import Sequence

from sqlalchemy import MetaData
from sqlalchemy.ext.asyncio import AsyncConnection

from mnemolog.domain.text import normalize_name
from mnemolog.events.conversation import EntityObserved, TurnRecorded
from mnemolog.events.envelope import Recorded
from mnemolog.projections.graph.tables import NAME, entities, metadata
from mnemolog.projections.rows import Key, Row, load, owner, upsert


class GraphProjector:
    name = NAME
    version = 2
    variant = ""
    tables: MetaData = metadata

    async def apply(self, connection: AsyncConnection, batch: Sequence[Recorded]) -> None:
        spoken = {
            (*owner(event), event.payload.speaker_entity_id)
            for event in batch
            if isinstance(event.payload, TurnRecorded) and event.payload.speaker_entity_id
        }
        rows = await load(connection, entities, spoken)
        changed: dict[Key, Row] = {}
        for event in batch:
            row = _after(rows, event)
            if row:
                key = (*owner(event), row["entity_id"])
                rows[key] = changed[key] = row
        await upsert(connection, entities, list(changed.values()))


def _after(rows: dict[Key, Row], event: Recorded) -> Row | None:
    match event.payload:
        case EntityObserved() as entity:
            return _observed(event, entity)
        case TurnRecorded(speaker_entity_id=entity_id) if entity_id:
            row = rows[*owner(event), entity_id]
            return {**row, "last_seen": max(row["last_seen"], event.occurred_at), "updated_at": event.recorded_at}
        case _:
            return None


def _observed(event: Recorded, entity: EntityObserved) -> Row:
    tenant, user_id = owner(event)
    return {
        "tenant": tenant,
        "user_id": user_id,
        "entity_id": entity.entity_id,
        "scope": entity.scope,
        "agent_id": entity.agent_id,
        "name": entity.name,
        "name_normalized": normalize_name(entity.name),
        "category": entity.category,
        "confidence": entity.confidence,
        "last_seen": event.occurred_at,
        "created_at": event.recorded_at,
        "updated_at": event.recorded_at,
    }
