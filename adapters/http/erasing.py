"""Routes that erase for good: a thread, what is known, a user. A memory goes by its own route, with `hard=true`."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel, Field

from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.engine.erasing import erase
from mnemolog.adapters.erasure.prove import prove
from mnemolog.adapters.erasure.target import Subject
from mnemolog.adapters.http.graph_requests import EntityId, RelationId
from mnemolog.adapters.http.requests import Asked, Asker, IdempotencyKey, IdInPath, TheEngine, fields_of, path_id
from mnemolog.adapters.http.responses import ErasureView
from mnemolog.commands.erasure import Erase, EraseKnown, EraseThread, EraseUser
from mnemolog.events.envelope import DEFAULT_AGENT, StreamId
from mnemolog.events.fields import Id, Text, Uuid, validated

router = APIRouter(tags=["erasure"])
FieldInPath = Annotated[str, Path(json_schema_extra={"pattern": "^[a-z0-9_]{1,64}$"})]


class ThreadErasure(Asker):
    """Whose thread, and who asks."""

    with_survivors: Annotated[bool, Field(description="Erase what its memories were merged into as well.")] = False


class KnownErasure(Asker):
    """Of whom it is known, and who asks."""


class TodoErasure(Asker):
    """Whose todo, and the agent that it is of."""

    agent_id: Id


class UserErasure(Asked):
    """Who asks."""

    agent_id: Id = DEFAULT_AGENT


@router.delete("/threads/{thread_id:path}", summary="Erase a thread for good")
async def erase_thread(
    thread_id: IdInPath,
    asked: Annotated[ThreadErasure, Query()],
    key: IdempotencyKey,
    engine: TheEngine,
) -> ErasureView:
    """Its turns, the memories that were drawn from them, and its sessions. It cannot be undone."""
    fields = {**fields_of(engine, asked), "thread_id": thread_id}
    return await erased(engine, validated(EraseThread, fields), key)


@router.delete("/entities/{entity_id}", summary="Erase an entity for good")
async def erase_entity(
    entity_id: EntityId, asked: Annotated[KnownErasure, Query()], key: IdempotencyKey, engine: TheEngine
) -> ErasureView:
    """With all that is told of it; what was said stays. `POST /entities/{entity_id}/forget` hides it."""
    return await _known(engine, asked, key, "entity", entity_id)


@router.delete("/facts/{relation_id}", summary="Erase a fact for good")
async def erase_fact(
    relation_id: RelationId, asked: Annotated[KnownErasure, Query()], key: IdempotencyKey, engine: TheEngine
) -> ErasureView:
    """What was said stays. `POST /facts/{relation_id}/forget` hides it."""
    return await _known(engine, asked, key, "relation", relation_id)


@router.delete("/profile/{field}", summary="Erase a field of the profile for good")
async def erase_field(
    field: FieldInPath,
    asked: Annotated[KnownErasure, Query()],
    key: IdempotencyKey,
    engine: TheEngine,
) -> ErasureView:
    """What it holds, what it held before, and what is proposed for it."""
    return await _known(engine, asked, key, "profile", field)


@router.delete("/todos/{todo_id}", summary="Erase a todo for good")
async def erase_todo(
    todo_id: Annotated[UUID, path_id("todo_id")],
    asked: Annotated[TodoErasure, Query()],
    key: IdempotencyKey,
    engine: TheEngine,
) -> ErasureView:
    """Status `dropped` closes one and keeps it."""
    return await _known(engine, asked, key, "todo", todo_id)


@router.delete("/users/{user_id:path}", summary="Erase a user for good")
async def erase_user(user_id: IdInPath, asked: Annotated[UserErasure, Query()], engine: TheEngine) -> ErasureView:
    """Everything of the user. Who comes back begins anew, with new keys."""
    fields = {**fields_of(engine, asked), "user_id": user_id}
    return await erased(engine, validated(EraseUser, fields), None)


class ProofRequest(Asker):
    """What was erased: one of `memory_id`, `thread_id` and `known`; without them everything of the user."""

    memory_id: Uuid | None = None
    thread_id: Id | None = None
    known: Annotated[
        Id | None,
        Field(description="entity:ID, relation:ID, profile:FIELD or todo:ID.", examples=["profile:city"]),
    ] = None
    text: Annotated[
        Text | None, Field(description="Words of it, to be looked for in every row, value and message of the user.")
    ] = None


class PlaceView(BaseModel):
    """A place where the text could have been; `readable` of what was looked at there shows it."""

    name: str
    looked_at: int
    readable: int
    detail: str


class ProofView(BaseModel):
    """`erased`: it can be read in none of the `places`. `unseen`: what no query reaches."""

    erased: bool
    places: list[PlaceView]
    unseen: list[str]


@router.post("/prove-erased", summary="Show that what was erased can be read nowhere")
async def prove_erased(body: ProofRequest, engine: TheEngine) -> ProofView:
    """Looks through every place where it could have been. Whose API key may ask is as for the erasure."""
    stream = StreamId.of_user(body.user_id, engine.settings.tenant)
    async with engine.reads.long_read():
        subject = Subject(stream, body.memory_id, body.thread_id, body.known)
        proof = await prove(engine, subject, body.text, agent_id=body.agent_id)
    return ProofView.model_validate(proof.as_dict())


async def _known(engine: Engine, asked: Asker, key: str | None, kind: str, name: UUID | str) -> ErasureView:
    fields = {**fields_of(engine, asked), "kind": kind, "name": str(name)}
    return await erased(engine, validated(EraseKnown, fields), key)


async def erased(engine: Engine, command: Erase | EraseUser, key: str | None) -> ErasureView:
    """Answers once no projection shows the text any more."""
    return ErasureView.of_erasure(await erase(engine, command, key))
