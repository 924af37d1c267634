"""Reads memories: by id, by time, by their links."""

from collections.abc import Collection, Sequence
from datetime import datetime
from itertools import permutations
from typing import Any
from uuid import UUID

from sqlalchemy import ARRAY, ColumnElement, Select, Uuid, any_, func, or_, select, union_all
from sqlalchemy.dialects.postgresql import distinct_on
from sqlalchemy.ext.asyncio import AsyncConnection

from mnemolog.domain.contradiction import CONTRADICTS
from mnemolog.domain.importance import to_five, to_level
from mnemolog.domain.memory import VISIBLE, Kind, erased_memory, no_such_memory
from mnemolog.domain.origin import Origin
from mnemolog.domain.viewer import Viewer
from mnemolog.projections.asking import fetch_asked, given, together
from mnemolog.projections.memories.filters import Candidates, active, conditions, unasked, visible_to
from mnemolog.projections.memories.tables import links, memories
from mnemolog.projections.paging import Slice, page_of, sliced
from mnemolog.projections.requests import UNFILTERED, Filters
from mnemolog.projections.rows import fetch, stored
from mnemolog.projections.visibility import owned

Row = dict[str, Any]
FOUNDATION = 20  # D §pinned
MOST_RELATED = 2  # B §2
TOGETHER = 8
"""So many related memories are read at once: mostly, enough of these are shown."""

_INTERNAL = frozenset({"document", "tenant", "stream_kind", "recalls"})

NEWEST = ("-seq", "memory_id")


async def by_ids(connection: AsyncConnection, viewer: Viewer, memory_ids: set[UUID]) -> dict[UUID, Row]:
    """The rows of these ids that the agent may see, including hidden ones, each with what contradicts it."""
    if not memory_ids:
        return {}
    rows, edges = await together(
        fetch_asked(connection, memories, viewer, _identified, ids=list(memory_ids)),
        _links_of(connection, viewer, memory_ids, contradicting=True),
    )
    return {row["memory_id"]: row for row in await _shown(connection, viewer, rows, edges)}


async def one(connection: AsyncConnection, viewer: Viewer, memory_id: UUID) -> Row:
    """One memory, hidden or not; NotFound if the agent may not see any with this id, Erased if it was erased."""
    rows = await by_ids(connection, viewer, {memory_id})
    if memory_id not in rows:
        raise no_such_memory(viewer.user_id, memory_id)
    if not rows[memory_id]["text"]:
        raise erased_memory(memory_id)
    return rows[memory_id]


async def newest(
    connection: AsyncConnection,
    viewer: Viewer,
    limit: int,
    cursor: str | None = None,
    filters: Filters = UNFILTERED,
) -> Slice:
    """The active memories of a user that the agent may see, the most recently changed first."""
    listed = select(*stored(memories)).where(*visible_to(viewer), active(), unasked(), *conditions(filters))
    statement = page_of(listed, memories, NEWEST, limit, cursor)
    return sliced(await _read(connection, viewer, await fetch(connection, memories, statement)), NEWEST, limit)


async def foundation(connection: AsyncConnection, viewer: Viewer, limit: int = FOUNDATION) -> Sequence[Row]:
    """The pinned memories, which are always included, most certain first (D §pinned)."""
    return await _read(connection, viewer, await fetch_asked(connection, memories, viewer, _pinned, limit))


async def linked(connection: AsyncConnection, viewer: Viewer, memory_id: UUID) -> Sequence[Row]:
    """The links of a memory, strongest first, each with its other end; none whose other end may not be seen."""
    await one(connection, viewer, memory_id)
    out, into = links.c.from_id == memory_id, links.c.to_id == memory_id
    statement = select(*stored(links)).where(owned(links, viewer), out | into)
    edges = await fetch(connection, links, statement)
    rows = await by_ids(connection, viewer, {_far(edge, memory_id) for edge in edges})
    far = [(edge, rows.get(_far(edge, memory_id))) for edge in edges]
    seen = [_link(edge, memory_id, row) for edge, row in far if row and _lives(row)]
    return sorted(seen, key=lambda link: (-link["strength"], link["memory_id"]))


async def link_strengths(connection: AsyncConnection, viewer: Viewer, memory_ids: set[UUID]) -> dict[UUID, float]:
    """The strength of the strongest link of each memory to one that the agent may see (B §2), contradictions aside."""
    if not memory_ids:
        return {}
    strongest: dict[UUID, float] = {}
    for edge in await fetch_asked(connection, links, viewer, _strongest, ids=list(memory_ids)):
        for end in memory_ids & {edge["from_id"], edge["to_id"]}:
            strongest[end] = max(strongest.get(end, 0.0), edge["strength"])
    return strongest


async def related(
    connection: AsyncConnection,
    viewer: Viewer,
    memory_ids: set[UUID],
    among: Candidates,
    without: Collection[UUID] = (),
) -> Sequence[tuple[Row, float]]:
    """The two candidates that are linked most strongly to these memories, and the strength of each link (B §2).

    `without`: others that are shown anyway.
    """
    strongest: dict[UUID, float] = {}
    for edge in await _links_of(connection, viewer, memory_ids, contradicting=False):
        for end in {edge["from_id"], edge["to_id"]} - {*memory_ids, *without}:
            strongest[end] = max(strongest.get(end, 0.0), edge["strength"])
    found: list[tuple[Row, float]] = []
    in_order = sorted(strongest, key=lambda id_: (-strongest[id_], id_))
    for start in range(0, len(in_order), TOGETHER):
        some = in_order[start : start + TOGETHER]
        rows, against = await together(
            fetch_asked(connection, memories, viewer, _candidates, among, ids=some),
            _links_of(connection, viewer, set(some), contradicting=True),
        )
        shown = {row["memory_id"]: row for row in await _shown(connection, viewer, rows, against)}
        found += [(shown[id_], strongest[id_]) for id_ in some if id_ in shown and not shown[id_]["contradicted_by"]]
        if len(found) >= MOST_RELATED:
            break
    return found[:MOST_RELATED]


