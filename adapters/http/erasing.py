"""Routes that erase for good: a thread, a user. A memory is erased by its own route, with `hard=true`."""

from typing import Annotated

from fastapi import APIRouter, Path, Query

from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.engine.erasing import erase
from mnemolog.adapters.http.requests import IdempotencyKey, TheEngine, ThreadErasure, UserErasure
from mnemolog.adapters.http.responses import ErasureView
from mnemolog.commands.erasure import Erase, EraseThread, EraseUser
from mnemolog.events.fields import validated

router = APIRouter(tags=["erasure"])


@router.delete("/threads/{thread_id:path}", summary="Erase a thread for good")
async def erase_thread(
    thread_id: Annotated[str, Path()],
    asked: Annotated[ThreadErasure, Query()],
    key: IdempotencyKey,
    engine: TheEngine,
) -> ErasureView:
    """Its turns, the memories that were drawn from them, and its sessions. It cannot be undone."""
    fields = {**asked.model_dump(), "tenant": engine.settings.tenant, "thread_id": thread_id}
    return await erased(engine, validated(EraseThread, fields), key)


@router.delete("/users/{user_id:path}", summary="Erase a user for good")
async def erase_user(
    user_id: Annotated[str, Path()], asked: Annotated[UserErasure, Query()], engine: TheEngine
) -> ErasureView:
    """Everything of the user. Who comes back begins anew, with new keys."""
    fields = {**asked.model_dump(), "tenant": engine.settings.tenant, "user_id": user_id}
    return await erased(engine, validated(EraseUser, fields), None)


async def erased(engine: Engine, command: Erase | EraseUser, key: str | None) -> ErasureView:
    """Answers once no projection shows the text any more."""
    return ErasureView.of_erasure(await erase(engine, command, key))
