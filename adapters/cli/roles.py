"""Commands that run one role of an engine, on your own servers: serve, relay, project, work."""

import asyncio
import os
from contextlib import AsyncExitStack
from typing import Annotated

import typer

from mnemolog.adapters.cli import output, panels
from mnemolog.adapters.cli.options import Json
from mnemolog.adapters.cli.session import cancelled_by_signals, settings_of
from mnemolog.adapters.config import Settings
from mnemolog.adapters.engine.engine import open_role
from mnemolog.adapters.engine.roles import EngineRole


def register(app: typer.Typer) -> None:
    for command in (serve, relay, project, work):
        app.command(rich_help_panel=panels.RUN)(command)


def serve(
    context: typer.Context,
    port: Annotated[int | None, typer.Option(help="The port of the HTTP API; 0 picks a free port.")] = None,
    json: Json = False,
) -> None:
    """Serve the HTTP API, on your own servers."""
    _run(settings_of(context.obj, http_port=port), EngineRole.SERVE, json=json)


def relay(context: typer.Context, json: Json = False) -> None:
    """Publish events to JetStream and record producers' turns, on your own servers."""
    _run(settings_of(context.obj), EngineRole.RELAY, json=json)


def project(context: typer.Context, json: Json = False) -> None:
    """Keep the projections up to date, on your own servers."""
    _run(settings_of(context.obj), EngineRole.PROJECT, json=json)


def work(context: typer.Context, json: Json = False) -> None:
    """Run background jobs and the audit, on your own servers."""
    _run(settings_of(context.obj), EngineRole.WORK, json=json)


def _run(settings: Settings, role: EngineRole, *, json: bool) -> None:
    try:
        asyncio.run(cancelled_by_signals(_until_stopped(settings, role, json=json)))
    except asyncio.CancelledError:
        if not json:
            output.done("stopped")


async def _until_stopped(settings: Settings, role: EngineRole, *, json: bool) -> None:
    async with AsyncExitStack() as stack:
        engine = await stack.enter_async_context(open_role(settings, role))
        url = None
        if role is EngineRole.SERVE:
            from mnemolog.adapters.http import server  # FastAPI takes 0.2 s to load, and only this role needs it.

            url = await stack.enter_async_context(server.serve(engine, settings.http_host, settings.http_port))
        if json:
            output.as_json({"role": role.value, "pid": os.getpid(), **({"http_url": url} if url else {})})
        else:
            output.done(f"[bold]{role.value}[/] is running" + (f" on {url}" if url else "") + "; Ctrl-C stops it")
        await asyncio.Event().wait()
