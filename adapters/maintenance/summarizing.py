"""Summarizes conversations, off the path of writes (D08, D09, D10, E03, E04).

A sweep over the open threads enqueues a job for each that is due: rolling, running and chunk summaries. Another does so
for sessions that ended and episodes that closed. Each job ends with a look at the user's spine. A summary is recorded
in an event: replay asks no model.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from math import inf
from typing import Any
from uuid import UUID

from sqlalchemy import Table, select
from sqlalchemy.ext.asyncio import AsyncConnection

from mnemolog.adapters.jobs.job import Attempt, JobKind
from mnemolog.adapters.maintenance.extracting import enqueue_windows
from mnemolog.adapters.maintenance.summary_writer import Draft, write
from mnemolog.adapters.maintenance.threads import enqueue_threads, of_threads, sweeping
from mnemolog.adapters.services import Services
from mnemolog.domain.entity import PERSON
from mnemolog.domain.episode import EpisodeStatus
from mnemolog.domain.memory import VISIBLE
from mnemolog.domain.minds.mind import Mind
from mnemolog.domain.session import LIFETIME
from mnemolog.domain.summary import Spine, SummaryKind
from mnemolog.domain.viewer import Viewer
from mnemolog.events.conversation import EVERY_THREAD
from mnemolog.events.envelope import StreamId
from mnemolog.projections.artifacts import reader as artifacts
from mnemolog.projections.conversation import reader as conversation
from mnemolog.projections.episodes.tables import episodes, sessions, threads
from mnemolog.projections.graph.tables import entities
from mnemolog.projections.memories.due import pages
from mnemolog.projections.owner import OWNER, of_owner, owner_of, stream_of
from mnemolog.projections.rows import Key, Row, fetch, load, stored
from mnemolog.projections.summaries import reader
from mnemolog.projections.working.projector import SessionPlace

SWEEP, THREAD = "sweep-summaries", "summarize-thread"
SWEEP_ENDED, ENDED = "sweep-ended", "summarize-ended"
EVERY_SECONDS = 30.0
# Messages: D §SessionState, E §Summarization Strategy, D §SummarySpine.
EVERY, RUNNING_EVERY, CHUNK, SPINE_EVERY = 4, 10, 40, 20
# The most messages that one summary is made of.
COVERED, COVERED_AT_MOST, SPINE_COVERED, FIRST_SPINE_COVERED = 40, 400, 100, 200
# A running summary is due with fewer messages when these have as many characters: some 2,000 tokens.
PRESSURE = 8000
# What has no messages left to summarize is not looked at for longer.
DUE_FOR = timedelta(days=7)
NAMES = 1000
STRETCHES: dict[SummaryKind, Table] = {SummaryKind.SESSION: sessions, SummaryKind.FINAL: episodes}


def summarizing(engine: Services) -> list[JobKind]:
    """The sweeps and their jobs. Each decides again, so running it twice changes nothing."""

    async def ended(attempt: Attempt) -> None:
        stream, payload = attempt.job.owner, attempt.job.payload
        await summarize_ended(engine, stream, SummaryKind(payload["kind"]), UUID(payload["id"]))

    return [
        *of_threads(engine, SWEEP, THREAD, EVERY_SECONDS, enqueue_due, summarize, Mind.SUMMARIES),
        sweeping(engine, SWEEP_ENDED, EVERY_SECONDS, enqueue_ended),
        JobKind(name=ENDED, run=ended, mind=Mind.SUMMARIES),
    ]


async def enqueue_due(engine: Services, now: datetime) -> int:
    """A job for each thread with messages that no summary covers, once for every four; how many threads have some."""

    async def reasons(connection: AsyncConnection, page: Sequence[Row]) -> Sequence[str | None]:
        keys = list(map(_thread, page))
        rolling = await reader.latest(connection, SummaryKind.ROLLING, keys)
        running = await reader.latest(connection, SummaryKind.RUNNING, keys)
        return [_reason(row, rolling.get(key), running.get(key), now) for row, key in zip(page, keys, strict=True)]

    return await enqueue_threads(engine, THREAD, reasons)


def _reason(row: Row, rolling: Row | None, running: Row | None, now: datetime) -> str | None:
    """Why a thread is due, as part of its job's key. Once a summary is erased, the same messages need another job."""
    if row["turns"] < EVERY or now - row["recorded_at"] > LIFETIME:
        return None
    episode_id = row["active_episode_id"] if row["turns"] >= RUNNING_EVERY else None
    begun = episode_id is None or (running and running["episode_id"] == episode_id)
    if begun and rolling and rolling["text"] and rolling["created_at"] > row["recorded_at"]:
        return None
    erased = f"after {rolling['summary_id']}" if rolling and not rolling["text"] else ""
    return f"{row['turns'] // EVERY} {episode_id or ''} {erased}"


