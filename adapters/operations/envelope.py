"""Operations on the inference envelope: assemble it for a message, and validate one."""

from typing import Annotated, Self
from uuid import UUID

from pydantic import Field, JsonValue

from mnemolog.adapters.operations.engine import Engine
from mnemolog.adapters.operations.operation import operation
from mnemolog.adapters.operations.requests import Read, Request, viewer_of
from mnemolog.adapters.operations.results import Result
from mnemolog.adapters.operations.serving import RecordableRead, recorded
from mnemolog.domain.authority import Slot
from mnemolog.domain.claims import Claim, Support
from mnemolog.domain.errors import EnvelopeInvalid
from mnemolog.domain.gate import Signal
from mnemolog.events.serving import Purpose
from mnemolog.projections.requests import ClaimsRequest, EnvelopeRequest
from mnemolog.projections.slots import Envelope, validated_envelope


class EnvelopeRead(RecordableRead, EnvelopeRequest):
    """The message that an agent is about to answer."""


class EnvelopeGiven(Request):
    """An envelope from elsewhere, such as one that a workflow changed."""

    envelope: Annotated[
        dict[str, JsonValue], Field(description="The inference envelope, as a JSON object with its four slots.")
    ]


class GateReason(Result):
    """A signal in the message."""

    signal: Signal
    found: str = Field(description="The phrase, or the name of the entity.")
    language: str = Field(description="The languages that have the phrase, such as `de, en`.")


class GateView(Result):
    """Whether episodes and knowledge were searched for the message, and why."""

    search: bool
    reasons: list[GateReason]


class EnvelopeView(Result):
    """The envelope, the decision of the gate, and what the envelope was made without."""

    envelope: Envelope
    gate: GateView
    skipped: list[str]
    served_id: UUID | None = Field(default=None, description="The event that records it, with `record`.")


@operation("envelope get", "POST /envelope", tag="recall", arguments=("message",))
async def envelope(engine: Engine, request: EnvelopeRead) -> EnvelopeView:
    """Assemble the inference envelope for a message: AFFECT, GRAPH, EPISODE and KNOWLEDGE.

    GRAPH has the facts around what the message mentions, EPISODE and KNOWLEDGE what a search finds if the gate opens.
    Where slots contradict each other, the one with less authority says what overrules it.
    """
    wanted = EnvelopeRequest.model_validate(request.model_dump(include=set(EnvelopeRequest.model_fields)))
    viewer, now = viewer_of(engine, request), engine.writes.now()
    asked = {request.message_id} if request.message_id else set()
    found = await engine.reads.envelope(viewer, wanted, now, request.moment(), asked)
    view = EnvelopeView.model_validate(found)
    if not request.record:
        return view
    event_id = await recorded(
        engine,
        request,
        Purpose.ENVELOPE,
        found.items,
        found.tokens,
        thread_id=request.thread_id,
        question_id=request.message_id,
        searched=found.gate.search,
        signals=found.gate.signals,
    )
    return view.model_copy(update={"served_id": event_id})


@operation("envelope validate", "POST /envelope/validate", tag="recall", arguments=("envelope",))
async def validate_envelope(engine: Engine, request: EnvelopeGiven) -> Envelope:
    """Validate an inference envelope.

    The error `envelope_invalid` has the path of the first fault, such as `GRAPH.relations[3].predicate`.
    """
    if engine.principal:
        engine.principal.require_viewer(viewer_of(engine, request))
    found = validated_envelope(request.envelope)
    if found.user_id != request.user_id:
        raise EnvelopeInvalid("is another user", field="user_id", fix="validate it as the user that it is about")
    return found


class ClaimsRead(Read, ClaimsRequest):
    """What an agent is about to say."""


class ClaimView(Result):
    """A sentence that claims something."""

    text: str
    support: Support = Field(description="`contradicted`: the memory says something else, or no longer says it.")
    slot: Slot | None = Field(description="The slot of the statement that supports or contradicts it.")
    id: str | None = Field(description="That fact, passage, memory or message.")
    statement: str = Field(description="What it says; empty if the claim is unsupported.")
    overruled_by: str = Field(description="What takes precedence over that statement, if something does.")
    question: str = Field(description="What to ask instead; empty if the claim is supported.")

    @classmethod
    def of(cls, claim: Claim) -> Self:
        by = claim.by
        return cls(
            text=claim.text,
            support=claim.support,
            slot=by.slot if by else None,
            id=by.id if by else None,
            statement=by.text if by else "",
            overruled_by=by.overruled if by else "",
            question=claim.question,
        )


class Checked(Result):
    """The claims of a text, in its order, at most 20."""

    claims: list[ClaimView]


@operation("envelope check", "POST /envelope/check", tag="recall", arguments=("text",))
async def check_claims(engine: Engine, request: ClaimsRead) -> Checked:
    """Check the claims of an answer against the memory: supported, contradicted or unsupported.

    Sentences that claim nothing, such as questions and offers, are left out. The comparison is by words: a claim
    worded differently from the memory is unsupported, with the question to ask instead.
    """
    wanted = ClaimsRequest(text=request.text, thread_id=request.thread_id)
    found = await engine.reads.claims(viewer_of(engine, request), wanted, engine.writes.now(), request.moment())
    return Checked(claims=[ClaimView.of(one) for one in found])
