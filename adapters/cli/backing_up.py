"""`mnemolog backup` and `mnemolog restore`: all that cannot be rebuilt, in one file (X23)."""

import asyncio
from pathlib import Path
from typing import Annotated

import typer

import mnemolog
from mnemolog.adapters.backup.archive import Manifest
from mnemolog.adapters.backup.backing_up import back_up, size
from mnemolog.adapters.backup.restoring import Restored
from mnemolog.adapters.backup.restoring import restore as restored
from mnemolog.adapters.cli import operations, output, panels, verifying
from mnemolog.adapters.cli.options import Agent, Json, Thread
from mnemolog.adapters.cli.progress import bar
from mnemolog.adapters.cli.session import settings_of, with_engine
from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.operations import memories
from mnemolog.domain.errors import InvalidInput
from mnemolog.domain.identity import identifier


def _checked(user: str | None) -> str | None:
    return None if user is None else identifier(user, "user_id")


WithMasterKey = Annotated[
    bool, typer.Option("--with-master-key", help="Put the master key into the file: whoever has it can read all.")
]
UserOfMemory = Annotated[
    str | None, typer.Option("--user", "-u", envvar="MNEMOLOG_USER", help="Whose memory.", callback=_checked)
]


def register(app: typer.Typer) -> None:
    app.command("backup", rich_help_panel=panels.LOOK_AFTER)(backup)
    app.command("restore", rich_help_panel=panels.LOOK_AFTER)(restore)


def backup(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(help="A new file.")],
    with_master_key: WithMasterKey = False,
    json: Json = False,
) -> None:
    """Write all that cannot be rebuilt into one file, while writing goes on: log, wrapped keys, receipts, anchors."""

    async def take(engine: Engine) -> Manifest:
        with bar("out of the log", await size(engine.endpoints.postgres_dsn)) as progressed:
            return await back_up(
                engine.endpoints.postgres_dsn,
                engine.settings,
                engine.verifier.anchors,
                file,
                engine.writes.now(),
                mnemolog.__version__,
                progressed,
                with_master_key=with_master_key,
            )

    manifest = with_engine(settings_of(context.obj), take, passive=True)
    events, streams = manifest.count("events"), manifest.count("heads")
    if json:
        output.as_json(
            {
                "file": str(file),
                "taken_at": manifest.taken_at.isoformat(),
                "events": events,
                "streams": streams,
                "bytes": file.stat().st_size,
                "tables": {f"{one.schema}.{one.table}": one.rows for one in manifest.tables},
                "master_key": manifest.has_master_key,
                "left_out": manifest.left_out,
            }
        )
        return
    output.done(f"{output.count(events, 'event')} of {output.count(streams, 'stream')} are in {file}")
    for what, why in manifest.left_out.items():
        output.line(f"  not in it: {what} ", why)
    if manifest.has_master_key:
        output.console.print("[yellow]the master key is in it:[/] whoever has the file can read all of it")


def restore(
    context: typer.Context,
    what: Annotated[str, typer.Argument(metavar="FILE|MEMORY_ID", help="What `mnemolog backup` wrote; or a memory.")],
    user: UserOfMemory = None,
    agent: Agent = "default",
    thread: Thread = "main",
    json: Json = False,
) -> None:
    """Make a new engine of a backup, rebuilt and verified; or, with --user, bring back a forgotten memory.

    A backup goes into an empty data directory or database. Exit code 1 when verification finds damage: what is in the
    file was damaged before.
    """
    file = Path(what)
    if user is not None and not file.is_file():
        fields = {"memory_id": what, "user_id": user, "agent_id": agent, "thread_id": thread}
        operations.ask(context, memories.restore, fields, as_json=json)
        return
    if not file.is_file():
        fix = "name what `mnemolog backup` wrote; or a memory's id, with --user"
        raise InvalidInput(f"there is no file {file}", field="file", fix=fix)
    found = asyncio.run(restored(settings_of(context.obj), file, bar))
    if json:
        output.as_json(found.as_dict())
    else:
        _show(found)
    if not found.report.clean:
        raise typer.Exit(1)


def _show(found: Restored) -> None:
    events, streams = found.manifest.count("events"), found.manifest.count("heads")
    output.done(
        f"{output.count(events, 'event')} of {output.count(streams, 'stream')} restored, "
        f"as they were at {found.manifest.taken_at:%Y-%m-%d %H:%M:%SZ}"
    )
    verifying.show(found.report)
    output.console.print("  [dim]what was erased after that is back: erase it again[/]")
