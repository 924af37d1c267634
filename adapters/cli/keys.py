"""`mnemolog master-key`: the state and rotation of encryption keys."""

import asyncio
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from mnemolog.adapters import keys as key_files
from mnemolog.adapters import rotating
from mnemolog.adapters.cli import output
from mnemolog.adapters.cli.options import Json
from mnemolog.adapters.cli.session import settings_of, with_engine
from mnemolog.adapters.config import Settings
from mnemolog.adapters.rotating import Rotated
from mnemolog.domain.errors import InvalidInput

keys = typer.Typer(help="Show the encryption keys and rotate the master key.", no_args_is_help=True)

NewKeyFile = Annotated[
    Path | None, typer.Option("--new-key-file", help="A file with 32 bytes in base64. Default: a random key.")
]


@keys.command()
def status(context: typer.Context, json: Json = False) -> None:
    """Show where the master key is and how many keys it wraps. Exit code 1 if a rotation was not finished."""
    found = with_engine(settings_of(context.obj), rotating.key_status, passive=True)
    if json:
        output.as_json(found.as_dict())
    else:
        output.done(f"{output.count(found.streams, 'user key')} and {output.count(found.data_keys, 'data key')}")
        output.line("  master key ", found.master_key)
        output.line("  wrapped since ", output.when(found.since))
    if found.left_over:
        output.errors.print(
            f"[yellow]{found.left_over:,} still to be rewrapped:[/] run `mnemolog master-key rotate` again"
        )
        raise typer.Exit(1)


@keys.command()
def rotate(context: typer.Context, new_key_file: NewKeyFile = None, json: Json = False) -> None:
    """Rewrap every key with a new master key. If it is interrupted, run it again.

    No engine may be running, neither on this data directory nor elsewhere on the same Postgres.
    """
    settings = settings_of(context.obj)
    new_key = _read(new_key_file) if new_key_file else None
    rotated = _rotated(settings, new_key)
    if json:
        output.as_json(rotated.as_dict())
        return
    output.done(f"{output.count(rotated.streams, 'user key')} rewrapped with the new master key")
    if rotated.old_key_file is None:
        output.console.print("  set MNEMOLOG_MASTER_KEY to the new key before you start an engine")
        return
    output.line("  the old key ", str(rotated.old_key_file))
    output.console.print("  [dim]it only decrypts earlier backups: destroy every copy to make them unreadable[/]")


def _rotated(settings: Settings, new_key: bytes | None) -> Rotated:
    with output.errors.status("wrapping keys") as shown:

        def progressed(done: int, left: int) -> None:
            shown.update(f"wrapping keys: {done:,} at once, {left:,} were left")

        return asyncio.run(rotating.rotate_master_key(settings, new_key, progressed))


def _read(file: Path) -> bytes:
    try:
        return key_files.decoded(file.read_text(encoding="ascii"), field="new_key_file")
    except (OSError, UnicodeError) as error:
        fault = f"{escape(str(file))} cannot be read: {type(error).__name__}"
        raise InvalidInput(fault, field="new_key_file", fix="give a file with 32 bytes in base64") from error
