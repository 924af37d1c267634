"""Commands that run and maintain an engine: up, demo, ingest, replay, doctor, config."""

import asyncio
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from mnemolog.adapters.cli import demo as demo_story
from mnemolog.adapters.cli import doctor as examination
from mnemolog.adapters.cli import output, panels, replaying
from mnemolog.adapters.cli.ingesting import ingest_file
from mnemolog.adapters.cli.options import Json
from mnemolog.adapters.cli.session import settings_of, with_engine
from mnemolog.adapters.config import Settings
from mnemolog.adapters.embedded.servers import without_secrets
from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.engine.garbage import collect_rarely
from mnemolog.adapters.ingest.source import Format
from mnemolog.projections.rebuild import Rebuilt


def register(app: typer.Typer) -> None:
    for name, command, panel in (
        ("up", up, panels.RUN),
        ("demo", demo, panels.RUN),
        ("ingest", ingest, panels.RUN),
        ("doctor", doctor, panels.LOOK_AFTER),
        ("replay", replay, panels.LOOK_AFTER),
        ("config", config, panels.REFERENCE),
    ):
        app.command(name, rich_help_panel=panel)(command)


def up(
    context: typer.Context,
    port: Annotated[int | None, typer.Option(help="The port of the HTTP API; 0 picks a free port.")] = None,
    json: Json = False,
) -> None:
    """Run an engine with its servers and the HTTP API, until Ctrl-C or SIGTERM."""
    from mnemolog.adapters.http.server import serve  # FastAPI takes 0.2 s to load, and only this command needs it.

    settings = settings_of(context.obj, http_port=port)

    async def run(engine: Engine) -> None:
        async with serve(engine, settings.http_host, settings.http_port) as url:
            _announce(engine, url, json=json)
            collect_rarely()
            await asyncio.Event().wait()

    try:
        with_engine(settings, run, attach=False, kind="up")
    except asyncio.CancelledError:
        if not json:
            output.done("stopped")


def _announce(engine: Engine, url: str, *, json: bool) -> None:
    from mnemolog.adapters.http.local_token import token_file

    token = token_file(engine.settings) if engine.settings.http_token == "on" else None
    if json:
        started = {"http_url": url, "pid": engine.endpoints.pid, "data_dir": str(engine.settings.directory)}
        output.as_json({**started, "http_token_file": str(token) if token else None})
        return
    output.done(f"Mnemolog runs on [bold]{engine.settings.directory}[/]")
    output.console.print(f"  HTTP     {url}  [dim](documentation: {url}/docs)[/]")
    if token:
        call = f'curl -H "Authorization: Bearer $(cat {token})" "{url}/v1/memories?user_id=ana"'
        output.console.print(Text(f"           {call}", "dim"), soft_wrap=True)
    else:
        output.console.print("           [dim]http_token is off: every account on this machine can call it[/]")
    output.console.print("  NATS     mnemolog.turns.<tenant>.<producer>  [dim](users: mnemolog producer)[/]")
    output.console.print("  [dim]Ctrl-C stops it[/]")


def demo(json: Json = False) -> None:
    """Run a demo that takes less than a minute, in a temporary data directory."""
    demo_story.tell(json=json)


def ingest(
    context: typer.Context,
    path: Annotated[Path, typer.Argument(help="A file of turns: JSON Lines, LoCoMo or a chat log.")],
    user: Annotated[
        str | None, typer.Option("--user-id", "--user", "-u", help="The user of lines without a user_id.")
    ] = None,
    layout: Annotated[Format, typer.Option("--format", help="auto, jsonl, locomo or chat.")] = "auto",
    json: Json = False,
) -> None:
    """Ingest conversations through JetStream. May be interrupted and run again: nothing is recorded twice."""
    report = with_engine(settings_of(context.obj), lambda engine: ingest_file(engine, path, layout, user))
    if json:
        output.as_json(report.as_dict())
    else:
        report.show()
    if report.set_aside:
        raise typer.Exit(1)


def replay(
    context: typer.Context,
    projections: Annotated[
        list[str] | None, typer.Argument(help="A projection, such as memories or graph. Default: all.")
    ] = None,
    drop_former: Annotated[
        bool, typer.Option("--drop-former", help="Afterwards drop the tables of other versions and embedding models.")
    ] = False,
    json: Json = False,
) -> None:
    """Rebuild projections from the log next to the live ones, compare, and swap."""

    async def rebuild(engine: Engine) -> tuple[list[Rebuilt], list[str]]:
        rebuilt = await replaying.rebuild_all(engine, projections or [])
        return rebuilt, await engine.projections.drop_former(projections or []) if drop_former else []

    rebuilt, dropped = with_engine(settings_of(context.obj), rebuild)
    if json:
        output.as_json([{"name": one.name, "events": one.events, "differences": one.differences} for one in rebuilt])
    else:
        replaying.show(rebuilt)
        if drop_former:
            output.done(f"dropped {', '.join(dropped)}" if dropped else "there were no tables of other versions")


def doctor(context: typer.Context, json: Json = False) -> None:
    """Check every component and print fixes."""
    findings = examination.examine(settings_of(context.obj))
    if json:
        output.as_json([finding.as_dict() for finding in findings])
    else:
        examination.show(findings)
    if not all(finding.good for finding in findings):
        raise typer.Exit(1)


def config(context: typer.Context, json: Json = False) -> None:
    """Print the effective settings and the variable for each."""
    settings = settings_of(context.obj)
    rows = [
        (name, _shown(settings, name), f"MNEMOLOG_{name.upper()}", field.description or "")
        for name, field in Settings.model_fields.items()
    ]
    if json:
        output.as_json({name: value for name, value, _, _ in rows})
    else:
        output.settings(rows)


def _shown(settings: Settings, name: str) -> object:
    """Secrets are shown only as set or not set, and URLs without passwords."""
    value = settings.model_dump(mode="json")[name]
    if value is None:
        return None
    if name in ("master_key", "api_key", "model_api_key"):
        return "set"
    if name == "model_api_keys":
        return dict.fromkeys(value, "set")
    if name == "model_urls":
        return {feature: without_secrets(url) for feature, url in value.items()}
    return without_secrets(value) if name.endswith("_url") else value
