"""Sweeps, which enqueue a job for each user or thread that is due, and the jobs of threads."""

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime

from sqlalchemy.ext.asyncio import AsyncConnection

from mnemolog.adapters.jobs.job import Attempt, JobKind
from mnemolog.adapters.services import Services
from mnemolog.domain.minds.mind import Mind
from mnemolog.events.envelope import StreamId
from mnemolog.projections.episodes.reader import due
from mnemolog.projections.owner import stream_of
from mnemolog.projections.rows import Row

Sweep = Callable[[Services, datetime], Awaitable[int]]
# Why each of these threads is due, or None: a job has its reason in its key, so the same reason enqueues one job.
Reasons = Callable[[AsyncConnection, Sequence[Row]], Awaitable[Sequence[str | None]]]


def sweeping(engine: Services, name: str, every: float, enqueue_due: Sweep) -> JobKind:
    async def sweep(attempt: Attempt) -> None:
        await attempt.save({"enqueued": await enqueue_due(engine, engine.writes.now())})

    return JobKind(name=name, every=every, run=sweep)


def of_threads(
    engine: Services,
    sweep_name: str,
    job_name: str,
    every: float,
    enqueue_due: Sweep,
    work: Callable[[Services, StreamId, str, str], Awaitable[object]],
    mind: Mind,
) -> list[JobKind]:
    """The sweep, and the job of one thread: `work` gets its stream, agent and id."""

    async def thread(attempt: Attempt) -> None:
        stream, payload = attempt.job.owner, attempt.job.payload
        await work(engine, stream, payload["agent_id"], payload["thread_id"])

    return [sweeping(engine, sweep_name, every, enqueue_due), JobKind(name=job_name, run=thread, mind=mind)]


async def enqueue_threads(engine: Services, job_name: str, reasons: Reasons) -> int:
    """A job for each open thread that has a reason; how many have one."""
    found = 0
    async with engine.projections.live.connect() as connection:
        async for page in due(connection):
            why = await reasons(connection, page)
            await connection.commit()  # No transaction stays open while jobs are enqueued.
            reasoned = {
                (stream_of(row), f"{row['agent_id']}\n{row['thread_id']}\n{reason}"): row
                for row, reason in zip(page, why, strict=True)
                if reason is not None
            }
            found += len(reasoned)
            new = reasoned.keys() - await engine.jobs.known(job_name, list(reasoned))
            places = {one: {name: reasoned[one][name] for name in ("agent_id", "thread_id")} for one in new}
            await engine.jobs.enqueue_all(job_name, places)
    return found
