"""The fast brain: one call from a message to an answer and what is remembered of it (A §7.1, A16)."""

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from random import SystemRandom
from typing import Annotated, Any
from uuid import UUID, uuid5

from pydantic import BaseModel, Field

from mnemolog.adapters.deadline import read_within, write_within
from mnemolog.adapters.engine.engine import Engine
from mnemolog.commands.attention import SetAffect, SetFocus
from mnemolog.commands.models import ChatModel
from mnemolog.commands.prompts import Prompt as Instructions
from mnemolog.commands.prompts import load
from mnemolog.commands.serving import RecordServed
from mnemolog.domain.authority import names
from mnemolog.domain.claims import Claim, Known, claims, judged
from mnemolog.domain.entity import ME, proper_name
from mnemolog.domain.errors import (
    AppendTimeout,
    ConcurrencyConflict,
    Conflict,
    IdempotencyConflict,
    InvalidInput,
    MnemologError,
    NotFound,
    NotPermitted,
    Overloaded,
)
from mnemolog.domain.hydration import stems
from mnemolog.domain.minds.reflection import WRITE_NEEDED
from mnemolog.domain.origin import Origin
from mnemolog.domain.prompt import Prompt
from mnemolog.domain.text import clean
from mnemolog.domain.viewer import Viewer
from mnemolog.events.envelope import Position, Receipt, StreamId
from mnemolog.events.fields import checked_by, validated
from mnemolog.events.generation import Generation
from mnemolog.events.serving import Purpose
from mnemolog.projections.reads.envelopes import Prompted
from mnemolog.projections.reads.moment import Moment
from mnemolog.projections.requests import PromptRequest

# Derives the id of an answer from that of its message.
ANSWERS = UUID("0c7f6f0e-5c1b-5d0a-9e57-6b0f7a2f4a11")
MAX_ANSWER_TOKENS = 2000
MOST_WRITES = 20
# The fault of a planned write. Anything else fails the request, which is then repeated whole.
REFUSALS = (InvalidInput, NotPermitted, NotFound, Conflict)
NO_MODEL = "answer: no chat model is set (chat_model, model_url)"


class PlannedFact(BaseModel):
    """A fact to remember."""

    subject: str
    predicate: str
    object: str
    since: str | None = None


class PlannedMemory(BaseModel):
    """A memory to keep."""

    text: str
    category: str
    importance: Annotated[float, Field(ge=0, le=1)]


class PlannedAffect(BaseModel):
    """A mood, and the words of the message that say it."""

    label: str
    confidence: Annotated[float, Field(ge=0, le=1)]
    marker: str


class PlannedFocus(BaseModel):
    """A topic, and the words of the message that announce it."""

    topic: str
    marker: str


class Answer(BaseModel):
    """The model's answer, with its memory-write plan."""

    answer: Annotated[str, Field(min_length=1), checked_by(clean)]
    facts: Annotated[list[PlannedFact], Field(max_length=MOST_WRITES)]
    memories: Annotated[list[PlannedMemory], Field(max_length=MOST_WRITES)]
    affect: PlannedAffect | None
    focus: PlannedFocus | None
    memory_write_needed: bool = False
    """Whether the conversation is worth a reflection now."""


@dataclass(frozen=True, slots=True)
class Write:
    """A planned write: the id of what it wrote, or why it was refused."""

    kind: str
    statement: str
    id: str | None = None
    refused: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """`answer` is empty without a model. `already`: the message was answered before, and nothing was changed now."""

    message_id: str
    answer_id: str
    token: str
    answer: str = ""
    prompted: Prompted | None = None
    served_id: UUID | None = None
    writes: list[Write] = field(default_factory=list)
    claims: Sequence[Claim] = ()
    generation: Generation | None = None
    already: bool = False
    skipped: list[str] = field(default_factory=list)


