"""Daily consolidation: merges memories of a user that say the same (B §4).

A sweep enqueues a job a day for each user whose memories changed, once nothing was written for an hour. The job
compares what is new, important or often used with its neighbours. What rules can tell to be the same is merged at once;
a model is asked about the rest, in requests of 5 to 10 pairs. A pair that was compared is left alone for 14 days.
"""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from uuid import UUID

from sqlalchemy import ColumnElement, func, or_, select

from mnemolog.adapters.jobs.job import JobKind
from mnemolog.adapters.maintenance import curating
from mnemolog.adapters.maintenance.extracting import start_of_day
from mnemolog.adapters.maintenance.minds import RULES, Ran, Run, answer_of, run_job
from mnemolog.adapters.maintenance.threads import sweeping
from mnemolog.adapters.reads.neighbours import Neighbours
from mnemolog.adapters.services import Services
from mnemolog.commands.memories import LinkMemories, MergeMemories, Similar, UpdateMemory
from mnemolog.commands.minds import Change
from mnemolog.commands.models import ChatModel
from mnemolog.commands.prompts import load
from mnemolog.domain.contradiction import CONTRADICTS
from mnemolog.domain.importance import shows_at_least
from mnemolog.domain.memory import Memory, Status
from mnemolog.domain.minds.consolidation import (
    CHANGED_WITHIN,
    FINGERPRINT_KEPT,
    IMPORTANT,
    KINDS,
    MOST_POOL,
    PAIRS_A_DAY,
    TOP_DECILE,
    Candidates,
    Kept,
    Verdicts,
    batches,
    candidates,
    is_numeric_step,
)
from mnemolog.domain.minds.mind import Mind
from mnemolog.events.envelope import USER
from mnemolog.events.fields import validated
from mnemolog.events.generation import Generation
from mnemolog.events.minds import Pair
from mnemolog.projections.memories.stored import as_memory
from mnemolog.projections.memories.tables import memories
from mnemolog.projections.owner import OWNER, indexed, of_owner, stream_of
from mnemolog.projections.rows import fetch, stored

SWEEP, JOB = "sweep-consolidation", "consolidate"
EVERY_SECONDS = 3600.0
QUIET = timedelta(hours=1)
PROMPT, TOKENS = "consolidation", 400


def consolidating(engine: Services) -> list[JobKind]:
    work = partial(run_job, engine, Mind.CONSOLIDATION, consolidate)
    sweep = sweeping(engine, SWEEP, EVERY_SECONDS, enqueue_due)
    return [sweep, JobKind(name=JOB, run=work, mind=Mind.CONSOLIDATION)]


async def enqueue_due(engine: Services, now: datetime) -> int:
    """Two jobs, the second is the curator's, for each user whose memories changed in the last 72 hours, and not in the
    last one; how many users.
    """
    if engine.settings.minds == "off":
        return 0
    column = memories.c
    statement = (
        select(*indexed(memories))
        .where(column.stream_kind == USER, column.updated_at > now - CHANGED_WITHIN)
        .group_by(*indexed(memories))
        .having(func.max(column.updated_at) < now - QUIET)
    )
    async with engine.projections.live.connect() as connection:
        found = [dict(zip(OWNER, row, strict=True)) for row in await connection.execute(statement)]
    for row in found:
        for kind in (JOB, curating.JOB):
            await engine.jobs.enqueue(kind, {}, stream=stream_of(row), unique_key=f"{now:%Y-%m-%d}")
    return len(found)


async def consolidate(run: Run, *, last_attempt: bool = True) -> Ran:
    """Merge what says the same, at most 50 pairs a day.

    ModelUnavailable and ModelBudgetExceeded: what rules could tell is merged, and the job is tried again later.
    ModelOutputInvalid unless it is the `last_attempt`: then these pairs are left for 14 days.
    """
    ran, now = run.begun(), run.engine.writes.now()
    compared, today = await _compared(run, now)
    pairs = [one for one in await _pairs(run, now) if one.fingerprint not in compared]
    pairs = sorted(pairs, key=lambda one: (not one.same, -one.similarity, one.ids))[: max(0, PAIRS_A_DAY - today)]
    plain, doubtful = [one for one in pairs if one.same], [one for one in pairs if not one.same]
    ran.figures = {"pairs": len(pairs), "same_by_rules": len(plain), "for_a_model": len(doubtful), "merged": 0}
    if plain:
        changes = tuple(_change(run, one) for one in plain)
        await run.record(ran, Generation(model=RULES), changes=changes)
        ran.figures["merged"] = _merged(ran)
    if (chat := run.chat(ran)) is None:
        return ran
    for batch in batches(doubtful):
        await _ask(run, ran, chat, batch, last_attempt=last_attempt)
        ran.figures["merged"] = _merged(ran)
    return ran


def _merged(ran: Ran) -> int:
    """By how many memories the run reduced what is double."""
    return sum(len(change.get("absorbed_ids", ())) for change in ran.changes)


