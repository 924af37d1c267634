"""An erasure whose process is killed between the log and everything else is finished by a job (X07)."""

import asyncio
from types import SimpleNamespace
from typing import Any, cast

import pytest

from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.erasure import erasing
from mnemolog.adapters.erasure.erasing import FINISH, erase, erase_each
from mnemolog.adapters.erasure.prove import prove
from mnemolog.adapters.erasure.target import ProofSubject
from mnemolog.adapters.jobs.job import Attempt, Job, JobStatus
from mnemolog.adapters.maintenance.finishing import _finish
from mnemolog.commands.erasure import Erase, EraseKnown, EraseThread, EraseUser
from mnemolog.domain.errors import NotFound
from tests.engine.person import Person
from tests.engine.test_artifacts import added, blobs
from tests.testkit.eventually import eventually

pytestmark = pytest.mark.spec_part("X07", "E05")


@pytest.fixture
def ana(engine: Engine, user: str) -> Person:
    return Person(engine, user)


async def pending(ana: Person) -> list[Job]:
    return [one for one in await ana.engine.jobs.list(kind=FINISH, limit=1000) if one.stream == ana.stream.name]


async def killed(ana: Person, command: Erase | EraseUser, monkeypatch: pytest.MonkeyPatch) -> Job:
    """The job of an erasure that was written, and nothing else."""

    async def ends(*args: Any) -> Any:
        raise asyncio.CancelledError

    before = await ana.engine.log.head(ana.stream)
    with monkeypatch.context() as patched:
        patched.setattr(erasing, "_clean", ends)
        with pytest.raises(asyncio.CancelledError):
            await erase(ana.engine, command)
    assert await ana.engine.log.head(ana.stream) > before
    [job] = await pending(ana)
    return job


async def finished(ana: Person, job: Job) -> None:
    async def save(progress: Any) -> None:
        assert progress["erasures"]

    await _finish(ana.engine, cast(Attempt, SimpleNamespace(job=job, save=save)))


async def test_an_artifact_leaves_no_embedding_and_no_file(ana: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    artifact_id, kept = await added(ana, caption="Zanzibarquux"), await added(ana, b"Other", caption="A river")
    await ana.engine.settled(60)
    command = EraseKnown(user_id=ana.user, kind="artifact", name=str(artifact_id))
    job = await killed(ana, command, monkeypatch)
    await ana.engine.settled(60)
    subject = ProofSubject(ana.stream, None, None, f"artifact:{artifact_id}")
    assert not (await prove(ana.engine, subject, "Zanzibarquux")).holds

    for _ in range(2):
        await finished(ana, job)

    assert (await prove(ana.engine, subject, "Zanzibarquux")).holds
    assert len(await blobs(ana)) == 1, f"that of {kept}"
    assert (await ana.engine.projections.rebuild("vectors")).equal


async def test_a_worker_runs_the_job(ana: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    artifact_id = await added(ana, caption="Zanzibarquux")
    command = EraseKnown(user_id=ana.user, kind="artifact", name=str(artifact_id))
    spare = await killed(ana, command, monkeypatch)
    due = await ana.engine.jobs.enqueue(FINISH, spare.payload, stream=ana.stream)

    async def done() -> bool:
        return (await ana.engine.jobs.get(due.job_id)).status is JobStatus.SUCCEEDED

    await eventually(done)
    assert await blobs(ana) == []


async def test_a_user_who_stays_away_leaves_no_job(ana: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    """The erasure takes the job along that finishes it."""
    await added(ana, caption="Zanzibarquux")
    spare = await killed(ana, EraseUser(user_id=ana.user), monkeypatch)
    await ana.engine.jobs.enqueue(FINISH, spare.payload, stream=ana.stream)

    async def gone() -> bool:
        return await pending(ana) == []

    await eventually(gone)
    assert (await prove(ana.engine, ProofSubject(ana.stream), "Zanzibarquux")).holds


async def test_what_a_user_wrote_since_stays(ana: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if something of it is erased before the job."""
    await added(ana, caption="Zanzibarquux")
    await ana.says("Zanzibarquux is my password")
    job = await killed(ana, EraseUser(user_id=ana.user), monkeypatch)
    kept = await added(ana, b"Other", caption="A river")
    await ana.says("Hello again")
    await erase(
        ana.engine, EraseKnown(user_id=ana.user, kind="artifact", name=str(await added(ana, b"c", caption="c")))
    )

    await finished(ana, job)

    found = await prove(ana.engine, ProofSubject(ana.stream), "Zanzibarquux")
    assert {one.name for one in found.places if one.readable} <= {"postgres mnemolog.jobs"}
    assert len(await blobs(ana)) == 1, f"that of {kept}"
    assert [row["text"] for row in await ana.engine.reads.messages(ana.viewer, ana.thread, 9)] == ["Hello again"]


async def test_a_thread_goes_with_its_attachments(ana: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    await ana.says("Zanzibarquux is my password")
    job = await killed(ana, EraseThread(user_id=ana.user, thread_id=ana.thread), monkeypatch)

    await finished(ana, job)

    assert (await prove(ana.engine, ProofSubject(ana.stream, thread_id=ana.thread), "Zanzibarquux")).holds


async def test_what_was_erased_or_refused_leaves_no_job(ana: Person) -> None:
    artifact_id, other = await added(ana), await added(ana, b"Other")
    commands = [EraseKnown(user_id=ana.user, kind="artifact", name=str(one)) for one in (artifact_id, other)]
    await erase(ana.engine, commands[0])
    await erase_each(ana.engine, commands, None)
    with pytest.raises(NotFound):
        await erase(ana.engine, EraseThread(user_id=ana.user, thread_id="nowhere"))
    assert await pending(ana) == []
    await erase(ana.engine, EraseUser(user_id=ana.user))
    assert await pending(ana) == []
