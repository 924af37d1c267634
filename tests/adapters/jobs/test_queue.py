"""The queue: what is enqueued is there, once for a unique key; cancelled, retried, erased with its user."""

from datetime import timedelta
from uuid import uuid4

import pytest

from mnemolog.adapters.engine.engine import Engine, now
from mnemolog.adapters.erasure.erasing import erase
from mnemolog.adapters.erasure.prove import prove
from mnemolog.adapters.erasure.target import ProofSubject
from mnemolog.adapters.jobs.job import JobStatus
from mnemolog.adapters.jobs.queue import JobQueue
from mnemolog.commands.erasure import EraseUser
from mnemolog.domain.errors import Conflict, InvalidInput, NotFound
from mnemolog.events.envelope import StreamId
from tests.engine.person import Person


async def test_a_job_is_there_with_its_ids_until_somebody_fetches_it(queue: JobQueue, kind: str, user: str) -> None:
    memory_id = uuid4()
    job = await queue.enqueue(kind, {"memory_id": memory_id, "pages": 3, "again": True}, stream=StreamId.of_user(user))
    assert job == await queue.get(job.job_id)
    assert [one.job_id for one in await queue.list(JobStatus.QUEUED, kind)] == [job.job_id]
    assert job.payload == {"memory_id": str(memory_id), "pages": 3, "again": True}
    assert (job.status, job.attempts, job.stream) == (JobStatus.QUEUED, 0, f"user:{user}")


async def test_a_unique_key_is_enqueued_once_for_a_kind_and_a_stream(queue: JobQueue, kind: str, user: str) -> None:
    stream = StreamId.of_user(user)
    first = await queue.enqueue(kind, {"turn": "t-1"}, stream=stream, unique_key="t-1")
    again = await queue.enqueue(kind, {"turn": "t-1"}, stream=stream, unique_key="t-1")
    of_another = await queue.enqueue(kind, {"turn": "t-1"}, stream=StreamId.of_user(f"{user}-x"), unique_key="t-1")
    assert again == first
    assert of_another.job_id != first.job_id
    await queue.cancel(first.job_id)
    assert (await queue.enqueue(kind, {"turn": "t-1"}, stream=stream, unique_key="t-1")).status is JobStatus.CANCELLED


async def test_many_are_enqueued_together_once_for_each_key(queue: JobQueue, kind: str, user: str) -> None:
    ana, bob = StreamId.of_user(user), StreamId.of_user(f"{user}-x")
    first = await queue.enqueue(kind, {"turn": "t-1"}, stream=ana, unique_key="t-1")
    woken = list[bool]()
    queue.enqueued = lambda: woken.append(True)

    places = {(ana, "t-1"): {"turn": "t-1"}, (ana, "t-2"): {"turn": "t-2"}, (bob, "t-1"): {"turn": "t-1"}}
    await queue.enqueue_all(kind, places)
    await queue.enqueue_all(kind, {})

    queued = await queue.list(JobStatus.QUEUED, kind)
    assert sorted((one.stream, one.payload["turn"]) for one in queued) == sorted(
        (stream.name, turn) for stream, turn in places
    )
    assert first.job_id in {one.job_id for one in queued}
    assert woken == [True]


async def test_a_period_is_enqueued_once_and_not_while_an_earlier_one_is_unfinished(queue: JobQueue, kind: str) -> None:
    first = await queue.enqueue_period(kind, 7, 3)
    assert first is not None
    assert await queue.enqueue_period(kind, 7, 3) is None
    assert await queue.enqueue_period(kind, 8, 3) is None
    await queue.cancel(first.job_id)
    assert await queue.enqueue_period(kind, 7, 3) is None
    assert await queue.enqueue_period(kind, 8, 3) is not None


@pytest.mark.parametrize("text", ["she said:\nI moved", "", "x" * 201])
async def test_a_payload_takes_ids_and_no_text(queue: JobQueue, kind: str, text: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        await queue.enqueue(kind, {"turn": text})
    assert refused.value.field == "turn"
    assert await queue.list(kind=kind) == []


async def test_what_is_cancelled_can_be_retried_and_what_waits_cannot(queue: JobQueue, kind: str) -> None:
    job = await queue.enqueue(kind, {})
    with pytest.raises(Conflict, match="is queued"):
        await queue.retry(job.job_id)
    assert (await queue.cancel(job.job_id)).status is JobStatus.CANCELLED
    with pytest.raises(Conflict, match="is already cancelled"):
        await queue.cancel(job.job_id)
    assert (await queue.retry(job.job_id)).status is JobStatus.QUEUED
    with pytest.raises(NotFound):
        await queue.get(uuid4())


async def test_finished_jobs_are_deleted_after_their_time(queue: JobQueue, kind: str) -> None:
    waits, finished = await queue.enqueue(kind, {}), await queue.enqueue(kind, {})
    await queue.cancel(finished.job_id)
    await queue.delete_finished(now() - timedelta(hours=1))
    assert len(await queue.list(kind=kind)) == 2
    await queue.delete_finished(now() + timedelta(seconds=1))
    assert [one.job_id for one in await queue.list(kind=kind)] == [waits.job_id]


async def test_the_jobs_of_a_user_go_with_his_erasure(engine: Engine, queue: JobQueue, kind: str, user: str) -> None:
    ana = Person(engine, user)
    await ana.creates("I keep goats.")
    subject = ProofSubject(StreamId.of_user(user))
    mine = await queue.enqueue(kind, {"memory_id": uuid4()}, stream=subject.stream)
    other = await queue.enqueue(kind, {}, stream=StreamId.of_user(f"{user}-x"))

    await erase(engine, EraseUser(user_id=user))
    with pytest.raises(NotFound):
        await queue.get(mine.job_id)
    assert await queue.get(other.job_id)
    await engine.settled(60)
    assert (await prove(engine, subject)).holds

    await queue.enqueue(kind, {}, stream=subject.stream)
    left = [place for place in (await prove(engine, subject)).places if place.readable]
    assert [place.name for place in left] == ["postgres mnemolog.jobs"]
