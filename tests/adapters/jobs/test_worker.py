"""A worker: several jobs at once, retried with a delay, given back when it stops, done once more when it dies."""

import asyncio
import os
import random
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

import psycopg
import pytest

from mnemolog.adapters.engine.engine import Engine, now
from mnemolog.adapters.jobs import worker as workers
from mnemolog.adapters.jobs.job import Attempt, Job, JobKind, JobStatus
from mnemolog.adapters.jobs.queue import JobQueue
from mnemolog.adapters.jobs.worker import Worker, delay
from mnemolog.domain.errors import (
    LeaseLost,
    MnemologError,
    ModelBudgetExceeded,
    ModelNotAccessible,
    ModelUnavailable,
    ServerFailed,
)
from mnemolog.events.envelope import StreamId
from tests.engine.person import Person
from tests.testkit import warm
from tests.testkit.clock import Clock
from tests.testkit.eventually import eventually

STEPS = 12
SILENCE_SECONDS = 2
MINUTE = timedelta(minutes=1)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """As workers are, and faster."""
    monkeypatch.setattr(workers, "POLL_SECONDS", 0.05)
    monkeypatch.setattr(workers, "FIRST_DELAY_SECONDS", 0.02)


@asynccontextmanager
async def working(
    engine: Engine, queue: JobQueue, *kinds: JobKind, at_once: int = 2, waiting: Callable[[], int] = int
) -> AsyncIterator[Worker]:
    """A worker that runs meanwhile, by the clock of the queue, and has stopped afterwards."""
    dsn = engine.endpoints.postgres_dsn
    worker = Worker(
        dsn, queue, kinds, at_once=at_once, name="test", now=queue.now, random=random.random, waiting=waiting
    )
    running = asyncio.create_task(worker.run())
    try:
        yield worker
    finally:
        running.cancel()
        await asyncio.wait([running])


async def came_to(queue: JobQueue, job: Job, status: JobStatus) -> Job:
    async def reached() -> bool:
        return (await queue.get(job.job_id)).status is status

    await eventually(reached)
    return await queue.get(job.job_id)


async def test_a_job_is_run_and_tells_what_it_saved(engine: Engine, queue: JobQueue, kind: str) -> None:
    async def run(attempt: Attempt) -> None:
        await attempt.save({"pages": attempt.job.payload["pages"]})

    async with working(engine, queue, JobKind(name=kind, run=run)):
        done = await came_to(queue, await queue.enqueue(kind, {"pages": 3}), JobStatus.SUCCEEDED)
    assert (done.attempts, done.progress, done.error) == (1, {"pages": 3}, None)
    assert done.started_at is not None
    assert done.finished_at is not None


async def test_a_slow_job_holds_no_quick_one_up(engine: Engine, queue: JobQueue, kind: str) -> None:
    """Neither those of its own kind nor those of others, though these have no more than its places."""
    released = asyncio.Event()

    async def waits(attempt: Attempt) -> None:
        if attempt.job.payload.get("slow"):
            await released.wait()

    other = f"other {kind}"
    async with working(engine, queue, JobKind(name=kind, run=waits), JobKind(name=other, run=waits)):
        slow = await queue.enqueue(kind, {"slow": True})
        for quick_kind in (kind, other) * 5:
            await came_to(queue, await queue.enqueue(quick_kind, {}), JobStatus.SUCCEEDED)
        also_slow = await queue.enqueue(kind, {"slow": True})
        await came_to(queue, also_slow, JobStatus.RUNNING)
        await came_to(queue, await queue.enqueue(other, {}), JobStatus.SUCCEEDED)
        assert (await queue.get(slow.job_id)).status is JobStatus.RUNNING
        released.set()
        for one in (slow, also_slow):
            await came_to(queue, one, JobStatus.SUCCEEDED)


