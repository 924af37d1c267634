"""Scheduled changes, for jobs: memories due to fade or to be strengthened, and items to be purged."""

from collections.abc import AsyncIterator, Sequence
from datetime import datetime, timedelta
from functools import partial

from sqlalchemy import ColumnElement, Table, false, select
from sqlalchemy.ext.asyncio import AsyncConnection

from mnemolog.domain.corroboration import USES
from mnemolog.domain.memory import VISIBLE, Kind, Status
from mnemolog.domain.retention import Retention
from mnemolog.events.envelope import USER
from mnemolog.events.message import MessagesErased
from mnemolog.projections.conversation.tables import messages
from mnemolog.projections.memories.tables import memories
from mnemolog.projections.paging import in_pages
from mnemolog.projections.rows import Row, fetch, stored

PAGE = MessagesErased.MAX  # One erasure takes all messages of a page.


def fading(retention: Retention, now: datetime) -> ColumnElement[bool]:
    """Visible, of low importance, not pinned, and not used for a long time (B §7)."""
    column = memories.c
    return (
        column.status.in_(sorted(VISIBLE))
        & (column.last_accessed < retention.unused_since(now))
        & (column.importance < retention.ttl_importance)
        & column.pinned.is_(False)
        & (column.kind != Kind.SCENE)
    )


def purgeable(now: datetime, table: Table = memories) -> ColumnElement[bool]:
    """Deleted, with the grace period over. `table` is one with deleted subjects."""
    column = table.c
    return column.purge_at.is_not(None) & (column.purge_at <= now) & (column.status == Status.SOFT_DELETED)


def expired_messages(retention: Retention, now: datetime) -> ColumnElement[bool]:
    """Messages whose retention has ended; none if the policy sets no end."""
    if retention.message_days is None:
        return false()
    column = messages.c
    return (column.status != Status.PURGED) & (column.created_at < now - timedelta(days=retention.message_days))


def used() -> ColumnElement[bool]:
    """Recalled often enough to count as an observation (D13)."""
    return memories.c.status.in_(sorted(VISIBLE)) & (memories.c.recalls >= USES)


def pages(
    connection: AsyncConnection, due: ColumnElement[bool], table: Table = memories, kind: str = USER
) -> AsyncIterator[Sequence[Row]]:
    """The rows of all users, or of all agents, in pages; each row once, even if earlier rows change meanwhile."""
    statement = select(*stored(table)).where(table.c.stream_kind == kind, due)
    return in_pages(partial(fetch, connection, table), statement, list(table.primary_key.columns), PAGE)
