"""Folds events of entities and facts into rows. Exactly once: rows and progress share a transaction."""

from collections.abc import Callable, Mapping, Sequence, Set
from typing import Protocol
from uuid import UUID

from sqlalchemy import MetaData, Table
from sqlalchemy.ext.asyncio import AsyncConnection

from mnemolog.events.conversation import TurnRecorded
from mnemolog.events.envelope import Recorded
from mnemolog.events.graph import EntityEvent, RelationEvent
from mnemolog.events.memory import MemoryEvent
from mnemolog.projections.graph import entities as of_entities
from mnemolog.projections.graph import relations as of_relations
from mnemolog.projections.graph.tables import (
    NAME,
    READABLE_FROM,
    VERSION,
    aliases,
    entities,
    metadata,
    periods,
    relations,
)
from mnemolog.projections.kinds import Kinds
from mnemolog.projections.owner import OWNER, owner
from mnemolog.projections.rows import Key, Row, load, remove, upsert


class GraphProjector:
    name = NAME
    version = VERSION
    readable_from = READABLE_FROM
    variant = ""
    tables: MetaData = metadata
    kinds = Kinds(EntityEvent | RelationEvent, shapes=TurnRecorded | MemoryEvent)

    async def apply(self, connection: AsyncConnection, batch: Sequence[Recorded]) -> None:
        known, rows = await _folded(connection, entities, of_entities, batch)
        had, has = _named(known), _named(rows)
        await upsert(connection, aliases, [row for key, row in has.items() if had.get(key) != row], had)
        await remove(connection, aliases, had.keys() - has.keys())
        believed: dict[Key, Row] = {}

        def believes(before: Row | None, after: Row, event: Recorded) -> None:
            found = of_relations.beliefs(before, after, event)
            believed.update({tuple(row[name] for name in _BELIEF): row for row in found})

        await _folded(connection, relations, of_relations, batch, believes)
        await upsert(connection, periods, list(believed.values()))


class _Fold(Protocol):
    """A module of pure functions for one table: which rows an event may change, and what they become."""

    def touched(self, event: Recorded) -> Set[UUID]: ...
    def after(self, rows: Mapping[UUID, Row], event: Recorded) -> Mapping[UUID, Row]: ...


_BELIEF = tuple(column.name for column in periods.primary_key.columns)


async def _folded(
    connection: AsyncConnection,
    table: Table,
    fold: _Fold,
    batch: Sequence[Recorded],
    changed: Callable[[Row | None, Row, Recorded], None] = lambda before, after, event: None,
) -> tuple[Mapping[Key, Row], Mapping[Key, Row]]:
    """Write the rows of a table that events change; returns the rows before and after."""
    keys = [{(*owner(event), id_) for id_ in fold.touched(event)} for event in batch]
    known = await load(connection, table, set[Key]().union(*keys))
    rows = dict(known)
    for event, touched in zip(batch, keys, strict=True):
        if not touched:
            continue
        after = fold.after({key[-1]: rows[key] for key in touched if key in rows}, event)
        for id_, row in after.items():
            key = (*owner(event), id_)
            changed(rows.get(key), row, event)
            rows[key] = row
    await upsert(connection, table, [row for key, row in rows.items() if row is not known.get(key)], known)
    return known, rows


def _named(rows: Mapping[Key, Row]) -> dict[Key, Row]:
    return {
        (*whose, normal, entity_id): {
            **dict(zip(OWNER, whose, strict=True)),
            "alias_normalized": normal,
            "entity_id": entity_id,
            "alias": alias,
        }
        for (*whose, entity_id), row in rows.items()
        for normal, alias in of_entities.names(row).items()
    }
