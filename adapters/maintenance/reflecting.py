"""The slow brain: reflects on conversations that came to rest, off the path of writes (A §7.2, §11).

A sweep over the open threads enqueues a job for each that was quiet for five minutes, has a batch of new messages, or a
message whose metadata says `memory_write_needed`. A job reads the messages since the last reflection, in parts of at
most 40. What the model answered is recorded in one append with the event of the run: replay asks no model, and a
message is reflected on once. Without a model, only unsure memories that a newer one contradicts are archived.
"""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy import or_, select, tuple_
from sqlalchemy.ext.asyncio import AsyncConnection

from mnemolog.adapters.jobs.job import Attempt, JobKind
from mnemolog.adapters.maintenance.messages import line_of, said
from mnemolog.adapters.maintenance.minds import RULES, Ran, Run, answer_of, run_job
from mnemolog.adapters.maintenance.seeking_insights import enqueue_insights
from mnemolog.adapters.maintenance.threads import enqueue_threads, sweeping
from mnemolog.adapters.services import Services
from mnemolog.commands.memories import ChangeStatus, CreateMemory
from mnemolog.commands.minds import Change
from mnemolog.commands.models import ChatModel
from mnemolog.commands.prompts import load
from mnemolog.domain.contradiction import CONTRADICTS
from mnemolog.domain.extraction.validation import Fault
from mnemolog.domain.extraction.windows import Utterance
from mnemolog.domain.memory import SEMANTIC, Cause, Kind, Status
from mnemolog.domain.memory_key import MAX_REFS, Source
from mnemolog.domain.mention import phrases
from mnemolog.domain.minds.mind import Mind
from mnemolog.domain.minds.reflection import MOST_MESSAGES, WRITE_NEEDED, Reflected, Reflection, judge, worth_reflecting
from mnemolog.domain.origin import Origin
from mnemolog.domain.scope import Scope
from mnemolog.events.conversation import TurnRecorded, thread_tag, turn_tag
from mnemolog.events.envelope import StreamId
from mnemolog.events.fields import validated
from mnemolog.events.generation import Generation
from mnemolog.events.minds import Pair
from mnemolog.projections.conversation import reader as conversation
from mnemolog.projections.graph.tables import entities
from mnemolog.projections.memories.tables import links, memories
from mnemolog.projections.owner import indexed, of_owner, owner_of, stream_of
from mnemolog.projections.rows import Key, Row, fetch, stored

SWEEP, THREAD = "sweep-reflection", "reflect-thread"
EVERY_SECONDS = 60.0
PROMPT, TOKENS = "reflection", 1000
CATEGORY = "activity"
# Older messages are not reflected on, such as after an upgrade.
READ_FOR = timedelta(days=7)
# Unsure memories that are archived in one run.
MOST_ARCHIVED = 20


def reflecting(engine: Services) -> list[JobKind]:

    async def thread(attempt: Attempt) -> None:
        await run_job(engine, Mind.REFLECTION, reflect, attempt)
        await enqueue_insights(engine, attempt.job.owner, attempt.job.payload)

    return [
        sweeping(engine, SWEEP, EVERY_SECONDS, enqueue_due),
        JobKind(name=THREAD, run=thread, mind=Mind.REFLECTION),
    ]


async def enqueue_due(engine: Services, now: datetime) -> int:
    """A job for each open thread that came to rest, has a batch of messages or a message that asks for it, once for the
    same; how many are due.
    """
    policy = engine.policy.minds
    if engine.settings.minds == "off":
        return 0

    async def reasons(connection: AsyncConnection, page: Sequence[Row]) -> Sequence[str | None]:
        restless = [_place(row) for row in page if now - row["recorded_at"] < policy.quiet]
        flagged = await conversation.flagged(connection, restless, WRITE_NEEDED, now - READ_FOR)
        return [
            _reason(
                row,
                quiet=now - row["recorded_at"] >= policy.quiet,
                batch=policy.batch,
                flagged=flagged.get(_place(row)),
            )
            for row in page
        ]

    return await enqueue_threads(engine, THREAD, reasons)


def _place(row: Row) -> Key:
    return (*owner_of(stream_of(row)), row["agent_id"], row["thread_id"])


def _reason(row: Row, *, quiet: bool, batch: int, flagged: int | None = None) -> str | None:
    """Why a thread is due, as part of its job's key. `flagged`: the seq of the last message that asks for it."""
    if quiet:
        return f"quiet {row['turns']}"
    if flagged is not None:
        return f"needed {flagged}"
    return f"batch {row['turns'] // batch}" if row["turns"] >= batch else None


async def reflect(run: Run, *, last_attempt: bool = True) -> Ran:
    """Reflect on the messages of a thread that were not reflected on, and archive unsure memories.

    ModelUnavailable and ModelBudgetExceeded: the job is tried again later. ModelOutputInvalid unless it is the
    `last_attempt`: then the messages are passed over.
    """
    ran = run.begun()
    if chat := run.chat(ran):
        for part in await _unread(run):
            await _reflect_on(run, ran, chat, part, last_attempt=last_attempt)
    if outdated := await _outdated(run):
        await run.record(ran, Generation(model=RULES), changes=tuple(outdated))
    return ran


