"""Extracts facts from what users say, off the path of writes (B13, E06): a job a thread, by rules.

A sweep over the open threads enqueues a job for each with new messages. A job reads the messages since the last one,
and records what they state. Only what users say is read: nothing of assistants, tools, or attachments.
"""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import AsyncGenerator, Collection, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, NamedTuple

from sqlalchemy.ext.asyncio import AsyncConnection

from mnemolog.adapters.jobs.job import Attempt, JobKind, Payload
from mnemolog.adapters.maintenance.threads import enqueue_threads, sweeping
from mnemolog.adapters.services import Services
from mnemolog.commands.extraction_requests import ACTOR, ExtractTurn
from mnemolog.commands.facts import Remember
from mnemolog.commands.turn_taking import TurnTaking
from mnemolog.domain.anaphora import RELATION
from mnemolog.domain.calendar_day import end_of_planned
from mnemolog.domain.entity import ME, PERSON
from mnemolog.domain.extraction.candidate import EXTRACTOR, MOST_WRITES, Action, Candidate
from mnemolog.domain.extraction.extractor import extract
from mnemolog.domain.extraction.roles import name_with_role, states_role
from mnemolog.domain.message import Message
from mnemolog.domain.minds.mind import Mind
from mnemolog.domain.origin import Origin
from mnemolog.domain.predicates import Predicate
from mnemolog.domain.text import name_key
from mnemolog.domain.turn import Role
from mnemolog.events.conversation import TurnRecorded, thread_tag, turn_tag
from mnemolog.events.envelope import Header, Recorded, StreamId
from mnemolog.events.message_fold import MESSAGE
from mnemolog.projections.rows import Row

_logger = logging.getLogger("mnemolog.extraction")

SWEEP, THREAD, AGAIN, WINDOWS = "sweep-extraction", "extract-thread", "extract-again", "extract-windows"
EXTRACTING = (THREAD, AGAIN, WINDOWS)
"""The jobs that extract, and share the limit of a day."""
EVERY_SECONDS = 15.0
# A thread in which nothing was said for so long is read by the model, if something in it seems worth it.
QUIET = timedelta(minutes=1)
# Older messages are not read again, such as after an upgrade, or when the last job is no longer known.
READ_FOR = timedelta(days=7)
WINDOW, WINDOW_BEFORE = 10_000, 50
IMPORTED_AFTER = timedelta(hours=1)
"""What was said so long before it was recorded may come after what was said later."""
LOOK_SECONDS, LONGEST_WAIT_SECONDS = 0.5, 60.0
"""How often and how long to look whether the other threads of an import have been read."""
BESIDE = 500
"""So many events before what a thread says, others may have been read at the same time."""
LATELY = timedelta(days=1)
"""How far back what was told may be about messages that were read before."""
STATED_BEFORE = 20
"""So many earlier messages of an author that state something may be corrected by name."""
TOGETHER = 25
"""How many messages are recorded in one append."""
MOST_EVENTS = 4 * MOST_WRITES
"""What a message takes at most, nearly always: each fact, the two that it is about, and what it ends."""
THREADS_KNOWN = 1000
Thread = tuple[str, str]
"""An agent, and one of its threads."""
Part = tuple[int, int]
"""After which event of the stream to read a thread, and up to which."""


class Stated(NamedTuple):
    """A message that states something: its event, when it was said, and what it states."""

    event: Recorded
    said_at: datetime
    candidates: Sequence[Candidate]


@dataclass(frozen=True, slots=True)
class Silent:
    """Which of the last messages of a thread state nothing, by their sequence numbers.

    A job reads them again, with those that were said since; in a conversation, each message would be read 25 times.
    """

    _known: OrderedDict[tuple[StreamId, str, str], frozenset[int]] = field(default_factory=OrderedDict)

    def of(self, stream: StreamId, place: Payload) -> frozenset[int]:
        return self._known.get(_thread(stream, place), frozenset())

    def keep(self, stream: StreamId, place: Payload, silent: Collection[int]) -> None:
        thread = _thread(stream, place)
        self._known[thread] = frozenset(silent)
        self._known.move_to_end(thread)
        while len(self._known) > THREADS_KNOWN:
            self._known.popitem(last=False)


def _thread(stream: StreamId, place: Payload) -> tuple[StreamId, str, str]:
    return stream, str(place["agent_id"]), str(place["thread_id"])


