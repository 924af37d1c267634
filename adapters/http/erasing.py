"""Routes that erase for good: a thread, a user. A memory is erased by its own route, with `hard=true`."""

from typing import Annotated

from fastapi import APIRouter, Path, Query
from pydantic import Field

from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.engine.erasing import erase
from mnemolog.adapters.http.requests import Asked, Asker, IdempotencyKey, TheEngine, fields_of
from mnemolog.adapters.http.responses import ErasureView
from mnemolog.commands.erasure import Erase, EraseThread, EraseUser
from mnemolog.events.envelope import DEFAULT_AGENT
from mnemolog.events.fields import Id, validated

router = APIRouter(tags=["erasure"])


class ThreadErasure(Asker):
    """Whose thread, and who asks."""

    with_survivors: Annotated[bool, Field(description="Erase what its memories were merged into as well.")] = False


class UserErasure(Asked):
    """Who asks."""

    agent_id: Id = DEFAULT_AGENT


@router.delete("/threads/{thread_id:path}", summary="Erase a thread for good")
async def erase_thread(
    thread_id: Annotated[str, Path()],
    asked: Annotated[ThreadErasure, Query()],
    key: IdempotencyKey,
    engine: TheEngine,
) -> ErasureView:
    """Its turns, the memories that were drawn from them, and its sessions. It cannot be undone."""
    fields = {**fields_of(engine, asked), "thread_id": thread_id}
    return await erased(engine, validated(EraseThread, fields), key)


@router.delete("/users/{user_id:path}", summary="Erase a user for good")
async def erase_user(
    user_id: Annotated[str, Path()], asked: Annotated[UserErasure, Query()], engine: TheEngine
) -> ErasureView:
    """Everything of the user. Who comes back begins anew, with new keys."""
    fields = {**fields_of(engine, asked), "user_id": user_id}
    return await erased(engine, validated(EraseUser, fields), None)


async def erased(engine: Engine, command: Erase | EraseUser, key: str | None) -> ErasureView:
    """Answers once no projection shows the text any more."""
    return ErasureView.of_erasure(await erase(engine, command, key))
