"""A worker: fetches due jobs, runs several concurrently, and records their outcome."""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from mnemolog.adapters.jobs.job import LATER, Job, JobKind, JobStatus, Payload, ids_only
from mnemolog.adapters.jobs.queue import JobQueue
from mnemolog.adapters.jobs.session import WorkerSession
from mnemolog.adapters.postgres.lease import lease_session
from mnemolog.adapters.unreachable import own_words
from mnemolog.domain.errors import EngineError

_logger = logging.getLogger("mnemolog.jobs")

POLL_SECONDS = 1.0
# No job begins while so many events wait for a projection: readers wait for these, and of a job that begins later, such
# as a summary, fewer are needed. But that takes so many seconds at most.
BEHIND = 20
LONGEST_WAIT_SECONDS = 3.0
CANCEL_SECONDS = 0.2
FIRST_DELAY_SECONDS = 1.0
LONGEST_DELAY_SECONDS = 600.0
KEPT = timedelta(days=7)
# The clocks of two workers may differ by so much before one of them counts as set back.
CLOCKS_DIFFER = timedelta(minutes=1)
STALLED = "its worker ended, or hung, in the middle"

# A mind that fails so often in a row for a user is paused for that user.
MOST_FAILURES = 5
# Errors of jobs that were logged already, per worker: a damaged stream has one line, however often it fails.
MOST_LOGGED = 10_000

CLEANING = "clean-jobs"
DAY = 86400.0


def delay(attempts: int, random: float) -> float:
    """Seconds until the next attempt: doubled each time, minus up to a half at random to spread them."""
    longest: float = min(LONGEST_DELAY_SECONDS, FIRST_DELAY_SECONDS * 2 ** (attempts - 1))
    return longest * (0.5 + random / 2)


