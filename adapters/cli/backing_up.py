"""`mnemolog backup`: everything that cannot be rebuilt, in one file (X23)."""

import asyncio
from pathlib import Path
from typing import Annotated

import typer

import mnemolog
from mnemolog.adapters.backup.archive import Manifest
from mnemolog.adapters.backup.backing_up import back_up, size
from mnemolog.adapters.backup.restoring import restore as restored
from mnemolog.adapters.cli import output, verifying
from mnemolog.adapters.cli.options import Json
from mnemolog.adapters.cli.progress import bar
from mnemolog.adapters.cli.session import settings_of, with_engine
from mnemolog.adapters.engine.engine import Engine
from mnemolog.domain.errors import InvalidInput

WithMasterKey = Annotated[
    bool,
    typer.Option("--with-master-key", help="Include the master key: anyone with the file can then read everything."),
]


backups = typer.Typer(help="Create and restore backups.", no_args_is_help=True)


@backups.command()
def create(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(help="A new file.")],
    with_master_key: WithMasterKey = False,
    json: Json = False,
) -> None:
    """Write everything that cannot be rebuilt to one file, while the engine runs.

    That is the log with its receipts, the wrapped keys and the anchors.
    """

    async def take(engine: Engine) -> Manifest:
        with bar("backing up", await size(engine.endpoints.postgres_dsn)) as progressed:
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
    output.done(output.located(events, f"event of {output.count(streams, 'stream')}", file))
    for what, why in manifest.left_out.items():
        output.line(f"  not in it: {what} ", why)
    if manifest.has_master_key:
        output.console.print("[yellow]the file contains the master key:[/] anyone who has the file can read everything")


@backups.command()
def restore(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(help="A backup file.")],
    json: Json = False,
) -> None:
    """Restore a backup into an empty data directory or database, and verify it.

    Exit code 1 if verification finds damage, which was there when the backup was taken.
    """
    if not file.is_file():
        raise InvalidInput(f"there is no file {file}", field="file", fix="give a backup file")
    found = asyncio.run(restored(settings_of(context.obj), file, bar))
    if json:
        output.as_json(found.as_dict())
    else:
        events, streams = found.manifest.count("events"), found.manifest.count("heads")
        output.done(
            f"{output.count(events, 'event')} of {output.count(streams, 'stream')} restored, "
            f"as they were at {found.manifest.taken_at:%Y-%m-%d %H:%M:%SZ}"
        )
        verifying.show(found.report)
        output.console.print("  [dim]data erased since then is back: erase it again[/]")
    if not found.report.clean:
        raise typer.Exit(1)
