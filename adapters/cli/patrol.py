"""Commands for cycles of agents' scenes: patrol run, patrol close."""

from collections.abc import Sequence

import typer

from mnemolog.adapters.cli import output, panels
from mnemolog.adapters.cli.options import Agent, Json, User
from mnemolog.adapters.cli.session import settings_of, with_engine
from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.maintenance.patrol import Closed, Patrol, close_cycle
from mnemolog.domain.viewer import Viewer

patrol = typer.Typer(help="Close the cycles by which an agent's scenes age.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    app.add_typer(patrol, name="patrol", rich_help_panel=panels.LOOK_AFTER)


@patrol.callback()
def group() -> None:
    """An agent's scenes become one cycle older after each of its sessions; scenes that are not recalled fade."""


@patrol.command()
def run(context: typer.Context, json: Json = False) -> None:
    """Close the cycle of every agent whose session has ended, as the engine does every five minutes."""

    async def work(engine: Engine) -> Sequence[Closed]:
        engine.require_operator()
        await engine.settled()
        return await Patrol(engine).run()

    _show(with_engine(settings_of(context.obj), work), json=json)


@patrol.command()
def close(context: typer.Context, user: User, agent: Agent, json: Json = False) -> None:
    """Close the cycle of one agent of one user now, even if its session has not ended."""

    async def work(engine: Engine) -> Sequence[Closed]:
        return [await close_cycle(engine, Viewer(engine.settings.tenant, user, agent))]

    _show(with_engine(settings_of(context.obj), work), json=json)


def _show(cycles: Sequence[Closed], *, json: bool) -> None:
    if json:
        output.as_json([one.as_dict() for one in cycles])
        return
    output.done(f"{output.count(len(cycles), 'cycle', 'cycles')} closed")
    for one in cycles:
        output.line(one.being.agent_id, f"of {one.being.user_id}: {len(one.dying)} dying, {len(one.revived)} revived")
        for id_ in one.dying:
            output.line(" ", f"dying {id_}")
        for id_ in one.revived:
            output.line(" ", f"active again {id_}")
