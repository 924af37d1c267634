"""Writes one summary: by the chat model, or as an extract, and records it with how it was made (E §Summarization)."""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from uuid import UUID

from mnemolog.adapters.jobs.job import Overtaken
from mnemolog.adapters.services import Services
from mnemolog.commands.prompts import load
from mnemolog.commands.summaries import SUMMARIES, WriteSummary
from mnemolog.domain.errors import ModelNotAccessible, ModelOutputInvalid, ModelRequestRefused, NotFound
from mnemolog.domain.extract import EXTRACTIVE, extract
from mnemolog.domain.message import full_text
from mnemolog.domain.origin import Origin
from mnemolog.domain.summary import (
    FORMS,
    ITEM,
    ITEMS,
    LIMITS,
    Message,
    Spine,
    Summary,
    SummaryKind,
    shortened,
    summary_of,
)
from mnemolog.domain.turn import Role, Shown
from mnemolog.events.envelope import DEFAULT_AGENT, DEFAULT_THREAD, StreamId
from mnemolog.events.fields import validated
from mnemolog.events.generation import Generation
from mnemolog.projections.rows import Row

ACTOR = "summarizer"
MESSAGE_CHARACTERS = 2000
# What a model is given to read, and may answer.
READ_CHARACTERS, TOKENS = 60_000, 4000
# With more messages than these, the summaries of chunks stand for the messages that they cover.
IN_FULL = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """What a summary is made of: messages, in order, and for a spine the version before.

    `chunks` are summaries of parts of the messages. `labels` are those of the artifacts that came with a message, such
    as `[image#A7F3C2]`. `names` are those of known people and things.
    """

    kind: SummaryKind
    rows: Sequence[Row]
    agent_id: str = DEFAULT_AGENT
    thread_id: str = DEFAULT_THREAD
    session_id: UUID | None = None
    episode_id: UUID | None = None
    chunks: Sequence[Row] = ()
    labels: Mapping[str, Sequence[str]] = field(default_factory=dict)
    names: Collection[str] = ()
    before: Spine | None = None
    builds_on: int = 0


async def write(engine: Services, stream: StreamId, draft: Draft) -> None:
    """Write and record a summary, unless there is one of the same messages.

    ModelUnavailable, ModelBudgetExceeded and ModelNotAccessible: the job is tried again later. So it is with Overtaken,
    if a message was erased or hidden meanwhile.
    """
    command = validated(
        WriteSummary,
        {
            "tenant": stream.tenant,
            "user_id": stream.owner,
            "agent_id": draft.agent_id,
            "thread_id": draft.thread_id,
            "actor": ACTOR,
            "kind": draft.kind,
            "turn_ids": tuple(row["message_id"] for row in draft.rows),
            "session_id": draft.session_id,
            "episode_id": draft.episode_id,
            "builds_on": draft.builds_on,
            "mechanical": True,
            "generation": Generation(model=EXTRACTIVE),
            "text": "",
        },
    )
    # Such as after a crash between the summary and the end of its job. An extract costs less than this read.
    if engine.models.chat is not None and not (await engine.writes.handler.read(SUMMARIES, command)).needs(command):
        return
    summary, generation = await _made(engine, stream.tenant, draft)
    made = {**asdict(summary), "generation": generation, "mechanical": generation.model == EXTRACTIVE}
    try:
        await engine.writes.handler.handle(SUMMARIES, command.model_copy(update=made))
    except NotFound as hidden:
        raise Overtaken(hidden.message) from hidden


async def _made(engine: Services, tenant: str, draft: Draft) -> tuple[Summary, Generation]:
    if (chat := engine.models.chat) is not None:
        prompt = load(f"{draft.kind}_summary", limit=LIMITS.get(draft.kind, 0), item=ITEM, items=ITEMS)
        try:
            done = await chat.complete(tenant, prompt, _read(draft), FORMS[draft.kind], max_tokens=TOKENS)
        except ModelNotAccessible:  # Or all that is said until a key is corrected would stay an extract.
            raise
        except (ModelRequestRefused, ModelOutputInvalid):
            pass
        else:
            if (summary := summary_of(draft.kind, done.output)).text:
                return summary, done.generation
    said = [message(row, draft.labels) for row in draft.rows]
    summary = await asyncio.to_thread(extract, draft.kind, said, draft.names, draft.before)
    return summary, Generation(model=EXTRACTIVE)


def message(row: Row, labels: Mapping[str, Sequence[str]]) -> Message:
    """A message as it is summarized: with the captions of its attachments, after the labels of its artifacts.

    What a tool returned is left out: a summary is not trusted less than the conversation (X21).
    """
    if Origin.of_role(Role(row["role"])).external:
        return Message(Role(row["role"]), row["speaker"], "", row["occurred_at"])
    captions = [Shown(item["type"], item["caption"]) for item in row["attachments"]]
    text = shortened(full_text("", row["text"], captions), MESSAGE_CHARACTERS)
    text = " ".join([*labels.get(row["message_id"], ()), text])
    return Message(Role(row["role"]), row["speaker"], text, row["occurred_at"])


def _in_a_line(whose: str, text: str) -> str:
    return " ".join([*whose.split(), *text.split()])


def _read(draft: Draft) -> str:
    """What the model reads, each message or summary of a chunk in a line."""
    stands_for = _chunks(draft) if len(draft.rows) > IN_FULL else {}
    lines, at = list[str](), 0
    while at < len(draft.rows):
        chunk = stands_for.get(draft.rows[at]["message_id"])
        if chunk is not None:
            lines.append(_in_a_line(f"[summary of {chunk['messages']} messages]", chunk["text"]))
        else:
            said = message(draft.rows[at], draft.labels)
            lines.append(_in_a_line(f"{said.speaker or said.role}:", said.text))
        at += chunk["messages"] if chunk is not None else 1
    longest = max(ITEM, READ_CHARACTERS // len(lines))
    told = "\n".join(lines)
    if sum(map(len, lines)) > READ_CHARACTERS:
        told = "\n".join(shortened(line, longest) for line in lines)
    if draft.before is None:
        return told
    before = summary_of(SummaryKind.SPINE, draft.before).text
    return f"The present record:\n\n{before or '(empty)'}\n\nThe messages since:\n\n{told}"


def _chunks(draft: Draft) -> dict[str, Row]:
    """By their first messages, the chunks that cover messages of the draft only: none that was hidden since."""
    places = {row["message_id"]: at for at, row in enumerate(draft.rows)}
    found = dict[str, Row]()
    for chunk in draft.chunks:
        first, last = places.get(chunk["first_turn_id"]), places.get(chunk["last_turn_id"])
        if first is not None and last is not None and last - first + 1 == chunk["messages"]:
            found[chunk["first_turn_id"]] = chunk
    return found