async def enqueue_ended(engine: Services, now: datetime) -> int:
    """A job for each session and episode that ended without a summary, or whose summary was erased; how many."""
    found = 0
    async with engine.projections.live.connect() as connection:
        for kind, table in STRETCHES.items():
            async for page in pages(connection, table.c.summary_due_at > now - DUE_FOR, table):
                await connection.commit()  # No transaction stays open while jobs are enqueued.
                for row in page:
                    id_ = row["session_id" if kind is SummaryKind.SESSION else "episode_id"]
                    key = f"{id_} {row['last_number']} {row['summary_due_at'].isoformat()}"
                    payload = {"kind": kind.value, "id": id_}
                    await engine.jobs.enqueue(ENDED, payload, stream=stream_of(row), unique_key=key)
                    found += 1
    return found


async def summarize(engine: Services, stream: StreamId, agent_id: str, thread_id: str) -> None:
    """Write what is due of an agent's thread: the summary of its session, those of its episode, and the spine."""
    await _rolling(engine, stream, agent_id, thread_id)
    await _episode(engine, stream, agent_id, thread_id)
    await _spine(engine, stream)


async def summarize_ended(engine: Services, stream: StreamId, kind: SummaryKind, id_: UUID) -> None:
    """Write the summary of an ended session or a closed episode, from the messages that are left; and the spine."""
    table, key = STRETCHES[kind], (*owner_of(stream), id_)
    async with engine.projections.live.connect() as connection:
        row = (await load(connection, table, [key])).get(key)
    if row is None or row["erased"] or row["status"] != EpisodeStatus.CLOSED:
        return
    if kind is SummaryKind.FINAL:  # Most of a conversation that was imported closes before its chunks are written.
        await _chunks(engine, stream, row)
    async with engine.projections.live.connect() as connection:
        place = (stream, row["agent_id"], row["thread_id"])
        ends = (row["first_turn_id"], row["last_turn_id"])
        rows = await conversation.between(connection, *place, *ends, COVERED_AT_MOST)
        names = await _names(connection, stream, people=kind is SummaryKind.SESSION)
        chunks = await reader.chunks_since(connection, _thread(row), rows[0]["seq"]) if rows else []
        viewer = Viewer(stream.tenant, stream.owner, row["agent_id"])
        surrogates = await artifacts.of_turns(connection, viewer, {one["message_id"] for one in rows})
    if rows:
        named = {"session_id": id_} if kind is SummaryKind.SESSION else {"episode_id": id_}
        about = {"agent_id": row["agent_id"], "thread_id": row["thread_id"], **named}
        labels = {id_: [line.partition("]")[0] + "]" for line in lines] for id_, lines in surrogates.items()}
        draft = Draft(kind=kind, rows=rows, chunks=chunks, labels=labels, names=names, **about)
        await write(engine, stream, draft)
        if kind is SummaryKind.FINAL:
            of_thread = {"agent_id": row["agent_id"], "thread_id": row["thread_id"], "episode_id": str(id_)}
            await enqueue_windows(engine, stream, of_thread, f"{id_} {len(rows)}")
    await _spine(engine, stream)


async def _rolling(engine: Services, stream: StreamId, agent_id: str, thread_id: str) -> None:
    """Of the session in working memory, if four messages are new."""
    session = await engine.projections.working.read(SessionPlace.of(stream, agent_id, thread_id))
    if session is None:
        return
    thread = (*owner_of(stream), agent_id, thread_id)
    async with engine.projections.live.connect() as connection:
        rows = await conversation.last_of_thread(
            connection, stream, agent_id, thread_id, min(session.msg_count, COVERED)
        )
        before = (await reader.latest(connection, SummaryKind.ROLLING, [thread])).get(thread)
    if len(_new(rows, before)) >= EVERY:
        await write(engine, stream, Draft(kind=SummaryKind.ROLLING, rows=rows, agent_id=agent_id, thread_id=thread_id))


