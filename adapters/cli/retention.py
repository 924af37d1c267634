"""Commands for retention: retention run."""

from typing import Annotated

import typer

from mnemolog.adapters.cli import output
from mnemolog.adapters.cli.options import Json
from mnemolog.adapters.cli.progress import bar
from mnemolog.adapters.cli.session import settings_of, with_engine
from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.maintenance.retention import Retained, retain

MEMORY = ("memory", "memories")
retention = typer.Typer(help="Soft-delete unused memories and purge deleted ones.", no_args_is_help=True)


@retention.callback()
def group() -> None:
    """Unused memories are soft-deleted; items deleted 30 days ago are purged."""


@retention.command()
def run(
    context: typer.Context,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what it would do, and change nothing.")] = False,
    json: Json = False,
) -> None:
    """Run one pass over all users, as the engine does every hour."""

    async def work(engine: Engine) -> Retained:
        engine.require_operator()
        await engine.settled()
        now = engine.writes.now()
        found = await retain(engine, now, dry_run=True)
        if dry_run:
            return found
        taken = (
            found.faded,
            found.purged,
            found.purged_facts,
            found.purged_entities,
            found.purged_artifacts,
            found.purged_documents,
            found.grown,
        )
        total = sum(map(len, taken))
        with bar("applying retention", total) as progressed:
            return await retain(engine, now, progressed=progressed)

    done = with_engine(settings_of(context.obj), work)
    if json:
        output.as_json({**done.as_dict(), "dry_run": dry_run})
    else:
        _show(done, dry_run=dry_run)


def _show(done: Retained, *, dry_run: bool) -> None:
    would = "would be " if dry_run else ""
    for what, ids, names in (
        ("forgotten", done.faded, MEMORY),
        ("purged", done.purged, MEMORY),
        ("purged", done.purged_facts, ("fact", "facts")),
        ("purged", done.purged_entities, ("entity", "entities")),
        ("purged", done.purged_artifacts, ("artifact", "artifacts")),
        ("purged", done.purged_documents, ("document", "documents")),
        ("strengthened by use", done.grown, MEMORY),
    ):
        output.done(f"{output.count(len(ids), *names)} {would}{what}")
        for id_ in ids:
            output.line(" ", str(id_))
    for refused, why in done.refused.items():
        output.line(f"not purged: {refused}", why)
