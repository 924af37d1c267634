"""Finishes an erasure whose process was killed: what is erased in the log goes from everywhere else, too (X07)."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby
from uuid import UUID

from mnemolog.adapters.erasure.erasing import FINISH, everything_of, forget_work, remove
from mnemolog.adapters.erasure.messages import TurnSelection, purge_turns
from mnemolog.adapters.jobs.job import Attempt, Kind
from mnemolog.adapters.services import Services
from mnemolog.commands.erasure_taken import Taken
from mnemolog.domain.message import subject_id
from mnemolog.events.conversation import TurnRecorded, thread_tag
from mnemolog.events.envelope import Position, Recorded, StreamId
from mnemolog.events.erasure import MemoryErased, ThreadErased, UserErased
from mnemolog.events.message_fold import MESSAGE


def finishing(engine: Services) -> Kind:
    """The job of one erasure. It reads from the log what was erased since it was enqueued."""
    return Kind(name=FINISH, run=partial(_finish, engine))


async def _finish(engine: Services, attempt: Attempt) -> None:
    job = attempt.job
    stream = StreamId(job.tenant, job.stream)
    events = await engine.log.read(stream, after=int(job.payload["after"]), unread=True)
    erasures = [one for one in events if one.payload.shreds()]
    await attempt.save({"erasures": len(erasures)})  # The erasure of a user takes this job along.
    for all_of_it, some in groupby(erasures, key=lambda one: isinstance(one.payload, UserErased)):
        if not all_of_it:
            await _remove(engine, stream, list(some), None)
            continue
        for one in some:
            await _remove(engine, stream, [one], await everything_of(engine, stream, one.seq))


async def _remove(engine: Services, stream: StreamId, erasures: Sequence[Recorded], everything: Taken | None) -> None:
    """`everything`: what the user had, if the user was erased."""
    found = everything or await _taken(engine, erasures)
    positions = [Position(stream, one.seq) for one in erasures]
    threads = frozenset(one.payload.thread_id for one in erasures if isinstance(one.payload, ThreadErased))
    waiting = TurnSelection(stream, turns=frozenset(found.turns), keyed=await engine.api_keys.producers())
    # Otherwise the user came back since.
    stays_away = everything is not None and await engine.log.head(stream) == positions[-1].seq
    await purge_turns(engine.nats.jetstream(), waiting, replace(waiting, threads=threads, everything=stays_away))
    gone = None if everything else frozenset(tag for one in erasures for tag in one.payload.shreds())
    await remove(engine, positions, [*found.memories, *map(subject_id, found.turns)], gone)
    if stays_away:
        await forget_work(engine, stream)


async def _taken(engine: Services, erasures: Sequence[Recorded]) -> Taken:
    """The memories and messages of some erasures."""
    memories, turns = list[UUID](), list[str]()
    for one in erasures:
        match one.payload:
            case MemoryErased(memory_id=memory_id):
                memories.append(memory_id)
            case ThreadErased(thread_id=thread_id):
                said = await engine.log.read(one.stream, until=one.seq, tags=[thread_tag(thread_id)], unread=True)
                turns += [each.payload.turn_id for each in said if isinstance(each.payload, TurnRecorded)]
        turns += MESSAGE.touched(one.payload)
    return Taken(tuple(memories), tuple(turns))
