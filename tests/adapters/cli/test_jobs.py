"""`mnemolog job`, each command in a process of its own."""

from pathlib import Path
from uuid import uuid4

from mnemolog.adapters.cli import doctor
from mnemolog.adapters.engine.engine import Engine, open_engine
from mnemolog.adapters.jobs.job import JobKind, JobStatus
from mnemolog.events.envelope import StreamId
from tests.adapters.cli.command import mnemolog
from tests.adapters.jobs.test_worker import came_to, working
from tests.testkit.eventually import eventually
from tests.testkit.settings import settings_in


async def test_jobs_are_listed_shown_cancelled_and_retried(engine: Engine, user: str) -> None:
    directory, kind = engine.settings.directory, f"kind of {user}"
    job = await engine.jobs.enqueue(kind, {"turn_id": "t-1"}, stream=StreamId.of_user(user))
    id_ = str(job.job_id)

    listed = await mnemolog(directory, "job", "list", "--kind", kind, "--json")
    table = await mnemolog(directory, "job", "list", "--status", "queued", "--kind", kind)
    shown = await mnemolog(directory, "job", "get", id_[:23])
    cancelled = await mnemolog(directory, "job", "cancel", id_, "--json")
    again = await mnemolog(directory, "job", "cancel", id_, "--json")
    retried = await mnemolog(directory, "job", "retry", id_)

    assert listed.code == 0, listed.err
    assert [(one["job_id"], one["payload"]) for one in listed.value["items"]] == [(id_, {"turn_id": "t-1"})]
    assert id_[:13] in table.out
    assert f"user:{user}" in table.out
    assert "t-1" in shown.out
    assert cancelled.value["status"] == "cancelled"
    assert (again.code, again.value["error"]["code"]) == (1, "conflict")
    assert f"job {id_} is queued" in retried.out
    assert (await engine.jobs.get(job.job_id)).status is JobStatus.QUEUED
    await engine.jobs.cancel(job.job_id)


async def test_an_abbreviated_id_is_found_however_many_jobs_are_newer(engine: Engine, user: str) -> None:
    stream, kind = StreamId.of_user(user), f"kind of {user}"
    job = await engine.jobs.enqueue(kind, {}, stream=stream)
    await engine.jobs.enqueue_all(kind, {(stream, str(number)): {} for number in range(1000)})

    shown = await mnemolog(engine.settings.directory, "job", "get", str(job.job_id)[:23])
    await engine.jobs.forget(stream)

    assert (shown.code, str(job.job_id) in shown.out) == (0, True)


async def test_jobs_lists_what_job_list_does(engine: Engine, user: str) -> None:
    directory, kind = engine.settings.directory, f"kind of {user}"
    older, newer = [await engine.jobs.enqueue(kind, {}, stream=StreamId.of_user(user)) for _ in range(2)]
    await engine.jobs.cancel(older.job_id)

    listed = await mnemolog(directory, "jobs", "--kind", kind, "--json")
    queued = await mnemolog(directory, "jobs", "--kind", kind, "--status", "queued")
    one = await mnemolog(directory, "jobs", "--kind", kind, "--limit", "1", "--json")
    cursor = one.value["next_cursor"]
    other = await mnemolog(directory, "jobs", "--kind", kind, "--limit", "1", "--cursor", cursor, "--json")
    more = await mnemolog(directory, "jobs", "--kind", kind, "--limit", "1")
    nothing = await mnemolog(directory, "jobs", "--kind", f"no {kind}")

    found = {job["job_id"]: job["status"] for job in listed.value["items"]}
    assert found == {str(newer.job_id): "queued", str(older.job_id): "cancelled"}
    assert str(newer.job_id)[:13] in queued.out
    assert str(older.job_id)[:23] not in queued.out
    assert [job["job_id"] for page in (one, other) for job in page.value["items"]] == [
        str(newer.job_id),
        str(older.job_id),
    ]
    assert f"--cursor {cursor}" in more.out
    assert other.value["next_cursor"] is None
    assert "no jobs" in nothing.out
    await engine.jobs.cancel(newer.job_id)


async def test_an_unknown_job_is_refused(engine: Engine) -> None:
    unknown = await mnemolog(engine.settings.directory, "job", "get", str(uuid4()), "--json")
    malformed = await mnemolog(engine.settings.directory, "job", "retry", "seven", "--json")
    assert (unknown.code, unknown.value["error"]["code"]) == (1, "not_found")
    assert (malformed.code, malformed.value["error"]["field"]) == (2, "job_id")


async def _succeeded(engine: Engine, kinds: set[str]) -> bool:
    return kinds <= {job.kind for job in await engine.jobs.list(JobStatus.SUCCEEDED)}


async def test_what_recurs_is_there_from_the_start_and_a_failure_shows_in_doctor(tmp_path: Path) -> None:
    async def fails(_: object) -> None:
        raise ValueError

    async with open_engine(settings_in(tmp_path)) as engine:
        await eventually(lambda: _succeeded(engine, {"retention", "expire-proposals", "patrol"}))
        failing = await engine.jobs.enqueue("fails", {}, max_attempts=1)
        async with working(engine, engine.jobs, JobKind(name="fails", run=fails)):
            await came_to(engine.jobs, failing, JobStatus.FAILED)
        found = {finding.part: finding async for finding in doctor._running(engine)}
    assert not found["jobs"].good
    assert "1 failed" in found["jobs"].found
    assert "mnemolog job list --status failed" in found["jobs"].fix
