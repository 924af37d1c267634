"""Reads messages: by id, by thread, and as candidates of a search."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from operator import attrgetter
from typing import Any
from uuid import UUID

from pydantic_core import to_json
from sqlalchemy import (
    ARRAY,
    ColumnElement,
    CompoundSelect,
    DateTime,
    ScalarSelect,
    Select,
    Text,
    Uuid,
    any_,
    cast,
    func,
    literal,
    select,
    true,
    tuple_,
    union_all,
)
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.ext.asyncio import AsyncConnection

from mnemolog.domain.memory import VISIBLE
from mnemolog.domain.message import CATEGORY, KIND, captions_of, erased_message, full_text, no_such_message, with_lines
from mnemolog.domain.origin import Origin
from mnemolog.domain.relevance import Said
from mnemolog.domain.text import QUESTION_MARKS
from mnemolog.domain.turn import Role, Shown
from mnemolog.domain.viewer import Viewer
from mnemolog.events.envelope import StreamId
from mnemolog.projections.asking import fetch_asked, given
from mnemolog.projections.conversation.tables import messages
from mnemolog.projections.owner import OWNER, indexed, of_owner, owner_of, without
from mnemolog.projections.paging import Slice, page_of, sliced
from mnemolog.projections.rows import Key, fetch, stored
from mnemolog.projections.visibility import owned

Row = dict[str, Any]

NEWEST = ("-seq", "message_id")
BESIDE = 2
NO_ATTACHMENTS = "[]"
_INTERNAL = frozenset({"document", "tenant", "stream_kind", "subject_id", "remembered"})


@dataclass(frozen=True, slots=True)
class Stretch:
    """Part of an agent's part of a thread, such as a session: from one message to another, or to its end."""

    agent_id: str
    thread_id: str
    first_id: str
    last_id: str | None

    def messages(self, stream: StreamId) -> ColumnElement[bool]:
        """The condition that a message is in it."""
        column = messages.c
        place = tuple_(*indexed(messages), column.thread_id, column.agent_id)
        within = place == tuple_(*owner_of(stream), self.thread_id, self.agent_id)
        within &= column.seq >= _seq_of(stream, self.first_id)
        return within if self.last_id is None else within & (column.seq <= _seq_of(stream, self.last_id))


def visible_to(viewer: Viewer) -> list[ColumnElement[bool]]:
    """The conditions of every read of messages: one user, and an agent that may read their category (B §5)."""
    return [owned(messages, viewer), *([] if viewer.may_read(CATEGORY) else [messages.c.message_id.is_(None)])]


def active() -> ColumnElement[bool]:
    """Neither hidden nor erased."""
    return messages.c.status.in_(sorted(VISIBLE)) & (messages.c.text != "")


async def one(connection: AsyncConnection, viewer: Viewer, message_id: str) -> Row:
    """One message, hidden or not; NotFound if the user has none with this id, Erased if it was erased."""
    statement = select(*stored(messages)).where(*visible_to(viewer), messages.c.message_id == message_id)
    rows = await fetch(connection, messages, statement)
    if not rows:
        raise no_such_message(viewer.user_id, message_id)
    if not rows[0]["text"]:
        raise erased_message(message_id)
    return _shown(rows[0])


async def newest(
    connection: AsyncConnection, viewer: Viewer, thread_id: str | None, limit: int, cursor: str | None = None
) -> Slice:
    """The messages of a user, or of one thread, newest first."""
    of_thread = [messages.c.thread_id == thread_id] if thread_id is not None else []
    listed = select(*stored(messages)).where(*visible_to(viewer), active(), *of_thread)
    statement = page_of(listed, messages, NEWEST, limit, cursor)
    rows = await fetch(connection, messages, statement)
    return sliced([_shown(row) for row in rows], NEWEST, limit)


async def among(connection: AsyncConnection, viewer: Viewer, message_ids: Collection[str]) -> list[Row]:
    """Those of some messages that are neither hidden nor erased, the oldest first."""
    if not message_ids:
        return []
    wanted = messages.c.message_id.in_(sorted(message_ids))
    statement = select(*stored(messages)).where(*visible_to(viewer), active(), wanted).order_by(messages.c.seq)
    return [_shown(row) for row in await fetch(connection, messages, statement)]


async def roles(connection: AsyncConnection, viewer: Viewer, message_ids: Collection[str]) -> Mapping[str, Role]:
    """Who said these messages, hidden ones too: that says nothing of what was said."""
    if not message_ids:
        return {}
    wanted = messages.c.message_id.in_(sorted(message_ids))
    rows = await fetch(connection, messages, select(*stored(messages)).where(owned(messages, viewer), wanted))
    return {row["message_id"]: Role(row["role"]) for row in rows}


