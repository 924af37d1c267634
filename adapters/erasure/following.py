"""Has a job look after the facts that were extracted from messages, when these are deleted, restored or erased."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

from mnemolog.adapters.services import Services
from mnemolog.events.envelope import StreamId

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
