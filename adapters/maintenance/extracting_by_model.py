"""Extracts memories from windows of messages by the chat model (B13, E06, B09), after the rules have read them.

The job that applies the rules to a thread enqueues one that lets the model read what was closed since. A window that
the model cannot read now is read later; if its answer is unusable three times, the window is passed over, and its event
says so. What the model answered is recorded in one append with the event of the window: replay asks no model, and a
window is recorded once.
"""

from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid5

from pydantic import TypeAdapter

from mnemolog.adapters.jobs.job import Attempt, JobKind, Payload
from mnemolog.adapters.maintenance.extracting import (
    EXTRACTING,
    QUIET,
    READ_FOR,
    THREAD,
    WINDOW,
    WINDOW_BEFORE,
    WINDOWS,
    extract_again,
    fact_of,
    propose,
    start_of_day,
)
from mnemolog.adapters.maintenance.messages import line_of, said
from mnemolog.adapters.maintenance.minds import ANSWERS, answer_of
from mnemolog.adapters.services import Services
from mnemolog.commands.extraction_requests import MODEL_ACTOR, ExtractTurn
from mnemolog.commands.memories import CreateMemory
from mnemolog.commands.models import ChatModel
from mnemolog.commands.prompts import Prompt, load
from mnemolog.commands.todos import OpenTodo
from mnemolog.commands.windows import ExtractWindow, Proposed
from mnemolog.domain.category import CategoryPolicy
from mnemolog.domain.errors import MnemologError, ModelOutputInvalid
from mnemolog.domain.extraction.candidate import MOST_CANDIDATES, MOST_WRITES, Action
from mnemolog.domain.extraction.proposals import Accepted, Extracted, Judged, Sort, judge, judge_summary
from mnemolog.domain.extraction.validation import Fault
from mnemolog.domain.extraction.vocabulary import PREDICATES
from mnemolog.domain.extraction.windows import Trigger, Utterance, Window, windows
from mnemolog.domain.importance import Scale
from mnemolog.domain.memory import Kind
from mnemolog.domain.memory_key import Source
from mnemolog.domain.minds.mind import Mind
from mnemolog.domain.origin import Origin
from mnemolog.domain.predicates import PredicatePolicy
from mnemolog.domain.summary import FactCandidate, SummaryKind
from mnemolog.domain.text import same_text
from mnemolog.domain.turn import Role
from mnemolog.events.conversation import TurnRecorded, divided_tag, summaries_tag, thread_tag, turn_tag
from mnemolog.events.envelope import StreamId
from mnemolog.events.episodes import EpisodeClosed
from mnemolog.events.extraction import MessagesExtracted, read_tag
from mnemolog.events.fields import validated
from mnemolog.events.generation import Generation
from mnemolog.events.summaries import SummaryWritten

PROMPT = "extraction"
TOKENS, MESSAGES_BEFORE = 2000, 4
KINDS = {Sort.EVENT: Kind.EPISODE, Sort.PROCEDURE: Kind.PROCEDURE}
_TODOS = UUID("5b0f4f0c-0c0e-5d39-8f5b-1c7f1e7f0f52")


def extracting_by_model(engine: Services) -> list[JobKind]:
    """The job of one thread; what is enqueued while there is a model does nothing without one."""

    async def read(attempt: Attempt) -> None:
        if engine.models.chat is not None:
            done = await extract_windows(engine, engine.models.chat, attempt)
            if "episode_id" in attempt.job.payload:
                recorded = await extract_summary(engine, attempt)
                await attempt.save({**done, "written": done["written"] + recorded})

    return [JobKind(name=WINDOWS, run=read, mind=Mind.EXTRACTION)]


async def extract_windows(engine: Services, chat: ChatModel, attempt: Attempt) -> Mapping[str, int]:
    """Let the model read the closed windows of a thread that it has not read, as far as the rules have.

    What the rules read later may be about what the model reads only now, such as that a trip is cancelled: so they
    read it again. Returns the progress: how far it got, since when, and how many events were written.
    """
    job = attempt.job
    stream = job.owner
    place = {name: job.payload[name] for name in ("agent_id", "thread_id")}
    head, _ = await engine.jobs.sum_up((THREAD,), stream, place, engine.writes.now())
    before, _ = await engine.jobs.sum_up((WINDOWS,), stream, place, engine.writes.now())
    through = max(before, job.progress.get("through", 0))
    progress = {"through": through, "since": job.progress.get("since", through)}
    progress = await _read_windows(engine, chat, attempt, place, head, progress)
    if progress["written"]:
        part = {(place["agent_id"], place["thread_id"]): (progress["since"], head)}
        again = await extract_again(engine, stream, part, _who(attempt)["run_id"])
        progress = {**progress, "written": progress["written"] + again}
        await attempt.save(progress)
    return progress


