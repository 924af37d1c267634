"""`mnemolog watch`."""

from typing import Any

import typer
from rich.markup import escape

from mnemolog.adapters.cli import output, panels
from mnemolog.adapters.cli.operations import fields_of, signature_of
from mnemolog.adapters.cli.session import settings_of, with_engine
from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.operations import watching
from mnemolog.adapters.operations.watching import Watch, WatchedChange
from mnemolog.events.fields import validated


def register(app: typer.Typer) -> None:
    app.command("watch", rich_help_panel=panels.READ)(watch)


def watch(context: typer.Context, as_json: bool, **values: Any) -> None:
    """Watch the changes of a user as they happen, until Ctrl-C.

    Shows ids, not texts; with --json, a JSON value per line. Starts now, or after a seq.
    """
    request = validated(Watch, fields_of(Watch, values))

    async def told(engine: Engine) -> None:
        async for found in watching.watch(engine, request):
            await engine.authenticated()  # Unauthenticated once the API key was revoked.
            for change in found.changes:
                _print(change, json_wanted=as_json)

    with_engine(settings_of(context.obj), told)


watch.__signature__ = signature_of(Watch)  # type: ignore[attr-defined]


def _print(change: WatchedChange, *, json_wanted: bool) -> None:
    if json_wanted:
        typer.echo(change.model_dump_json())
        return
    what = f"[bold]{change.event}[/] {change.subject} {escape(change.subject_id)}"
    output.console.print(f"[dim]{change.seq}[/] {what}", highlight=False, soft_wrap=True)
