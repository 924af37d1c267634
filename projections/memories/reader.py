"""Reads memories: by id, by time, by their links."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from itertools import permutations
from typing import Any
from uuid import UUID

from sqlalchemy import (
    ARRAY,
    ColumnElement,
    CompoundSelect,
    Select,
    Uuid,
    all_,
    any_,
    func,
    literal_column,
    select,
    true,
    tuple_,
    union_all,
)
from sqlalchemy.dialects.postgresql import distinct_on
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlalchemy.sql.selectable import LateralFromClause

from mnemolog.domain.contradiction import CONTRADICTS
from mnemolog.domain.importance import to_five, to_level
from mnemolog.domain.memory import VISIBLE, Kind, erased_memory, no_such_memory
from mnemolog.domain.origin import EXTERNAL, TRUSTED, Origin
from mnemolog.domain.viewer import Viewer
from mnemolog.projections.asking import fetch_asked, fetch_joined, given, together
from mnemolog.projections.memories.filters import Candidates, active, conditions, unasked, visible_to
from mnemolog.projections.memories.tables import links, memories
from mnemolog.projections.owner import without
from mnemolog.projections.paging import Slice, page_of, sliced
from mnemolog.projections.requests import UNFILTERED, Filters
from mnemolog.projections.rows import fetch, stored
from mnemolog.projections.visibility import owned

Row = dict[str, Any]
FOUNDATION = 20  # D §pinned
MOST_RELATED = 2  # B §2

_NOTHING: ColumnElement[int] = literal_column("0")
"""As an offset, it keeps Postgres from planning a subquery as a join."""

_INTERNAL = frozenset({"document", "tenant", "stream_kind", "recalls"})

NEWEST = ("-seq", "memory_id")


async def by_ids(connection: AsyncConnection, viewer: Viewer, memory_ids: set[UUID]) -> dict[UUID, Row]:
    """The rows of these ids that the agent may see, including hidden ones, each with what contradicts it."""
    if not memory_ids:
        return {}
    ids = list(memory_ids)
    rows, against = await together(
        fetch_asked(connection, memories, viewer, _identified, ids=ids), _against(connection, viewer, ids)
    )
    return {row["memory_id"]: row for row in _shown(rows, against)}


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


async def foundation(connection: AsyncConnection, viewer: Viewer, *, trusted_only: bool) -> Sequence[Row]:
    """The pinned memories, which are always included, most certain first (D §pinned)."""
    return await _read(connection, viewer, await fetch_asked(connection, memories, viewer, _pinned, trusted_only))


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
    if not memory_ids:
        return []
    ids, shown = list(memory_ids), list({*memory_ids, *without})
    pairs = await fetch_joined(connection, (links, memories), viewer, _most_related, among, ids=ids, shown=shown)
    strengths = {row["memory_id"]: edge["strength"] for edge, row in pairs}
    against = await _against(connection, viewer, list(strengths))
    rows = _shown([row for _, row in pairs], against)
    return [(row, strengths[row["memory_id"]]) for row in rows if not row["contradicted_by"]]


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
    return _shown(rows, await _against(connection, viewer, [row["memory_id"] for row in rows]))


async def _against(connection: AsyncConnection, viewer: Viewer, ids: list[UUID]) -> Mapping[UUID, Mapping[UUID, Row]]:
    """For each of these memories, the active ones that contradict it and that the agent may see."""
    against: dict[UUID, dict[UUID, Row]] = {}
    if ids:
        for edge, row in await fetch_joined(connection, (links, memories), viewer, _contradicting, ids=ids):
            against.setdefault(_far(edge, row["memory_id"]), {})[row["memory_id"]] = row
    return against


def _shown(rows: Sequence[Row], against: Mapping[UUID, Mapping[UUID, Row]]) -> Sequence[Row]:
    """Rows as they are shown, each with what contradicts it.

    The newer of two is the one said later, then the one recorded later.
    """
    return [
        {
            **without(row, _INTERNAL),
            "importance_level3": to_level(row["importance"]),
            "importance_level5": to_five(row["importance"]),
            **_contradictions(row, [one for _, one in sorted(against.get(row["memory_id"], {}).items())]),
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


def _contradicting(viewer: Viewer) -> CompoundSelect[Any]:
    """Each contradiction of these memories, with the other one."""
    ids = given("ids", ARRAY(Uuid()))
    found = []
    for end, other in permutations((links.c.from_id, links.c.to_id)):
        far = _by_key(_findable(viewer), other, "far")
        of_these = (owned(links, viewer), links.c.relation_type == CONTRADICTS, end == any_(ids))
        found.append(select(*stored(links), *far.c).select_from(links).join(far, true()).where(*of_these))
    return union_all(*found)


def _most_related(viewer: Viewer, among: Candidates) -> Select[Any]:
    """The candidates that are linked most strongly to these memories, each with its strongest link.

    Without those that are `shown` anyway, and those that something newer contradicts.
    """
    near = func.unnest(given("ids", ARRAY(Uuid()))).table_valued("id", name="near").render_derived()
    every = union_all(
        *(
            select(far.label("far"), *stored(links))
            .select_from(near)
            .join(links, owned(links, viewer) & (end == near.c.id) & (links.c.relation_type != CONTRADICTS))
            for end, far in permutations((links.c.from_id, links.c.to_id))
        )
    ).subquery()
    strongest = (
        select(every)
        .where(every.c.far != all_(given("shown", ARRAY(Uuid()))))
        .ext(distinct_on(every.c.far))
        .order_by(every.c.far, every.c.strength.desc())
        .subquery()
    )
    edge = select(strongest).order_by(strongest.c.strength.desc(), strongest.c.far).offset(_NOTHING).subquery().c
    candidates = select(*stored(memories)).where(*among.conditions(viewer), *uncontradicted(viewer))
    found = _by_key(candidates, edge.far, "found")
    shown = select(*(edge[one.name] for one in stored(links)), *found.c).join(found, true())
    return shown.order_by(edge.strength.desc(), edge.far).limit(MOST_RELATED)


def uncontradicted(viewer: Viewer) -> list[ColumnElement[bool]]:
    """Whether nothing contradicts a memory that was said later and may."""
    column, found = memories.c, []
    for end, other in permutations((links.c.from_id, links.c.to_id)):
        newer = _by_key(_findable(viewer), other, "newer")
        said = tuple_(newer.c.occurred_at, newer.c.created_at, newer.c.memory_id)
        later = said > tuple_(column.occurred_at, column.created_at, column.memory_id)
        able = column.origin.in_(sorted(EXTERNAL)) | newer.c.origin.not_in(sorted(EXTERNAL))
        of_this = (owned(links, viewer), links.c.relation_type == CONTRADICTS, end == column.memory_id, later, able)
        against = select(links.c.from_id).select_from(links).join(newer, true()).where(*of_this).correlate(memories)
        found.append(~against.offset(_NOTHING).exists())
    return found


def _by_key(found: Select[Any], memory_id: ColumnElement[UUID], name: str) -> LateralFromClause:
    """The one of these memories with an id, looked up by it: a plan for all users must not read all memories of one."""
    return found.where(memories.c.memory_id == memory_id).correlate_except(memories).offset(_NOTHING).lateral(name)


def _strongest(viewer: Viewer) -> Select[Any]:
    """Of the links of each memory to one that is shown, the strongest; contradictions aside."""
    near = func.unnest(given("ids", ARRAY(Uuid()))).table_valued("id", name="near").render_derived()
    shown = select(memories.c.memory_id).where(*visible_to(viewer), active())
    ends = []
    for end, other in permutations((links.c.from_id, links.c.to_id)):
        far = _by_key(shown, other, "far")
        of_this = (owned(links, viewer), end == near.c.id, links.c.relation_type != CONTRADICTS)
        ends.append(select(*stored(links)).select_from(links).join(far, true()).where(*of_this).correlate(near))
    every = union_all(*ends).subquery("every")
    strongest = select(every).order_by(every.c.strength.desc()).limit(1).lateral("strongest")
    return select(strongest).select_from(near).join(strongest, true())


def _identified(viewer: Viewer) -> Select[Any]:
    return select(*stored(memories)).where(
        *visible_to(viewer), memories.c.memory_id == any_(given("ids", ARRAY(Uuid())))
    )


def _pinned(viewer: Viewer, trusted_only: bool) -> Select[Any]:
    column = memories.c
    inside = [column.origin.in_(sorted(TRUSTED))] if trusted_only else []
    found = select(*stored(memories)).where(*visible_to(viewer), active(), unasked(), column.pinned, *inside)
    in_order = (column.importance.desc(), column.confidence.desc(), column.created_at.desc(), column.memory_id)
    return found.order_by(*in_order).limit(FOUNDATION)


def _findable(viewer: Viewer) -> Select[Any]:
    return select(*stored(memories)).where(*visible_to(viewer), active(), unasked())