async def _episode(engine: Services, stream: StreamId, agent_id: str, thread_id: str) -> None:
    """Of the open episode: the chunks that are full, and a running summary if ten messages are new, or long ones."""
    thread = (*owner_of(stream), agent_id, thread_id)
    async with engine.projections.live.connect() as connection:
        open_one = (await load(connection, threads, [thread])).get(thread)
        key = (*owner_of(stream), open_one["active_episode_id"] if open_one else None)
        episode = (await load(connection, episodes, [key])).get(key) if key[-1] else None
        if episode is None:
            return
        place = (stream, agent_id, thread_id)
        before = (await reader.latest(connection, SummaryKind.RUNNING, [thread])).get(thread)
        if not await _grown(connection, place, episode, before):
            return
        rows = await conversation.between(connection, *place, episode["first_turn_id"], None, COVERED_AT_MOST)
        chunks = await reader.chunks_since(connection, thread, rows[0]["seq"]) if rows else []
    await _chunks(engine, stream, episode)
    new = _new(rows, before)
    if len(new) >= RUNNING_EVERY or sum(len(row["text"]) for row in new) >= PRESSURE:
        await write(engine, stream, Draft(kind=SummaryKind.RUNNING, rows=rows, chunks=chunks, **_ids(episode)))


async def _chunks(engine: Services, stream: StreamId, episode: Row) -> None:
    """Of an episode, the chunks that are full and have no summary, the oldest first."""
    stretch = conversation.Stretch(
        episode["agent_id"], episode["thread_id"], episode["first_turn_id"], episode["last_turn_id"]
    )
    async with engine.projections.live.connect() as connection:
        last = await reader.last_chunk(connection, _thread(episode), episode["episode_id"])
    after = last["last_turn_id"] if last else None
    while True:
        async with engine.projections.live.connect() as connection:
            rows = await conversation.first_after(connection, stream, stretch, after, CHUNK)
        if len(rows) < CHUNK:
            return
        await write(engine, stream, Draft(kind=SummaryKind.CHUNK, rows=rows, **_ids(episode)))
        after = rows[-1]["message_id"]


def _ids(episode: Row) -> dict[str, Any]:
    """What a summary of an episode names."""
    return {name: episode[name] for name in ("agent_id", "thread_id", "episode_id")}


async def _grown(
    connection: AsyncConnection, place: tuple[StreamId, str, str], episode: Row, running: Row | None
) -> bool:
    """Whether an open episode may have enough new messages for a summary, without reading them."""
    stream, agent_id, thread_id = place
    thread = (*owner_of(stream), agent_id, thread_id)
    chunk = (await reader.latest(connection, SummaryKind.CHUNK, [thread])).get(thread)
    for last, enough, characters in ((running, RUNNING_EVERY, PRESSURE), (chunk, CHUNK, inf)):
        known = last and last["text"] and last["episode_id"] == episode["episode_id"]
        since = last["last_turn_id"] if last and known else None
        count, length = await conversation.amount_since(connection, *place, episode["first_turn_id"], since)
        if count >= enough or length >= characters:
            return True
    return False


async def _spine(engine: Services, stream: StreamId) -> None:
    """The next version of the user's spine, if 20 messages are new since the last one."""
    place = (*owner_of(stream), "", EVERY_THREAD)
    async with engine.projections.live.connect() as connection:
        latest = (await reader.latest(connection, SummaryKind.SPINE, [place])).get(place)
        before = latest if latest and latest["text"] else None
        if before and await conversation.hidden_since(connection, stream, before["created_at"]):
            before = None  # It says what a hidden message said.
        limit = SPINE_COVERED if before else FIRST_SPINE_COVERED
        rows = await conversation.after(connection, stream, before["last_turn_id"] if before else None, limit)
        if len(rows) < SPINE_EVERY:
            return
        names = await _names(connection, stream, people=True)
    spine = Spine.of(before["summary_json"]) if before else None
    number = latest["version"] if latest and latest["text"] else 0
    await write(engine, stream, Draft(kind=SummaryKind.SPINE, rows=rows, names=names, before=spine, builds_on=number))


def _new(rows: Sequence[Row], before: Row | None) -> Sequence[Row]:
    """The messages after those of a summary; all of them if it was erased, or its last message is not there."""
    ids = [row["message_id"] for row in rows]
    known = before is not None and before["text"] and before["last_turn_id"] in ids
    return rows[ids.index(before["last_turn_id"]) + 1 :] if before and known else rows


async def _names(connection: AsyncConnection, stream: StreamId, *, people: bool) -> Sequence[str]:
    """The names of entities that the user has told of, the latest first."""
    column = entities.c
    statement = select(*stored(entities)).where(
        of_owner(entities, stream), column.status.in_(sorted(VISIBLE)), column.name != ""
    )
    if people:
        statement = statement.where(column.category == PERSON)
    rows = await fetch(connection, entities, statement.order_by(column.last_seen.desc()).limit(NAMES))
    return [row["name"] for row in rows]


def _thread(row: Row) -> Key:
    return (*(row[name] for name in OWNER), row["agent_id"], row["thread_id"])