async def _read_windows(
    engine: Services, chat: ChatModel, attempt: Attempt, place: Payload, head: int, progress: Mapping[str, int]
) -> dict[str, int]:
    job, now = attempt.job, engine.writes.now()
    stream, agent_id, thread_id = job.owner, str(place["agent_id"]), str(place["thread_id"])
    through, since, written = progress["through"], progress["since"], job.progress.get("written", 0)
    unusable = job.progress.get("unusable", 0)  # Of the first window that is read now.
    left = await _left(engine, stream, place)
    read = await _read(engine, stream, agent_id, thread_id)
    while through < head:
        until = min(through + WINDOW, head)
        after = max(0, through - WINDOW_BEFORE)
        events = await engine.log.read(stream, after=after, until=until, tags=[thread_tag(thread_id)])
        divided = await engine.log.read(stream, after=after, tags=[divided_tag(agent_id, thread_id)])
        spoken = said(events, agent_id, now - READ_FOR)
        new = [one for one in spoken if one.seq > through and one.turn_id not in read]
        ends = {one.payload.last_turn_ids[-1] for one in divided if isinstance(one.payload, EpisodeClosed)}
        quiet = until < head or not new or now - new[-1].at >= QUIET
        for window in windows(new, ends, engine.policy.extraction, quiet=quiet):
            if window.trigger:
                if left <= 0:  # What is left waits for another day, and costs no tokens.
                    return {"through": through, "since": since, "written": written}
                earlier = [one for one in spoken if one.seq < window.messages[0].seq][-MESSAGES_BEFORE:]
                try:
                    recorded = await _extract(engine, chat, attempt, stream, window, earlier, left, unusable)
                except ModelOutputInvalid:
                    failed = {"through": through, "since": since, "written": written, "unusable": unusable + 1}
                    await attempt.save(failed)
                    raise
                written, left, unusable = written + recorded, left - recorded, 0
            through = window.messages[-1].seq
            await attempt.save({"through": through, "since": since, "written": written})
        if until == head:
            break
        through = until
    return {"through": through, "since": since, "written": written}


async def extract_summary(engine: Services, attempt: Attempt) -> int:
    """Remember the facts that a model proposed in the final summary of a closed episode (E03).

    Returns how many events were written.
    """
    job = attempt.job
    stream, agent_id, thread_id = job.owner, job.payload["agent_id"], job.payload["thread_id"]
    written = await engine.log.read(stream, tags=[summaries_tag(thread_id)])
    summaries = [(one.event_id, one.payload) for one in written if isinstance(one.payload, SummaryWritten)]
    of_episode = [
        (id_, one)
        for id_, one in summaries
        if one.kind is SummaryKind.FINAL and str(one.episode_id) == job.payload["episode_id"] and one.text
    ]
    left = await _left(engine, stream, {"agent_id": agent_id, "thread_id": thread_id})
    if not of_episode or of_episode[-1][1].mechanical or left <= 0:
        return 0
    summary_id, summary = of_episode[-1]
    ends = await engine.log.read(stream, tags=[turn_tag(summary.first_turn_id), turn_tag(summary.last_turn_id)])
    turns = [one.seq for one in ends if isinstance(one.payload, TurnRecorded)]
    events = await engine.log.read(stream, after=turns[0] - 1, tags=[thread_tag(thread_id)])
    messages = [one for one in said(events, agent_id, datetime.min.replace(tzinfo=UTC)) if one.seq <= turns[-1]]
    proposed = TypeAdapter(tuple[FactCandidate, ...]).validate_python(summary.summary_json["facts_candidates"])
    judged = judge_summary(proposed, messages)
    cited = {message for one in judged.accepted for message in one.said_by}
    window = Window(tuple(sorted(cited, key=lambda message: message.seq)), Trigger.SUMMARY)
    return await record(engine, stream, _who(attempt), window, judged, summary.generation, left, summary_id)


async def _left(engine: Services, stream: StreamId, payload: Payload) -> int:
    """How many events may still be extracted today."""
    since = start_of_day(engine.writes.now())
    _, written = await engine.jobs.sum_up(EXTRACTING, stream, payload, since)
    return engine.policy.extraction.writes_per_day - written


def _who(attempt: Attempt) -> Mapping[str, Any]:
    job = attempt.job
    stream = job.owner
    return {
        "tenant": stream.tenant,
        "user_id": stream.owner,
        "agent_id": job.payload["agent_id"],
        "thread_id": job.payload["thread_id"],
        "run_id": f"extraction-{job.job_id}",
        "actor": MODEL_ACTOR,
    }


async def _read(engine: Services, stream: StreamId, agent_id: str, thread_id: str) -> Collection[str]:
    events = await engine.log.read(stream, tags=[read_tag(agent_id, thread_id)])
    found = (one.payload for one in events)
    return {id_ for one in found if isinstance(one, MessagesExtracted) and not one.summary_id for id_ in one.turn_ids}


