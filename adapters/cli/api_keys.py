"""`mnemolog api-key`: create, list and revoke API keys."""

from typing import Annotated, Any

import typer
from pydantic import BaseModel
from rich.text import Text

from mnemolog.adapters import producers
from mnemolog.adapters.cli import output
from mnemolog.adapters.cli.options import Json, OfTenant
from mnemolog.adapters.cli.session import settings_of, with_engine
from mnemolog.adapters.engine.engine import Engine
from mnemolog.commands.api_keys import ApiKey
from mnemolog.domain.errors import InvalidInput
from mnemolog.domain.principal import ALL, Principal, Role
from mnemolog.events.fields import Id, Tenant, validated


class Wanted(BaseModel):
    """A request for a new API key."""

    name: Id
    tenant: Tenant
    agents: frozenset[Id]
    users: frozenset[Id]
    roles: frozenset[Role]

    def principal(self) -> Principal:
        return Principal(self.name, self.tenant, self.agents, self.users, self.roles)


def named(ids: list[str] | None, field: str) -> list[str]:
    """All if none are named. A user or an agent whose id is `*` must not get a key for all of them."""
    if ids and ALL in ids:
        raise InvalidInput("* stands for all of them", field=field, fix="leave the option out for all, or name others")
    return ids or [ALL]


OWN_NATS = "  [dim]also remove its user from the configuration of your NATS[/]"

keys = typer.Typer(help="Create, list and revoke API keys.", no_args_is_help=True)


@keys.command()
def create(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="The caller's name, as shown in events and history.")],
    agents: Annotated[
        list[str] | None,
        typer.Option("--agents", "--agent", "-a", help="An agent it may act for; repeatable. Default: all agents."),
    ] = None,
    users: Annotated[
        list[str] | None,
        typer.Option("--users", "--user", "-u", help="A user it may access; repeatable. Default: all users."),
    ] = None,
    roles: Annotated[
        list[str] | None,
        typer.Option("--roles", "--role", help=f"One of {', '.join(Role)}; repeatable. Default: read and write."),
    ] = None,
    tenant: OfTenant = None,
    json: Json = False,
) -> None:
    """Create an API key. Its text is shown once. Once a key exists, every HTTP request needs one."""
    settings = settings_of(context.obj)
    reach = {"agents": named(agents, "agents"), "users": named(users, "users")}
    reach["roles"] = roles or [Role.READ, Role.WRITE]
    wanted = validated(Wanted, {"name": name, "tenant": settings.tenant if tenant is None else tenant, **reach})
    made, text = with_engine(settings, lambda engine: producers.create_key(engine, wanted.principal()))
    if json:
        output.as_json({**made.as_dict(), "api_key": text})
        return
    output.done(f"API key {made.key_id}: keep it now, it is not shown again")
    output.console.print(Text(text), soft_wrap=True)


@keys.command(name="list")
def list_keys(context: typer.Context, json: Json = False) -> None:
    """List all API keys, without their text."""
    found = with_engine(settings_of(context.obj), _listed)
    output.as_json([key.as_dict() for key in found]) if json else _show(found)


@keys.command()
def revoke(
    context: typer.Context, key_id: Annotated[str, typer.Argument(help="As `list` shows it.")], json: Json = False
) -> None:
    """Revoke an API key, in every process within a second; a producer also loses access to NATS."""
    settings = settings_of(context.obj)
    revoked = with_engine(settings, lambda engine: producers.revoke_key(engine, key_id))
    if json:
        output.as_json(revoked.as_dict())
        return
    output.done(f"API key {revoked.key_id} is revoked")
    if settings.nats_url and revoked.principal.publishes:
        output.console.print(OWN_NATS)


async def _listed(engine: Engine) -> list[ApiKey]:
    engine.require_operator()
    return list(await engine.api_keys.list())


def _show(found: list[ApiKey]) -> None:
    if not found:
        output.console.print("[dim]no API keys: HTTP asks for the token in http.token of the data directory[/]")
        return
    table = output.table("id", "name", "tenant", "agents", "users", "roles", "since", "state")
    for key in found:
        fields: dict[str, Any] = key.as_dict()
        reach = [Text(", ".join(fields[column])) for column in ("agents", "users", "roles")]
        state = "valid" if key.valid else "revoked"
        named = Text(key.principal.name), Text(key.principal.tenant)
        table.add_row(key.key_id, *named, *reach, output.when(key.created_at)[:10], state)
    output.console.print(table)
