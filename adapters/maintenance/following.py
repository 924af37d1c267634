"""Keeps extracted facts in line with their messages, in durable jobs: deleted, restored, erased or undone ones.

A job reads from the log which messages changed since it was enqueued.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

from mnemolog.adapters.erasure.following import FOLLOW, messages_of
from mnemolog.adapters.jobs.job import Attempt, JobKind
from mnemolog.adapters.maintenance.extracting import THREAD, Part, Thread, extract_again
from mnemolog.adapters.services import Services
from mnemolog.commands.extraction_requests import ACTOR
from mnemolog.commands.withdrawal import MOST, FollowMessages
from mnemolog.domain.memory import Cause
from mnemolog.events.conversation import TurnRecorded, turn_tag
from mnemolog.events.envelope import Recorded, StreamId
from mnemolog.events.erasure import MemoryErased, ThreadErased
from mnemolog.events.message import MessageEvent, MessagesErased


def following(engine: Services) -> JobKind:
    """The job of one write, which decides again under the guard of the log."""
    return JobKind(name=FOLLOW, run=partial(_follow, engine))


async def _follow(engine: Services, attempt: Attempt) -> None:
    job = attempt.job
    stream, run_id = job.owner, f"withdrawal-{job.job_id}"
    events = await engine.log.read(stream, after=int(job.payload["after"]))
    turn_ids = dict.fromkeys([id_ for event in events for id_ in await _changed(engine, event)])
    for start in range(0, len(turn_ids), MOST):
        turns = await _turns(engine, stream, list(turn_ids)[start : start + MOST])
        if not turns:
            continue
        who: dict[str, Any] = {"tenant": stream.tenant, "user_id": stream.owner, "actor": ACTOR, "run_id": run_id}
        about: dict[str, Any] = {"agent_id": turns[0].meta.agent_id, "thread_id": turns[0].meta.thread_id}
        known = tuple(one.payload.turn_id for one in turns if isinstance(one.payload, TurnRecorded))
        command = FollowMessages(**who, **about, turn_ids=known, at=engine.writes.now())
        receipt = await engine.writes.handle(command)
        changed: dict[Thread, list[int]] = {}
        for turn in turns:
            changed.setdefault((turn.meta.agent_id, turn.meta.thread_id), []).append(turn.seq)
        parts = dict[Thread, Part]()
        for (agent_id, thread_id), seqs in changed.items():
            payload = {"agent_id": agent_id, "thread_id": thread_id}
            through, _ = await engine.jobs.sum_up((THREAD,), stream, payload, command.at)
            parts[agent_id, thread_id] = min(seqs) - 1, max(through, *seqs)
        await extract_again(engine, stream, parts, run_id)
        await attempt.save({"changed": 0 if receipt.already else len(receipt.event_ids)})


async def _changed(engine: Services, event: Recorded) -> Sequence[str]:
    """The messages that an event deleted, restored or erased; not those whose retention ended."""
    payload = event.payload
    expired = isinstance(payload, MessagesErased) and payload.cause is Cause.TTL
    follows = isinstance(payload, MessageEvent | MessagesErased | MemoryErased | ThreadErased) and not expired
    return await messages_of(engine, event) if follows else ()


async def _turns(engine: Services, stream: StreamId, turn_ids: Sequence[str]) -> Sequence[Recorded]:
    found = await engine.log.read(stream, tags=list(map(turn_tag, turn_ids)))
    return [one for one in found if isinstance(one.payload, TurnRecorded)]