class Worker:
    """Runs at most `at_once` jobs of each kind concurrently, so that no kind waits for another.

    `random` returns floats in [0, 1), and numbers for leases. `waiting` returns how many events wait for a projection.
    Any number of workers may run on one database.
    """

    def __init__(
        self,
        postgres_dsn: str,
        queue: JobQueue,
        kinds: Sequence[JobKind],
        *,
        at_once: int,
        name: str,
        now: Callable[[], datetime],
        random: Callable[[], float],
        waiting: Callable[[], int] = int,
    ) -> None:
        cleaning = JobKind(name=CLEANING, every=DAY, run=lambda _: queue.delete_finished(now() - KEPT))
        self._dsn, self._queue, self._at_once, self._name = postgres_dsn, queue, at_once, name
        self._kinds: Mapping[str, JobKind] = {kind.name: kind for kind in (*kinds, cleaning)}
        self._now, self._random, self._waiting = now, random, waiting
        self._fetch_by = 0.0
        self._running: dict[UUID, _Running] = {}
        self._periods: dict[str, int] = {}
        self._looked_at = datetime.max.replace(tzinfo=UTC)
        self._logged: set[tuple[str, str, str]] = set()
        self._wake = asyncio.Event()

    def wake(self) -> None:
        """Fetch jobs at once instead of with the next poll."""
        self._wake.set()

    async def run(self) -> None:
        """Work until cancelled. Then, or if the lease is lost, unfinished jobs are returned."""
        while True:
            try:
                async with lease_session(self._dsn) as lease:
                    number = int(self._random() * 2**31)
                    session = WorkerSession(lease, number, self._name, self._queue.key)
                    if await session.join():
                        try:
                            await lease.hold(self._work(session))
                        finally:
                            await _to_the_end(self._give_back(session))
            except Exception as error:  # noqa: BLE001  A database that is down comes back.
                _logger.warning("jobs: %r, trying again", error)
            await asyncio.sleep(POLL_SECONDS)

    async def _work(self, session: WorkerSession) -> None:
        loop = asyncio.get_running_loop()
        look_at = loop.time()
        while True:
            self._wake.clear()
            if loop.time() >= look_at:
                await self._follow_clock(session)
                # Counted from the epoch, so that all workers agree.
                for kind in self._kinds.values():
                    if kind.every is None:
                        continue
                    period = int(self._now().timestamp() // kind.every)
                    if self._periods.get(kind.name) != period:
                        await self._queue.enqueue_period(kind.name, period, kind.max_attempts)
                        self._periods[kind.name] = period
                await self._let_go(session)
                for job in await session.stalled():
                    _logger.warning("job %s (%s): %s", job.job_id, job.kind, STALLED)
                    await self._again(session, job, STALLED)
                look_at = loop.time() + POLL_SECONDS
            await self._fetch(session)
            with suppress(TimeoutError):
                async with asyncio.timeout_at(look_at):
                    await self._wake.wait()

    async def _follow_clock(self, session: WorkerSession) -> None:
        """Plan again at the start, and when the clock was set back: what recurs would wait until it has caught up."""
        now = self._now()
        if now < self._looked_at:
            await session.set_back(list(self._kinds), now, now + CLOCKS_DIFFER)
        self._looked_at = now

    async def _let_go(self, session: WorkerSession) -> None:
        """Stop jobs that an operator cancelled, and jobs we no longer hold."""
        if not self._running:
            return
        held = await session.held()
        for running in list(self._running.values()):
            cancel_requested = held.get((running.job.job_id, running.job.fence), True)
            if cancel_requested and not running.ending:
                running.cancelled = True
                running.task.cancel()

    async def _again(self, session: WorkerSession, job: Job, error: str, wait: float = 0.0) -> None:
        """After a failed attempt: retry later, or fail if it was the last. With a `wait` it does not count."""
        now = self._now()
        if job.cancel_requested:
            await session.finish(job, JobStatus.CANCELLED, now, error)
        elif wait:
            later = timedelta(seconds=min(wait, LONGEST_DELAY_SECONDS) + delay(1, self._random()))
            await session.requeue(job, now + later, error, counted=False)
        elif job.attempts >= job.max_attempts:
            await session.finish(job, JobStatus.FAILED, now, error)
        else:
            later = timedelta(seconds=delay(job.attempts, self._random()))
            await session.requeue(job, now + later, error)

    async def _fetch(self, session: WorkerSession) -> None:
        loop = asyncio.get_running_loop()
        if self._waiting() > BEHIND and loop.time() < self._fetch_by:
            return
        self._fetch_by = loop.time() + LONGEST_WAIT_SECONDS
        taken = Counter(running.job.kind for running in self._running.values())
        places = {kind: free for name, kind in self._kinds.items() if (free := self._at_once - taken[name]) > 0}
        for job in await session.fetch(places, self._now()) if places else ():
            running = self._running[job.job_id] = _Running(session, job)
            running.task = asyncio.create_task(self._run(session, running))

    async def _run(self, session: WorkerSession, running: "_Running") -> None:
        """One attempt and its outcome."""
        job, kind, error, interrupted, wait = running.job, self._kinds[running.job.kind], "", False, 0.0
        try:
            async with asyncio.timeout(kind.timeout):
                await kind.run(running)
        except asyncio.CancelledError:
            interrupted = True
        except Exception as failure:  # noqa: BLE001  Any error: it is retried and reported.
            error, interrupted = reason(failure), running.cancelled or running.stopped
            if isinstance(failure, LATER):
                wait = failure.retry_after
        running.ending = True
        try:
            if not (error or interrupted):
                await session.finish(job, JobStatus.SUCCEEDED, self._now(), mind=kind.mind)
            elif running.cancelled:
                await session.finish(job, JobStatus.CANCELLED, self._now())
            elif not interrupted:
                self._log(job, error)
                await self._again(session, job, error, wait)
                if kind.mind and not wait:
                    await self._count(session, job, kind.mind, error)
        except Exception as lost:  # noqa: BLE001  The session is gone: the job is stalled and runs again.
            _logger.warning("what became of job %s cannot be said: %r", job.job_id, lost)
        finally:
            self._running.pop(job.job_id, None)
            self._wake.set()

    def _log(self, job: Job, error: str) -> None:
        """An error of a stream is logged once, whatever jobs it fails."""
        about = (job.tenant, job.stream, error)
        if job.stream and about in self._logged:
            return
        if len(self._logged) < MOST_LOGGED:
            self._logged.add(about)
        _logger.warning("job %s (%s) failed: %s", job.job_id, job.kind, error)

    async def _count(self, session: WorkerSession, job: Job, mind: str, error: str) -> None:
        counted = await session.failed(mind, job, self._now(), error, MOST_FAILURES)
        if counted.failures == MOST_FAILURES:
            _logger.warning(
                "%s is paused for %s after %d failures in a row: %s; resume it with `mnemolog minds resume %s`",
                mind,
                job.stream,
                MOST_FAILURES,
                error,
                mind,
            )

    async def _give_back(self, session: WorkerSession) -> None:
        """Stop running jobs, and queue them without counting the attempt. Without a session they are stalled anyway."""
        left = list(self._running.values())
        for running in left:
            running.stopped = True
            if not running.ending:
                running.task.cancel()
        pending = {running.task for running in left}
        while pending:  # A driver in the middle of a query may turn a cancellation into an error.
            _, pending = await asyncio.wait(pending, timeout=CANCEL_SECONDS)
            for task in pending:
                task.cancel()
        with suppress(Exception):
            for running in left:
                await session.requeue(running.job, self._now(), counted=False)


@dataclass(slots=True, eq=False)
class _Running:
    """A job that runs here: `cancelled` for good, `stopped` and returned, or `ending` once its work is done."""

    session: WorkerSession
    job: Job
    task: "asyncio.Task[None]" = field(init=False)
    cancelled: bool = False
    ending: bool = False
    stopped: bool = False

    async def save(self, progress: Payload) -> None:
        await self.session.save(self.job, ids_only(progress))


def reason(error: BaseException) -> str:
    """The stored form of an error, without any text that may quote what somebody said."""
    said = error.message if isinstance(error, EngineError) else own_words(error)
    return f"{type(error).__name__}: {said}" if said else type(error).__name__


async def _to_the_end(work: Coroutine[Any, Any, None]) -> None:
    """Finish it, however often the caller is cancelled meanwhile."""
    task = asyncio.ensure_future(work)
    while not task.done():
        with suppress(asyncio.CancelledError):
            await asyncio.wait([task])
