"""Pages of a list. A cursor is the sort key of the last row, so concurrent changes do not shift pages.

Jobs read whole tables in pages too, by `in_pages`.
"""

import base64
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, TypeVar
from uuid import UUID

from sqlalchemy import Column, ColumnElement, FromClause, Select, Table, and_, or_, select, tuple_
from sqlalchemy.ext.asyncio import AsyncConnection

from mnemolog.domain.errors import InvalidInput
from mnemolog.domain.viewer import Viewer
from mnemolog.events.envelope import USER
from mnemolog.projections.owner import indexed
from mnemolog.projections.rows import Row

R = TypeVar("R")
S = TypeVar("S", bound=Select[Any])


class Slice(list[dict[str, Any]]):
    """The rows of one page; `next_cursor` is None on the last page."""

    next_cursor: str | None = None


def page_of(statement: S, table: FromClause, order: Sequence[str], limit: int | None, cursor: str | None) -> S:
    """Sort by the columns of `order` ("-" means descending); one row more than the page shows whether there is a next.

    The last column of `order` must be unique, and none of them may be null.
    """
    columns = [(table.c[name.removeprefix("-")], name.startswith("-")) for name in order]
    if cursor is not None:
        statement = statement.where(_beyond(columns, _read(cursor, [one.type.python_type for one, _ in columns])))
    sorted_by = (column.desc() if falls else column.asc() for column, falls in columns)
    return statement.order_by(*sorted_by).limit(None if limit is None else limit + 1)


def sliced(rows: Sequence[Mapping[str, Any]], order: Sequence[str], limit: int | None) -> Slice:
    """The rows that `page_of` read, without the extra one."""
    page = Slice(dict(row) for row in rows[:limit])
    if limit is not None and len(rows) > limit:
        page.next_cursor = _written(rows[limit - 1][name.removeprefix("-")] for name in order)
    return page


def slice_of(rows: Sequence[Mapping[str, Any]], id_: str, limit: int | None, cursor: str | None, *ids: str) -> Slice:
    """A page of rows that are all in memory, in their order, identified by the columns `id_` and `ids`.

    A cursor names the last row of its page and the one after it, so that whoever deletes a page can ask for the next.
    InvalidInput if neither is listed any more.
    """
    keys = ["\n".join(str(row[name]) for name in (id_, *ids)) for row in rows]
    start = 0
    if cursor is not None:
        last, following = _read(cursor, [str, str])
        if last in keys:
            start = keys.index(last) + 1
        elif following in keys:
            start = keys.index(following)
        else:
            raise InvalidInput("the items around that place are no longer listed", field="cursor", fix="list again")
    end = len(rows) if limit is None else start + limit
    page = Slice(dict(row) for row in rows[start:end])
    if end < len(rows):
        page.next_cursor = _written(keys[end - 1 : end + 1])
    return page


def first_of(found: Sequence[R], limit: int, cursor: Callable[[R], str]) -> tuple[Sequence[R], str | None]:
    """A page of what was read with a limit greater by one, and the cursor of the next page if there is one."""
    page = found[:limit]
    return page, cursor(page[-1]) if len(found) > limit else None


async def in_pages(
    read: Callable[[Select[Any]], Awaitable[Sequence[Row]]],
    statement: Select[Any],
    key: Sequence[Column[Any]],
    size: int = 1000,
) -> AsyncIterator[Sequence[Row]]:
    """All rows of a statement in the order of their key, each once, even if earlier ones change meanwhile."""
    left = statement
    while rows := await read(left.order_by(*key).limit(size)):
        yield rows
        if len(rows) < size:
            return
        left = statement.where(tuple_(*key) > tuple(rows[-1][column.name] for column in key))


async def beings(
    connection: AsyncConnection, table: Table, *conditions: ColumnElement[bool]
) -> AsyncIterator[Sequence[Viewer]]:
    """The agents of all users that have such rows, in pages, each as a viewer of its own."""
    key = (*indexed(table), table.c.agent_id)

    async def read(statement: Select[Any]) -> Sequence[Row]:
        return [dict(row) for row in (await connection.execute(statement)).mappings()]

    statement = select(*key).where(table.c.stream_kind == USER, *conditions).distinct()
    async for rows in in_pages(read, statement, key):
        yield [Viewer(row["tenant"], row["user_id"], row["agent_id"]) for row in rows]


def written_place(at: datetime, id_: UUID) -> str:
    """The cursor of a row that is sorted by a time and an id."""
    return _written([at, id_])


def place_in(cursor: str | None) -> tuple[datetime, UUID] | None:
    """What `written_place` wrote; InvalidInput if the cursor is of another list."""
    if cursor is None:
        return None
    at, id_ = _read(cursor, [datetime, UUID])
    return at, id_


def _beyond(columns: Sequence[tuple[ColumnElement[Any], bool]], values: Sequence[Any]) -> ColumnElement[bool]:
    places = range(len(columns))
    return or_(
        *(
            and_(
                *(columns[before][0] == values[before] for before in range(place)),
                columns[place][0] < values[place] if columns[place][1] else columns[place][0] > values[place],
            )
            for place in places
        )
    )


def _written(values: Iterable[Any]) -> str:
    plain = [value.isoformat() if isinstance(value, datetime) else str(value) for value in values]
    return base64.urlsafe_b64encode(json.dumps(plain).encode()).decode().rstrip("=")


def _read(cursor: str, types: Sequence[type]) -> list[Any]:
    try:
        values = json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
        if not all(isinstance(value, str) for value in values):
            raise TypeError("a cursor holds texts alone")
        return [_PARSED[kind](value) for kind, value in zip(types, values, strict=True)]
    except (ValueError, TypeError, OverflowError, RecursionError) as error:
        raise InvalidInput(
            f"{cursor!r:.60} is not a cursor of this list", field="cursor", fix="pass the `next_cursor` of a page"
        ) from error


def _integer(text: str) -> int:
    if not -(2**63) <= (value := int(text)) < 2**63:
        raise OverflowError("beyond what Postgres keeps as a bigint")
    return value


def _text(text: str) -> str:
    if "\0" in text:
        raise ValueError("Postgres keeps no NUL")
    return text.encode().decode()  # UnicodeEncodeError for a lone surrogate.


_PARSED: Mapping[type, Callable[[str], Any]] = {
    datetime: lambda text: datetime.fromisoformat(text).astimezone(UTC),
    UUID: UUID,
    int: _integer,
    str: _text,
}
