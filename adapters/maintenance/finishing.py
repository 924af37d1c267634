"""Finishes an erasure whose process was killed: what is erased in the log goes from everywhere else, too (X07)."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby

from mnemolog.adapters.erasure.erasing import FINISH, everything_of, forget_work, remove
from mnemolog.adapters.erasure.following import messages_of
from mnemolog.adapters.erasure.messages import TurnSelection, purge_turns
from mnemolog.adapters.jobs.job import Attempt, JobKind
from mnemolog.adapters.services import Services
from mnemolog.commands.erasure_taken import Taken
from mnemolog.domain.message import subject_id
from mnemolog.events.envelope import Position, Recorded, StreamId
from mnemolog.events.erasure import MemoryErased, ThreadErased, UserErased


def finishing(engine: Services) -> JobKind:
    """The job of one erasure. It reads from the log what was erased since it was enqueued."""
    return JobKind(name=FINISH, run=partial(_finish, engine))


async def _finish(engine: Services, attempt: Attempt) -> None:
    job = attempt.job
    stream = job.owner
    events = await engine.log.read(stream, after=int(job.payload["after"]), unread=True)
    erasures = [one for one in events if one.payload.shreds()]
    await attempt.save({"erasures": len(erasures)})  # The erasure of a user takes this job along.
    # Each erasure of the user by itself: what was written after it stays.
    for _, some in groupby(erasures, key=lambda one: one.event_id if isinstance(one.payload, UserErased) else None):
        await _remove(engine, stream, list(some))


async def _remove(engine: Services, stream: StreamId, erasures: Sequence[Recorded]) -> None:
    """Of the user, or of several subjects."""
    everything, last = isinstance(erasures[0].payload, UserErased), erasures[-1].seq
    found = await everything_of(engine, stream, last) if everything else await _taken(engine, erasures)
    threads = frozenset(one.payload.thread_id for one in erasures if isinstance(one.payload, ThreadErased))
    waiting = TurnSelection(stream, turns=frozenset(found.turns), keyed=await engine.api_keys.producers())
    # Otherwise the user came back since.
    stays_away = everything and await engine.log.head(stream) == last
    await purge_turns(engine.nats.jetstream(), waiting, replace(waiting, threads=threads, everything=stays_away))
    positions = [Position(stream, one.seq) for one in erasures]
    gone = None if everything else frozenset(tag for one in erasures for tag in one.payload.shreds())
    await remove(engine, positions, [*found.memories, *map(subject_id, found.turns)], gone)
    if stays_away:
        await forget_work(engine, stream)


async def _taken(engine: Services, erasures: Sequence[Recorded]) -> Taken:
    """The memories and messages of some erasures."""
    memories = tuple(one.payload.memory_id for one in erasures if isinstance(one.payload, MemoryErased))
    return Taken(memories, tuple([turn for one in erasures for turn in await messages_of(engine, one, unread=True)]))