async def respond(
    engine: Engine,
    viewer: Viewer,
    turn_id: str,
    request: PromptRequest,
    speaker: str,
    run_id: str | None = None,
    attachments: Sequence[Mapping[str, Any]] = (),
) -> Response:
    """Record the message, assemble the prompt, ask the chat model once, record its answer and what it plans.

    A message that was answered before gives the same answer. If the model fails, the message stays recorded, and the
    same request may be repeated. Each step has the deadline of its kind, and the model its own: there is none over all.
    """
    settings = engine.settings
    written = partial(write_within, settings.append_deadline)
    read = partial(read_within, settings.read_deadline + settings.append_deadline)
    who = {
        "tenant": viewer.tenant,
        "user_id": viewer.user_id,
        "agent_id": viewer.agent_id,
        "thread_id": request.thread_id,
        "run_id": run_id,
    }
    words = {"role": "user", "speaker": speaker, "text": request.message, "attachments": attachments, "actor": "user"}
    said = {**who, "turn_id": turn_id, **words}
    with _repeatable(turn_id):
        receipt = await written(engine.writes.record_turn(said))
    message_id, answer_turn = engine.writes.handler.turn_id(turn_id), str(uuid5(ANSWERS, turn_id))
    answer_id = engine.writes.handler.turn_id(answer_turn)
    with _repeatable(turn_id, recorded=True):
        if receipt.already and (earlier := await read(_answered(engine, viewer, message_id, answer_id))):
            return earlier
        moment = Moment(after=receipt.position)
        told = engine.reads.prompt(viewer, request, engine.writes.now(), moment, message_id, SystemRandom())
        prompted = await read(told)
        served = await written(engine.writes.handle(_served(who, prompted, message_id, answer_id)))
        shown = Response(
            message_id=message_id,
            answer_id=answer_id,
            token=served.token,
            prompted=prompted,
            served_id=served.event_ids[0],
            skipped=list(prompted.assembled.skipped),
        )
        if engine.models.chat is None:
            shown.skipped.append(NO_MODEL)
            return shown
        plan, used = await _asked(engine.models.chat, viewer.tenant, prompted.prompt)
        # The answer comes last: a request that ends before it is repeated whole, and what is known then is not doubled.
        writes = [
            await written(_written(one, request.message))
            for one in _planned(engine, who, request.message, message_id, plan, prompted.origin)
        ]
        answer = {**who, "turn_id": answer_turn, "role": "assistant", "text": plan.answer, "actor": "assistant"}
        metadata = {
            "generation": used.model_dump(mode="json"),
            **({WRITE_NEEDED: True} if plan.memory_write_needed else {}),
        }
        try:
            last = await written(engine.writes.record_turn({**answer, "metadata": metadata}))
        except IdempotencyConflict:  # The same request was answered meanwhile.
            if earlier := await read(_answered(engine, viewer, message_id, answer_id)):
                return earlier
            raise
    claimed = _checked(viewer, prompted, plan.answer)
    return replace(shown, answer=plan.answer, token=last.token, writes=writes, claims=claimed, generation=used)


def _checked(viewer: Viewer, prompted: Prompted, answer: str) -> Sequence[Claim]:
    """What the envelope, and then all else in the prompt, says to each claim of the answer (A03)."""
    stated = {one.text for one in prompted.assembled.known}
    lines = (line for block in prompted.prompt.blocks[1:] for line in _evidence(block.text))
    beside = (one for one in lines if not any(text in one for text in stated))
    known = [*prompted.assembled.known, *(Known(None, "", one) for one in beside)]
    return [judged(one, known, proper_name(viewer.user_id, ME)) for one in claims(answer)]


def _evidence(text: str) -> Iterator[str]:
    """The lines of a block that may support a claim: an earlier answer of the assistant proves nothing."""
    by_assistant = False
    for line in text.splitlines():
        if not line.startswith("  "):  # Further lines of an item are indented.
            by_assistant = line.startswith("- assistant: ")
        if not by_assistant:
            yield line.lstrip("- ")