async def captions(
    connection: AsyncConnection, viewer: Viewer, message_ids: Collection[str]
) -> Mapping[str, Sequence[str]]:
    """The captions of what came with these messages, such as `[image: a red bicycle]`, by message."""
    if not message_ids:
        return {}
    wanted = messages.c.message_id.in_(sorted(message_ids)) & (messages.c.attachments != NO_ATTACHMENTS)
    rows = await fetch(connection, messages, select(*stored(messages)).where(*visible_to(viewer), active(), wanted))
    return {row["message_id"]: captions_of(_attached(row)) for row in rows}


async def last_of_thread(
    connection: AsyncConnection, stream: StreamId, agent_id: str, thread_id: str, limit: int
) -> list[Row]:
    """The last messages of an agent's part of a thread, the oldest of them first: for jobs."""
    column = messages.c
    whose = tuple_(*indexed(messages), column.thread_id, column.agent_id)
    mine = whose == tuple_(*owner_of(stream), thread_id, agent_id)
    statement = select(*stored(messages)).where(mine, active()).order_by(column.seq.desc()).limit(limit)
    return (await fetch(connection, messages, statement))[::-1]


async def latest(connection: AsyncConnection, viewer: Viewer, thread_id: str, limit: int) -> list[Row]:
    """The last messages of the viewing agent's part of a thread, the oldest of them first."""
    column = messages.c
    mine = (column.thread_id == thread_id, column.agent_id == viewer.agent_id)
    statement = select(*stored(messages)).where(*visible_to(viewer), active(), *mine)
    rows = await fetch(connection, messages, statement.order_by(column.seq.desc()).limit(limit))
    return [_shown(row) for row in rows[::-1]]


async def flagged(
    connection: AsyncConnection, places: Collection[Key], flag: str, since: datetime
) -> Mapping[Key, int]:
    """Which of these threads have a message with a flag in its metadata, and the seq of the last: for jobs.

    A place is the owner's columns, the agent and the thread.
    """
    column = messages.c
    place = (*indexed(messages), column.agent_id, column.thread_id)
    marked = cast(column.metadata, JSONB).contains(cast(literal(to_json({flag: True}).decode(), Text), JSONB))
    wanted = (tuple_(*place).in_(sorted(places)), column.created_at > since, active(), marked)
    statement = select(*place, func.max(column.seq)).where(*wanted).group_by(*place)
    return {tuple(row[:-1]): row[-1] for row in await connection.execute(statement)} if places else {}


async def between(
    connection: AsyncConnection,
    stream: StreamId,
    agent_id: str,
    thread_id: str,
    first_id: str,
    last_id: str | None,
    limit: int,
) -> list[Row]:
    """The messages of an agent's part of a thread from one to another, the last of them, in order: for jobs."""
    wanted = Stretch(agent_id, thread_id, first_id, last_id).messages(stream)
    statement = select(*stored(messages)).where(wanted, active()).order_by(messages.c.seq.desc()).limit(limit)
    return (await fetch(connection, messages, statement))[::-1]


async def first_after(
    connection: AsyncConnection, stream: StreamId, stretch: Stretch, after_id: str | None, limit: int
) -> list[Row]:
    """The first messages of a stretch, or those after another, even if that was deleted since, in order: for jobs."""
    wanted = [stretch.messages(stream), active()]
    if after_id is not None:
        wanted.append(messages.c.seq > func.coalesce(_seq_of(stream, after_id), 0))
    statement = select(*stored(messages)).where(*wanted).order_by(messages.c.seq).limit(limit)
    return await fetch(connection, messages, statement)


async def amount_since(
    connection: AsyncConnection, stream: StreamId, agent_id: str, thread_id: str, first_id: str, after_id: str | None
) -> tuple[int, int]:
    """How many messages an agent's part of a thread has from one on, or after another that is there, and their
    characters.
    """
    column = messages.c
    wanted = [Stretch(agent_id, thread_id, first_id, None).messages(stream), active()]
    if after_id is not None:
        wanted.append(column.seq > func.coalesce(_seq_of(stream, after_id, active=True), 0))
    amount = select(func.count(), func.coalesce(func.sum(func.length(column.text)), 0)).where(*wanted)
    row = (await connection.execute(amount)).one()
    return row[0], row[1]


