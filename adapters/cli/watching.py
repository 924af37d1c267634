"""`mnemolog watch`."""

from typing import Annotated

import typer
from rich.markup import escape

from mnemolog.adapters.cli import output, panels
from mnemolog.adapters.cli.options import Agent, User
from mnemolog.adapters.cli.session import settings_of, with_engine
from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.operations import watching
from mnemolog.adapters.operations.watching import Watch, WatchedChange
from mnemolog.events.envelope import DEFAULT_AGENT
from mnemolog.events.fields import validated


def register(app: typer.Typer) -> None:
    app.command("watch", rich_help_panel=panels.READ)(watch)


def watch(
    context: typer.Context,
    user: User,
    agent: Agent = DEFAULT_AGENT,
    since: Annotated[int | None, typer.Option("--since", help="Start after this seq; 0 for all changes.")] = None,
    wait: Annotated[float | None, typer.Option("--wait", help="End after this many seconds without a change.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON value per line.")] = False,
) -> None:
    """Watch the changes of a user as they happen, until Ctrl-C.

    Shows ids, not texts. Starts now, or after a seq.
    """
    given = {"user_id": user, "agent_id": agent, "since": since, "wait": wait}
    request = validated(Watch, {name: value for name, value in given.items() if value is not None})

    async def told(engine: Engine) -> None:
        async for found in watching.watch(engine, request):
            await engine.authenticated()  # Unauthenticated once the API key was revoked.
            for change in found.changes:
                _print(change, json_wanted=json)

    with_engine(settings_of(context.obj), told)


def _print(change: WatchedChange, *, json_wanted: bool) -> None:
    if json_wanted:
        typer.echo(change.model_dump_json())
        return
    what = f"[bold]{change.event}[/] {change.subject} {escape(change.subject_id)}"
    output.console.print(f"[dim]{change.seq}[/] {what}", highlight=False, soft_wrap=True)
