"""Commands around producers: who may publish turns and of whom, and the schema of what they publish."""

from typing import Annotated, Any
from urllib.parse import urlsplit

import typer
from rich.text import Text

from mnemolog.adapters import producers as engine_producers
from mnemolog.adapters.cli import output, panels
from mnemolog.adapters.cli.api_keys import OWN_NATS, Wanted
from mnemolog.adapters.cli.options import Json
from mnemolog.adapters.cli.session import settings_of, with_engine
from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.nats.subjects import Address
from mnemolog.domain.principal import ALL, Principal, Role, producer_name
from mnemolog.events.fields import validated

Name = Annotated[str, typer.Argument(help="1 to 40 of A-Z a-z 0-9 _ -")]

producers = typer.Typer(help="Producers: who may publish turns over NATS, and of which users.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    app.add_typer(producers, name="producer", rich_help_panel=panels.LOOK_AFTER)
    app.command("asyncapi", rich_help_panel=panels.REFERENCE)(asyncapi)


@producers.command()
def add(
    context: typer.Context,
    name: Name,
    tenant: Annotated[str | None, typer.Option("--tenant", help="Whose turns; as in the settings unless said.")] = None,
    users: Annotated[
        list[str] | None, typer.Option("--user", "-u", help="Of whom its turns are; may be repeated; all unless given.")
    ] = None,
    agents: Annotated[
        list[str] | None, typer.Option("--agent", "-a", help="For whom it speaks; may be repeated; any unless given.")
    ] = None,
    json: Json = False,
) -> None:
    """Add a producer: it may publish turns of these users and agents and read its receipts, and nothing else.

    Its password shows once. It is an API key: from the first one on, every HTTP request needs one.
    """
    settings = settings_of(context.obj, tenant=tenant)
    reach = {"users": users or [ALL], "agents": agents or [ALL], "roles": [Role.PUBLISH]}
    wanted = validated(Wanted, {"name": producer_name(name), "tenant": settings.tenant, **reach})
    shown = with_engine(settings, lambda engine: _added(engine, wanted.principal()))
    output.as_json(shown) if json else _show_added(shown)


@producers.command("list")
def list_producers(context: typer.Context, json: Json = False) -> None:
    """List who may publish turns, of which tenant, users and agents, and since when."""
    found = with_engine(settings_of(context.obj), engine_producers.known)
    if json:
        output.as_json(found)
        return
    table = output.table("name", "tenant", "users", "agents", "since", "state")
    for one in found:
        reach = [Text(", ".join(one[column]) or "–") for column in ("users", "agents")]
        table.add_row(one["name"], one["tenant"], *reach, output.when(one["added_at"])[:10], one["state"])
    output.console.print(table if found else "[dim]no producers[/]")


@producers.command()
def remove(context: typer.Context, name: Name, json: Json = False) -> None:
    """Remove a producer. Its connections end at once; its turns that still wait become dead letters."""
    settings = settings_of(context.obj)
    tenant = with_engine(settings, lambda engine: engine_producers.remove(engine, name))
    if json:
        output.as_json({"name": name, "tenant": tenant})
        return
    output.done(f"{name} may publish no more")
    if settings.nats_url:
        output.console.print(OWN_NATS)


def asyncapi(
    yaml: Annotated[bool, typer.Option("--yaml", help="YAML and not JSON.")] = False,
    turn: Annotated[bool, typer.Option("--json-schema", help="Only the JSON Schema of a turn.")] = False,
) -> None:
    """Print what goes over NATS as AsyncAPI 3.0: subjects, messages, headers, streams and limits. Needs no engine."""
    from mnemolog.adapters.nats import asyncapi as described  # FastStream takes 0.5 s to load.

    document = described.turn_schema() if turn else described.document()
    typer.echo(described.as_yaml(document) if yaml else described.as_json(document))


async def _added(engine: Engine, principal: Principal) -> dict[str, Any]:
    added = await engine_producers.add(engine, principal)
    address = Address.of(principal.tenant, principal.name)
    host = urlsplit(engine.endpoints.nats_url).netloc.rpartition("@")[2]
    own_nats = {"nats_user": added.user.user()} if engine.settings.nats_url else {}
    return {
        "name": principal.name,
        "tenant": principal.tenant,
        "users": sorted(principal.users),
        "agents": sorted(principal.agents),
        "subject": address.turns,
        "password": added.password,
        "nats_url": f"nats://{principal.name}:{added.password}@{host}",
        "first_key": added.first,
        **own_nats,
    }


def _show_added(shown: dict[str, Any]) -> None:
    output.done(f"{shown['name']} may publish turns of {shown['tenant']} on {shown['subject']}")
    for whom in ("users", "agents"):
        every = f"all {whom} of the tenant: name them with --{whom[:-1]} to say otherwise"
        output.line(f"  {whom:6}", every if shown[whom] == [ALL] else ", ".join(shown[whom]))
    output.console.print(Text(shown["nats_url"]), soft_wrap=True)
    output.console.print("  [dim]the password is shown this once[/]")
    if "nats_user" in shown:
        output.console.print("  [dim]add this user to the account of the producers of your NATS:[/]")
        output.as_json(shown["nats_user"])
    if shown["first_key"]:
        output.console.print("  [yellow]from now on every HTTP request needs a key[/]: mnemolog api-key create")
