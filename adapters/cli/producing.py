"""Commands for producers: add, list, remove; and the AsyncAPI document."""

from typing import Annotated, Any
from urllib.parse import urlsplit

import typer
from rich.text import Text

from mnemolog.adapters import producers as engine_producers
from mnemolog.adapters.cli import output, panels
from mnemolog.adapters.cli.api_keys import OWN_NATS, Wanted, named
from mnemolog.adapters.cli.options import Json, OfTenant
from mnemolog.adapters.cli.session import settings_of, with_engine
from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.nats.subjects import Address
from mnemolog.domain.principal import ALL, Principal, Role, producer_name
from mnemolog.events.fields import validated

Name = Annotated[str, typer.Argument(help="1 to 40 of A-Z a-z 0-9 _ -")]

producers = typer.Typer(help="Manage the producers that may publish turns over NATS.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    app.command("asyncapi", rich_help_panel=panels.REFERENCE)(asyncapi)


@producers.command()
def add(
    context: typer.Context,
    name: Name,
    tenant: OfTenant = None,
    users: Annotated[
        list[str] | None,
        typer.Option("--user", "-u", help="A user its turns may concern; repeatable. Default: all users."),
    ] = None,
    agents: Annotated[
        list[str] | None,
        typer.Option("--agent", "-a", help="An agent it may write for; repeatable. Default: all agents."),
    ] = None,
    json: Json = False,
) -> None:
    """Add a producer, which may publish turns of these users and agents and receive their receipts.

    Its password is shown once. It is an API key: once a key exists, every HTTP request needs one.
    """
    settings = settings_of(context.obj, tenant=tenant)
    reach = {"users": named(users, "users"), "agents": named(agents, "agents"), "roles": [Role.PUBLISH]}
    wanted = validated(Wanted, {"name": producer_name(name), "tenant": settings.tenant, **reach})
    shown = with_engine(settings, lambda engine: _added(engine, wanted.principal()))
    output.as_json(shown) if json else _show_added(shown)


@producers.command("list")
def list_producers(context: typer.Context, json: Json = False) -> None:
    """List producers: tenant, users, agents and creation time."""
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
    """Revoke a producer's access. Its connections are closed at once; its waiting turns are set aside."""
    settings = settings_of(context.obj)
    tenant = with_engine(settings, lambda engine: engine_producers.remove(engine, name))
    if json:
        output.as_json({"name": name, "tenant": tenant})
        return
    output.done(f"{name} may no longer publish")
    if settings.nats_url:
        output.console.print(OWN_NATS)


def asyncapi(
    yaml: Annotated[bool, typer.Option("--yaml", help="Print YAML instead of JSON.")] = False,
    turn: Annotated[bool, typer.Option("--json-schema", help="Print only the JSON Schema of a turn.")] = False,
) -> None:
    """Print the NATS interface as AsyncAPI 3.0: subjects, messages, headers, streams, limits. Needs no engine."""
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
        every = f"all {whom} of the tenant; use --{whom[:-1]} to restrict them"
        output.line(f"  {whom:6}", every if shown[whom] == [ALL] else ", ".join(shown[whom]))
    output.console.print(Text(shown["nats_url"]), soft_wrap=True)
    output.console.print("  [dim]the password is shown only once[/]")
    if "nats_user" in shown:
        output.console.print("  [dim]add this user to the producers' account of your NATS:[/]")
        output.as_json(shown["nats_user"])
    if shown["first_key"]:
        output.console.print("  [yellow]from now on every HTTP request needs a key[/]: mnemolog api-key create")
