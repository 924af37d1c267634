"""`mnemolog verify`: detect tampering, and repair what can be repaired."""

from collections.abc import Sequence
from typing import Annotated

import typer
from rich.text import Text

from mnemolog.adapters.cli import output, panels
from mnemolog.adapters.cli.options import Json
from mnemolog.adapters.cli.progress import bar
from mnemolog.adapters.cli.session import settings_of, with_engine
from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.verify.damage import Damage, Part, Report
from mnemolog.adapters.verify.healing import heal
from mnemolog.adapters.verify.incidents import By, Done, Incident
from mnemolog.domain.identity import identifier
from mnemolog.events.envelope import StreamId

LISTED = 50
# The maximum number of incidents recorded by one verification; the report has all findings.
KEPT = 100
FIXES = {
    Part.EVENT: "the log cannot be repaired: restore a backup, and keep this log and JetStream's copies to compare",
    Part.KEY: "text cannot be decrypted without its key: restore mnemolog_keys from a backup",
    Part.RECEIPT: "a retry of that request may be written twice, or taken for another one: check what it wrote",
    Part.ANCHOR: "someone had access to the anchors too: assume that their file and JetStream were changed as well",
    Part.HEAD: "mnemolog verify --heal rewrites it from the log, if the log is intact",
    Part.TAG: "mnemolog verify --heal rewrites the index from the log, if the log is intact",
    Part.ROW: "mnemolog verify --heal rebuilds it from the log",
}


def _named(user: str | None) -> str | None:
    return None if user is None else identifier(user, "user_id")


def register(app: typer.Typer) -> None:
    app.command(rich_help_panel=panels.LOOK_AFTER)(verify)


def verify(
    context: typer.Context,
    user: Annotated[
        str | None,
        typer.Option(
            "--user-id", "--user", "-u", help="Verify only this user. Default: the whole log.", callback=_named
        ),
    ] = None,
    heals: Annotated[bool, typer.Option("--heal", help="Repair rows, the tag index and heads from the log.")] = False,
    json: Json = False,
) -> None:
    """Detect tampering with the log, keys, anchors and projections. Exit code 1 if anything is found."""
    settings = settings_of(context.obj)
    only = StreamId.of_user(user, settings.tenant) if user else None
    report, repaired, open_ones = with_engine(
        settings, lambda engine: _verified(engine, only, heals=heals), passive=True
    )
    if json:
        output.as_json({**report.as_dict(), "repaired": repaired, "incidents": [one.as_dict() for one in open_ones]})
    else:
        show(report, repaired)
        if open_ones:
            counted = output.count(len(open_ones), "incident")
            output.console.print(f"[yellow]![/] {counted} not acknowledged: mnemolog incident list", highlight=False)
    if not report.clean:
        raise typer.Exit(1)


async def _verified(engine: Engine, only: StreamId | None, *, heals: bool) -> tuple[Report, int, Sequence[Incident]]:
    """The remaining damage, how many places were repaired, and the open incidents, including those found now."""
    found = report = await _with_bar(engine, only)
    if heals and not report.clean:
        output.errors.print(f"{report.total:,} damaged, repairing from the log", style="yellow")
        await heal(report, engine.verifier.pool, engine.projections.running)
        report = await _with_bar(engine, only)
    left = {damage.place for damage in report.damages}
    for damage in found.damages[:KEPT]:
        done = Done.REPORTED if damage.place in left else Done.HEALED
        await engine.incidents.record(damage, By.VERIFY, done)
    await engine.incidents.refresh()
    open_ones = [one for one in engine.incidents.open() if only is None or one.damage.stream == only]
    return report, found.total - report.total, open_ones


async def _with_bar(engine: Engine, only: StreamId | None) -> Report:
    with bar("verifying", await engine.verifier.size(only)) as progressed:
        return await engine.verifier.verify(only, progressed)


def show(report: Report, repaired: int = 0) -> None:
    """The first fifty findings, and the fix for each kind of place."""
    counted = (
        output.count(report.events, "event"),
        output.count(report.copies, "copy", "copies"),
        output.count(report.anchors, "anchor"),
        output.count(report.rows, "row"),
    )
    looked = ", ".join(counted)
    for one in report.unverified:
        where = f"{one.projection} of {one.stream or 'all streams'} is {one.why}"
        line = f"{where}: nothing after seq {one.seq} could be verified"
        output.console.print(Text.assemble(("! ", "yellow"), line), highlight=False)
    if report.clean:
        found = f"{repaired:,} repaired from the log, nothing else" if repaired else "nothing"
        output.done(f"{found} was changed{' in what could be verified' if report.unverified else ''}: {looked}")
        return
    for damage in report.damages[:LISTED]:
        output.console.print(_line(damage), highlight=False)
    if report.total > LISTED:
        output.console.print(f"and {report.total - LISTED:,} more: --json lists them")
    output.console.print(f"[red]✗[/] {report.total:,} damaged, of {looked}", highlight=False)
    for part in sorted({part for part, _ in report.counts}):
        output.console.print(f"  [dim]→[/] {part}: {FIXES[part]}", highlight=False)


def _line(damage: Damage) -> Text:
    return Text.assemble((f"{damage.part} {damage.kind}", "red"), f" {damage.where}", (f"  {damage.detail}", "dim"))
