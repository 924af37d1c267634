"""`mnemolog scrub`: remove erased data from the disk."""

import typer
from redis.asyncio import Redis

from mnemolog.adapters.cli import output, panels
from mnemolog.adapters.cli.options import Json
from mnemolog.adapters.cli.session import settings_of, with_engine
from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.erasure import scrubbing
from mnemolog.adapters.erasure.scrubbing import Scrubbed


def register(app: typer.Typer) -> None:
    app.command(rich_help_panel=panels.ERASE)(scrub)


def scrub(context: typer.Context, json: Json = False) -> None:
    """Remove erased data from the disk, for all users: dead rows, destroyed keys, old write-ahead log.

    Reads and writes of a table wait while it is rewritten: a few seconds per gigabyte.
    """

    async def run(engine: Engine) -> Scrubbed:
        with output.errors.status("scrubbing") as status:
            own = None if engine.settings.redis_url else Redis.from_url(engine.endpoints.redis_url)
            try:
                databases = dict.fromkeys((engine.endpoints.postgres_dsn, engine.endpoints.projections_dsn))
                return await scrubbing.scrub(list(databases), own, lambda step: status.update(step))
            finally:
                if own:
                    await own.aclose()

    scrubbed = with_engine(settings_of(context.obj), run, passive=True)
    if json:
        output.as_json(scrubbed.as_dict())
        return
    output.done(
        f"{output.count(scrubbed.tables, 'table')} rewritten, "
        f"{output.count(scrubbed.segments, 'segment')} of WAL overwritten"
    )
    output.console.print("  [dim]backups, replicas and archived WAL are not included: see `mnemolog prove-erased`[/]")
