"""The operation that answers a message in one call (A16)."""

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from typing import Annotated, Any
from uuid import UUID, uuid5

from pydantic import Field

from mnemolog.adapters.operations.engine import Engine
from mnemolog.adapters.operations.envelope import ClaimView, GateView
from mnemolog.adapters.operations.operation import operation
from mnemolog.adapters.operations.requests import Write, viewer_of
from mnemolog.adapters.operations.results import Result
from mnemolog.commands.sent import STORED, LongText
from mnemolog.events.fields import Id, Label
from mnemolog.projections.requests import PromptRequest
from mnemolog.projections.slots import Envelope

# Derives the id of the message from the idempotency key of the request.
KEYED = UUID("9d8b6f4a-6a0e-5f33-8a51-1f0b3c7f2e60")


class Respond(PromptRequest, Write):
    """The message to answer, and what the agent is."""

    message: Annotated[LongText, Field(description=f"The message to answer. {STORED}")]
    message_id: Annotated[
        Id | None, Field(description="The id of the message: a request with the same id is answered once.")
    ] = None
    speaker: Annotated[Label, Field(description="Who says it, by name.")] = ""


class BlockView(Result):
    """A block of the prompt."""

    name: str = Field(examples=["1-A system_prompt"])
    text: str
    stable: bool = Field(description="It does not depend on the message: a provider may cache it.")


class PromptMessage(Result):
    """A message for a chat model."""

    role: str = Field(description="`system`, `user` or `assistant`.")
    content: str


class PromptView(Result):
    """The prompt as it is sent: stable blocks first."""

    system: str = Field(description="Block 1-A.")
    user: str = Field(description="The other blocks, for a model that is sent one message.")
    messages: list[PromptMessage] = Field(
        description="The same as messages: the system message, 1-B with an answer to it, and what is new."
    )
    tokens: int
    blocks: list[BlockView]


class WriteView(Result):
    """A write that the model planned."""

    kind: str = Field(description="`fact`, `memory`, `affect` or `focus`.")
    statement: str
    id: str | None = Field(description="What it wrote: a fact, a memory or an event.")
    refused: str = Field(description="Why it was refused; empty if it was written.")


class Responded(Result):
    """The answer, and what it was made of."""

    message_id: str
    answer_id: str = Field(description="The id of the answer, also for one that you make from the prompt.")
    answer: str = Field(description="Empty without a chat model.")
    token: str = Field(description="Pass it as `after` to a read that must see what was recorded.")
    already: bool = Field(description="The message was answered before: the answer is that one, without the rest.")
    envelope: Envelope | None
    gate: GateView | None
    prompt: PromptView | None
    writes: list[WriteView]
    claims: list[ClaimView] = Field(description="What the prompt says to each claim of the model's answer.")
    model: str = Field(description="The chat model that answered, if one did.")
    served_id: UUID | None = Field(description="The event that records what the prompt shows, for `served`.")
    skipped: list[str] = Field(description="What could not be done, such as the answer without a chat model.")


@operation(
    "respond",
    "POST /respond",
    tag="conversation",
    arguments=("message",),
    done="Answered",
    lasting=True,
    status=201,
    example={"user_id": "ana", "agent_id": "coach", "message": "Do you remember where I live?"},
)
async def respond(engine: Engine, request: Respond) -> Responded:
    """Answer a message in one call: the fast brain.

    Records the message, assembles the prompt, asks the chat model once for an answer and a plan of what to remember,
    records both, and says which writes were refused. Without a chat model it returns the prompt, and the id for an
    answer of your own. If the model fails, the message stays recorded, and the same request can be repeated.
    """
    from mnemolog.adapters.responding import respond as answered

    turn_id = request.message_id
    if turn_id is None and request.idempotency_key is not None:
        turn_id = str(uuid5(KEYED, f"{request.agent_id}\n{request.idempotency_key}"))
    viewer = viewer_of(engine, request)
    turn_id = turn_id or engine.writes.new_turn_id()
    async with _said(engine, request, turn_id) as said:
        given = {**request.model_dump(include=set(PromptRequest.model_fields)), "message": said["text"]}
        wanted, attachments = PromptRequest.model_validate(given), said.get("attachments", ())
        done = await answered(engine, viewer, turn_id, wanted, request.speaker, request.run_id, attachments)
    prompted = done.prompted
    return Responded.model_validate(
        {
            **{name: getattr(done, name) for name in ("message_id", "answer_id", "answer", "token", "already")},
            "envelope": prompted.assembled.envelope if prompted else None,
            "gate": prompted.assembled.gate if prompted else None,
            "prompt": prompted.prompt if prompted else None,
            "writes": done.writes,
            "claims": list(map(ClaimView.of, done.claims)),
            "model": done.generation.model if done.generation else "",
            "served_id": done.served_id,
            "skipped": done.skipped,
        }
    )


def _said(engine: Engine, request: Respond, turn_id: str) -> AbstractAsyncContextManager[Mapping[str, Any]]:
    """The message as a turn, with an artifact in place of a text that is too long."""
    from mnemolog.adapters.artifacts.of_messages import with_artifact

    names = {"user_id", "agent_id", "thread_id", "run_id", "speaker"}
    turn = {**request.model_dump(include=names), "tenant": engine.settings.tenant, "actor": "user"}
    return with_artifact(engine, {**turn, "turn_id": turn_id, "role": "user", "text": request.message})