async def _ask(run: Run, ran: Ran, chat: ChatModel, batch: Sequence[Candidates], *, last_attempt: bool) -> None:
    """Ask about some pairs, and record the verdicts: a merge, a newer value of the same thing, or neither."""
    numbered = list(enumerate(batch, 1))
    text = "\n\n".join(f"[{number}]\nolder: {_line(one.older)}\nnewer: {_line(one.newer)}" for number, one in numbered)
    answer, generation = await answer_of(
        chat, run.stream.tenant, load(PROMPT), text, Verdicts, max_tokens=TOKENS, last_attempt=last_attempt
    )
    same = {one.number for one in answer.pairs if one.same} if answer else set()
    changes = tuple(_change(run, one) for number, one in numbered if number in same)
    pairs = tuple(_pair(one) for number, one in numbered if number not in same)
    await run.record(ran, generation, changes=changes, pairs=pairs)


def _line(memory: Memory) -> str:
    return " ".join(memory.content.text.split())


def _pair(one: Candidates) -> Pair:
    first, second, score = one.fingerprint
    return Pair(id_a=first, id_b=second, score=score)


def _change(run: Run, one: Candidates) -> Change:
    """A merge; of two that differ in a number, the older is marked as contradicted by the newer instead."""
    who = {**run.who, "agent_id": one.newer.agent_id or run.agent_id}
    if not one.same and is_numeric_step(one.older, one.newer):
        ends = {"memory_id": one.newer.memory_id, "to_id": one.older.memory_id}
        strength = min(1.0, max(0.0, one.similarity))
        link = validated(LinkMemories, {**who, **ends, "relation_type": CONTRADICTS, "strength": strength})
        return Change(commands=(link,), pair=_pair(one))
    survivor, absorbed = one.survivor
    merge = {"memory_id": survivor.memory_id, "absorbed_ids": (absorbed.memory_id,)}
    return Change(commands=(validated(MergeMemories, {**who, **merge}),), pair=_pair(one))


async def _compared(run: Run, now: datetime) -> tuple[frozenset[tuple[UUID, UUID, float]], int]:
    """The pairs that were compared in the last 14 days, and how many today (UTC)."""
    runs = await run.earlier()
    recent = [one for at, one in runs if now - at < FINGERPRINT_KEPT]
    today = sum(len(one.pairs) for at, one in runs if at >= start_of_day(now))
    return frozenset((pair.id_a, pair.id_b, pair.score) for one in recent for pair in one.pairs), today


async def _pairs(run: Run, now: datetime) -> Sequence[Candidates]:
    """Each memory of the pool with its nearest neighbours, as far as the pre-filters leave them."""
    pool = await _kept(run, await _pool(run, now))
    neighbours = Neighbours(run.engine.reads, run.engine.policy.bands)
    alike = dict[UUID, Similar]()
    for id_, one in pool.items():
        who = {**run.who, "agent_id": one.memory.agent_id or run.agent_id, "memory_id": id_}
        text = one.memory.content.text
        if similar := (await neighbours.beside(validated(UpdateMemory, {**who, "text": text}))).similar:
            alike[id_] = similar
    known = await _kept(run, {near.memory_id for similar in alike.values() for near in similar.near})
    found = dict[tuple[UUID, UUID], Candidates]()
    for id_, similar in alike.items():
        for near in similar.near:
            other = known.get(near.memory_id)
            pair = candidates(pool[id_], other, near.similarity, similar.bands, now) if other else None
            if pair:
                found.setdefault(pair.ids, pair)
    return list(found.values())


async def _pool(run: Run, now: datetime) -> Collection[UUID]:
    """The memories that are compared: changed in 72 hours, important, or often used; the latest 200."""
    column, own = memories.c, _own(run)
    often = select(func.percentile_cont(TOP_DECILE).within_group(column.reactivation_count)).where(*own)
    used = (column.reactivation_count > 0) & (column.reactivation_count >= often.scalar_subquery())
    new = column.updated_at > now - CHANGED_WITHIN
    chosen = select(column.memory_id).where(*own, or_(new, column.importance >= shows_at_least(IMPORTANT), used))
    async with run.engine.projections.live.connect() as connection:
        latest = chosen.order_by(column.updated_at.desc(), column.memory_id).limit(MOST_POOL)
        return [row.memory_id for row in await connection.execute(latest)]


async def _kept(run: Run, ids: Collection[UUID]) -> Mapping[UUID, Kept]:
    """Those of these memories that may be merged at all, by id."""
    statement = select(*stored(memories)).where(*_own(run), memories.c.memory_id.in_(sorted(ids)))
    async with run.engine.projections.live.connect() as connection:
        rows = await fetch(connection, memories, statement) if ids else []
    return {row["memory_id"]: Kept(as_memory(row), row["updated_at"]) for row in rows}


def _own(run: Run) -> tuple[ColumnElement[bool], ...]:
    column = memories.c
    return of_owner(memories, run.stream), column.status == Status.ACTIVE, column.kind.in_(sorted(KINDS))
