"""Suggests entities whose names may be variants of one name. Done by a reader, since tags in the log are HMACs.

A suggestion is not a decision: to merge is a command, which can be undone (D13).
"""

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import func
from sqlalchemy.ext.asyncio import AsyncConnection

from mnemolog.domain.memory import VISIBLE
from mnemolog.domain.variants import SLIPS, alike
from mnemolog.domain.viewer import Viewer
from mnemolog.projections.graph import reader
from mnemolog.projections.graph.tables import entities
from mnemolog.projections.paging import page_of
from mnemolog.projections.rows import Row, fetch

MOST_SLIPS = max(slips for _, slips in SLIPS)


async def of(connection: AsyncConnection, viewer: Viewer, entity_id: UUID) -> Sequence[Row]:
    """The entities of the same category and scope whose name is a variant of this one's, last seen first."""
    entity = await reader.survivor(connection, viewer, entity_id)
    column, name = entities.c, entity["name_normalized"]
    statement = (
        reader.visible(viewer)
        .where(column.status.in_(sorted(VISIBLE)), column.entity_id != entity["entity_id"])
        .where(column.category == entity["category"], column.scope == entity["scope"])
        .where(func.abs(func.length(column.name_normalized) - len(name)) <= MOST_SLIPS)
    )
    rows = await fetch(connection, entities, page_of(statement, entities, reader.LAST_SEEN, None, None))
    return [reader.shown(row) for row in rows if alike(row["name"], entity["name"])]