async def test_jobs_give_way_to_projections_but_not_for_long(
    engine: Engine, queue: JobQueue, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    behind, looked = 100, 0

    def waiting() -> int:
        nonlocal looked
        looked += 1
        return behind

    async def run(_: Attempt) -> None:
        pass

    async def looked_often() -> bool:
        return looked > seen + 5

    async with working(engine, queue, JobKind(name=kind, run=run), waiting=waiting):
        monkeypatch.setattr(workers, "LONGEST_WAIT_SECONDS", 0.1)
        for _ in range(2):
            await came_to(queue, await queue.enqueue(kind, {}), JobStatus.SUCCEEDED)
        behind = 0
        monkeypatch.setattr(workers, "LONGEST_WAIT_SECONDS", 3600.0)
        await came_to(queue, await queue.enqueue(kind, {}), JobStatus.SUCCEEDED)

        behind, seen = 100, looked
        held_back = await queue.enqueue(kind, {})
        await eventually(looked_often)
        assert (await queue.get(held_back.job_id)).status is JobStatus.QUEUED

        behind = 0
        await came_to(queue, held_back, JobStatus.SUCCEEDED)


async def test_no_more_of_a_kind_run_at_once_than_there_are_places(engine: Engine, queue: JobQueue, kind: str) -> None:
    running, most = 0, 0

    async def run(_: Attempt) -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.05)
        running -= 1

    jobs = [await queue.enqueue(kind, {}) for _ in range(10)]
    async with working(engine, queue, JobKind(name=kind, run=run), at_once=3):
        for job in jobs:
            await came_to(queue, job, JobStatus.SUCCEEDED)
    assert most == 3


async def test_what_fails_is_tried_again_and_then_failed(engine: Engine, queue: JobQueue, kind: str) -> None:
    async def run(attempt: Attempt) -> None:
        if attempt.job.payload["heals"] and attempt.job.attempts == 3:
            return
        if attempt.job.payload["heals"]:
            raise ServerFailed("the model does not answer")
        raise ValueError("I moved to Lisbon")

    async with working(engine, queue, JobKind(name=kind, run=run)):
        heals = await came_to(queue, await queue.enqueue(kind, {"heals": True}), JobStatus.SUCCEEDED)
        failed = await came_to(queue, await queue.enqueue(kind, {"heals": False}, max_attempts=2), JobStatus.FAILED)
        assert (heals.attempts, failed.attempts) == (3, 2)
        assert failed.error == "ValueError"  # Never the text, which may be what somebody said.
        assert (await queue.counts())[JobStatus.FAILED] >= 1
        again = await queue.retry(failed.job_id)
        assert again.attempts == 0
        await came_to(queue, again, JobStatus.FAILED)


def wrong_key() -> ModelNotAccessible:
    error = ModelNotAccessible("wrong key")
    error.retry_after = 0.01
    return error


@pytest.mark.parametrize("error", [ModelUnavailable("away", 0.01), ModelBudgetExceeded("used up", 0.01), wrong_key()])
async def test_a_job_waits_for_its_model_without_using_up_attempts(
    engine: Engine, queue: JobQueue, kind: str, error: MnemologError
) -> None:
    asked = 0

    async def run(attempt: Attempt) -> None:
        nonlocal asked
        asked += 1
        if asked < 5:
            raise error

    async with working(engine, queue, JobKind(name=kind, run=run)):
        done = await came_to(queue, await queue.enqueue(kind, {}, max_attempts=2), JobStatus.SUCCEEDED)
    assert (asked, done.attempts) == (5, 1)
    assert done.error is None


async def test_an_attempt_that_takes_too_long_is_a_failed_one(engine: Engine, queue: JobQueue, kind: str) -> None:
    async def run(_: Attempt) -> None:
        await asyncio.Event().wait()

    async with working(engine, queue, JobKind(name=kind, run=run, timeout=0.05)):
        failed = await came_to(queue, await queue.enqueue(kind, {}, max_attempts=2), JobStatus.FAILED)
    assert failed.error == "TimeoutError"


