"""Reads the profile and proposals, of the category `profile`; and each agent's own todos."""

from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from functools import partial
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Select, select
from sqlalchemy.ext.asyncio import AsyncConnection

from mnemolog.domain.consent import PatchStatus
from mnemolog.domain.errors import CategoryNotAllowed
from mnemolog.domain.origin import Origin, lowest
from mnemolog.domain.profile import CATEGORY
from mnemolog.domain.todo import TodoKind, TodoStatus
from mnemolog.domain.viewer import Viewer
from mnemolog.events.envelope import USER, StreamId
from mnemolog.projections.asking import fetch_asked
from mnemolog.projections.conversation import reader as conversation
from mnemolog.projections.owner import OWNER, stream_of, without
from mnemolog.projections.paging import Slice, in_pages, page_of, slice_of, sliced
from mnemolog.projections.profile.tables import consent, profile_fields, todos
from mnemolog.projections.rows import Row, fetch, stored
from mnemolog.projections.visibility import owned

PAGE = 500
NEWEST = ("-seq", "patch_id")
_UNSHOWN = (*OWNER, "thread_id")


async def fields(
    connection: AsyncConnection, viewer: Viewer, where: Sequence[ColumnElement[bool]] = ()
) -> Sequence[dict[str, Any]]:
    """The values that are set, by field: `value` is a text, or a list of texts if the field collects values."""
    require_profile(viewer)
    if where:
        rows = await fetch(connection, profile_fields, _all_fields(viewer).where(*where))
    else:
        rows = await fetch_asked(connection, profile_fields, viewer, _all_fields)
    return [_field(row) for row in rows if row["held"]]


def _all_fields(viewer: Viewer) -> Select[Any]:
    return select(*stored(profile_fields)).where(owned(profile_fields, viewer)).order_by(profile_fields.c.field)


async def patches(
    connection: AsyncConnection,
    viewer: Viewer,
    status: PatchStatus | None = None,
    limit: int = 100,
    cursor: str | None = None,
) -> Slice:
    """The proposals, newest first; erased ones show no value."""
    require_profile(viewer)
    statement = select(*stored(consent)).where(owned(consent, viewer))
    if status is not None:
        statement = statement.where(consent.c.status == status)
    rows = await fetch(connection, consent, page_of(statement, consent, NEWEST, limit, cursor))
    return sliced([without(row) for row in rows], NEWEST, limit)


async def own_todos(
    connection: AsyncConnection,
    viewer: Viewer,
    status: TodoStatus | None = None,
    kind: TodoKind | None = None,
    limit: int = 100,
    cursor: str | None = None,
    where: Sequence[ColumnElement[bool]] = (),
) -> Slice:
    """The viewing agent's todos: those due first come first, then the oldest.

    `origin` is the least trusted of the messages that a todo was extracted from (X21).
    """
    if where:
        rows = await fetch(connection, todos, _own_todos(viewer, status, kind).where(*where))
    else:
        rows = await fetch_asked(connection, todos, viewer, _own_todos, status, kind)
    page = slice_of([without(row, _UNSHOWN) for row in rows], "todo_id", limit, cursor)
    said = await conversation.roles(connection, viewer, {id_ for row in page for id_ in row["source_turn_ids"]})
    for row in page:
        row["origin"] = lowest(Origin.USER, *(Origin.of_role(said.get(id_)) for id_ in row["source_turn_ids"]))
    return page


def _own_todos(viewer: Viewer, status: TodoStatus | None, kind: TodoKind | None) -> Select[Any]:
    column = todos.c
    statement = select(*stored(todos)).where(owned(todos, viewer), column.agent_id == viewer.agent_id)
    for one, wanted in ((column.status, status), (column.kind, kind)):
        statement = statement if wanted is None else statement.where(one == wanted)
    in_order = (column.due.asc().nulls_last(), column.created_at, column.todo_id)
    return statement.where(column.text != "").order_by(*in_order)


async def overdue(connection: AsyncConnection, now: datetime) -> AsyncIterator[Sequence[tuple[StreamId, UUID]]]:
    """Expired proposals of all users, page by page. For the scheduled job only, which shows them to nobody."""
    column = consent.c
    waiting = (column.status == PatchStatus.PROPOSED) & (column.expires_at <= now)
    statement = select(*stored(consent)).where(column.stream_kind == USER, waiting)
    key = (column.expires_at, column.patch_id)
    async for rows in in_pages(partial(fetch, connection, consent), statement, key, PAGE):
        yield [(stream_of(row), row["patch_id"]) for row in rows]


def require_profile(viewer: Viewer) -> None:
    if viewer.categories is not None and CATEGORY not in viewer.categories:
        raise CategoryNotAllowed(
            f"agent {viewer.agent_id!r} may not read category {CATEGORY!r}",
            field="agent_id",
            fix="extend its allowlist in the policy file",
        )


def _field(row: Row) -> dict[str, Any]:
    values = row["held"]
    shown = without(row, (*_UNSHOWN, "held"))
    return {**shown, "value": values[0] if len(values) == 1 else values}
