"""Blobs on their way into the log: one whose event never comes, as after a crash, is deleted a day later."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

from mnemolog.adapters.blobs.store import blob_name
from mnemolog.adapters.jobs.job import Attempt, Job, JobKind
from mnemolog.adapters.postgres.locks import advisory_lock
from mnemolog.adapters.services import Services
from mnemolog.events.artifacts import blob_tag
from mnemolog.events.envelope import StreamId

DISCARD = "discard-blob"
# An upload takes seconds, the import of a user hours at most.
AFTER = timedelta(days=1)


def discarding(engine: Services) -> JobKind:
    return JobKind(name=DISCARD, run=partial(_delete_orphan, engine))


@dataclass(frozen=True, slots=True)
class Upload:
    """A blob without an event so far, and the job that deletes it."""

    stream: StreamId
    blob: str
    job: Job


async def upload(engine: Services, stream: StreamId, blob: str, content: bytes) -> Upload:
    """Put a blob before its event. `keep` or `discard` it afterwards; if the process ends first, the job decides."""
    async with _locked(engine, stream, blob):
        run_at = engine.jobs.now() + AFTER
        job = await engine.jobs.enqueue(DISCARD, {"blob": blob}, stream=stream, run_at=run_at)
    await engine.blobs.put(blob_name(stream, blob), content)
    return Upload(stream, blob, job)


async def keep(engine: Services, uploaded: Upload) -> None:
    """Its event is in the log."""
    await engine.jobs.withdraw(uploaded.job.job_id)


async def discard(engine: Services, uploaded: Upload) -> None:
    """There will be no event."""
    await engine.blobs.delete(blob_name(uploaded.stream, uploaded.blob))
    await engine.jobs.withdraw(uploaded.job.job_id)


async def _delete_orphan(engine: Services, attempt: Attempt) -> None:
    """Delete the blob, unless an event names it, or it was uploaded again since, as by a repeated import."""
    stream, blob = attempt.job.owner, str(attempt.job.payload["blob"])
    await engine.projections.require_whole_log()
    async with _locked(engine, stream, blob):
        if await engine.jobs.has_later(attempt.job):
            return
        if not await engine.log.read(stream, tags=[blob_tag(blob)], unread=True):
            await engine.blobs.delete(blob_name(stream, blob))


@asynccontextmanager
async def _locked(engine: Services, stream: StreamId, blob: str) -> AsyncIterator[None]:
    """So that no upload of the same blob begins between the check and the deletion."""
    async with engine.projections.beside_log.begin() as connection:
        await connection.execute(advisory_lock(f"blob {blob_name(stream, blob)}"))
        yield
