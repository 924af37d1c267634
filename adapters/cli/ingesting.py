"""The command `mnemolog ingest`."""

import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

from mnemolog.adapters.cli import output
from mnemolog.adapters.cli.progress import bar
from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.ingest import source
from mnemolog.adapters.ingest.ingest import Ingest, SetAside
from mnemolog.adapters.ingest.restoring import restored
from mnemolog.adapters.ingest.source import Format
from mnemolog.events.message import MessageReverted

SHOWN_FAULTS = 20


@dataclass(frozen=True, slots=True)
class Ingested:
    """How many turns were recorded, restored, already there or set aside, and the seconds until all could be found.

    `restored`: a rollback had hidden them.
    """

    turns: int
    recorded: int
    restored: int
    already: int
    set_aside: list[SetAside]
    seconds: float
    import_id: UUID

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    def show(self) -> None:
        rate = self.turns / self.seconds if self.seconds else 0.0
        recorded, turns = output.count(self.recorded, "turn"), output.count(self.turns, "turn")
        output.done(f"{recorded} recorded, {output.known(self.restored, self.already)}")
        output.console.print(
            f"  [dim]{turns} in {self.seconds:.1f} s, {rate:,.0f} a second; import {self.import_id}[/]"
        )
        for fault in self.set_aside[:SHOWN_FAULTS]:
            error = fault.error
            output.line("✗ " + fault.place, f"{error['field']} {error['message']} → {error['fix']}")
        if len(self.set_aside) > SHOWN_FAULTS:
            output.console.print(f"  … and {len(self.set_aside) - SHOWN_FAULTS:,} more")
        if kept := sum(fault.kept for fault in self.set_aside):
            which = "they are" if kept == len(self.set_aside) else f"{kept:,} of them are"
            output.console.print(f"  [dim]{which} kept: mnemolog dead-letter list[/]")


async def ingest_file(engine: Engine, path: Path, layout: Format, user: str | None) -> Ingested:
    """Ingest a file and wait until all of it can be found."""
    turns = source.read(path, layout, {"user_id": user} if user else None)
    began = time.monotonic()
    with bar("ingesting", len(turns)) as progressed:
        report = await Ingest(engine, turns, progressed).run()
    id_, back = source.import_id(path), 0
    if report.already:
        back = await restored(engine, sorted(report.known), id_, MessageReverted)
    with output.errors.status("projections catch up"):
        await engine.settled()
    return Ingested(
        turns=report.turns,
        recorded=report.recorded,
        restored=back,
        already=report.already - back,
        set_aside=report.set_aside,
        seconds=time.monotonic() - began,
        import_id=id_,
    )