async def _extract(
    engine: Services,
    chat: ChatModel,
    attempt: Attempt,
    stream: StreamId,
    window: Window,
    before: Sequence[Utterance],
    left: int,
    unusable: int,
) -> int:
    """Ask the model about a window and record what it proposes; how many events that took.

    `unusable` is how many of its answers about this window could not be used so far.
    """
    prompt = prompt_of(engine.policy.categories, engine.policy.predicates)
    earlier = [f"- {line_of(one)}" for one in before]
    lead = ["Before, only to understand the rest:", *earlier, "", "Messages:"] if earlier else ["Messages:"]
    text = "\n".join([*lead, *(f"[{number}] {line_of(one)}" for number, one in enumerate(window.messages, 1))])
    last = unusable + 1 >= ANSWERS
    answer, generation = await answer_of(
        chat, stream.tenant, prompt, text, Extracted, max_tokens=TOKENS, last_attempt=last
    )
    judged = Judged((), (Fault.UNREADABLE,))
    if answer:
        judged = judge(
            answer.candidates,
            window.messages,
            before,
            categories=engine.policy.categories.categories,
            profile_fields=engine.policy.profile.sensitive | engine.policy.profile.benign,
        )
    return await record(engine, stream, _who(attempt), window, judged, generation, left)


def prompt_of(categories: CategoryPolicy, predicates: PredicatePolicy) -> Prompt:
    """The instructions, with the categories and the predicates of the policy."""
    names = sorted({*predicates.predicates, *PREDICATES})
    return load(
        PROMPT, most=MOST_CANDIDATES, categories=", ".join(sorted(categories.categories)), predicates=", ".join(names)
    )


async def record(
    engine: Services,
    stream: StreamId,
    who: Mapping[str, Any],
    window: Window,
    judged: Judged,
    generation: Generation,
    left: int,
    summary_id: UUID | None = None,
) -> int:
    """Record what passed, in one append; how many events that took."""
    extractor = generation.writer
    proposed, faults, written = list[Proposed](), list(judged.faults), 0
    for one in judged.accepted:
        try:
            if one.fact and one.fact.action is Action.PROPOSE:
                written += await propose(engine, stream, who, one.said_by[0].turn_id, one.fact, extractor, Origin.AGENT)
            else:
                proposed.append(_proposed(engine, who, one, extractor))
        except MnemologError:  # Such as a name that is too long.
            faults.append(Fault.IMPLAUSIBLE)
    command = validated(
        ExtractWindow,
        {
            **who,
            "turn_ids": tuple(one.turn_id for one in window.messages),
            "trigger": window.trigger,
            "proposed": tuple(proposed),
            "faults": tuple(faults),
            "generation": generation,
            "summary_id": summary_id,
            "most": left,
            "at": engine.writes.now(),
        },
    )
    receipt = await engine.writes.extract_window(command)
    return written + (0 if receipt.already else len(receipt.event_ids) - 1)


def _proposed(engine: Services, who: Mapping[str, Any], one: Accepted, extractor: str) -> Proposed:
    """The command of a proposal."""
    main, turn_ids = one.said_by[0], tuple(message.turn_id for message in one.said_by)
    if one.fact:
        fact = fact_of(engine, who, main.at, turn_ids, one.fact, extractor, Origin.AGENT)
        statement = ExtractTurn(
            **who,
            turn_id=main.turn_id,
            candidates=(one.fact,),
            facts=(fact,),
            said_at=main.at,
            most=MOST_WRITES,
            at=engine.writes.now(),
        )
        return Proposed(turn_ids=turn_ids, statement=statement)
    if one.sort is Sort.TODO:
        about = f"{stream_of(who)} {same_text(one.text)}"
        fields = {"todo_id": uuid5(_TODOS, about), "text": one.text, "due": one.due, "source_turn_ids": turn_ids}
        return Proposed(turn_ids=turn_ids, todo=validated(OpenTodo, {**who, **fields}))
    memory = {
        "memory_id": engine.writes.new_id(),
        "text": one.text,
        "kind": KINDS.get(one.sort, Kind.FACT),
        "category": one.category,
        "importance": float(one.importance),
        "importance_scale": Scale.LEVEL5,
        "confidence": one.confidence,
        "role": Role.USER,
        "source": Source.SHADOW_EXTRACTION,
        "origin": Origin.AGENT,
        "source_turn_ids": turn_ids,
        "merge_similar": True,
        "metadata": {"extractor": extractor},
    }
    return Proposed(turn_ids=turn_ids, memory=validated(CreateMemory, {**who, **memory}), about=one.about)


def stream_of(who: Mapping[str, Any]) -> str:
    return f"{who['tenant']} {who['user_id']} {who['agent_id']}"
