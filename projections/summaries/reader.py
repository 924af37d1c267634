"""Reads summaries: by id, by thread and kind, and the latest ones for jobs."""

from collections.abc import Collection
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Select, Text, or_, select, tuple_
from sqlalchemy.dialects.postgresql import distinct_on
from sqlalchemy.ext.asyncio import AsyncConnection

from mnemolog.domain.errors import Erased, NotFound
from mnemolog.domain.message import CATEGORY
from mnemolog.domain.summary import SummaryKind
from mnemolog.domain.viewer import Viewer
from mnemolog.projections.asking import fetch_asked, given
from mnemolog.projections.conversation.reader import hidden_last
from mnemolog.projections.memories.filters import said
from mnemolog.projections.owner import OWNER, indexed, without
from mnemolog.projections.paging import Slice, page_of, sliced
from mnemolog.projections.requests import Filters
from mnemolog.projections.rows import Key, Row, fetch, stored
from mnemolog.projections.summaries.tables import summaries
from mnemolog.projections.visibility import owned

NEWEST = ("-seq", "summary_id")
CONVERSATION = (SummaryKind.ROLLING, SummaryKind.RUNNING, SummaryKind.SESSION, SummaryKind.SPINE)
"""What a context tells of a conversation, the most current first."""
_STRETCHES = {"thread_id", "session_id", "episode_id"}
_INTERNAL = frozenset({"tenant", "stream_kind"})


def visible_to(viewer: Viewer) -> list[ColumnElement[bool]]:
    """The agent's own summaries and the spines, if it may read messages (B §5)."""
    within = viewer.categories is None or CATEGORY in viewer.categories
    own = owned(summaries, viewer) & or_(summaries.c.agent_id == viewer.agent_id, summaries.c.kind == SummaryKind.SPINE)
    return [own, *([] if within else [summaries.c.summary_id.is_(None)])]


async def one(connection: AsyncConnection, viewer: Viewer, summary_id: UUID) -> Row:
    """One summary; NotFound when the agent has none of this id, Erased if it was."""
    statement = select(*stored(summaries)).where(*visible_to(viewer), summaries.c.summary_id == summary_id)
    rows = await fetch(connection, summaries, statement)
    if not rows:
        what = f"user {viewer.user_id!r} has no summary {summary_id} with agent {viewer.agent_id!r}"
        raise NotFound(what, field="summary_id", fix="look it up with `mnemolog summary list`")
    if not rows[0]["text"]:
        what = f"summary {summary_id} was erased with a message of its thread"
        raise Erased(what, field="summary_id", fix="its text is destroyed; a later summary has other messages")
    return without(rows[0], _INTERNAL)


async def is_seen(connection: AsyncConnection, viewer: Viewer, summary_id: UUID) -> bool:
    """Whether it is a summary that the viewer may see and that was not erased."""
    wanted = select(*stored(summaries)).where(*visible_to(viewer), summaries.c.summary_id == summary_id)
    return any(row["text"] for row in await fetch(connection, summaries, wanted))


async def newest(
    connection: AsyncConnection,
    viewer: Viewer,
    thread_id: str | None,
    kind: SummaryKind | None,
    limit: int,
    cursor: str | None,
) -> Slice:
    """The summaries of the viewing agent, the newest first, without those that were erased."""
    column = summaries.c
    listed = select(*stored(summaries)).where(*visible_to(viewer), column.text != "")
    if thread_id is not None:
        listed = listed.where(column.thread_id == thread_id)
    if kind is not None:
        listed = listed.where(column.kind == kind)
    rows = await fetch(connection, summaries, page_of(listed, summaries, NEWEST, limit, cursor))
    return sliced([without(row, _INTERNAL) for row in rows], NEWEST, limit)


async def found(
    connection: AsyncConnection, viewer: Viewer, filters: Filters, limit: int, *, extracts: bool
) -> list[Row]:
    """The newest summaries that a search looks through, by its filters on time and conversation.

    None that was made before a message of the user was hidden, and no `extracts` unless they are wanted.
    """
    rows = await fetch_asked(connection, summaries, viewer, _found, filters, extracts, limit)
    return [without(row, _INTERNAL) for row in rows]


