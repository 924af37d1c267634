"""Entity cards: the most important memories about each reference, as one line (D06)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import ARRAY, ColumnElement, Select, Text, any_, func, literal, select, true
from sqlalchemy.ext.asyncio import AsyncConnection

from mnemolog.domain.card import TELLING, TOP_FACTS, card
from mnemolog.domain.contradiction import marked
from mnemolog.domain.origin import TRUSTED
from mnemolog.domain.viewer import Viewer
from mnemolog.projections.memories import reader
from mnemolog.projections.memories.filters import active, retrievable, unasked, visible_to
from mnemolog.projections.memories.reader import Row
from mnemolog.projections.memories.tables import memories

column = memories.c
CONSIDERED = 2 * TOP_FACTS
"""The memories of which a card shows the first: those that a newer one contradicts give way to others."""


@dataclass(frozen=True, slots=True)
class Card:
    """What is known about a reference such as `person:john`: pinned first, then the most important, then the newest.

    What a newer memory contradicts comes after what is current, unless it is pinned.
    """

    ref: str
    memories: Sequence[Row]

    @property
    def line(self) -> str:
        """`[person:john]: fact1; fact2; fact3`."""
        return card(self.ref, map(marked, self.memories))


async def cards(connection: AsyncConnection, viewer: Viewer, refs: Iterable[str]) -> Sequence[Card]:
    """A card for each reference with enough memories, in the order of the references."""
    wanted = list(dict.fromkeys(refs))
    if not wanted:
        return []
    ids_of: dict[str, list[UUID]] = {ref: [] for ref in wanted}
    for row in await connection.execute(_first_of_each(viewer, wanted)):
        ids_of[row.ref].append(row.memory_id)
    rows = await reader.by_ids(connection, viewer, {memory_id for ids in ids_of.values() for memory_id in ids})
    found = {ref: [rows[one] for one in dict.fromkeys(ids) if one in rows] for ref, ids in ids_of.items()}
    return [Card(ref, _current_first(known)[:TOP_FACTS]) for ref, known in found.items() if known]


def _current_first(known: Sequence[Row]) -> Sequence[Row]:
    return sorted(known, key=lambda row: not row["pinned"] and row["contradicted_by"] is not None)


def _first_of_each(viewer: Viewer, refs: Sequence[str]) -> Select[Any]:
    """References with the memories of their cards, in order."""
    ref = func.unnest(column.entity_refs).table_valued("ref", name="told").render_derived()
    references = literal(refs, ARRAY(Text))
    order = (column.pinned.desc(), column.importance.desc(), column.created_at.desc(), column.memory_id)
    place = func.row_number().over(partition_by=ref.c.ref, order_by=order).label("place")
    ranked = (
        select(ref.c.ref, column.memory_id, place)
        .select_from(memories)
        .join(ref, true())
        .where(*visible_to(viewer), active(), unasked(), retrievable(), _telling(), ref.c.ref == any_(references))
        .where(func.cardinality(column.entity_refs) > 0, column.entity_refs.overlap(references))
        .subquery()
    )
    shown = select(ranked.c.ref, ranked.c.memory_id).where(ranked.c.place <= CONSIDERED)
    return shown.order_by(ranked.c.ref, ranked.c.place)


def _telling() -> ColumnElement[bool]:
    """Important, and not from outside: a card does not say where a line comes from."""
    return (column.pinned | (column.importance >= TELLING)) & column.origin.in_(sorted(TRUSTED))