async def _reflect_on(
    run: Run, ran: Ran, chat: ChatModel, messages: Sequence[Utterance], *, last_attempt: bool
) -> None:
    generation, reflection = Generation(model=RULES), None
    faults: Sequence[Fault] = (Fault.FILLER,)
    if worth_reflecting(messages):
        text = "\n".join(map(line_of, messages))
        answer, generation = await answer_of(
            chat, run.stream.tenant, load(PROMPT), text, Reflected, max_tokens=TOKENS, last_attempt=last_attempt
        )
        reflection, faults = judge(answer, messages) if answer else (None, (Fault.UNREADABLE,))
    changes: tuple[Change, ...] = ()
    if reflection is not None:
        about = await _entities(run, messages, reflection)
        changes = (Change(commands=(_memory(run, messages, reflection, generation, about),)),)
    turn_ids = tuple(one.turn_id for one in messages)
    await run.record(ran, generation, turn_ids=turn_ids, changes=changes, faults=tuple(faults))


async def _entities(run: Run, messages: Sequence[Utterance], reflection: Reflection) -> Sequence[UUID]:
    """The users who spoke and whoever the reflection names, as far as they are known in its scope."""
    speakers = {one.speaker: None for one in messages if one.of_user}
    named = frozenset(phrase for text in (*speakers, reflection.text) for phrase in phrases(text))
    [found] = await run.engine.reads.named_in([(run.viewer, named)])
    statement = select(*stored(entities)).where(of_owner(entities, run.stream), entities.c.entity_id.in_(sorted(found)))
    async with run.engine.projections.live.connect() as connection:
        rows = await fetch(connection, entities, statement)
    return [row["entity_id"] for row in rows if run.scope is Scope.AGENT or row["scope"] == Scope.GLOBAL]


def _memory(
    run: Run, messages: Sequence[Utterance], reflection: Reflection, generation: Generation, about: Sequence[UUID]
) -> CreateMemory:
    """The agent's own memory of the conversation (A §4.3)."""
    fields = {
        "memory_id": run.engine.writes.new_id(),
        "text": reflection.text,
        "kind": Kind.EPISODE,
        "category": CATEGORY,
        "scope": run.scope,
        "source": Source.SHADOW_EXTRACTION,
        "origin": Origin.AGENT,
        "source_turn_ids": tuple(one.turn_id for one in messages),
        "entity_ids": tuple(about[:MAX_REFS]),
        "topics": reflection.tags,
        "metadata": {"mind": generation.writer, "reflection": reflection.metadata},
    }
    return validated(CreateMemory, {**run.who, **fields})


async def _unread(run: Run) -> Sequence[Sequence[Utterance]]:
    """What the user and the agent said to each other since the last reflection, in parts."""
    log, stream = run.engine.log, run.stream
    own = [one for _, one in await run.earlier() if one.thread_id == run.thread_id]
    read = {turn_id for one in own for turn_id in one.turn_ids}
    last = [one.turn_ids[-1] for one in own if one.turn_ids][-1:]
    found = await log.read(stream, tags=[turn_tag(last[0])]) if last else []
    after = max((one.seq for one in found if isinstance(one.payload, TurnRecorded)), default=0)
    events = await log.read(stream, after=after, tags=[thread_tag(run.thread_id)])
    since = run.engine.writes.now() - READ_FOR
    new = [one for one in said(events, run.agent_id, since) if one.turn_id not in read]
    return [new[at : at + MOST_MESSAGES] for at in range(0, len(new), MOST_MESSAGES)]


async def _outdated(run: Run) -> Sequence[Change]:
    """The unsure memories that a newer, surer one contradicts (A §7.2)."""
    unsure, column = run.engine.policy.minds.unsure, memories.c
    both = or_(column.memory_id == links.c.from_id, column.memory_id == links.c.to_id)
    pairs = (
        select(links.c.from_id, links.c.to_id, links.c.strength)
        .join(memories, both & (tuple_(*indexed(memories)) == tuple_(*indexed(links))))
        .where(
            of_owner(links, run.stream),
            links.c.relation_type == CONTRADICTS,
            column.confidence < unsure,
            column.status == Status.ACTIVE,
        )
        .distinct()
        .limit(MOST_ARCHIVED)
    )
    async with run.engine.projections.live.connect() as connection:
        found = [(row.from_id, row.to_id, row.strength) for row in await connection.execute(pairs)]
        rows = await _rows(connection, run.stream, {id_ for one in found for id_ in one[:2]})
    return [change for ends in found if (change := _change(run, rows.get(ends[0]), rows.get(ends[1]), ends[2], unsure))]


async def _rows(connection: AsyncConnection, stream: StreamId, ids: Collection[UUID]) -> Mapping[UUID, Row]:
    if not ids:
        return {}
    statement = select(*stored(memories)).where(of_owner(memories, stream), memories.c.memory_id.in_(sorted(ids)))
    return {row["memory_id"]: row for row in await fetch(connection, memories, statement)}


def _change(run: Run, one: Row | None, other: Row | None, strength: float, unsure: float) -> Change | None:
    """Archive the older of two, which must be unsure; the decision checks the rest."""
    if one is None or other is None:
        return None
    older, newer = sorted((one, other), key=lambda row: (row["occurred_at"], row["created_at"], row["memory_id"]))
    unsure_one = older["confidence"] < min(unsure, newer["confidence"])
    if not unsure_one or older["pinned"] or older["kind"] not in SEMANTIC or older["status"] != Status.ACTIVE:
        return None
    command = ChangeStatus(
        **{**run.who, "agent_id": older["agent_id"] or run.agent_id},
        memory_id=older["memory_id"],
        status=Status.DORMANT,
        cause=Cause.OUTDATED,
    )
    pair = Pair(id_a=older["memory_id"], id_b=newer["memory_id"], score=round(strength, 2))
    return Change(commands=(command,), pair=pair, unsure=unsure)
