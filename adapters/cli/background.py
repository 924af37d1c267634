"""Commands for the shared engine: status, down."""

from dataclasses import asdict
from datetime import datetime

import typer

import mnemolog
from mnemolog.adapters.background import attaching
from mnemolog.adapters.background.clients import Client, clients, entering
from mnemolog.adapters.cli import output, panels
from mnemolog.adapters.cli.options import Json
from mnemolog.adapters.cli.session import settings_of
from mnemolog.adapters.embedded import Endpoints, engine_runs, holder, running_engine

KINDS = {"background": "in the background", "up": "as `mnemolog up`", "in-process": "inside a program"}


def register(app: typer.Typer) -> None:
    app.command("status", rich_help_panel=panels.RUN)(status)
    app.command("down", rich_help_panel=panels.RUN)(down)


def status(context: typer.Context, json: Json = False) -> None:
    """Show which engine runs on the data directory and which programs use it. Does not start one."""
    path = settings_of(context.obj).data_dir.expanduser().resolve()
    owner = holder(path) if engine_runs(path) else None
    found, users = running_engine(path), clients(path)
    if json:
        output.as_json(
            {
                "data_dir": str(path),
                "engine": owner and {"pid": owner.pid, "kind": owner.kind, **_details(found)},
                "clients": [asdict(one) for one in users],
            }
        )
        return
    if owner is None:
        output.done(f"no engine runs on {path}; the first use starts one")
    elif found is None or not found.ready:
        output.done(f"an engine (pid {owner.pid}) is starting or stopping on {path}")
    else:
        output.done(f"{engine_line(found)} on {path}")
        output.line("  since", output.when(datetime.fromisoformat(found.started_at)))
        if found.http_url:
            output.line("  HTTP ", found.http_url)
        if found.kind == "background":
            output.line("  log  ", str(attaching.log_file(path)))
    output.show(("pid", "program", "since"), [_row(one) for one in users], nothing="no program uses it")


def down(context: typer.Context, json: Json = False) -> None:
    """Stop the background engine or `mnemolog up`. Nothing is lost; the next use starts a new engine."""
    path = settings_of(context.obj).data_dir.expanduser().resolve()
    users: list[Client] = []
    stopped = None
    if engine_runs(path):
        with entering(path):
            users = clients(path)
            stopped = attaching.stop(path)
    if json:
        output.as_json({"data_dir": str(path), "stopped": stopped, "clients": [asdict(one) for one in users]})
    elif stopped is None:
        output.done(f"no engine runs on {path}")
    else:
        output.done(f"stopped (pid {stopped})")
        if users:
            named = ", ".join(f"{one.program} (pid {one.pid})" for one in users)
            output.console.print(f"  [dim]used by {named}: their next use starts an engine[/]", highlight=False)


def engine_line(found: Endpoints) -> str:
    """A short description of the running engine."""
    version = "" if found.version == mnemolog.__version__ else f", version {found.version}"
    return f"an engine runs {KINDS[found.kind]} (pid {found.pid}{version})"


def _details(found: Endpoints | None) -> dict[str, object]:
    if found is None:
        return {"ready": False}
    return {
        "ready": found.ready,
        "version": found.version,
        "started_at": found.started_at,
        "http_url": found.http_url,
    }


def _row(one: Client) -> tuple[str, str, str]:
    return str(one.pid), one.program, output.when(datetime.fromisoformat(one.since))
