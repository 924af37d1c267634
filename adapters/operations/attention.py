"""Operations on the affect and the focus of a thread, in working memory."""

from mnemolog.adapters.operations.conversation import SessionRead
from mnemolog.adapters.operations.engine import Engine
from mnemolog.adapters.operations.operation import operation
from mnemolog.adapters.operations.requests import Write, viewer_of
from mnemolog.adapters.operations.results import Written, written
from mnemolog.commands.attention import SetAffect, SetFocus
from mnemolog.projections.slots import AffectSlot


class AffectView(AffectSlot):
    """The affect of a chat."""


@operation(
    "affect set",
    "PUT /affect",
    SetAffect,
    tag="conversation",
    arguments=("label",),
    done="Set",
    example={"user_id": "ana", "agent_id": "coach", "label": "stressed", "confidence": 0.85},
)
async def set_affect(engine: Engine, request: Write) -> Written:
    """Set the affect of a thread: the user's mood, as this agent reads it.

    It fades with each message and ends at `decay_at`. It never becomes a fact.
    """
    return await written(engine, SetAffect, request)


@operation("affect get", "GET /affect", tag="conversation")
async def get_affect(engine: Engine, request: SessionRead) -> AffectView:
    """Read the affect of a thread.

    It is `neutral` if none was set or it has ended.
    """
    viewer, now = viewer_of(engine, request), engine.writes.now()
    return AffectView.model_validate(await engine.reads.affect(viewer, request.thread_id, now, request.moment()))


@operation(
    "focus set",
    "PUT /focus",
    SetFocus,
    tag="conversation",
    done="Set",
    example={"user_id": "ana", "agent_id": "coach", "topic_focus": "family", "mode": "reflective"},
)
async def set_focus(engine: Engine, request: Write) -> Written:
    """Set the focus of a thread: topic, mode, pending questions and active entities.

    The session shows it in `scratch` and `active_entity_ids`. Omitted fields stay the same.
    """
    return await written(engine, SetFocus, request)
