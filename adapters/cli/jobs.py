"""`mnemolog job`: list, show, retry and cancel background jobs."""

from collections.abc import Awaitable, Callable
from typing import Annotated
from uuid import UUID

import typer
from rich.text import Text

from mnemolog.adapters.cli import ids, output, panels
from mnemolog.adapters.cli.options import Cursor, Json
from mnemolog.adapters.cli.session import T, settings_of, with_engine
from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.jobs.job import Job, JobStatus
from mnemolog.adapters.jobs.queue import JobQueue
from mnemolog.domain.identity import parse_uuid
from mnemolog.projections.id_prefix import LISTED_IDS, one_of
from mnemolog.projections.paging import first_of, place_in, written_place

JobId = Annotated[str, typer.Argument(help="The job's id, or a prefix of it, as shown by `list`.")]

jobs = typer.Typer(help="List, show, retry and cancel background jobs.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    app.command(name="jobs", rich_help_panel=panels.LOOK_AFTER)(list_jobs)


@jobs.command(name="list")
def list_jobs(
    context: typer.Context,
    status: Annotated[JobStatus | None, typer.Option(help="Only jobs with this status.")] = None,
    kind: Annotated[str | None, typer.Option(help="Only jobs of this kind, such as retention.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="The maximum number of jobs.")] = 50,
    cursor: Cursor = None,
    json: Json = False,
) -> None:
    """List jobs, newest first."""
    before = place_in(cursor)
    found = _with_queue(context, lambda queue: queue.list(status, kind, limit + 1, before))
    page, following = first_of(found, limit, lambda last: written_place(last.enqueued_at, last.job_id))
    if json:
        output.as_json({"items": [job.as_dict() for job in page], "next_cursor": following})
        return
    rows = [(output.when(job.run_at), _what(job), _status(job), job.job_id) for job in page]
    output.show(("due", "job", "status", "id"), rows, nothing="no jobs", short=True)
    output.more(following)


@jobs.command()
def get(context: typer.Context, job_id: JobId, json: Json = False) -> None:
    """Read one job: its payload, its attempts, its progress and its last error."""
    job = _with_queue(context, lambda queue: _job(queue, job_id))
    if json:
        output.as_json(job.as_dict())
        return
    for name, value in job.as_dict().items():
        output.console.print(Text.assemble((f"{name:<16}", "dim"), str(value)), highlight=False, soft_wrap=True)


@jobs.command()
def retry(context: typer.Context, job_id: JobId, json: Json = False) -> None:
    """Queue a failed or cancelled job again."""
    _show(_with_queue(context, lambda queue: _changed(queue, job_id, queue.retry)), json=json)


@jobs.command()
def cancel(context: typer.Context, job_id: JobId, json: Json = False) -> None:
    """Cancel a job. A running one is stopped within seconds."""
    _show(_with_queue(context, lambda queue: _changed(queue, job_id, queue.cancel)), json=json)


async def _job(queue: JobQueue, id_: str) -> Job:
    """The job with this id, or the one whose id begins so."""
    if not ids.BEGINNING.fullmatch(id_):
        return await queue.get(parse_uuid(id_, "job_id"))
    found = await queue.beginning(id_.lower(), LISTED_IDS + 1)
    return await queue.get(UUID(one_of(found, id_, "job_id")))


async def _changed(queue: JobQueue, id_: str, change: Callable[[UUID], Awaitable[Job]]) -> Job:
    return await change((await _job(queue, id_)).job_id)


def _what(job: Job) -> Text:
    return Text.assemble(
        job.kind, f" of {job.stream}" if job.stream else "", (f"\n{job.error}" if job.error else "", "dim")
    )


def _status(job: Job) -> str:
    return f"{job.status}, attempt {job.attempts}" if job.attempts > 1 else str(job.status)


def _with_queue(context: typer.Context, ask: Callable[[JobQueue], Awaitable[T]]) -> T:
    async def work(engine: Engine) -> T:
        engine.require_operator()
        return await ask(engine.jobs)

    return with_engine(settings_of(context.obj), work, passive=True)


def _show(job: Job, *, json: bool) -> None:
    if json:
        output.as_json(job.as_dict())
    else:
        output.done(f"job {job.job_id} is {'being cancelled' if job.cancel_requested else job.status}")
