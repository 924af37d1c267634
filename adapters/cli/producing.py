"""Commands around producers: who may publish turns to the embedded NATS, and the schema of what they publish."""

from datetime import UTC, datetime
from typing import Annotated

import typer
from rich.table import Table

from mnemolog.adapters.cli import output, panels
from mnemolog.adapters.cli.options import Json
from mnemolog.adapters.cli.session import settings_of
from mnemolog.adapters.config import Settings
from mnemolog.adapters.embedded import running_engine
from mnemolog.adapters.embedded.producers import Producers
from mnemolog.domain.errors import InvalidInput

Name = Annotated[str, typer.Argument(help="1 to 40 of A-Z a-z 0-9 _ -")]

producers = typer.Typer(help="Who may publish turns to the embedded NATS.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    app.add_typer(producers, name="producers", rich_help_panel=panels.LOOK_AFTER)
    app.command("asyncapi", rich_help_panel=panels.REFERENCE)(asyncapi)


@producers.command()
def add(
    context: typer.Context,
    name: Name,
    tenant: Annotated[str | None, typer.Option("--tenant", help="Whose turns; as in the settings unless said.")] = None,
    json: Json = False,
) -> None:
    """A user that may publish turns of one tenant, hear its own receipts, and nothing else. Its password shows once."""
    settings = settings_of(context.obj, tenant=tenant)
    password = _known(settings).add(name, settings.tenant, datetime.now(UTC))
    url = f"nats://{name}:{password}@{_address(settings)}"
    if json:
        output.as_json({"name": name, "tenant": settings.tenant, "password": password, "nats_url": url})
        return
    output.done(f"{name} may publish turns of {settings.tenant}")
    output.console.print(url, soft_wrap=True, highlight=False)
    output.console.print("  [dim]the password is shown this once[/]")


@producers.command("list")
def list_producers(context: typer.Context, json: Json = False) -> None:
    """Who may publish turns, of which tenant, since when."""
    found = _known(settings_of(context.obj)).all()
    if json:
        output.as_json([{"name": one.name, "tenant": one.tenant, "added_at": one.added_at} for one in found])
        return
    table = Table("name", "tenant", "added", box=None, header_style="dim", pad_edge=False)
    for one in found:
        table.add_row(one.name, one.tenant, output.when(datetime.fromisoformat(one.added_at)))
    output.console.print(table if found else "[dim]no producers[/]")


@producers.command()
def remove(context: typer.Context, name: Name, json: Json = False) -> None:
    """Take a user's access away. Its connections end at once."""
    gone = _known(settings_of(context.obj)).remove(name)
    if json:
        output.as_json({"name": gone.name, "tenant": gone.tenant})
    else:
        output.done(f"{name} may publish no more")


def asyncapi(
    yaml: Annotated[bool, typer.Option("--yaml", help="YAML and not JSON.")] = False,
    turn: Annotated[bool, typer.Option("--json-schema", help="Only the JSON Schema of a turn.")] = False,
) -> None:
    """What goes over NATS: subjects, messages, headers, streams and limits, as AsyncAPI 3.0. Needs no engine."""
    from mnemolog.adapters.nats import asyncapi as described  # FastStream takes 0.5 s to load.

    document = described.turn_schema() if turn else described.document()
    typer.echo(described.as_yaml(document) if yaml else described.as_json(document))


def _known(settings: Settings) -> Producers:
    if settings.nats_url:
        raise InvalidInput(
            "the users of your own NATS are in its configuration",
            field="nats_url",
            fix="see docs/how-to/use-your-own-servers.md",
        )
    return Producers(settings.directory)


def _address(settings: Settings) -> str:
    running = running_engine(settings.directory)
    return running.nats_url.rpartition("@")[2] if running else "127.0.0.1:<port, once the engine runs>"
