"""`mnemolog user export` and `mnemolog user import` (X17)."""

import sys
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Annotated, Literal

import typer

from mnemolog.adapters.cli import output
from mnemolog.adapters.cli.operations import group_of
from mnemolog.adapters.cli.options import Json, User
from mnemolog.adapters.cli.progress import bar
from mnemolog.adapters.cli.session import settings_of, with_engine
from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.export import mem0
from mnemolog.adapters.export.exporting import head_of, lines
from mnemolog.adapters.export.form import Head
from mnemolog.adapters.export.importing import checked, imported
from mnemolog.adapters.export.importing import head_of as head_of_file
from mnemolog.domain.identity import identifier
from mnemolog.events.envelope import Receipt, StreamId
from mnemolog.transfer import new_file

Layout = Literal["auto", "mnemolog", "mem0"]


def register(app: typer.Typer) -> None:
    group = group_of(app, "user")
    group.command("export")(export_user)
    group.command("import")(import_file)


def export_user(
    context: typer.Context,
    user: User,
    to: Annotated[Path | None, typer.Option("--to", help="A new file. Default: standard output.")] = None,
    json: Json = False,
) -> None:
    """Export everything about a user as JSON Lines, history included.

    For erased items, only ids and counts remain.
    """

    async def export(engine: Engine) -> Head:
        stream = StreamId.of_user(user, engine.settings.tenant)
        head = await head_of(engine, stream)
        with ExitStack() as stack:
            out: IO[bytes] = stack.enter_context(new_file(to)) if to else sys.stdout.buffer
            progressed = stack.enter_context(bar("exporting", head.events))
            async for count, piece in lines(engine, stream, head):
                out.write(piece)
                progressed(count)
            out.flush()
        return head

    head = with_engine(settings_of(context.obj), export)
    if to and json:
        output.as_json({"user_id": head.user_id, "events": head.events, "file": str(to)})
    elif to:
        output.done(output.located(head.events, f"event of {head.user_id}", to))


def import_file(
    context: typer.Context,
    path: Annotated[Path, typer.Argument(help="A file written by `mnemolog user export`, or a JSON export of mem0.")],
    user: Annotated[
        str | None,
        typer.Option("--user-id", "--user", "-u", help="Import as this user. Default: the user in the file."),
    ] = None,
    layout: Annotated[Layout, typer.Option("--format", help="auto, mnemolog or mem0.")] = "auto",
    json: Json = False,
) -> None:
    """Import an exported user that does not exist yet, or memories from mem0.

    An exported user is imported atomically. Importing the same file again changes nothing.
    """
    settings = settings_of(context.obj)
    name = None if user is None else identifier(user, "user_id")
    if layout == "mem0" or (layout == "auto" and mem0.is_export(path)):
        report = with_engine(settings, lambda engine: _from_mem0(engine, path, name))
        output.as_json(report.as_dict()) if json else _show_mem0(report)
        return
    head = head_of_file(path)
    receipt = with_engine(settings, lambda engine: _whole(engine, path, name or head.user_id))
    if json:
        output.as_json(receipt.as_dict())
    else:
        output.receipt(output.located(head.events, f"event of {name or head.user_id}", "the log"), receipt)


async def _whole(engine: Engine, path: Path, user_id: str) -> Receipt:
    total = head_of_file(path).events
    with bar("checking", total) as progressed:
        file = checked(path, engine.writes.now(), progressed)
    with bar("importing", total) as progressed:
        receipt = await imported(engine, file, user_id, progressed)
    with output.errors.status("projections catch up"):
        await engine.settled()
    return receipt


async def _from_mem0(engine: Engine, path: Path, user_id: str | None) -> mem0.Report:
    memories = mem0.read(path, user_id)
    with bar("importing", len(memories)) as progressed:
        report = await mem0.take_in(engine, memories, mem0.import_id(path), progressed)
    with output.errors.status("projections catch up"):
        await engine.settled()
    return report


def _show_mem0(report: mem0.Report) -> None:
    recorded = output.count(report.recorded, "memory", "memories")
    output.done(f"{recorded} recorded, {output.known(report.restored, report.already)}")
    output.console.print(f"  [dim]import {report.import_id}[/]")
