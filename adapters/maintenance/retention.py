"""One pass of retention: soft-delete unused memories, purge deleted ones, strengthen used ones (B §7)."""

from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from itertools import groupby, islice
from operator import itemgetter
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Table

from mnemolog.adapters.erasure.erasing import ERASED_AT_ONCE, erase, erase_allowed
from mnemolog.adapters.services import Services
from mnemolog.commands.documents import EraseDocument
from mnemolog.commands.erasure import Erase, EraseKnown, EraseMemory, EraseMessages
from mnemolog.commands.memories import ExpireMemory, MemoryCommand, ObserveUse
from mnemolog.domain.errors import Conflict, NotFound
from mnemolog.domain.memory import Cause
from mnemolog.events.envelope import AGENT, DEFAULT_AGENT, USER
from mnemolog.projections.artifacts.tables import artifacts
from mnemolog.projections.conversation.tables import messages
from mnemolog.projections.graph.tables import entities, relations
from mnemolog.projections.knowledge.tables import documents
from mnemolog.projections.memories import due
from mnemolog.projections.memories.stored import as_memory
from mnemolog.projections.memories.tables import memories
from mnemolog.projections.owner import OWNER
from mnemolog.projections.rows import Row

ACTOR = "retention"


@dataclass(slots=True)
class Retained:
    """What a pass did, or would do. `refused`: purges that were refused, and why.

    `purged_entities` are those that were deleted themselves; the facts about them go with them.
    """

    faded: list[UUID] = field(default_factory=list)
    purged: list[UUID] = field(default_factory=list)
    purged_facts: list[UUID] = field(default_factory=list)
    purged_entities: list[UUID] = field(default_factory=list)
    purged_artifacts: list[UUID] = field(default_factory=list)
    purged_documents: list[UUID] = field(default_factory=list)
    purged_messages: list[str] = field(default_factory=list)
    grown: list[UUID] = field(default_factory=list)
    refused: dict[UUID, str] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        kinds = ("facts", "entities", "artifacts", "documents", "messages")
        names = ("faded", "purged", *(f"purged_{kind}" for kind in kinds), "grown")
        ids = {name: [str(id_) for id_ in getattr(self, name)] for name in names}
        return {**ids, "refused": {str(id_): why for id_, why in self.refused.items()}}


async def retain(
    engine: Services, now: datetime, *, dry_run: bool = False, progressed: Callable[[int], None] = lambda count: None
) -> Retained:
    """Over all users. Each change is decided again under its guard: what came into use meanwhile stays."""
    retention, done = engine.policy.retention, Retained()
    async for row in _rows(engine, due.used()):
        if dry_run or await _grow(engine, row):
            done.grown.append(row["memory_id"])
        progressed(1)
    async for row in _rows(engine, due.fading(retention, now)):
        seen, last = as_memory(row).content, row["last_accessed"]
        expire = ExpireMemory(**_context(row), retention=retention, seen=seen, last_accessed=last, at=now)
        if dry_run or await _changed(engine, expire):
            done.faded.append(row["memory_id"])
        progressed(1)
    purges: Sequence[tuple[Table, str, Callable[[Row, datetime], Erase], list[UUID]]] = (
        (memories, "memory_id", _forgotten_memory, done.purged),
        (relations, "relation_id", partial(_forgotten_known, "relation"), done.purged_facts),
        (entities, "entity_id", partial(_forgotten_known, "entity"), done.purged_entities),
        (artifacts, "artifact_id", partial(_forgotten_known, "artifact"), done.purged_artifacts),
        (documents, "document_id", _deleted_document, done.purged_documents),
    )
    for table, id_, command_of, purged in purges:
        kind = AGENT if table is documents else USER
        async for page in _pages(engine, due.purgeable(now, table), table, kind):
            for rows in _portions(page):
                erasures = {row[id_]: command_of(row, now) for row in rows}
                purged += list(erasures) if dry_run else await _purge(engine, erasures, done)
                progressed(len(rows))
    ended = ((due.purgeable(now, messages), {"due": now}), (due.expired_messages(retention, now), {"cause": Cause.TTL}))
    for condition, why in ended:
        async for page in _pages(engine, condition, messages):
            for command in _ended_messages(page, why):
                if not dry_run:
                    await erase(engine, command)
                done.purged_messages += command.message_ids
                progressed(len(command.message_ids))
    return done


