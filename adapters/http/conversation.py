"""Routes of a conversation: record a turn; read what changed, the session and the entities."""

from typing import Annotated

from fastapi import APIRouter, Query

from mnemolog.adapters.http.requests import ChangesRead, EntitiesRead, SessionRead, TheEngine, When, stream_of
from mnemolog.adapters.http.responses import ChangesView, CreatedView, EntityList, EntityView, SessionView
from mnemolog.adapters.nats.turn_message import TurnMessage
from mnemolog.projections.working.projector import Place

router = APIRouter(tags=["conversation"])


@router.post("/turns", status_code=201, summary="Record a turn")
async def record_turn(body: TurnMessage, engine: TheEngine) -> CreatedView:
    """The message that producers publish to JetStream, one at a time; `message_id` makes a retry harmless.

    `memory_id` is the episodic memory that the turn left.
    """
    fields = body.model_dump(exclude={"message_id"})
    who = {"turn_id": body.message_id, "actor": body.role, "tenant": engine.settings.tenant}
    memory_id, receipt = await engine.writes.record_turn({**fields, **who})
    return CreatedView.of(receipt, memory_id=memory_id)


@router.get("/changes", summary="Read what changed in a thread since a revision")
async def get_changes(asked: Annotated[ChangesRead, Query()], engine: TheEngine) -> ChangesView:
    """The delta header of B §1, and the changes behind it."""
    stream = stream_of(engine, asked)
    moment = asked.moment()
    return ChangesView.of(await engine.reads.changes(stream, asked.agent_id, asked.thread_id, asked.since, moment))


@router.get("/session", summary="Read the working memory of a chat")
async def get_session(asked: Annotated[SessionRead, Query()], engine: TheEngine) -> SessionView:
    """It ends after a day of silence."""
    stream = stream_of(engine, asked)
    place = Place(stream.tenant, asked.user_id, asked.agent_id, asked.chat_id)
    session = await engine.reads.session(place, When(after=asked.after, deadline=asked.deadline).moment())
    return SessionView.model_validate(session.as_dict())


@router.get("/entities", summary="Read whom and what a user speaks of")
async def get_entities(asked: Annotated[EntitiesRead, Query()], engine: TheEngine) -> EntityList:
    """Last seen first."""
    stream = stream_of(engine, asked)
    rows = await engine.reads.entities(stream, asked.agent_id, asked.moment())
    return EntityList(entities=[EntityView.model_validate(row) for row in rows])
