"""`mnemolog job`: list, show, retry and cancel background jobs."""

from collections.abc import Awaitable, Callable
from typing import Annotated

import typer
from rich.text import Text

from mnemolog.adapters.cli import output, panels
from mnemolog.adapters.cli.options import Json
from mnemolog.adapters.cli.session import T, settings_of, with_engine
from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.jobs.job import Job, Status
from mnemolog.adapters.jobs.queue import JobQueue
from mnemolog.domain.identity import parse_uuid

JobId = Annotated[str, typer.Argument(help="The job's id, as shown by `list`.")]

jobs = typer.Typer(help="List, show, retry and cancel background jobs.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    app.add_typer(jobs, name="job", rich_help_panel=panels.LOOK_AFTER)


@jobs.command(name="list")
def list_jobs(
    context: typer.Context,
    status: Annotated[Status | None, typer.Option(help="Only jobs with this status.")] = None,
    kind: Annotated[str | None, typer.Option(help="Only jobs of this kind, such as retention.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="The maximum number of jobs.")] = 50,
    json: Json = False,
) -> None:
    """List jobs, newest first."""
    found = _asked(context, lambda queue: queue.list(status, kind, limit))
    if json:
        output.as_json([job.as_dict() for job in found])
        return
    rows = [
        (job.kind, job.stream or "–", job.status, output.when(job.run_at), job.attempts, job.error or "", job.job_id)
        for job in found
    ]
    output.show(("kind", "of", "status", "due", "attempts", "error", "id"), rows, nothing="no jobs")


@jobs.command()
def get(context: typer.Context, job_id: JobId, json: Json = False) -> None:
    """Read one job: its payload, its attempts, its progress and its last error."""
    job = _asked(context, lambda queue: queue.get(parse_uuid(job_id, "job_id")))
    if json:
        output.as_json(job.as_dict())
        return
    for name, value in job.as_dict().items():
        output.console.print(Text.assemble((f"{name:<16}", "dim"), str(value)), highlight=False, soft_wrap=True)


@jobs.command()
def retry(context: typer.Context, job_id: JobId, json: Json = False) -> None:
    """Queue a failed or cancelled job again."""
    _told(_asked(context, lambda queue: queue.retry(parse_uuid(job_id, "job_id"))), json=json)


@jobs.command()
def cancel(context: typer.Context, job_id: JobId, json: Json = False) -> None:
    """Cancel a job. A running one is stopped within seconds."""
    _told(_asked(context, lambda queue: queue.cancel(parse_uuid(job_id, "job_id"))), json=json)


def _asked(context: typer.Context, ask: Callable[[JobQueue], Awaitable[T]]) -> T:
    async def work(engine: Engine) -> T:
        engine.require_operator()
        return await ask(engine.jobs)

    return with_engine(settings_of(context.obj), work, passive=True)


def _told(job: Job, *, json: bool) -> None:
    if json:
        output.as_json(job.as_dict())
    else:
        output.done(f"job {job.job_id} is {'being cancelled' if job.cancel_requested else job.status}")
