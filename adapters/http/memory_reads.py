"""Routes that read memories: query, history, one, the newest."""

from typing import Annotated

from fastapi import APIRouter, Query

from mnemolog.adapters.http.memory_requests import QueryRequest
from mnemolog.adapters.http.requests import (
    HistoryRead,
    LinksRead,
    MemoryId,
    MemoryRead,
    NewestRead,
    TheEngine,
    When,
    viewer_of,
)
from mnemolog.adapters.http.responses import (
    BulletAnswer,
    FullAnswer,
    HistoryEntry,
    HistoryView,
    LinksView,
    LinkView,
    MemoryList,
    MemoryView,
)
from mnemolog.events.memory_fold import MEMORY

router = APIRouter(tags=["reading"])


@router.post("/memory/query", summary="Search a user's memories (memory.query)")
async def query_memory(
    body: QueryRequest, when: Annotated[When, Query()], engine: TheEngine
) -> BulletAnswer | FullAnswer:
    """Filters and the agent's allowlist hold in the store; `return` says which of the two answers comes."""
    request = body.of_tenant(engine.settings.tenant)
    answer = await engine.reads.query(request, when.moment())
    return BulletAnswer.of(answer) if request.returns == "bullets" else FullAnswer.of(answer)


@router.get("/memory", summary="List the memories that changed last")
async def list_memories(asked: Annotated[NewestRead, Query()], engine: TheEngine) -> MemoryList:
    """Active memories only."""
    rows = await engine.reads.newest(viewer_of(engine, asked), asked.limit, asked.moment())
    return MemoryList(memories=[MemoryView.model_validate(row) for row in rows])


@router.get("/memory/{memory_id}", summary="Read one memory")
async def get_memory(memory_id: MemoryId, asked: Annotated[MemoryRead, Query()], engine: TheEngine) -> MemoryView:
    """Hidden memories too; `status` says so."""
    row = await engine.reads.memory(viewer_of(engine, asked), memory_id, asked.moment())
    return MemoryView.model_validate(row)


@router.get("/memory/{memory_id}/links", summary="Read what a memory is linked to")
async def get_links(memory_id: MemoryId, asked: Annotated[LinksRead, Query()], engine: TheEngine) -> LinksView:
    """The strongest link first; none whose far end this agent may not see."""
    rows = await engine.reads.links(viewer_of(engine, asked), memory_id, asked.moment())
    return LinksView(links=[LinkView.model_validate(row) for row in rows])


@router.get("/memory/{memory_id}/history", summary="Read what happened to a memory")
async def get_history(memory_id: MemoryId, asked: Annotated[HistoryRead, Query()], engine: TheEngine) -> HistoryView:
    """Every write that touched it, newest first (B §8)."""
    viewer = viewer_of(engine, asked)
    rows = await engine.reads.history(viewer, memory_id, asked.limit, asked.moment(), kinds=(MEMORY.name,))
    return HistoryView(history=[HistoryEntry.model_validate(row) for row in rows])
