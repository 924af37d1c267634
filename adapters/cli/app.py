"""The application: its commands, and the one place where errors become messages and exit codes."""

import asyncio
import os
import sys
from collections.abc import Callable
from functools import cache
from typing import Annotated

import psycopg
import typer
from sqlalchemy.exc import DBAPIError

import mnemolog
from mnemolog.adapters import logs
from mnemolog.adapters.cli import (
    api_keys,
    artifacts,
    background,
    backing_up,
    catalogue,
    dead_letters,
    exporting,
    incidents,
    jobs,
    keys,
    knowledge,
    mcp,
    minds,
    operating,
    operations,
    output,
    panels,
    partitioning,
    policy,
    producing,
    projecting,
    retention,
    roles,
    scrubbing,
    verifying,
    watching,
)
from mnemolog.adapters.cli.session import settings_of
from mnemolog.adapters.operations.registry import OPERATIONS
from mnemolog.adapters.unreachable import UNREACHABLE, own_words, used_up
from mnemolog.domain.errors import EngineError, InvalidInput, MnemologError, ServerFailed

app = typer.Typer(
    help="Event-sourced memory for AI agents: durable, free of duplicates, and undoable.",
    no_args_is_help=True,
    cls=panels.Ordered,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for operation in OPERATIONS:
    operations.add_command(app, operation)
for group, name, panel in (
    (api_keys.keys, "api-key", panels.LOOK_AFTER),
    (dead_letters.letters, "dead-letter", panels.LOOK_AFTER),
    (keys.keys, "master-key", panels.LOOK_AFTER),
    (mcp.mcp, "mcp", panels.RUN),
    (policy.policies, "policy", panels.REFERENCE),
    (producing.producers, "producer", panels.LOOK_AFTER),
    (projecting.projections, "projection", panels.LOOK_AFTER),
    (retention.retention, "retention", panels.LOOK_AFTER),
    (backing_up.backups, "backup", panels.LOOK_AFTER),
    (incidents.incidents, "incident", panels.LOOK_AFTER),
    (jobs.jobs, "job", panels.LOOK_AFTER),
    (minds.minds, "minds", panels.LOOK_AFTER),
):
    app.add_typer(group, name=name, rich_help_panel=panel)
for module in (
    catalogue,
    scrubbing,
    operating,
    background,
    roles,
    producing,
    exporting,
    artifacts,
    knowledge,
    verifying,
    partitioning,
    jobs,
    watching,
):
    module.register(app)


def _print_version(wanted: bool) -> None:
    if wanted:
        output.console.print(mnemolog.__version__)
        raise typer.Exit


@app.callback()
def common(
    context: typer.Context,
    data_dir: Annotated[
        str | None,
        typer.Option("--data-dir", "-d", envvar="MNEMOLOG_DATA_DIR", help="Where the engine keeps its data."),
    ] = None,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Log what the engine does.")] = False,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", is_eager=True, callback=_print_version)
    ] = False,
) -> None:
    logs.configure(settings_of(data_dir).log_format, output.errors, verbose=verbose)
    context.obj = data_dir


@cache
def parser() -> Callable[[], object]:
    """All commands as they are parsed. Made once: it takes longer than a command in a process that forks for each."""
    return typer.main.get_command(app)


def run() -> None:
    """Exit codes: 0 success, 1 refused or failed, 2 invalid input, 3 the engine cannot run, 130 interrupted."""
    before, sys.unraisablehook = sys.unraisablehook, _unraised
    try:
        parser()()
    except MnemologError as error:
        output.failed(error, json_wanted="--json" in sys.argv)
        sys.exit(_exit_code(error))
    except (KeyboardInterrupt, asyncio.CancelledError):
        sys.exit(130)
    except UNREACHABLE as fault:
        # The full text may quote a statement with its values.
        said = own_words(fault) or type(fault).__name__
        gone = used_up(fault) or ServerFailed(f"a server went away ({said})", fix="run the command again")
        output.failed(gone, json_wanted="--json" in sys.argv)
        sys.exit(_exit_code(gone))
    except (psycopg.Error, DBAPIError) as fault:
        refused = EngineError(
            f"Postgres refused a statement ({own_words(fault) or type(getattr(fault, 'orig', fault)).__name__})",
            field="postgres_url",
            fix="run `mnemolog doctor`; if an engine was just starting, run the command again",
        )
        output.failed(refused, json_wanted="--json" in sys.argv)
        sys.exit(_exit_code(refused))
    finally:
        sys.unraisablehook = before


def _unraised(unraisable: "sys.UnraisableHookArgs") -> None:
    """An interrupt that comes in a callback of the interpreter is lost, and the command would go on."""
    if isinstance(unraisable.exc_value, KeyboardInterrupt):
        os._exit(130)
    sys.__unraisablehook__(unraisable)


def _exit_code(error: MnemologError) -> int:
    if isinstance(error, InvalidInput):
        return 2
    return 3 if isinstance(error, EngineError) else 1
