"""Uploads that a crash cuts off between the blob and its event."""

import asyncio
from datetime import timedelta
from types import SimpleNamespace
from typing import Any, cast
from uuid import UUID

import pytest

from mnemolog.adapters.artifacts import content as contents
from mnemolog.adapters.artifacts.uploads import AFTER, DISCARD, _delete_orphan, upload
from mnemolog.adapters.blobs.store import blob_name
from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.jobs.job import Attempt, Job, JobStatus
from mnemolog.commands.handler import Handler
from tests.engine.person import Person
from tests.testkit.eventually import eventually

pytestmark = pytest.mark.spec_part("E05")


@pytest.fixture
def ana(engine: Engine, user: str) -> Person:
    return Person(engine, user)


async def stored(ana: Person) -> UUID:
    return (await contents.store(ana.engine, b"Buy tea", {"user_id": ana.user, "name": "a.txt"}))[0]


async def blobs(ana: Person) -> list[str]:
    return [name async for name in ana.engine.blobs.names(ana.stream)]


async def pending(ana: Person) -> list[Job]:
    return [one for one in await ana.engine.jobs.list(kind=DISCARD) if one.stream == ana.stream.name]


def attempt(job: Job) -> Attempt:
    return cast(Attempt, SimpleNamespace(job=job))


@pytest.fixture
async def cut_off(ana: Person, monkeypatch: pytest.MonkeyPatch) -> Job:
    """The job of an upload whose process ended before the event."""

    async def killed(*arguments: Any, **options: Any) -> None:
        raise asyncio.CancelledError

    with monkeypatch.context() as patched:
        patched.setattr(Handler, "handle", killed)
        with pytest.raises(asyncio.CancelledError):
            await stored(ana)
    [job] = await pending(ana)
    return job


async def test_a_blob_whose_event_never_came_is_deleted_a_day_later(ana: Person, cut_off: Job) -> None:
    assert [name.partition("/")[2] for name in await blobs(ana)] == [cut_off.payload["blob"]]
    assert cut_off.run_at > cut_off.enqueued_at + AFTER - timedelta(minutes=1)
    await _delete_orphan(ana.engine, attempt(cut_off))
    assert await blobs(ana) == []
    await _delete_orphan(ana.engine, attempt(cut_off))


async def test_a_worker_runs_the_job(ana: Person, cut_off: Job) -> None:
    due = await ana.engine.jobs.enqueue(DISCARD, cut_off.payload, stream=ana.stream)

    async def done() -> bool:
        return (await ana.engine.jobs.get(due.job_id)).status is JobStatus.SUCCEEDED

    await eventually(done)
    assert await blobs(ana) == []


async def test_a_complete_upload_stays_and_leaves_no_job(ana: Person, cut_off: Job) -> None:
    """Even if its job was begun before the event came."""
    artifact_id = await stored(ana)
    assert await pending(ana) == [cut_off]
    [blob] = {name.partition("/")[2] for name in await blobs(ana)} - {cut_off.payload["blob"]}
    begun = await ana.engine.jobs.enqueue(DISCARD, {"blob": blob}, stream=ana.stream, run_at=cut_off.run_at)
    await _delete_orphan(ana.engine, attempt(begun))
    assert await contents.load(ana.engine, ana.stream, artifact_id) == b"Buy tea"


async def test_an_upload_of_the_same_blob_is_left_to_its_own_job(ana: Person, cut_off: Job) -> None:
    """As when the import of a user is repeated after a crash."""
    blob = str(cut_off.payload["blob"])
    again = await upload(ana.engine, ana.stream, blob, b"sealed")
    await _delete_orphan(ana.engine, attempt(cut_off))
    assert await blobs(ana) == [blob_name(ana.stream, blob)]
    await _delete_orphan(ana.engine, attempt(again.job))
    assert await blobs(ana) == []