def _found(viewer: Viewer, filters: Filters, extracts: bool, limit: int) -> Select[Any]:
    column, wanted = summaries.c, filters.model_dump(include=_STRETCHES, exclude_none=True)
    where = [*visible_to(viewer), column.text != "", column.created_at > hidden_last(viewer)]
    where += [*said(filters, column.created_at), *(column[name] == value for name, value in wanted.items())]
    if not extracts:
        where.append(~column.mechanical)
    return select(*stored(summaries)).where(*where).order_by(column.seq.desc(), column.summary_id).limit(limit)


async def of_conversation(connection: AsyncConnection, viewer: Viewer, thread_id: str) -> list[Row]:
    """The latest summary of each kind that tells where a conversation stands, the most current first.

    Those of the thread, the agent's last session, and the user's spine; none that was made before a message of the user
    was hidden, because it may contain its words. An extracted spine repeats old sentences, current or not, which a
    search finds with what became of them.
    """
    rows = await fetch_asked(connection, summaries, viewer, _of_conversation, thread_id=thread_id)
    rows = [row for row in rows if row["kind"] != SummaryKind.SPINE or not row["mechanical"]]
    places = {kind: place for place, kind in enumerate(CONVERSATION)}
    return [without(row, _INTERNAL) for row in sorted(rows, key=lambda row: places[row["kind"]])]


def _of_conversation(viewer: Viewer) -> Select[Any]:
    column = summaries.c
    rolling = column.kind.in_([SummaryKind.ROLLING, SummaryKind.RUNNING])
    of_thread = rolling & (column.thread_id == given("thread_id", Text()))
    everywhere = column.kind.in_([SummaryKind.SESSION, SummaryKind.SPINE])
    wanted = (column.text != "", of_thread | everywhere, column.created_at > hidden_last(viewer))
    latest = select(*stored(summaries)).ext(distinct_on(column.kind)).where(*visible_to(viewer), *wanted)
    return latest.order_by(column.kind, column.seq.desc())


async def topics(connection: AsyncConnection, viewer: Viewer, episode_ids: Collection[UUID]) -> dict[UUID, str]:
    """The topic of each of these episodes that has a final summary, none that was made before a message was hidden."""
    if not episode_ids:
        return {}
    column = summaries.c
    final = (column.kind == SummaryKind.FINAL) & (column.text != "") & column.episode_id.in_(sorted(episode_ids))
    statement = (
        select(*stored(summaries))
        .ext(distinct_on(column.episode_id))
        .where(*visible_to(viewer), final, column.created_at > hidden_last(viewer))
    )
    rows = await fetch(connection, summaries, statement.order_by(column.episode_id, column.seq.desc()))
    return {row["episode_id"]: row["summary_json"]["topic"] for row in rows}


async def latest(connection: AsyncConnection, kind: SummaryKind, threads: Collection[Key]) -> dict[Key, Row]:
    """The latest summary of a kind, erased or not, of each of these (tenant, stream kind, user, agent, thread)."""
    if not threads:
        return {}
    column = summaries.c
    place = (*indexed(summaries), column.agent_id, column.thread_id)
    of_them = tuple_(*place).in_(sorted(threads))
    statement = select(*stored(summaries)).ext(distinct_on(*place)).where(of_them, column.kind == kind)
    rows = await fetch(connection, summaries, statement.order_by(*place, column.seq.desc()))
    return {(*(row[name] for name in OWNER), row["agent_id"], row["thread_id"]): row for row in rows}


async def chunks_since(connection: AsyncConnection, thread: Key, seq: int) -> list[Row]:
    """The readable chunk summaries of a (tenant, stream kind, user, agent, thread) after an event, oldest first."""
    column = summaries.c
    of_thread = tuple_(*indexed(summaries), column.agent_id, column.thread_id) == tuple_(*thread)
    there = (column.kind == SummaryKind.CHUNK) & (column.seq > seq) & (column.text != "")
    return await fetch(connection, summaries, select(*stored(summaries)).where(of_thread, there).order_by(column.seq))


async def last_chunk(connection: AsyncConnection, thread: Key, episode_id: UUID) -> Row | None:
    """The latest readable chunk summary of an episode of a (tenant, stream kind, user, agent, thread)."""
    column = summaries.c
    of_thread = tuple_(*indexed(summaries), column.agent_id, column.thread_id) == tuple_(*thread)
    there = (column.kind == SummaryKind.CHUNK) & (column.episode_id == episode_id) & (column.text != "")
    statement = select(*stored(summaries)).where(of_thread, there).order_by(column.seq.desc()).limit(1)
    return next(iter(await fetch(connection, summaries, statement)), None)