def extracting(engine: Services) -> list[JobKind]:
    """The sweep, and the job of one thread, which decides again under the guard of the log."""
    return [
        sweeping(engine, SWEEP, EVERY_SECONDS, enqueue_due),
        JobKind(name=THREAD, run=partial(extract_thread, engine, Silent(), TurnTaking()), mind=Mind.EXTRACTION),
        JobKind(name=AGAIN, run=partial(read_again, engine), mind=Mind.EXTRACTION),
    ]


async def enqueue_due(engine: Services, now: datetime) -> int:
    """A job for each open thread with messages that no job has read; how many there are."""
    if engine.settings.extraction == "off":
        return 0

    async def reasons(_: AsyncConnection, page: Sequence[Row]) -> Sequence[str | None]:
        return [
            str(row["seq"]) if row["last_user_message_at"] and now - row["recorded_at"] < READ_FOR else None
            for row in page
        ]

    return await enqueue_threads(engine, THREAD, reasons)


async def extract_thread(engine: Services, silent: Silent, turns: TurnTaking, attempt: Attempt) -> None:
    """Record what the messages of a thread state, from where the last job ended; then the model may read them.

    The threads of a user take turns: what they record depends on each other, and a write would wait for all of them.
    """
    job = attempt.job
    stream, payload = job.owner, dict(job.payload)
    a_day, today = engine.policy.extraction.writes_per_day, start_of_day(engine.writes.now())
    before, written_today = await engine.jobs.sum_up(EXTRACTING, stream, payload, today)
    done = {"written": 0, "imported": False, **job.progress, "extractor": EXTRACTOR}
    through, since = max(before, done.get("through", 0)), engine.writes.now() - READ_FOR
    head = await engine.log.head(stream)
    while through < head and written_today < a_day:
        until = min(through + WINDOW, head)
        stated = await _read(engine, stream, payload, through, until, silent, since)
        while stated:
            if written_today >= a_day:  # What is left waits for another day.
                until = stated[0].event.seq - 1
                break
            left = a_day - written_today
            count = max(1, min(TOGETHER, left // MOST_EVENTS))  # Fewer when little of the limit is left.
            some, stated = stated[:count], stated[count:]
            async with turns.of(stream):
                recorded = await _record(engine, stream, some, f"extraction-{job.job_id}", left)
            # Also if it is recorded already: a job that was killed before it saved anything begins again.
            imported = any(one.event.recorded_at - one.said_at > IMPORTED_AFTER for one in some)
            done["imported"] = done["imported"] or imported
            done.setdefault("first", some[0].event.seq)
            if recorded:  # Beside the jobs of other threads.
                done |= {"through": some[-1].event.seq, "written": done["written"] + recorded}
                await attempt.save(done)
                _, by_all = await engine.jobs.sum_up(EXTRACTING, stream, payload, today)
                written_today = max(written_today + recorded, by_all)  # A job may be of the day before.
        through = max(through, until)
        done["through"] = through
        await attempt.save(done)
    if done["imported"]:
        await engine.jobs.enqueue(AGAIN, {}, stream=stream, unique_key=str(job.job_id))
    elif "first" in done and await _is_followed(engine, stream, payload, done["first"]):
        recent = {"after": max(0, done["first"] - BESIDE)}
        await engine.jobs.enqueue(AGAIN, recent, stream=stream, unique_key=str(job.job_id))
    await enqueue_windows(engine, stream, payload, str(through))


async def _is_followed(engine: Services, stream: StreamId, place: Payload, seq: int) -> bool:
    """Whether anything was said in another thread since then: it may have been read already."""
    thread = str(place["agent_id"]), str(place["thread_id"])
    async with aclosing(_headers(engine, stream, after=seq)) as events:
        async for event in events:
            if _is_turn(event) and _thread_of(event) != thread:
                return True
    return False


async def read_again(engine: Services, attempt: Attempt) -> None:
    """Read the messages again that were read before something that was said earlier.

    "I sold the Skoda" ends nothing until it is known that somebody drives one. Once for all threads of an import, when
    they have been read, and only among the last events: the cost does not grow with the threads or with the log. Of
    threads that are read while people write in them, only what was said about then.
    """
    job, stream, waited = attempt.job, attempt.job.owner, 0.0
    while True:
        if await engine.jobs.has_later(job):
            return  # It reads for this one, too.
        if waited >= LONGEST_WAIT_SECONDS or not await engine.jobs.unfinished(THREAD, stream):
            break
        await asyncio.sleep(LOOK_SECONDS)
        waited += LOOK_SECONDS
    after = int(job.payload["after"]) if "after" in job.payload else max(0, await engine.log.head(stream) - WINDOW)
    events = [event async for event in _headers(engine, stream, after)]
    parts = dict[Thread, Part]()
    for (agent_id, thread_id), (after, until) in read_too_early(events, job.enqueued_at - LATELY).items():
        # What no job has read yet, such as for the limit of the day, is left to the next one.
        place = {"agent_id": agent_id, "thread_id": thread_id}
        through, _ = await engine.jobs.sum_up((THREAD,), stream, place, engine.writes.now())
        parts[agent_id, thread_id] = after, min(until, through)
    written = await extract_again(engine, stream, parts, f"extraction-{job.job_id}")
    await attempt.save({"written": job.progress.get("written", 0) + written})


async def _headers(engine: Services, stream: StreamId, after: int = 0) -> AsyncGenerator[Header, None]:
    async for batch in engine.log.scan(stream, after=after):
        for one in batch:
            yield one.header


def read_too_early(events: Sequence[Header], since: datetime) -> Mapping[Thread, Part]:
    """The parts of threads that were said after a message and read before it, if it has told something since then.

    Those of its own thread, if they were recorded before it; those of others, if it had told nothing yet: they may be
    read at once. Threads of all agents: they share what is known of a user.
    """
    turns = {tag: one for one in events if _is_turn(one) for tag in one.tags if tag.startswith(turn_tag(""))}
    never = datetime.max.replace(tzinfo=UTC)
    found, earliest, telling = dict[Thread, Part](), never, set[int]()
    others = dict[Thread, datetime]()  # The two that told of what was said earliest: one is another thread than any.
    for event in reversed(events):
        thread = _thread_of(event)
        if _is_turn(event):
            said_before = min([earliest, *(at for other, at in others.items() if other != thread)])
            if event.occurred_at > said_before:
                found[thread] = event.seq - 1, found.get(thread, (0, event.seq))[1]
            if event.seq in telling:
                earliest = min(earliest, event.occurred_at)
        elif event.meta.get("actor") == ACTOR and event.recorded_at >= since:
            for turn in [turns[tag] for tag in event.tags if tag in turns]:
                telling.add(turn.seq)
                others[_thread_of(turn)] = min(turn.occurred_at, others.get(_thread_of(turn), never))
                if len(others) > 2:
                    del others[max(others, key=others.__getitem__)]
    return found


def _is_turn(event: Header) -> bool:
    return event.type == TurnRecorded.type_name()


def _thread_of(event: Header) -> Thread:
    return event.meta.get("agent_id", ""), event.meta.get("thread_id", "")


async def enqueue_windows(engine: Services, stream: StreamId, payload: Payload, reason: str) -> None:
    """Let the model read a thread in a minute, if there is one; once for a reason."""
    if engine.settings.extraction == "model" and engine.models.chat is not None:
        key = f"{payload['agent_id']}\n{payload['thread_id']}\n{reason}"
        run_at = engine.writes.now() + QUIET
        await engine.jobs.enqueue(WINDOWS, payload, stream=stream, unique_key=key, run_at=run_at)


def start_of_day(now: datetime) -> datetime:
    return now.replace(hour=0, minute=0, second=0, microsecond=0)


async def extract_anew(engine: Services, stream: StreamId, agent_id: str, run_id: str) -> tuple[int, int]:
    """Record what the rules of this version find in all messages that users wrote in an agent's threads.

    Returns how many threads it read, and how many events it recorded.
    """
    parts = dict[Thread, Part]()
    async for event in _headers(engine, stream):
        if _is_turn(event) and event.meta["agent_id"] == agent_id:
            after, _ = parts.get(_thread_of(event), (event.seq - 1, 0))
            parts[_thread_of(event)] = after, event.seq
    return len(parts), await _record_again(engine, stream, parts, run_id, anew=True)


async def extract_again(engine: Services, stream: StreamId, parts: Mapping[Thread, Part], run_id: str) -> int:
    """Record what parts of threads state that was not recorded so far: what they were about has changed.

    Returns how many events that took.
    """
    if engine.settings.extraction == "off":
        return 0
    return await _record_again(engine, stream, parts, run_id, anew=False)


async def _record_again(
    engine: Services, stream: StreamId, parts: Mapping[Thread, Part], run_id: str, *, anew: bool
) -> int:
    """In the order in which the messages were said: one thread may tell whom another is about."""
    written = 0
    since = datetime.min.replace(tzinfo=UTC) if anew else engine.writes.now() - READ_FOR
    for start in range(0, max((until for _, until in parts.values()), default=0), WINDOW):
        stated = list[Stated]()
        for (agent_id, thread_id), (after, until) in parts.items():
            first, last = max(after, start), min(until, start + WINDOW)
            if first < last:
                place = {"agent_id": agent_id, "thread_id": thread_id}
                stated += await _read(engine, stream, place, first, last, Silent(), since)
        stated.sort(key=lambda one: one.said_at)
        for first in range(0, len(stated), TOGETHER):
            some = stated[first : first + TOGETHER]
            written += await _record(engine, stream, some, run_id, MOST_WRITES, anew=anew)
    return written


async def _read(
    engine: Services, stream: StreamId, place: Payload, after: int, until: int, silent: Silent, since: datetime
) -> Sequence[Stated]:
    """The messages of a thread that were recorded since then and state something, each with when it was said."""
    before = max(0, after - WINDOW_BEFORE)  # A message may be about those before it.
    events = await engine.log.read(stream, after=before, until=until, tags=[thread_tag(str(place["thread_id"]))])
    said = [one for one in events if _speaks(one, str(place["agent_id"]), since)]
    found = await asyncio.to_thread(_candidates, said, silent.of(stream, place))
    silent.keep(stream, place, [event.seq for event, stated in zip(said, found, strict=True) if not stated])
    each = map(Stated, said, _in_order(said), found)
    return [one for one in each if one.candidates and one.event.seq > after]


def _speaks(event: Recorded, agent_id: str, since: datetime) -> bool:
    turn = event.payload
    if not isinstance(turn, TurnRecorded) or turn.role is not Role.USER or not turn.text:
        return False
    return event.meta.agent_id == agent_id and event.recorded_at >= since


def _candidates(said: Sequence[Recorded], silent: Collection[int]) -> Sequence[Sequence[Candidate]]:
    """What each message states; one may go on with what its author stated before."""
    told, previous = dict[str, list[Sequence[Candidate]]](), dict[str, str]()
    found = list[Sequence[Candidate]]()
    for event in said:
        turn = event.payload
        assert isinstance(turn, TurnRecorded)
        before = (told.get(turn.speaker, [])[-STATED_BEFORE:], previous.get(turn.speaker, ""))
        stated: Sequence[Candidate] = ()
        try:
            if event.seq not in silent:
                stated = extract(turn.text, event.occurred_at, turn.speaker or ME, *before)
        except Exception as error:  # noqa: BLE001  A rule may fail on one message: the others are read all the same.
            _logger.error("no rule reads event %d of %s: %s", event.seq, event.stream, type(error).__name__)
        previous[turn.speaker] = turn.text
        if stated:
            told.setdefault(turn.speaker, []).append(stated)
        found.append(stated)
    return found


def _in_order(said: Sequence[Recorded]) -> Iterator[datetime]:
    """When each was said: later than the one before if both have one time, as the messages of one list do."""
    at = earlier = datetime.min.replace(tzinfo=UTC)
    for event in said:
        at = at + timedelta(microseconds=1) if event.occurred_at == earlier else event.occurred_at
        earlier = event.occurred_at
        yield at


async def _record(
    engine: Services, stream: StreamId, stated: Sequence[Stated], run_id: str, most: int, *, anew: bool = False
) -> int:
    """Record what messages state, in one append; how many events that took.

    Decided one by one, each would read again what is known, which grows with each of them.
    """
    written, commands = 0, list[ExtractTurn]()
    for one in stated:
        events, command = await _proposed(engine, stream, one, run_id, most, anew=anew)
        written += events
        commands += [command] if command else []
    return written + await engine.writes.extract(stream, commands)


async def _proposed(
    engine: Services, stream: StreamId, stated: Stated, run_id: str, most: int, *, anew: bool
) -> tuple[int, ExtractTurn | None]:
    """Propose what a message says of the profile; how many events that took, and the command that records the rest."""
    event, said_at = stated.event, stated.said_at
    turn = event.payload
    assert isinstance(turn, TurnRecorded)
    who: dict[str, Any] = {
        "tenant": stream.tenant,
        "user_id": stream.owner,
        "agent_id": event.meta.agent_id,
        "thread_id": event.meta.thread_id,
        "run_id": run_id,
        "actor": ACTOR,
    }
    proposed = [one for one in stated.candidates if one.action is Action.PROPOSE and not turn.speaker]
    candidates = [one for one in stated.candidates if one.action is not Action.PROPOSE]
    if not turn.speaker:
        candidates = _apart_from(stream.owner, candidates)
    written, left = 0, MOST_WRITES
    for one in proposed[:MOST_WRITES]:
        if recorded := await propose(engine, stream, who, turn.turn_id, one):
            written, left = written + recorded, left - 1
    if not candidates or not left:
        return written, None
    return written, ExtractTurn(
        **who,
        turn_id=turn.turn_id,
        candidates=tuple(candidates),
        facts=tuple(fact_of(engine, who, said_at, (turn.turn_id,), one) for one in candidates),
        said_at=said_at,
        most=min(left, most),
        anew=anew,
        at=engine.writes.now(),
    )


def _apart_from(user_id: str, stated: Sequence[Candidate]) -> list[Candidate]:
    """What is said of somebody with the author's name is not the author's: it is of `friend Ana`, or left out."""
    own = name_key(user_id)
    named = next((name_with_role(one) for one in stated if states_role(one) and name_key(one.object or "") == own), "")

    def apart(name: str) -> str:
        return named if name_key(name) == own else name

    told = (
        replace(
            one, subject=apart(one.subject), object=apart(one.object) if one.object and not one.literal else one.object
        )
        for one in stated
    )
    return [one for one in told if one.subject and one.object != ""]


async def propose(
    engine: Services,
    stream: StreamId,
    who: Mapping[str, Any],
    turn_id: str,
    one: Candidate,
    extractor: str = EXTRACTOR,
    origin: Origin = Origin.USER,
) -> int:
    """Propose a profile field, unless the message was hidden since; how many events that took."""
    state: dict[str, Message] = {}
    for event in await engine.log.read(stream, tags=[turn_tag(turn_id)]):
        state |= MESSAGE.evolve(state, event.payload)
    if turn_id not in state or not state[turn_id].visible:
        return 0
    field = {
        "field": one.predicate,
        "value": one.object,
        "confidence": one.confidence,
        "source": extractor,
        "origin": origin,
    }
    done = await engine.writes.propose({**who, **field, "turn_id": turn_id})
    return 0 if done.receipt.already else len(done.receipt.event_ids)


def fact_of(
    engine: Services,
    who: Mapping[str, Any],
    said_at: datetime,
    turn_ids: Sequence[str],
    one: Candidate,
    extractor: str = EXTRACTOR,
    origin: Origin = Origin.USER,
) -> Remember:
    """The command that records a candidate, with what the policy says of the predicate, or else the candidate.

    What is planned for a day ends with it.
    """
    planned = end_of_planned(one.predicate, one.object)
    until = one.until or (planned if planned and planned > said_at else None)
    if one.action in (Action.END, Action.DENY):
        until = None
    told = {name: value for name, value in (("rule", one.rule), (RELATION, one.relation)) if value}
    fields = {
        "subject": one.subject,
        "predicate": one.predicate,
        "object": one.object or "*",
        "literal": one.literal if one.object else True,
        "since": one.since,
        "since_precision": one.precisions.get(one.since) if one.since else None,
        "until": until,
        "until_precision": one.precisions.get(until) if until else None,
        "confidence": one.confidence,
        "metadata": {"extractor": extractor, **told},
        "told_at": said_at,
        "source_turn_ids": tuple(turn_ids),
        "origin": origin,
    }
    command = engine.writes.fact({**who, **fields})
    if command.predicate in engine.policy.predicates.predicates:
        return command
    own = Predicate(command.predicate, single=one.single, category=one.category, subject=PERSON)
    return command.model_copy(update={"rule": own})
