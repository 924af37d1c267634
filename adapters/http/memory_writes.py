"""Routes that change memories: create, update, delete, restore, merge, link, undo."""

from collections.abc import Awaitable, Callable
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query

from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.http.erasing import erased
from mnemolog.adapters.http.memory_requests import Deletion, Link, MemoryChange, Merge, NewMemory, Undo, UndoLast
from mnemolog.adapters.http.requests import IdempotencyKey, MemoryId, TheEngine, Writer, fields_of, stream_of
from mnemolog.adapters.http.responses import CreatedView, ErasureView, ReceiptView
from mnemolog.adapters.http.undertakings import RolledBack
from mnemolog.commands.erasure import EraseMemory
from mnemolog.commands.memories import (
    ChangeStatus,
    LinkMemories,
    MemoryCommand,
    MergeMemories,
    RestoreMemory,
    SoftDeleteMemory,
    UpdateMemory,
)
from mnemolog.domain.memory import Status
from mnemolog.events.envelope import Receipt
from mnemolog.events.fields import validated

router = APIRouter(tags=["writing"])


@router.post("/memory", status_code=201, summary="Create a memory")
async def create_memory(body: NewMemory, key: IdempotencyKey, engine: TheEngine) -> CreatedView:
    """A retry with the same Idempotency-Key gives the first memory's id; where its key was known, that memory's."""
    memory_id, receipt = await engine.writes.create(fields_of(engine, body), key)
    return CreatedView.of(receipt, memory_id=memory_id)


@router.patch("/memory/{memory_id}", summary="Update a memory")
async def update_memory(memory_id: MemoryId, body: MemoryChange, key: IdempotencyKey, engine: TheEngine) -> ReceiptView:
    """An update to what holds already changes nothing."""
    return await _run(engine, UpdateMemory, body, key, memory_id=memory_id)


@router.delete("/memory/{memory_id}", summary="Delete a memory: restorable, or for good")
async def delete_memory(
    memory_id: MemoryId, asked: Annotated[Deletion, Query()], key: IdempotencyKey, engine: TheEngine
) -> ErasureView | ReceiptView:
    """Soft: it is hidden at once, until it is restored. With `hard=true` its text is destroyed for good."""
    if asked.hard:
        fields = fields_of(engine, asked, "reason", "hard")
        return await erased(engine, validated(EraseMemory, {**fields, "memory_id": memory_id}), key)
    fields = fields_of(engine, asked, "hard", "keep_turns", "with_survivors")
    soft = {**fields, "memory_id": memory_id, "at": engine.writes.now()}
    return ReceiptView.of(await engine.writes.execute(validated(SoftDeleteMemory, soft), key))


@router.post("/memory/{memory_id}/archive", summary="Archive a memory")
async def archive_memory(memory_id: MemoryId, body: Writer, key: IdempotencyKey, engine: TheEngine) -> ReceiptView:
    """It lies dormant, kept and hidden, until it is restored. What is pinned is never archived."""
    return await _run(engine, ChangeStatus, body, key, memory_id=memory_id, status=Status.DORMANT)


@router.post("/memory/{memory_id}/restore", summary="Restore a hidden memory")
async def restore_memory(memory_id: MemoryId, body: Writer, key: IdempotencyKey, engine: TheEngine) -> ReceiptView:
    """Undoes a deletion, or takes an absorbed memory out of its merge."""
    return await _run(engine, RestoreMemory, body, key, memory_id=memory_id)


@router.post("/memory/{memory_id}/merge", summary="Merge others into this memory")
async def merge_memories(memory_id: MemoryId, body: Merge, key: IdempotencyKey, engine: TheEngine) -> ReceiptView:
    """The absorbed are hidden, not destroyed: a merge can be undone."""
    return await _run(engine, MergeMemories, body, key, memory_id=memory_id)


@router.post("/memory/{memory_id}/link", summary="Link this memory to another")
async def link_memories(memory_id: MemoryId, body: Link, key: IdempotencyKey, engine: TheEngine) -> ReceiptView:
    """A second link of the same kind to the same memory sets its strength anew."""
    return await _run(engine, LinkMemories, body, key, memory_id=memory_id)


@router.post("/memory/{memory_id}/undo", summary="Undo the last change of a memory")
async def undo_last_change(
    memory_id: MemoryId, body: UndoLast, key: IdempotencyKey, engine: TheEngine
) -> RolledBack | ReceiptView:
    """Each call goes one change further back; send an Idempotency-Key, so that a retry does not."""
    if body.dry_run:
        return await _planned(engine, body, memory_id, None)
    return await _undone(engine, engine.writes.undo_last, body, memory_id, key)


@router.post("/undo", summary="Undo one change by its event")
async def undo_change(body: Undo, key: IdempotencyKey, engine: TheEngine) -> RolledBack | ReceiptView:
    """On every memory that it changed. A change that others build on is refused: undo those first."""
    if body.dry_run:
        return await _planned(engine, body, None, body.event_id)
    return await _undone(engine, engine.writes.undo_event, body, body.event_id, key)


async def _run(
    engine: Engine, command: type[MemoryCommand], asked: Writer, key: str | None, **fields: object
) -> ReceiptView:
    return ReceiptView.of(await engine.writes.execute(validated(command, {**fields_of(engine, asked), **fields}), key))


async def _planned(engine: Engine, asked: Writer, memory_id: UUID | None, event_id: UUID | None) -> RolledBack:
    who = asked.model_dump(include={"agent_id", "thread_id", "run_id"})
    return RolledBack.of(await engine.writes.undo_plan(stream_of(engine, asked), memory_id, event_id, **who), None)


async def _undone(
    engine: Engine, undo: Callable[..., Awaitable[Receipt]], asked: Writer, id_: UUID, key: str | None
) -> ReceiptView:
    who = asked.model_dump(include={"agent_id", "thread_id", "run_id"})
    return ReceiptView.of(await undo(stream_of(engine, asked), id_, key, **who))