async def test_a_job_that_runs_is_stopped_when_it_is_cancelled_or_erased(
    engine: Engine, queue: JobQueue, kind: str, user: str
) -> None:
    stopped: list[str] = []

    async def run(attempt: Attempt) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            stopped.append(attempt.job.stream)

    stream = StreamId.of_user(user)
    async with working(engine, queue, JobKind(name=kind, run=run)):
        job, erased = await queue.enqueue(kind, {}), await queue.enqueue(kind, {}, stream=stream)
        for one in (job, erased):
            await came_to(queue, one, JobStatus.RUNNING)
        assert (await queue.cancel(job.job_id)).cancel_requested
        await came_to(queue, job, JobStatus.CANCELLED)
        await queue.forget(stream)
        await eventually(lambda: _holds(stopped == ["", stream.name]))


async def _holds(condition: bool) -> bool:
    return condition


async def test_a_worker_that_stops_gives_its_jobs_back(engine: Engine, queue: JobQueue, kind: str) -> None:
    async def waits(attempt: Attempt) -> None:
        await attempt.save({"next": 4})
        await asyncio.Event().wait()

    async def ends(_: Attempt) -> None:
        pass

    async with working(engine, queue, JobKind(name=kind, run=waits)):
        job = await came_to(queue, await queue.enqueue(kind, {}), JobStatus.RUNNING)
        await eventually(lambda: _saved(queue, job))
    back = await queue.get(job.job_id)
    assert (back.status, back.attempts, back.progress) == (JobStatus.QUEUED, 0, {"next": 4})
    async with working(engine, queue, JobKind(name=kind, run=ends)):
        assert (await came_to(queue, job, JobStatus.SUCCEEDED)).attempts == 1


async def _saved(queue: JobQueue, job: Job) -> bool:
    return bool((await queue.get(job.job_id)).progress)


@pytest.mark.spec_part("X08")
async def test_a_job_that_no_engine_enqueued_is_not_run(engine: Engine, queue: JobQueue, kind: str) -> None:
    ran: list[str] = []

    async def run(attempt: Attempt) -> None:
        ran.append(attempt.job.payload["user_id"])

    genuine = await queue.enqueue(kind, {"user_id": "ana"})
    async with await psycopg.AsyncConnection.connect(engine.endpoints.postgres_dsn, autocommit=True) as attacker:
        await attacker.execute(
            'UPDATE mnemolog.jobs SET payload = \'{"user_id": "bo"}\' WHERE job_id = %s', [genuine.job_id]
        )
    async with working(engine, queue, JobKind(name=kind, run=run)):
        failed = await came_to(queue, genuine, JobStatus.FAILED)
    assert ran == []
    assert failed.error is not None
    assert "MAC" in failed.error


async def test_what_recurs_is_enqueued_by_the_worker_itself(engine: Engine, queue: JobQueue, kind: str) -> None:
    ran: list[str | None] = []

    async def run(attempt: Attempt) -> None:
        ran.append(attempt.job.unique_key)

    recurs = JobKind(name=kind, run=run, every=0.2)
    async with working(engine, queue, recurs), working(engine, queue, recurs):
        await eventually(lambda: _holds(len(ran) >= 3))
    assert len(set(ran)) == len(ran)


@pytest.mark.parametrize(("attempts", "least", "most"), [(1, 0.5, 1), (2, 1, 2), (5, 8, 16), (40, 300, 600)])
def test_each_failure_doubles_the_delay_up_to_ten_minutes(
    attempts: int, least: float, most: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers, "FIRST_DELAY_SECONDS", 1.0)
    assert delay(attempts, 0) == least
    assert delay(attempts, 0.999999) == pytest.approx(most, rel=1e-3)