async def after(connection: AsyncConnection, stream: StreamId, message_id: str | None, limit: int) -> list[Row]:
    """The next messages of a user after one, of all agents and threads; without one, the last. In order: for jobs."""
    column = messages.c
    statement = select(*stored(messages)).where(of_owner(messages, stream), active())
    if message_id is None:
        return (await fetch(connection, messages, statement.order_by(column.seq.desc()).limit(limit)))[::-1]
    later = statement.where(column.seq > _seq_of(stream, message_id)).order_by(column.seq).limit(limit)
    return await fetch(connection, messages, later)


async def hidden_since(connection: AsyncConnection, stream: StreamId, moment: datetime) -> bool:
    """Whether a message of a user was hidden after a moment, and still is: for jobs."""
    column = messages.c
    mine = of_owner(messages, stream)
    there = select(column.message_id).where(mine, column.purge_at.is_not(None), column.updated_at > moment).exists()
    return bool((await connection.execute(select(there))).scalar_one())


def hidden_last(viewer: Viewer) -> ColumnElement[datetime]:
    """When a message of the user was hidden last that still is; minus infinity if there is none."""
    column = messages.c
    last = select(func.max(column.updated_at)).where(owned(messages, viewer), column.purge_at.is_not(None))
    return func.coalesce(last.scalar_subquery(), cast("-infinity", DateTime(timezone=True)))


def _seq_of(stream: StreamId, message_id: str, *, active: bool = False) -> ScalarSelect[int]:
    one = messages.alias()
    mine = tuple_(*(one.c[name] for name in OWNER), one.c.message_id) == tuple_(*owner_of(stream), message_id)
    there = one.c.status.in_(sorted(VISIBLE)) & (one.c.text != "") if active else true()
    return select(one.c.seq).where(mine, there).scalar_subquery()


def any_of(viewer: Viewer) -> ColumnElement[bool]:
    """Whether there is a message that the viewer may see and no memory represents."""
    return select(messages.c.message_id).where(*visible_to(viewer), active(), ~messages.c.remembered).exists()


async def found(connection: AsyncConnection, viewer: Viewer, subject_ids: Collection[UUID]) -> dict[UUID, Row]:
    """The messages in a search result, by their ids in the index."""
    if not subject_ids:
        return {}
    rows = await fetch_asked(connection, messages, viewer, _found, ids=list(subject_ids))
    return {row["subject_id"]: _shown(row) for row in rows}


def _found(viewer: Viewer) -> Select[Any]:
    wanted = messages.c.subject_id == any_(given("ids", ARRAY(Uuid())))
    return select(*stored(messages)).where(*visible_to(viewer), active(), wanted)


def runs(viewer: Viewer, among: Sequence[ColumnElement[bool]]) -> CompoundSelect[Any]:
    """The messages whose ids in the index are `around`, each with two before and two after it in its thread."""
    column, center = messages.c, messages.alias("center")
    asks = func.right(func.rtrim(column.text), 1).in_(QUESTION_MARKS)
    shown = select(
        column.subject_id, column.thread_id, column.agent_id, column.seq, column.occurred_at, column.speaker, asks
    )
    beside = shown.where(*among, column.thread_id == center.c.thread_id, column.agent_id == center.c.agent_id)
    parts = (
        beside.where(column.seq <= center.c.seq).order_by(column.seq.desc()).limit(BESIDE + 1).lateral("before"),
        beside.where(column.seq > center.c.seq).order_by(column.seq).limit(BESIDE).lateral("after"),
    )
    wanted = owned(center, viewer) & (center.c.subject_id == any_(given("around", ARRAY(Uuid()))))
    return union_all(
        *(select(center.c.subject_id.label("center"), *part.c).join(part, true()).where(wanted) for part in parts)
    )


def in_runs(rows: Iterable[Sequence[Any]]) -> Sequence[Sequence[Said[int]]]:
    """What `runs` found, by the message in the middle, in order, with the ids as numbers."""
    found = dict[UUID, list[Said[int]]]()
    for middle, id_, thread, agent, seq, at, speaker, asking in rows:
        found.setdefault(middle, []).append(Said(id_.int, (thread, agent), seq, at, speaker, asking))
    return [sorted(run, key=attrgetter("seq")) for run in found.values()]


def _attached(row: Row) -> Sequence[Shown]:
    return [Shown(item["type"], item["caption"]) for item in row["attachments"]]


def _shown(row: Row) -> Row:
    shown = without(row, _INTERNAL)
    line = with_lines(full_text(row["speaker"], row["text"]), captions_of(_attached(row)))
    return {**shown, "kind": KIND, "category": CATEGORY, "line": line, "origin": Origin.of_role(Role(row["role"]))}
