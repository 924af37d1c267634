"""Reads the entries of the viewing being, and of no other (C01)."""

from collections.abc import AsyncIterator, Collection, Sequence
from datetime import date
from uuid import UUID

from sqlalchemy import ColumnElement, or_, select
from sqlalchemy.ext.asyncio import AsyncConnection

from mnemolog.domain.being import INSTRUCTING, Store
from mnemolog.domain.viewer import Viewer
from mnemolog.projections.being.tables import entries
from mnemolog.projections.owner import OWNER, without
from mnemolog.projections.paging import Slice, beings, page_of, sliced
from mnemolog.projections.rows import Row, fetch, stored
from mnemolog.projections.visibility import owned

SHOWN = 500
OLDEST = ("created_at", "entry_id")
_INTERNAL = frozenset({*OWNER, "removed"})


def own(viewer: Viewer) -> list[ColumnElement[bool]]:
    """Whether an entry belongs to the viewing being."""
    return [owned(entries, viewer), entries.c.agent_id == viewer.agent_id]


async def listed(
    connection: AsyncConnection,
    viewer: Viewer,
    stores: Collection[Store] = (),
    read: bool | None = None,
    limit: int | None = 100,
    cursor: str | None = None,
) -> Slice:
    """The entries of these stores, or of all, oldest first; without removed and erased ones."""
    column = entries.c
    statement = select(*stored(entries)).where(*own(viewer), ~column.removed, column.key != "")
    if stores:
        statement = statement.where(column.store.in_(sorted(stores)))
    if read is not None:
        statement = statement.where(column.read == read)
    rows = await fetch(connection, entries, page_of(statement, entries, OLDEST, limit, cursor))
    shown = [without(row, _INTERNAL) for row in rows]
    return sliced(shown, OLDEST, limit)


async def is_being(connection: AsyncConnection, viewer: Viewer) -> bool:
    """Whether an entry was ever put for the viewing agent, which makes it a being."""
    found = await connection.execute(select(entries.c.entry_id).where(*own(viewer)).limit(1))
    return found.first() is not None


async def in_blocks(connection: AsyncConnection, viewer: Viewer, diary_from: date) -> Sequence[Row]:
    """What blocks 1-A and 1-B show of the being, oldest first: the newest entries of those stores.

    Without notes that were read, and diary entries of days before `diary_from` (C §Context Structure).
    """
    column = entries.c
    wanted = or_(
        column.store.in_(sorted({*INSTRUCTING, Store.KNOWLEDGE})),
        (column.store == Store.NOTE) & ~column.read,
        (column.store == Store.DIARY) & (column.key >= diary_from.isoformat()),
    )
    statement = (
        select(*stored(entries))
        .where(*own(viewer), ~column.removed, column.key != "", wanted)
        .order_by(column.store.in_(sorted(INSTRUCTING)).desc(), column.created_at.desc(), column.entry_id)
        .limit(SHOWN)
    )
    rows = await fetch(connection, entries, statement)
    return sorted(rows, key=lambda row: (row["created_at"], row["entry_id"]))


def with_notes(connection: AsyncConnection) -> AsyncIterator[Sequence[Viewer]]:
    """All beings that have unread notes, in pages."""
    column = entries.c
    return beings(connection, entries, column.store == Store.NOTE, ~column.read, ~column.removed)


async def not_erased(connection: AsyncConnection, viewer: Viewer) -> Sequence[UUID]:
    """The ids of all entries that have content, also of removed ones."""
    wanted = select(entries.c.entry_id).where(*own(viewer), entries.c.key != "").order_by(entries.c.entry_id)
    return (await connection.execute(wanted)).scalars().all()
