"""Insights about a user's feelings and relationships, by the chat model, at most once a day for each agent (B §3).

The job that reflected on a conversation that came to rest enqueues it. Nothing is asked without a model, within a day
of the last run, or if there is nothing to read.
"""

from collections.abc import Sequence
from functools import partial
from uuid import UUID, uuid5

from mnemolog.adapters.jobs.job import JobKind, Payload
from mnemolog.adapters.maintenance.minds import Ran, Run, answer_of, run_job
from mnemolog.adapters.services import Services
from mnemolog.commands.memories import CreateMemory
from mnemolog.commands.minds import Change
from mnemolog.commands.prompts import load
from mnemolog.domain.extraction.validation import Fault
from mnemolog.domain.importance import Scale
from mnemolog.domain.memory import SEMANTIC, Kind
from mnemolog.domain.memory_key import Source
from mnemolog.domain.minds.insight import (
    ACTIVITIES,
    CATEGORY,
    EVERY,
    SEMANTIC_ITEMS,
    SNIPPET,
    TOKENS,
    Insight,
    Insights,
    judge,
)
from mnemolog.domain.minds.mind import Mind
from mnemolog.domain.origin import Origin
from mnemolog.domain.turn import Role
from mnemolog.events.envelope import StreamId
from mnemolog.events.fields import validated
from mnemolog.events.generation import Generation
from mnemolog.events.minds import MindRan, mind_tag
from mnemolog.projections.conversation import reader as conversation
from mnemolog.projections.rows import Row

JOB = "seek-insights"
PROMPT = "insights"
# Of the newest memories and messages, those that are read.
LOOKED_THROUGH, MESSAGES, MOST_SOURCES = 100, 20, 50
DONE = frozenset({"activity", "recent_activity", "event"})
_IDS = UUID("c0a5b6ce-3f64-5a5e-8f7e-6f3f5c2a9d10")


def seeking_insights(engine: Services) -> JobKind:
    return JobKind(name=JOB, run=partial(run_job, engine, Mind.INSIGHTS, seek_insights), mind=Mind.INSIGHTS)


async def enqueue_insights(engine: Services, stream: StreamId, place: Payload) -> None:
    """Once a day (UTC) for an agent, if there is a model."""
    if engine.models.chat is not None:
        key = f"{place['agent_id']}\n{engine.writes.now():%Y-%m-%d}"
        await engine.jobs.enqueue(JOB, place, stream=stream, unique_key=key)


async def seek_insights(run: Run, *, last_attempt: bool = True) -> Ran:
    """Ask the model what the latest activity shows, and record it.

    ModelUnavailable and ModelBudgetExceeded: the job is tried again later. ModelOutputInvalid unless it is the
    `last_attempt`.
    """
    ran, engine = run.begun(), run.engine
    if (chat := run.chat(ran)) is None:
        return ran
    before = await engine.log.read(run.stream, tags=[mind_tag(run.mind, run.agent_id)])
    last = max((one.occurred_at for one in before if isinstance(one.payload, MindRan)), default=None)
    if last is not None and engine.writes.now() - last < EVERY:
        ran.skipped.append(f"insights were sought at {last:%Y-%m-%d %H:%M} UTC, less than 24 hours ago")
        return ran
    activities, known = await _memories(run)
    messages = await _snippet(run)
    if not (activities or messages):
        ran.skipped.append("there is nothing to read")
        return ran
    text = _text(activities, known, messages)
    answer, generation = await answer_of(
        chat, run.stream.tenant, load(PROMPT), text, Insights, max_tokens=TOKENS, last_attempt=last_attempt
    )
    kept: Sequence[Insight] = ()
    faults: Sequence[Fault] = (Fault.UNREADABLE,)
    if answer:
        kept, faults = judge(answer, [row["text"] for row in (*activities, *known, *messages)])
    read = (*activities, *known)
    turn_ids = tuple(row["message_id"] for row in messages)
    sources = tuple(dict.fromkeys([*turn_ids, *(one for row in read for one in row["source_turn_ids"])]))
    await run.record(
        ran,
        generation,
        turn_ids=turn_ids,
        memory_ids=tuple(row["memory_id"] for row in read),
        changes=tuple(Change(commands=(_memory(run, one, sources, generation),)) for one in kept),
        faults=tuple(faults),
    )
    return ran


def _memory(run: Run, one: Insight, sources: Sequence[str], generation: Generation) -> CreateMemory:
    fields = {
        "memory_id": uuid5(_IDS, f"{run.run_id} {run.stream} {one.summary}"),
        "text": one.summary,
        "kind": Kind.INSIGHT,
        "category": CATEGORY,
        "importance": float(one.importance),
        "importance_scale": Scale.LEVEL5,
        "scope": run.scope,
        "source": Source.SHADOW_EXTRACTION,
        "origin": Origin.AGENT,
        "topics": tuple(dict.fromkeys(tag.strip() for tag in one.tags if tag.strip())),
        "source_turn_ids": tuple(sources[:MOST_SOURCES]),
        "merge_similar": True,
        "metadata": {"mind": generation.writer},
    }
    return validated(CreateMemory, {**run.who, **fields})


async def _memories(run: Run) -> tuple[Sequence[Row], Sequence[Row]]:
    """The latest activities, and the latest knowledge that is not an insight; nothing from outside."""
    newest = await run.engine.reads.newest(run.viewer, LOOKED_THROUGH)
    inside = [row for row in newest if not Origin(row["origin"]).external and row["kind"] != Kind.INSIGHT]
    activities = [row for row in inside if row["category"] in DONE][:ACTIVITIES]
    known = [row for row in inside if row["kind"] in SEMANTIC and row["category"] not in DONE][:SEMANTIC_ITEMS]
    return activities, known


async def _snippet(run: Run) -> Sequence[Row]:
    """The last messages of the conversation, at most 1,000 characters of text."""
    async with run.engine.projections.live.connect() as connection:
        rows = await conversation.last_of_thread(connection, run.stream, run.agent_id, run.thread_id, MESSAGES)
    kept, left = list[Row](), SNIPPET
    for row in reversed([row for row in rows if row["role"] in (Role.USER, Role.ASSISTANT) and row["text"]]):
        left -= len(row["text"])
        if left < 0:
            break
        kept.append(row)
    return kept[::-1]


def _text(activities: Sequence[Row], known: Sequence[Row], messages: Sequence[Row]) -> str:
    parts = (
        ("Lately:", [row["text"] for row in activities]),
        ("New knowledge:", [row["text"] for row in known]),
        ("Conversation:", [f"{row['role']}: {row['text']}" for row in messages]),
    )
    return "\n\n".join(
        "\n".join([name, *(f"- {' '.join(line.split())}" for line in lines)]) for name, lines in parts if lines
    )