def _ended_messages(page: Sequence[Row], why: Mapping[str, Any]) -> Iterator[EraseMessages]:
    """By user. The memories drawn from them stay."""
    for (tenant, user_id), rows in groupby(page, key=lambda row: (row["tenant"], row["user_id"])):
        ids = tuple(row["message_id"] for row in rows)
        who = {"tenant": tenant, "user_id": user_id, "actor": ACTOR}
        yield EraseMessages.model_validate({**who, **why, "message_ids": ids, "keep_memories": True})


async def _rows(engine: Services, condition: ColumnElement[bool]) -> AsyncIterator[Row]:
    """Of memories."""
    async for page in _pages(engine, condition, memories):
        for row in page:
            yield row


async def _pages(
    engine: Services, condition: ColumnElement[bool], table: Table, kind: str = USER
) -> AsyncIterator[Sequence[Row]]:
    async with engine.projections.live.connect() as connection:
        async for page in due.pages(connection, condition, table, kind):
            await connection.commit()  # No transaction stays open meanwhile.
            yield page


async def _changed(engine: Services, command: MemoryCommand, key: str | None = None) -> bool:
    try:
        return not (await engine.writes.execute(command, key)).already
    except NotFound:  # It was erased meanwhile.
        return False


async def _grow(engine: Services, row: Row) -> bool:
    """Once per state of its count, even if the projection has not applied the last event yet."""
    return await _changed(engine, ObserveUse(**_context(row)), f"use:{row['memory_id']}:{row['reactivation_count']}")


def _portions(page: Sequence[Row]) -> Iterator[Sequence[Row]]:
    """Each of one owner."""
    for _, rows in groupby(page, key=itemgetter(*OWNER)):
        while portion := list(islice(rows, ERASED_AT_ONCE)):
            yield portion


async def _purge(engine: Services, erasures: Mapping[UUID, Erase], done: Retained) -> Sequence[UUID]:
    """Of one owner. What may live on elsewhere is not forced."""
    purged = list[UUID]()
    for id_, outcome in zip(erasures, await erase_allowed(engine, list(erasures.values())), strict=True):
        if isinstance(outcome, Conflict):
            done.refused[id_] = outcome.message
        elif not outcome.already:
            purged.append(id_)
    return purged


def _forgotten_memory(row: Row, now: datetime) -> EraseMemory:
    """Erasing a deleted memory also erases the turns that it was extracted from (ADR 15).

    The turns of a faded memory have their own retention.
    """
    cause = Cause(row["deleted_cause"] or Cause.ASKED)
    return EraseMemory(**_context(row), keep_turns=cause is not Cause.ASKED, cause=cause, due=now)


def _forgotten_known(kind: str, row: Row, now: datetime) -> EraseKnown:
    who = {"tenant": row["tenant"], "user_id": row["user_id"], "agent_id": row["agent_id"] or DEFAULT_AGENT}
    return EraseKnown.model_validate({**who, "actor": ACTOR, "kind": kind, "name": str(row[f"{kind}_id"]), "due": now})


def _deleted_document(row: Row, now: datetime) -> EraseDocument:
    who = {"tenant": row["tenant"], "agent_id": row["user_id"], "actor": ACTOR}
    return EraseDocument.model_validate({**who, "name": str(row["document_id"]), "due": now})


def _context(row: Row) -> dict[str, Any]:
    """Acts for the job, as the agent that may see the memory, in the thread that it came from."""
    agent_id = row["agent_id"] or DEFAULT_AGENT
    names = ("tenant", "user_id", "memory_id", "thread_id")
    return {**{name: row[name] for name in names}, "agent_id": agent_id, "actor": ACTOR}
