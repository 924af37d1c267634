"""Reads an agent's own threads, sessions and episodes; and those that are to be divided further, for jobs."""

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import Table, or_, select
from sqlalchemy.ext.asyncio import AsyncConnection

from mnemolog.domain.episode import EpisodeStatus, no_such_episode
from mnemolog.domain.errors import NotFound
from mnemolog.domain.viewer import Viewer
from mnemolog.projections.conversation.tables import messages
from mnemolog.projections.episodes.tables import episodes, sessions, threads, unfinished
from mnemolog.projections.memories.due import pages
from mnemolog.projections.owner import OWNER, without
from mnemolog.projections.paging import Slice, page_of, sliced
from mnemolog.projections.rows import Row, fetch, load, stored
from mnemolog.projections.visibility import owned

LATEST_THREADS = ("-last_activity_at", "thread_id")
LATEST_SESSIONS = ("-started_at", "session_id")
LATEST_EPISODES = ("-started_at", "episode_id")
_INTERNAL = frozenset(
    {*OWNER, "erased", "erased_turns", "session_last", "episode_last", "waiting_since", "recorded_at", "last_number"}
)


async def own_threads(connection: AsyncConnection, viewer: Viewer, limit: int, cursor: str | None) -> Slice:
    """The threads of the viewing agent, the latest first."""
    column = threads.c
    statement = select(*stored(threads)).where(
        owned(threads, viewer), column.agent_id == viewer.agent_id, column.erased_turns < column.turns
    )
    rows = await fetch(connection, threads, page_of(statement, threads, LATEST_THREADS, limit, cursor))
    return sliced([_shown_thread(row) for row in rows], LATEST_THREADS, limit)


async def own_sessions(
    connection: AsyncConnection, viewer: Viewer, thread_id: str | None, limit: int, cursor: str | None
) -> Slice:
    """The sessions of the viewing agent, or of one of its threads, the latest first."""
    return await _own(connection, viewer, sessions, LATEST_SESSIONS, thread_id, limit, cursor)


async def own_episodes(
    connection: AsyncConnection, viewer: Viewer, thread_id: str | None, limit: int, cursor: str | None
) -> Slice:
    """The episodes of the viewing agent, or of one of its threads, the latest first, without those merged."""
    return await _own(connection, viewer, episodes, LATEST_EPISODES, thread_id, limit, cursor)


async def of_messages(connection: AsyncConnection, viewer: Viewer, said: Sequence[Row]) -> dict[str, UUID]:
    """The episodes of the viewing agent that these messages are in, by message."""
    own = [one for one in said if one["agent_id"] == viewer.agent_id]
    if not own:
        return {}
    seqs, column, first, last = [one["seq"] for one in own], episodes.c, messages.alias(), messages.alias()
    of_threads = column.thread_id.in_(sorted({one["thread_id"] for one in own}))
    whole = column.erased.is_(False) & (column.status != EpisodeStatus.MERGED)
    overlapping = (first.c.seq <= max(seqs)) & or_(last.c.seq.is_(None), last.c.seq >= min(seqs))
    statement = (
        select(*stored(episodes), first.c.seq.label("first"), last.c.seq.label("last"))
        .join(first, owned(first, viewer) & (first.c.message_id == column.first_turn_id))
        .outerjoin(last, owned(last, viewer) & (last.c.message_id == column.last_turn_id))
        .where(owned(episodes, viewer), column.agent_id == viewer.agent_id, of_threads, whole, overlapping)
    )
    rows = await fetch(connection, episodes, statement)
    return {
        one["message_id"]: row["episode_id"]
        for one in own
        for row in rows
        if row["thread_id"] == one["thread_id"] and row["first"] <= one["seq"] <= (row["last"] or one["seq"])
    }