async def test_what_another_worker_took_cannot_be_saved(engine: Engine, queue: JobQueue, kind: str) -> None:
    outcome = asyncio.get_running_loop().create_future()

    async def run(attempt: Attempt) -> None:
        async with await psycopg.AsyncConnection.connect(engine.endpoints.postgres_dsn, autocommit=True) as other:
            await other.execute("UPDATE mnemolog.jobs SET fence = fence + 1 WHERE job_id = %s", [attempt.job.job_id])
        try:
            await attempt.save({"next": 1})
        except LeaseLost as error:
            outcome.set_result(error)

    async with working(engine, queue, JobKind(name=kind, run=run)):
        job = await queue.enqueue(kind, {})
        async with asyncio.timeout(60):
            assert isinstance(await outcome, LeaseLost)
    await queue.cancel(job.job_id)


# Faults


@asynccontextmanager
async def worker_process(engine: Engine, kind: str, output: int) -> AsyncIterator[warm.Process]:
    """A worker in a process of its own, which writes each step into the pipe."""
    arguments = ["-m", "tests.adapters.jobs.worker_process", str(engine.settings.directory), kind, str(STEPS)]
    process = await warm.spawn(*arguments, str(SILENCE_SECONDS), stdout=output)
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


@asynccontextmanager
async def pipe() -> AsyncIterator[tuple[asyncio.StreamReader, int]]:
    reading, writing = os.pipe()
    reader = asyncio.StreamReader()
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(reading, "rb")
    )
    try:
        yield reader, writing
    finally:
        transport.close()
        os.close(writing)


async def step_of(reader: asyncio.StreamReader) -> tuple[int, int, int]:
    """The pid, the attempt and the number of the next step that a worker says."""
    async with asyncio.timeout(120):
        pid, attempt, step = map(int, (await reader.readline()).split())
    return pid, attempt, step


@pytest.mark.parametrize("fault", [signal.SIGKILL, signal.SIGSTOP])
async def test_a_worker_that_dies_or_hangs_is_replaced_and_its_job_is_done_to_the_end_once(
    engine: Engine, queue: JobQueue, kind: str, user: str, fault: signal.Signals, tmp_path: Path
) -> None:
    job = await queue.enqueue(kind, {"user_id": user}, stream=StreamId.of_user(user))
    async with pipe() as (reader, writing), worker_process(engine, kind, writing) as first:
        while (await step_of(reader))[2] < STEPS // 3:
            pass
        os.kill(first.pid, fault)
        async with worker_process(engine, kind, writing) as second:
            said = await step_of(reader)
            while said[0] == first.pid:  # What it wrote before it was stopped.
                said = await step_of(reader)
            pid, attempt, begun_at = said
            assert (pid, attempt) == (second.pid, 2)
            assert begun_at >= STEPS // 3 - 1  # From what was saved, not from the beginning.
            if fault is signal.SIGSTOP:
                os.kill(first.pid, signal.SIGCONT)  # It wakes in the middle of its step, and has no lease.
            done = await came_to(queue, job, JobStatus.SUCCEEDED)
    assert (done.attempts, done.fence, done.progress) == (2, 2, {"next": STEPS})
    ana = Person(engine, user)
    texts = sorted(row["text"] for row in await engine.reads.newest(ana.viewer, 100, await ana.caught_up()))
    assert texts == sorted(f"I have {step} goats." for step in range(STEPS))