def _served(who: Mapping[str, Any], prompted: Prompted, message_id: str, answer_id: str) -> RecordServed:
    """What the prompt shows, for the log."""
    gate = prompted.assembled.gate
    fields = {
        **who,
        "purpose": Purpose.RESPONSE,
        "items": tuple(prompted.items),
        "tokens": prompted.prompt.tokens,
        "searched": gate.search,
        "signals": gate.signals,
        "question_id": message_id,
        "answer_id": answer_id,
    }
    return validated(RecordServed, fields)


@contextmanager
def _repeatable(turn_id: str, *, recorded: bool = False) -> Iterator[None]:
    try:
        yield
    except MnemologError as error:
        if not recorded and not isinstance(error, AppendTimeout | Overloaded):
            raise
        again = f"{'the message is recorded: ' if recorded else ''}repeat the request with message_id {turn_id}"
        error.fix = f"{error.fix}; {again}" if error.fix else again
        raise


async def _asked(chat: ChatModel, tenant: str, prompt: Prompt) -> tuple[Answer, Generation]:
    rules = load("answer")
    instructions = Instructions(rules.name, rules.version, f"{rules.text}\n\n{prompt.system}")
    done = await chat.complete(
        tenant, instructions, prompt.now, Answer, max_tokens=MAX_ANSWER_TOKENS, before=prompt.opening
    )
    return done.output, done.generation


async def _answered(engine: Engine, viewer: Viewer, message_id: str, answer_id: str) -> Response | None:
    try:
        row = await engine.reads.message(viewer, answer_id, Moment())
    except NotFound:
        return None
    token = Position(StreamId.of_user(viewer.user_id, viewer.tenant), row["seq"]).token
    return Response(message_id=message_id, answer_id=answer_id, token=token, answer=row["text"], already=True)


@dataclass(frozen=True, slots=True)
class _Planned:
    """A write of the plan. One with a `marker` is done only if the user said these words (A §8)."""

    kind: str
    statement: str
    write: Callable[[], Awaitable[tuple[UUID, Receipt] | Receipt]]
    marker: str | None = None


def _planned(
    engine: Engine, who: Mapping[str, Any], message: str, message_id: str, plan: Answer, shown: Origin
) -> Iterator[_Planned]:
    """Each write by its own decider, with its guards, in the agent's name.

    What the message does not say itself is no more trusted than what else the prompt showed (X21).
    """
    said = stems(f"{message} {who['user_id']} user me")

    def origin(statement: str) -> dict[str, Origin]:
        return {"origin": shown} if shown.external and not stems(statement) <= said else {}

    writes, now = engine.writes, engine.writes.now()
    by_agent = {**who, "actor": f"agent:{who['agent_id']}"}
    source = {**by_agent, "source_turn_ids": (message_id,)}
    for fact in plan.facts:
        told = {**source, **fact.model_dump(exclude_none=True), "at": now, **origin(f"{fact.subject} {fact.object}")}
        yield _Planned("fact", f"{fact.subject} {fact.predicate} {fact.object}", partial(writes.remember, told))
    for memory in plan.memories:
        kept = {**source, **memory.model_dump(), "merge_similar": True, **origin(memory.text)}
        yield _Planned("memory", memory.text, partial(writes.create, kept))
    if mood := plan.affect:
        felt = {**by_agent, "label": mood.label, "confidence": mood.confidence, "markers": (mood.marker,), "at": now}
        yield _Planned("affect", mood.label, lambda: writes.handle(validated(SetAffect, felt)), mood.marker)
    if topic := plan.focus:
        focused = {**by_agent, "topic_focus": topic.topic, "at": now}
        yield _Planned("focus", topic.topic, lambda: writes.handle(validated(SetFocus, focused)), topic.marker)


async def _written(one: _Planned, message: str) -> Write:
    """What became of a planned write."""
    if one.marker is not None and not names(message, one.marker):
        return Write(one.kind, one.statement, refused=f"the message does not say {one.marker!r}")
    try:
        done = await one.write()
    except ConcurrencyConflict:
        raise
    except REFUSALS as error:
        return Write(one.kind, one.statement, refused=str(error))
    return Write(one.kind, one.statement, str(done[0] if isinstance(done, tuple) else done.event_ids[0]))
