"""The owner columns with which every table begins."""

from collections.abc import Collection, Mapping
from functools import lru_cache
from typing import Any

from sqlalchemy import Column, ColumnElement, Table, Text, tuple_

from mnemolog.events.envelope import USER, Recorded, StreamId
from mnemolog.projections.former import added

OWNER = ("tenant", "stream_kind", "user_id")
Owner = tuple[str, str, str]


def owner_columns(kind_since: int) -> tuple[Column[str], Column[str], Column[str]]:
    """Tenant, kind and id of the owner, a user or an agent. Before version `kind_since` it was always a user."""
    return (
        Column("tenant", Text, primary_key=True),
        Column("stream_kind", Text, primary_key=True, info=added(kind_since, reads=USER)),
        Column("user_id", Text, primary_key=True),
    )


def owner(event: Recorded) -> Owner:
    """The owner of an event's rows, as the beginning of a key."""
    return owner_of(event.header.stream)


@lru_cache(maxsize=4096)
def owner_of(stream: StreamId) -> Owner:
    return stream.tenant, stream.kind, stream.owner


def owner_row(event: Recorded) -> dict[str, Any]:
    """The `owner`, as columns of a row."""
    return dict(zip(OWNER, owner(event), strict=True))


def stream_of(row: Mapping[str, Any]) -> StreamId:
    return StreamId(row["tenant"], f"{row['stream_kind']}:{row['user_id']}")


def indexed(table: Table) -> tuple[Column[Any], ...]:
    """The first columns of an index over the rows of one owner."""
    return tuple(table.columns[name] for name in OWNER)


def of_owner(table: Table, stream: StreamId) -> ColumnElement[bool]:
    """Whether a row is of this stream."""
    return tuple_(*indexed(table)) == tuple_(*owner_of(stream))


def without(row: Mapping[str, Any], hidden: Collection[str] = OWNER) -> dict[str, Any]:
    """A row as it is shown: without its owner, or without these columns."""
    return {name: value for name, value in row.items() if name not in hidden}