@pytest.mark.spec_part("A17")
async def test_a_mind_that_fails_five_times_in_a_row_pauses_for_that_user_until_it_is_resumed(
    engine: Engine, queue: JobQueue, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    mind, ana, bo = f"mind of {kind}", StreamId.of_user(f"ana of {kind}"), StreamId.of_user(f"bo of {kind}")
    broken = True

    async def run(attempt: Attempt) -> None:
        if broken and attempt.job.stream == ana.name:
            raise ServerFailed("the log was changed")

    async def paused() -> bool:
        return any(one.mind == mind and one.paused_at for one in await queue.mind_failures())

    async with working(engine, queue, JobKind(name=kind, run=run, mind=mind)):
        failing = await queue.enqueue(kind, {}, stream=ana)
        await eventually(paused)
        await asyncio.sleep(0.3)
        assert (await queue.get(failing.job_id)).attempts == 5
        await came_to(queue, await queue.enqueue(kind, {}, stream=bo), JobStatus.SUCCEEDED)
        waiting = await queue.enqueue(kind, {}, stream=ana)
        assert len([one for one in caplog.messages if "failed: ServerFailed" in one]) == 1
        assert len([one for one in caplog.messages if "is paused for" in one]) == 1

        broken = False
        assert (await queue.get(waiting.job_id)).status is JobStatus.QUEUED
        assert [one.stream for one in await queue.resume_mind(mind)] == [ana.name]
        for job in (failing, waiting):
            await came_to(queue, job, JobStatus.SUCCEEDED)
        assert await queue.mind_failures() == []


async def test_a_success_in_between_ends_the_count_of_failures(engine: Engine, queue: JobQueue, kind: str) -> None:
    async def run(attempt: Attempt) -> None:
        if attempt.job.attempts < 4:
            raise ServerFailed("not yet")

    mind, ana = f"mind of {kind}", StreamId.of_user(f"ana of {kind}")
    async with working(engine, queue, JobKind(name=kind, run=run, mind=mind)):
        for _ in range(2):
            await came_to(queue, await queue.enqueue(kind, {}, stream=ana), JobStatus.SUCCEEDED)
    assert [one for one in await queue.mind_failures() if one.mind == mind] == []


@pytest.mark.parametrize("restarted", [False, True], ids=["while it works", "before it starts"])
async def test_a_clock_that_is_set_back_stops_nothing_that_recurs(
    engine: Engine, queue: JobQueue, kind: str, *, restarted: bool
) -> None:
    """All minutes up to the later time have had their job."""
    runs = list[datetime]()

    async def run(_: Attempt) -> None:
        runs.append(clock())

    async def ran(times: int) -> bool:
        return len(runs) == times and (await queue.list(kind=kind))[0].status is JobStatus.SUCCEEDED

    queue.now = clock = Clock(now())
    minutely = JobKind(name=kind, run=run, every=60.0)
    async with AsyncExitStack() as work:
        await work.enter_async_context(working(engine, queue, minutely))
        await eventually(partial(ran, 1))
        for minute in range(2, 6):
            clock.move(MINUTE)
            await eventually(partial(ran, minute))
        if restarted:
            await work.aclose()
        clock.move(-4 * MINUTE)
        if restarted:
            await work.enter_async_context(working(engine, queue, minutely))
        await asyncio.sleep(0.3)
        clock.move(2 * MINUTE)  # The job of the next minute may have run by the clock of another worker.
        await eventually(partial(ran, 6))
    assert runs[5] < runs[4]


async def test_what_is_to_be_retried_waits_no_longer_because_the_clock_was_set_back(
    engine: Engine, queue: JobQueue, kind: str
) -> None:
    attempts = list[int]()

    async def run(attempt: Attempt) -> None:
        attempts.append(attempt.job.attempts)
        if len(attempts) == 1:
            raise ServerFailed("not now")

    async def failed_once() -> bool:
        job = await queue.get(enqueued.job_id)
        return job.attempts == 1 and job.status is JobStatus.QUEUED

    queue.now = clock = Clock(now())
    enqueued = await queue.enqueue(kind, {})
    async with working(engine, queue, JobKind(name=kind, run=run)):
        await eventually(failed_once)
        clock.move(timedelta(days=-365))
        await asyncio.sleep(0.3)
        clock.move(MINUTE)
        await came_to(queue, enqueued, JobStatus.SUCCEEDED)
    assert attempts == [1, 2]
