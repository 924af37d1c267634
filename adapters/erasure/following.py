"""Has a job look after the facts that were extracted from messages, when these are deleted, restored or erased."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta

from mnemolog.adapters.services import Services
from mnemolog.events.conversation import TurnRecorded, thread_tag
from mnemolog.events.envelope import Recorded, StreamId
from mnemolog.events.erasure import ThreadErased
from mnemolog.events.message_fold import MESSAGE

FOLLOW = "follow-messages"
# Longer than a write takes.
AFTER_A_CRASH = timedelta(minutes=1)


@asynccontextmanager
async def followed(engine: Services, stream: StreamId) -> AsyncIterator[None]:
    """Around a write that may change whether messages are shown.

    A job is enqueued before it as well, for later: a crash in between must not leave the facts as they were.
    """
    payload = {"after": await engine.log.head(stream)}
    spare = await engine.jobs.enqueue(FOLLOW, payload, stream=stream, run_at=engine.jobs.now() + AFTER_A_CRASH)
    yield
    await engine.jobs.enqueue(FOLLOW, payload, stream=stream)
    await engine.jobs.withdraw(spare.job_id)


async def messages_of(engine: Services, event: Recorded, *, unread: bool = False) -> Sequence[str]:
    """The messages that an event changes; all of a thread that it erases, `unread`: without what cannot be decoded."""
    if not isinstance(event.payload, ThreadErased):
        return MESSAGE.touched(event.payload)
    tags = [thread_tag(event.payload.thread_id)]
    spoken = await engine.log.read(event.stream, until=event.seq, tags=tags, unread=unread)
    return [one.payload.turn_id for one in spoken if isinstance(one.payload, TurnRecorded)]