def _far(edge: Row, memory_id: UUID) -> UUID:
    far: UUID = edge["to_id"] if edge["from_id"] == memory_id else edge["from_id"]
    return far


def _link(edge: Row, memory_id: UUID, far: Row) -> Row:
    return {
        "memory_id": far["memory_id"],
        "direction": "out" if edge["from_id"] == memory_id else "in",
        "relation_type": edge["relation_type"],
        "strength": edge["strength"],
        "created_at": edge["created_at"],
        "category": far["category"],
        "text": far["text"],
    }


def _lives(row: Row) -> bool:
    return row["status"] in VISIBLE and bool(row["text"]) and row["kind"] != Kind.PROCEDURE


async def _read(connection: AsyncConnection, viewer: Viewer, rows: Sequence[Row]) -> Sequence[Row]:
    edges = await _links_of(connection, viewer, {row["memory_id"] for row in rows}, contradicting=True)
    return await _shown(connection, viewer, rows, edges)


async def _shown(
    connection: AsyncConnection, viewer: Viewer, rows: Sequence[Row], contradictions: Sequence[Row]
) -> Sequence[Row]:
    """Rows as they are shown, each with the active memories that contradict it and that the agent may see.

    The newer of two is the one said later, then the one recorded later.
    """
    ids = {row["memory_id"] for row in rows}
    against: dict[UUID, set[UUID]] = {}
    for edge in contradictions:
        for one, other in permutations((edge["from_id"], edge["to_id"])):
            against.setdefault(one, set()).add(other)
    far = {other for id_ in ids & against.keys() for other in against[id_]}
    seen: dict[UUID, Row] = {}
    if far:
        rows_far = await fetch_asked(connection, memories, viewer, _findable, ids=list(far))
        seen = {row["memory_id"]: row for row in rows_far}
    contradicting = {id_: [seen[one] for one in sorted(against.get(id_, set()) & seen.keys())] for id_ in ids}
    return [
        {
            **{name: value for name, value in row.items() if name not in _INTERNAL},
            "importance_level3": to_level(row["importance"]),
            "importance_level5": to_five(row["importance"]),
            **_contradictions(row, contradicting[row["memory_id"]]),
        }
        for row in rows
    ]


def _contradictions(row: Row, against: Sequence[Row]) -> Row:
    # What comes from outside contradicts what does not, but is not taken for newer knowledge (X21).
    able = (one for one in against if _is_outside(row) or not _is_outside(one))
    newest = max((one for one in able if _said(one) > _said(row)), key=_said, default=None)
    return {
        "contradicts": [one["memory_id"] for one in against],
        "contradicted_by": newest["memory_id"] if newest else None,
        "contradicted_at": newest["occurred_at"] if newest else None,
    }


def _is_outside(row: Row) -> bool:
    return Origin(row["origin"]).external


def _said(row: Row) -> tuple[datetime, datetime, UUID]:
    return row["occurred_at"], row["created_at"], row["memory_id"]


async def _links_of(
    connection: AsyncConnection, viewer: Viewer, memory_ids: set[UUID], *, contradicting: bool
) -> Sequence[Row]:
    if not memory_ids:
        return []
    return await fetch_asked(connection, links, viewer, _links, contradicting, ids=list(memory_ids))


def _links(viewer: Viewer, contradicting: bool) -> Select[Any]:
    ids = given("ids", ARRAY(Uuid()))
    either = or_(links.c.from_id == any_(ids), links.c.to_id == any_(ids))
    of_type = (links.c.relation_type == CONTRADICTS) if contradicting else (links.c.relation_type != CONTRADICTS)
    return select(*stored(links)).where(owned(links, viewer), of_type, either)


def _strongest(viewer: Viewer) -> Select[Any]:
    """Of the links of each memory to one that is shown, the strongest; contradictions aside."""
    near = func.unnest(given("ids", ARRAY(Uuid()))).table_valued("id", name="near").render_derived()
    ends = [
        select(near.c.id.label("near"), *stored(links))
        .join(links, owned(links, viewer) & (end == near.c.id) & (links.c.relation_type != CONTRADICTS))
        .join(memories, memories.c.memory_id == far)
        .where(*visible_to(viewer), active())
        for end, far in permutations((links.c.from_id, links.c.to_id))
    ]
    every = union_all(*ends).subquery()
    shown = select(*(every.c[one.name] for one in stored(links)))
    return shown.ext(distinct_on(every.c.near)).order_by(every.c.near, every.c.strength.desc())


def _identified(viewer: Viewer) -> Select[Any]:
    return select(*stored(memories)).where(*visible_to(viewer), _given_ids())


def _pinned(viewer: Viewer, limit: int) -> Select[Any]:
    column = memories.c
    found = select(*stored(memories)).where(*visible_to(viewer), active(), unasked(), column.pinned)
    in_order = (column.importance.desc(), column.confidence.desc(), column.created_at.desc(), column.memory_id)
    return found.order_by(*in_order).limit(limit)


def _findable(viewer: Viewer) -> Select[Any]:
    return _identified(viewer).where(active(), unasked())


def _candidates(viewer: Viewer, among: Candidates) -> Select[Any]:
    return select(*stored(memories)).where(*among.conditions(viewer), _given_ids())


def _given_ids() -> ColumnElement[bool]:
    return memories.c.memory_id == any_(given("ids", ARRAY(Uuid())))
