"""The curator: folds several memories about one entity into one, and archives trivial ones that nobody uses (D).

The sweep of consolidation enqueues a job a day for each user whose memories changed. The folded memories are absorbed:
they are hidden, and an undo brings them back. Without a model, only trivial memories are archived.
"""

from collections.abc import Sequence
from datetime import datetime
from functools import partial
from uuid import UUID, uuid5

from sqlalchemy import func, select

from mnemolog.adapters.jobs.job import JobKind
from mnemolog.adapters.maintenance.extracting import start_of_day
from mnemolog.adapters.maintenance.minds import RULES, Ran, Run, answer_of, run_job
from mnemolog.adapters.services import Services
from mnemolog.commands.memories import ChangeStatus, CreateMemory, MergeMemories
from mnemolog.commands.minds import Change
from mnemolog.commands.models import ChatModel
from mnemolog.commands.prompts import load
from mnemolog.domain.extraction.validation import Fault
from mnemolog.domain.importance import from_level
from mnemolog.domain.memory import Cause, Kind, Memory, Status
from mnemolog.domain.memory_key import Source
from mnemolog.domain.minds.curation import FOLDS_A_DAY, UNUSED, Fold, groups, is_trivial, judge
from mnemolog.domain.minds.mind import Mind
from mnemolog.domain.origin import Origin, lowest
from mnemolog.events.fields import validated
from mnemolog.events.generation import Generation
from mnemolog.projections.memories.stored import as_memory
from mnemolog.projections.memories.tables import memories
from mnemolog.projections.owner import of_owner
from mnemolog.projections.rows import Row, fetch, stored

JOB = "curate"
PROMPT, TOKENS = "curator", 300
MOST_ARCHIVED, MOST_SOURCES, MOST_READ = 50, 50, 5000
_IDS = UUID("1f7f2f5e-9a0d-5d2f-9a55-3c4cbb0f6a54")


def curating(engine: Services) -> JobKind:
    return JobKind(name=JOB, run=partial(run_job, engine, Mind.CURATOR, curate), mind=Mind.CURATOR)


async def curate(run: Run, *, last_attempt: bool = True) -> Ran:
    """Archive trivial memories that nobody uses, and fold memories about one entity, at most three groups a day.

    ModelUnavailable and ModelBudgetExceeded: the job is tried again later. ModelOutputInvalid unless it is the
    `last_attempt`: then the group is left alone.
    """
    ran, now, rows = run.begun(), run.engine.writes.now(), await _rows(run)
    known = {row["memory_id"]: row for row in rows}
    asked, today, archived = await _before(run, now)
    trivial = [row for row in rows if row["memory_id"] not in archived and _is_unused(row, now)][:MOST_ARCHIVED]
    if trivial:
        ids = tuple(row["memory_id"] for row in trivial)
        changes = tuple(_archive(run, row) for row in trivial)
        await run.record(ran, Generation(model=RULES), memory_ids=ids, changes=changes)
    found = groups([(as_memory(row), row["updated_at"]) for row in rows], now)
    due = [group for group in found if frozenset(one.memory_id for one in group) not in asked]
    ran.figures = {"archived": len(trivial), "groups": len(due)}
    if (chat := run.chat(ran)) is None:
        return ran
    for group in due[: max(0, FOLDS_A_DAY - today)]:
        sources = {turn for one in group for turn in known[one.memory_id]["source_turn_ids"]}
        if len(sources) <= MOST_SOURCES:
            await _fold(run, ran, chat, group, sorted(sources), last_attempt=last_attempt)
    return ran


async def _fold(
    run: Run, ran: Ran, chat: ChatModel, group: Sequence[Memory], sources: Sequence[str], *, last_attempt: bool
) -> None:
    lines = "\n".join(f"- {' '.join(one.content.text.split())}" for one in group)
    answer, generation = await answer_of(
        chat, run.stream.tenant, load(PROMPT), lines, Fold, max_tokens=TOKENS, last_attempt=last_attempt
    )
    text = judge(answer, group) if answer else Fault.UNREADABLE
    ids = tuple(one.memory_id for one in group)
    changes = () if isinstance(text, Fault) else (_folded(run, group, text, sources, generation),)
    faults = (text,) if isinstance(text, Fault) else ()
    await run.record(ran, generation, memory_ids=ids, changes=changes, faults=faults)


def _folded(run: Run, group: Sequence[Memory], text: str, sources: Sequence[str], generation: Generation) -> Change:
    """A new memory that absorbs the others: as important as the most important, as sure as the least sure."""
    first = group[0]
    who = {**run.who, "agent_id": first.agent_id or run.agent_id}
    memory_id = uuid5(_IDS, " ".join(map(str, [run.run_id, *(one.memory_id for one in group)])))
    fields = {
        "memory_id": memory_id,
        "text": text,
        "kind": Kind.FACT,
        "category": first.content.category,
        "scope": first.scope,
        "importance": max(one.content.importance for one in group),
        "confidence": min(one.content.confidence for one in group),
        "source": Source.CURATED_FOLD,
        "origin": lowest(Origin.AGENT, *(one.origin for one in group)),
        "entity_refs": tuple(dict.fromkeys(ref for one in group for ref in one.identity.entity_refs)),
        "entity_label": first.identity.entity_label,
        "source_turn_ids": tuple(sources),
        "metadata": {"mind": generation.writer},
    }
    merge = {"memory_id": memory_id, "absorbed_ids": tuple(one.memory_id for one in group)}
    return Change(commands=(validated(CreateMemory, {**who, **fields}), validated(MergeMemories, {**who, **merge})))


def _archive(run: Run, row: Row) -> Change:
    who = {**run.who, "agent_id": row["agent_id"] or run.agent_id}
    command = ChangeStatus(**who, memory_id=row["memory_id"], status=Status.DORMANT, cause=Cause.UNUSED)
    return Change(commands=(command,))


def _is_unused(row: Row, now: datetime) -> bool:
    """Whether it is trivial, and was not used for 30 days; scenes age by cycles instead."""
    memory = as_memory(row)
    return memory.kind is not Kind.SCENE and is_trivial(memory.content) and now - row["last_accessed"] >= UNUSED


async def _before(run: Run, now: datetime) -> tuple[frozenset[frozenset[UUID]], int, frozenset[UUID]]:
    """The groups that a model was asked about, how many today (UTC), and the memories that were archived."""
    runs = await run.earlier()
    asked = [(at, frozenset(one.memory_ids)) for at, one in runs if one.generation.prompt]
    archived = frozenset(id_ for _, one in runs if not one.generation.prompt for id_ in one.memory_ids)
    return frozenset(ids for _, ids in asked), sum(at >= start_of_day(now) for at, _ in asked), archived


async def _rows(run: Run) -> Sequence[Row]:
    """What may be archived or folded, as far as a query can tell; those that were used longest ago first."""
    column = memories.c
    own = of_owner(memories, run.stream)
    about = (column.kind == Kind.FACT) & (func.cardinality(column.entity_refs) > 0)
    wanted = about | (column.importance < from_level(1))
    statement = select(*stored(memories)).where(own, column.status == Status.ACTIVE, column.pinned.is_(False), wanted)
    async with run.engine.projections.live.connect() as connection:
        return await fetch(connection, memories, statement.order_by(column.last_accessed).limit(MOST_READ))
