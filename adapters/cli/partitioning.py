"""`mnemolog partition-log`: divide the log's tables."""

from typing import Annotated

import typer

from mnemolog.adapters.cli import output, panels
from mnemolog.adapters.cli.options import Json
from mnemolog.adapters.cli.progress import bar
from mnemolog.adapters.cli.session import settings_of, with_engine
from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.partitions import partitioning
from mnemolog.adapters.partitions.partitioning import Partitioned, require_count


def register(app: typer.Typer) -> None:
    app.command(rich_help_panel=panels.LOOK_AFTER)(partition_log)


def partition_log(
    context: typer.Context,
    into: Annotated[int, typer.Option("--into", help="How many partitions, at most 128; 1 is plain tables again.")],
    json: Json = False,
) -> None:
    """Divide the log's tables in Postgres by the hash of the stream, while engines run.

    Writers wait only at the end, while what they wrote meanwhile is copied and all rows are counted.
    If it is interrupted, the tables stay as they were.
    """
    require_count(into)

    async def run(engine: Engine) -> Partitioned:
        dsn = engine.endpoints.postgres_dsn
        with bar("copying the log", await partitioning.size(dsn)) as progressed:
            return await partitioning.partition(dsn, into, progressed, said=lambda step: output.errors.print(step))

    divided = with_engine(settings_of(context.obj), run, passive=True)
    if json:
        output.as_json(divided.as_dict())
    elif divided.changed:
        moved = output.count(divided.rows["events"], "event")
        output.done(f"the log is {_form(into)}: {moved} moved")
    else:
        output.done(f"No change: the log is {_form(into)} already")


def _form(partitions: int) -> str:
    return "in plain tables" if partitions == 1 else f"in {partitions} partitions"
