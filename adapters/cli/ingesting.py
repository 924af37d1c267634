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
from mnemolog.adapters.ingest.source import Format

SHOWN_FAULTS = 20


@dataclass(frozen=True, slots=True)
class Ingested:
    """How many turns were recorded, already recorded or set aside, and the seconds until all could be found.

    `kept`: turns that were set aside are dead letters. False with an API key, which does not use NATS.
    """

    turns: int
    recorded: int
    already: int
    set_aside: list[SetAside]
    seconds: float
    import_id: UUID
    kept: bool

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    def show(self) -> None:
        rate = self.turns / self.seconds if self.seconds else 0.0
        recorded, turns = output.count(self.recorded, "turn"), output.count(self.turns, "turn")
        output.done(f"{recorded} recorded, {self.already:,} {'was' if self.already == 1 else 'were'} there already")
        output.console.print(
            f"  [dim]{turns} in {self.seconds:.1f} s, {rate:,.0f} a second; import {self.import_id}[/]"
        )
        for fault in self.set_aside[:SHOWN_FAULTS]:
            error = fault.error
            output.line("✗ " + fault.place, f"{error['field']} {error['message']} → {error['fix']}")
        if len(self.set_aside) > SHOWN_FAULTS:
            output.console.print(f"  … and {len(self.set_aside) - SHOWN_FAULTS:,} more")
        if self.set_aside and self.kept:
            output.console.print("  [dim]they are kept: mnemolog dead-letter list[/]")


async def ingest_file(engine: Engine, path: Path, layout: Format, user: str | None) -> Ingested:
    """Ingest a file and wait until all of it can be found."""
    turns = source.read(path, layout, {"user_id": user} if user else None)
    began = time.monotonic()
    with bar("into the log", len(turns)) as progressed:
        writes = engine.writes if engine.principal else None
        report = await Ingest(engine.nats, engine.settings.tenant, turns, progressed, writes).run()
    with output.errors.status("projections catch up"):
        await engine.settled()
    seconds = time.monotonic() - began
    id_ = source.import_id(path)
    kept = engine.principal is None
    return Ingested(report.turns, report.recorded, report.already, report.set_aside, seconds, id_, kept)
