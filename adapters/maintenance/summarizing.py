"""Summarizes conversations, off the path of writes: a job for each thread that is due (D08).

A sweep over the open threads enqueues the jobs. A summary is recorded in an event: replay asks no model.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from mnemolog.adapters.jobs.job import Attempt, Kind
from mnemolog.adapters.services import Services
from mnemolog.commands.prompts import load
from mnemolog.commands.summaries import SUMMARIES, WriteSummary
from mnemolog.domain.errors import ModelOutputInvalid, ModelRequestRefused
from mnemolog.domain.message import full_text
from mnemolog.domain.session import LIFETIME
from mnemolog.domain.summary import EXTRACTIVE, ROLLING_LIMIT, Message, SummaryKind, extracted, shortened
from mnemolog.domain.turn import Role, Shown
from mnemolog.events.envelope import StreamId
from mnemolog.events.fields import validated
from mnemolog.events.generation import Generation
from mnemolog.projections.conversation.reader import last_of_thread
from mnemolog.projections.episodes.reader import due
from mnemolog.projections.owner import OWNER, owner_of, stream_of
from mnemolog.projections.rows import Row
from mnemolog.projections.summaries import reader
from mnemolog.projections.working.projector import SessionPlace

ACTOR = "summarizer"
SWEEP, ROLLING = "sweep-summaries", "rolling-summary"
EVERY_SECONDS = 30.0
# D §SessionState: every 4 messages. `COVERED` limits what one summary is made of.
EVERY, COVERED = 4, 40
MESSAGE_CHARACTERS = 2000


@dataclass(frozen=True, slots=True)
class RollingSummary:
    """What a model answers."""

    summary: str


def summarizing(engine: Services) -> list[Kind]:
    """The sweep, and the job of one thread. Each decides again, so running it twice changes nothing."""

    async def sweep(attempt: Attempt) -> None:
        await attempt.save({"enqueued": await enqueue_due(engine, engine.writes.now())})

    async def rolling(attempt: Attempt) -> None:
        stream, payload = StreamId(attempt.job.tenant, attempt.job.stream), attempt.job.payload
        await summarize(engine, stream, payload["agent_id"], payload["thread_id"])

    return [Kind(name=SWEEP, every=EVERY_SECONDS, run=sweep), Kind(name=ROLLING, run=rolling)]


async def enqueue_due(engine: Services, now: datetime) -> int:
    """A job for each thread with messages that no summary covers, once for every four; how many threads have some."""
    found = 0
    async with engine.projections.live.connect() as connection:
        async for page in due(connection):
            recent = [row for row in page if row["turns"] >= EVERY and now - row["recorded_at"] <= LIFETIME]
            latest = await reader.latest(connection, SummaryKind.ROLLING, list(map(_thread, recent)))
            await connection.commit()  # No transaction stays open while jobs are enqueued.
            for row in recent:
                before = latest.get(_thread(row))
                if before and before["text"] and before["created_at"] > row["recorded_at"]:
                    continue
                payload = {"agent_id": row["agent_id"], "thread_id": row["thread_id"]}
                key = f"{row['agent_id']}\n{row['thread_id']}\n{row['turns'] // EVERY} {_after(before)}"
                await engine.jobs.enqueue(ROLLING, payload, stream=stream_of(row), unique_key=key)
                found += 1
    return found


def _after(before: Row | None) -> str:
    """Once the latest summary is erased, the same messages need another job."""
    return f"after {before['summary_id']}" if before and not before["text"] else ""


def _thread(row: Row) -> tuple[str, ...]:
    return (*(row[name] for name in OWNER), row["agent_id"], row["thread_id"])


async def summarize(engine: Services, stream: StreamId, agent_id: str, thread_id: str) -> None:
    """Write the rolling summary of an agent's session in a thread, if four messages are new since the last one."""
    session = await engine.projections.working.read(SessionPlace.of(stream, agent_id, thread_id))
    if session is None:
        return
    thread = (*owner_of(stream), agent_id, thread_id)
    async with engine.projections.live.connect() as connection:
        rows = await last_of_thread(connection, stream, agent_id, thread_id, min(session.msg_count, COVERED))
        before = (await reader.latest(connection, SummaryKind.ROLLING, [thread])).get(thread)
    ids = [row["message_id"] for row in rows]
    covered = before is not None and before["text"] and before["last_turn_id"] in ids
    if len(ids) - (ids.index(before["last_turn_id"]) + 1 if before and covered else 0) < EVERY:
        return
    text, generation = await _rolling(engine, stream.tenant, list(map(_message, rows)))
    command = validated(
        WriteSummary,
        {
            "tenant": stream.tenant,
            "user_id": stream.owner,
            "agent_id": agent_id,
            "thread_id": thread_id,
            "actor": ACTOR,
            "kind": SummaryKind.ROLLING,
            "turn_ids": tuple(ids),
            "mechanical": generation.model == EXTRACTIVE,
            "generation": generation,
            "text": text,
        },
    )
    await engine.writes.handler.handle(SUMMARIES, command)


async def _rolling(engine: Services, tenant: str, messages: Sequence[Message]) -> tuple[str, Generation]:
    """By the chat model; as an extract where there is none, or it gives nothing usable.

    ModelUnavailable and ModelBudgetExceeded: the job is tried again later.
    """
    if (chat := engine.models.chat) is not None:
        said = "\n".join(f"{one.speaker or one.role}: {one.text}" for one in messages)
        try:
            done = await chat.complete(tenant, load("rolling_summary", limit=ROLLING_LIMIT), said, RollingSummary)
        except (ModelRequestRefused, ModelOutputInvalid):
            pass
        else:
            if text := done.output.summary.strip():
                return shortened(text, ROLLING_LIMIT), done.generation
    return await asyncio.to_thread(extracted, messages), Generation(model=EXTRACTIVE)


def _message(row: Row) -> Message:
    captions = [Shown(item["type"], item["caption"]) for item in row["attachments"]]
    text = shortened(full_text("", row["text"], captions), MESSAGE_CHARACTERS)
    return Message(Role(row["role"]), row["speaker"], text, row["occurred_at"])
