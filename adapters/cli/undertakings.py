"""`mnemolog rollback` and `mnemolog forget`: undo a whole undertaking; forget a session, an agent's own, or all."""

from typing import Annotated

import typer

from mnemolog.adapters.cli import output, panels
from mnemolog.adapters.cli.options import Agent, IdempotencyKey, Json, User
from mnemolog.adapters.cli.session import settings_of, with_engine
from mnemolog.adapters.engine import forgetting
from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.engine.forgetting import Forgetting, Reach
from mnemolog.commands.rollback import Plan, Rollback
from mnemolog.domain.viewer import Viewer
from mnemolog.events.envelope import Receipt
from mnemolog.events.fields import validated
from mnemolog.projections.extent import Extent

SHOWN = 10

DryRun = Annotated[bool, typer.Option("--dry-run", help="Show what would be done, and change nothing.")]


def register(app: typer.Typer) -> None:
    app.command(rich_help_panel=panels.CHANGE)(rollback)
    app.command(rich_help_panel=panels.ERASE)(forget)


def rollback(
    context: typer.Context,
    user: User,
    run: Annotated[str | None, typer.Option("--run", help="All of a run, such as an episode.")] = None,
    undertaking: Annotated[
        str | None, typer.Option("--undertaking", help="All of an import, a consolidation, a forgetting, a rollback.")
    ] = None,
    thread: Annotated[str | None, typer.Option("--thread", "-t", help="All that was written in a thread.")] = None,
    since: Annotated[str | None, typer.Option("--since", help="With --thread: not before this time.")] = None,
    until: Annotated[str | None, typer.Option("--until", help="With --thread: before this time.")] = None,
    skip_conflicts: Annotated[
        bool, typer.Option("--skip-conflicts", help="Leave what was changed again later as it is.")
    ] = False,
    dry_run: DryRun = False,
    key: IdempotencyKey = None,
    agent: Agent = "default",
    json: Json = False,
) -> None:
    """Undo all that a run, an import or a stretch of a thread changed, in one step. What was said stays said."""
    named = {"of_run": run, "of_undertaking": undertaking, "of_thread": thread, "since": since, "until": until}
    asked = {**named, "user_id": user, "agent_id": agent, "skip_conflicts": skip_conflicts}

    async def act(engine: Engine) -> tuple[Plan, Receipt | None]:
        about = {**asked, "tenant": engine.settings.tenant, "at": engine.writes.now()}
        command = validated(Rollback, about)
        if dry_run:
            return await engine.writes.rollback_plan(command), None
        return await engine.writes.rolled_back(command, key)

    plan, receipt = with_engine(settings_of(context.obj), act)
    if json:
        output.as_json({**plan.as_dict(), "receipt": receipt.as_dict() if receipt else None})
        return
    _show_plan(plan)
    if receipt:
        output.receipt(f"rolled back {output.count(len(plan.undone), 'change')}", receipt)
    elif not plan.undone and not plan.conflicts:
        output.console.print("[dim]nothing to undo there[/]")


def _show_plan(plan: Plan) -> None:
    for event_id in plan.undone[:SHOWN]:
        output.line("  undo", str(event_id))
    if len(plan.undone) > SHOWN:
        output.console.print(f"  … and {len(plan.undone) - SHOWN:,} more")
    for conflict in plan.conflicts:
        output.line("  ! conflict", f"{conflict.event_id}: {conflict.error.message}")


def forget(
    context: typer.Context,
    user: User,
    scope: Annotated[Reach, typer.Option("--scope", "-s", help="How far it goes.")],
    chat: Annotated[str | None, typer.Option("--chat", help="With --scope session: whose session.")] = None,
    with_episodes: Annotated[
        bool, typer.Option("--with-episodes", help="With --scope session: what happened in it today, too.")
    ] = False,
    hard: Annotated[bool, typer.Option("--hard", help="Destroy the text for good.")] = False,
    reason: Annotated[str, typer.Option(help="Why; it stands in the history.")] = "",
    dry_run: DryRun = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask before --hard.")] = False,
    agent: Agent = "default",
    json: Json = False,
) -> None:
    """Forget a session, what is an agent's own, or what all agents share. `rollback` brings back what is not --hard."""
    settings = settings_of(context.obj)

    def asked(engine: Engine) -> Forgetting:
        viewer = Viewer(engine.settings.tenant, user, agent)
        return Forgetting(viewer, scope, chat, with_episodes, hard, reason)

    if dry_run:
        _show_extent(with_engine(settings, lambda engine: forgetting.extent(engine, asked(engine))), json=json)
        return
    if hard and not yes:
        typer.confirm("Erase this for good?", abort=True, err=True)
    forgotten = with_engine(settings, lambda engine: forgetting.forget(engine, asked(engine)))
    if json:
        output.as_json(forgotten.as_dict())
        return
    output.done(f"{'erased' if hard else 'forgotten'}: {_told(forgotten.extent)}")
    if not hard and forgotten.receipt:
        output.console.print(f"  [dim]mnemolog rollback -u {user} --undertaking {forgotten.undertaking}[/]")


def _show_extent(found: Extent, *, json: bool) -> None:
    if json:
        output.as_json(found.as_dict())
    else:
        output.console.print(f"would take {_told(found)}")


def _told(found: Extent) -> str:
    counted = [
        output.count(len(found.memories), "memory", "memories"),
        output.count(len(found.facts), "fact"),
        output.count(len(found.entities), "entity", "entities"),
        *([output.count(len(found.todos), "todo")] if found.todos else []),
        *([output.count(len(found.profile), "profile field")] if found.profile else []),
    ]
    return ", ".join(counted)
