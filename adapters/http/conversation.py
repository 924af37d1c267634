"""Routes of a conversation: record a turn; read what changed, and the session."""

from typing import Annotated

from fastapi import APIRouter, Query

from mnemolog.adapters.http.requests import ChangesRead, SessionRead, TheEngine, When, viewer_of
from mnemolog.adapters.http.responses import ChangesView, CreatedView, SessionView
from mnemolog.adapters.nats.turn_message import TurnMessage
from mnemolog.adapters.nats.turns import command_fields

router = APIRouter(tags=["conversation"])


@router.post("/turns", status_code=201, summary="Record a turn")
async def record_turn(body: TurnMessage, engine: TheEngine) -> CreatedView:
    """The message that producers publish to JetStream, one at a time; `message_id` makes a retry harmless.

    `memory_id` is the episodic memory that the turn left; `memories` and `facts` are kept with it.
    """
    memory_id, receipt = await engine.writes.record_turn(command_fields(body, engine.settings.tenant))
    return CreatedView.of(receipt, memory_id=memory_id)


@router.get("/changes", summary="Read what changed in a thread since a revision")
async def get_changes(asked: Annotated[ChangesRead, Query()], engine: TheEngine) -> ChangesView:
    """The delta header of B §1, and the changes behind it."""
    viewer = viewer_of(engine, asked)
    return ChangesView.of(await engine.reads.changes(viewer, asked.thread_id, asked.since, asked.moment()))


@router.get("/session", summary="Read the working memory of a chat")
async def get_session(asked: Annotated[SessionRead, Query()], engine: TheEngine) -> SessionView:
    """It ends after a day of silence."""
    moment = When(after=asked.after, deadline=asked.deadline, consistency=asked.consistency).moment()
    session = await engine.reads.session(viewer_of(engine, asked), asked.chat_id, moment)
    return SessionView.model_validate(session.as_dict())
