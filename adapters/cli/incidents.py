"""`mnemolog incident`: damage that was found, shown until acknowledged."""

from collections.abc import Sequence
from typing import Annotated

import typer
from rich.text import Text

from mnemolog.adapters.cli import output
from mnemolog.adapters.cli.options import Json
from mnemolog.adapters.cli.session import settings_of, with_engine
from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.verify.incidents import Incident
from mnemolog.domain.errors import NotFound

OPERATOR = "operator"
Ids = Annotated[list[str] | None, typer.Argument(help="Ids, as shown by `list`. Default: all open incidents.")]

incidents = typer.Typer(help="Damage that was found and what was done about it.", no_args_is_help=True)


@incidents.command(name="list")
def list_incidents(
    context: typer.Context,
    everything: Annotated[bool, typer.Option("--all", help="Include acknowledged incidents.")] = False,
    json: Json = False,
) -> None:
    """List open incidents, oldest first."""
    found = [one for one in with_engine(settings_of(context.obj), _found, passive=True) if everything or one.open]
    if json:
        output.as_json([one.as_dict() for one in found])
    elif not found:
        output.done("there are no incidents" if everything else "there are no open incidents")
    else:
        for one in found:
            output.console.print(line(one), highlight=False)


@incidents.command()
def get(
    context: typer.Context,
    incident_id: Annotated[str, typer.Argument(help="An id, as shown by `list`.")],
    json: Json = False,
) -> None:
    """Show one incident: what was found, where, when and by which component, and what was done."""
    found = [one for one in with_engine(settings_of(context.obj), _found, passive=True) if one.id == incident_id]
    if not found:
        raise NotFound(
            f"there is no incident {incident_id!r:.80}", field="id", fix="run `mnemolog incident list --all`"
        )
    if json:
        output.as_json(found[0].as_dict())
        return
    times = {"at": found[0].at, "acknowledged_at": found[0].acknowledged_at}
    for name, value in found[0].as_dict().items():
        shown = Text.assemble((f"{name:<16}", "dim"), output.value(times.get(name, value)))
        output.console.print(shown, highlight=False, soft_wrap=True)


@incidents.command()
def acknowledge(context: typer.Context, ids: Ids = None, json: Json = False) -> None:
    """Acknowledge incidents: they are then shown only with `--all`."""

    async def acknowledged(engine: Engine) -> Sequence[Incident]:
        return await engine.incidents.acknowledge(ids or [], engine.principal.name if engine.principal else OPERATOR)

    found = with_engine(settings_of(context.obj), acknowledged, passive=True)
    if json:
        output.as_json([one.as_dict() for one in found])
        return
    output.done(f"{output.count(len(found), 'incident')} acknowledged")


async def _found(engine: Engine) -> Sequence[Incident]:
    await engine.incidents.refresh()
    return engine.incidents.all()


def line(one: Incident) -> Text:
    """One incident: what, where, and what was done."""
    found = one.damage
    return Text.assemble(
        (one.id, "dim"),
        f"  {output.when(one.at)}  ",
        (f"{found.part} {found.kind}", "red" if one.open else "dim"),
        f"\n  {found.where}\n  {found.detail}\n",
        (f"  {one.done}, found by {one.found_by}{'' if one.open else ', acknowledged'}", "dim"),
    )