async def own_thread(connection: AsyncConnection, viewer: Viewer, thread_id: str) -> Row:
    """One thread of the viewing agent; NotFound when nothing is left of it."""
    key = (*_owner(viewer), viewer.agent_id, thread_id)
    row = (await load(connection, threads, [key])).get(key)
    if row is None or row["erased_turns"] == row["turns"]:
        raise NotFound(
            f"user {viewer.user_id!r} has no thread {thread_id!r} with agent {viewer.agent_id!r}",
            field="thread_id",
            fix="look it up with `mnemolog thread list`",
        )
    return _shown_thread(row)


async def own_session(connection: AsyncConnection, viewer: Viewer, session_id: UUID) -> Row:
    row = await _one(connection, viewer, sessions, session_id)
    if row is None:
        raise NotFound(
            f"user {viewer.user_id!r} has no session {session_id}",
            field="session_id",
            fix="look it up with `mnemolog thread sessions`",
        )
    return row


async def own_episode(connection: AsyncConnection, viewer: Viewer, episode_id: UUID) -> Row:
    """One episode of the viewing agent; a merged one says what it was merged into."""
    row = await _one(connection, viewer, episodes, episode_id)
    if row is None:
        raise no_such_episode(viewer.user_id, episode_id)
    return row


def due(connection: AsyncConnection) -> AsyncIterator[Sequence[Row]]:
    """The threads of all users that have an open session or episode, or turns that are in none, page by page."""
    return pages(connection, unfinished, threads)


async def _own(
    connection: AsyncConnection,
    viewer: Viewer,
    table: Table,
    order: Sequence[str],
    thread_id: str | None,
    limit: int,
    cursor: str | None,
) -> Slice:
    statement = select(*stored(table)).where(
        owned(table, viewer), table.c.agent_id == viewer.agent_id, table.c.erased.is_(False)
    )
    if table is episodes:
        statement = statement.where(episodes.c.status != EpisodeStatus.MERGED)
    if thread_id is not None:
        statement = statement.where(table.c.thread_id == thread_id)
    rows = await fetch(connection, table, page_of(statement, table, order, limit, cursor))
    return sliced(await _counted(connection, viewer, rows), order, limit)


async def _one(connection: AsyncConnection, viewer: Viewer, table: Table, id_: UUID) -> Row | None:
    key = (*_owner(viewer), id_)
    row = (await load(connection, table, [key])).get(key)
    if row is None or row["agent_id"] != viewer.agent_id or row["erased"]:
        return None
    return (await _counted(connection, viewer, [row]))[0]


async def _counted(connection: AsyncConnection, viewer: Viewer, rows: Sequence[Row]) -> list[Row]:
    """With the number of their turns: an open one goes on to the last turn of its thread."""
    keys = {(*_owner(viewer), row["agent_id"], row["thread_id"]) for row in rows if row["last_number"] is None}
    found = {key[-1]: row for key, row in (await load(connection, threads, keys)).items()}
    return [without({**row, **_latest(row, found.get(row["thread_id"]))}, _INTERNAL) for row in rows]


def _latest(row: Row, thread: Row | None) -> Mapping[str, Any]:
    last = row["last_number"]
    merged = row["status"] == EpisodeStatus.MERGED
    if last is not None or thread is None or merged:
        end = {"last_activity_at": row["ended_at"]}
        return {**end, "turns": 0 if merged else (last or row["first_number"]) - row["first_number"] + 1}
    spoken = {"last_user_message_at": thread["last_user_message_at"]} if "last_user_message_at" in row else {}
    return {
        **spoken,
        "last_activity_at": thread["last_activity_at"],
        "turns": thread["turns"] - row["first_number"] + 1,
    }


def _owner(viewer: Viewer) -> tuple[str, str, str]:
    return viewer.tenant, "user", viewer.user_id


def _shown_thread(row: Row) -> Row:
    """Without the turns that were erased, before which nothing of a thread is left."""
    return without({**row, "turns": row["turns"] - row["erased_turns"]}, _INTERNAL)
