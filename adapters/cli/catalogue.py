"""The command that lists event types: events."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from mnemolog.adapters.cli import output, panels
from mnemolog.adapters.cli.options import Json
from mnemolog.adapters.cli.session import settings_of, with_engine
from mnemolog.events.catalogue import EventType, catalogue, described

SUBJECT = "mnemolog.events.p<partition>."


def register(app: typer.Typer) -> None:
    app.command("events", rich_help_panel=panels.REFERENCE)(events)


def events(
    context: typer.Context,
    type_: Annotated[
        str | None, typer.Argument(metavar="[TYPE]", help="An event type, such as MemoryCreated. Default: all types.")
    ] = None,
    counts: Annotated[
        bool, typer.Option("--counts", help="Count the events of each type in this log; needs an engine.")
    ] = False,
    json: Json = False,
) -> None:
    """List event types: versions, tags, keys, personal fields and JSON Schemas. Needs no engine."""
    found = catalogue() if type_ is None else [described(type_)]
    counted = with_engine(settings_of(context.obj), lambda engine: engine.log.counts()) if counts else None
    if json:
        rows = [_row(one, counted) for one in found]
        output.as_json(rows if type_ is None else rows[0])
    elif type_ is None:
        _show_all(found, counted)
    else:
        _show_one(found[0], counted)


def _row(one: EventType, counted: Mapping[str, int] | None) -> dict[str, Any]:
    count = {} if counted is None else {"count": counted.get(one.name, 0)}
    return {**asdict(one), "subject": SUBJECT + one.name, **count}


def _show_all(found: Sequence[EventType], counted: Mapping[str, int] | None) -> None:
    table = Table(box=None, header_style="dim", pad_edge=False)
    for column in ("type", "version", *(["count"] if counted is not None else []), "personal", "what happened"):
        table.add_column(column, overflow="fold", no_wrap=column == "type")
    for one in found:
        count = [] if counted is None else [f"{counted.get(one.name, 0):,}"]
        personal = Text(", ".join(one.personal) or "–", style="dim")
        table.add_row(one.name, str(one.version), *count, personal, one.description.partition("\n")[0])
    output.console.print(table)


def _show_one(one: EventType, counted: Mapping[str, int] | None) -> None:
    output.console.print(f"[bold]{one.name}[/] version {one.version}", highlight=False)
    output.console.print(one.description, markup=False, highlight=False)
    facts = {
        "subject": SUBJECT + one.name,
        "tags": ", ".join(one.tags),
        "personal": ", ".join(one.personal) or "nothing",
        "key scope": one.key_scope or "none",
        "shreds": ", ".join(scope or "every key of the stream" for scope in one.shreds) or "nothing",
        **({} if counted is None else {"in this log": f"{counted.get(one.name, 0):,}"}),
    }
    for label, text in facts.items():
        output.line(label, text)
    output.as_json(one.schema)
