"""What `mnemolog replay` does and shows."""

from collections.abc import Sequence

from mnemolog.adapters.cli import output
from mnemolog.adapters.cli.progress import bar
from mnemolog.adapters.engine.engine import Engine
from mnemolog.projections.rebuild import Rebuilt


async def rebuild_all(engine: Engine, names: Sequence[str] = ()) -> list[Rebuilt]:
    """Rebuild these projections, or all, one after the other, with a bar over all their events."""
    wanted = names or list(engine.projections.running)
    for name in wanted:
        engine.projections.require(name)
    total = sum((await engine.log.counts()).values()) * len(wanted)
    with bar("replaying the log", total) as progressed:
        return [await engine.projections.rebuild(name, progressed) for name in wanted]


def show(rebuilt: Sequence[Rebuilt]) -> None:
    for one in rebuilt:
        differences = sum(one.differences.values())
        verdict = "[green]equal to the live one[/]" if one.equal else f"[yellow]{differences} rows differed[/]"
        output.done(f"{one.name:<9} {one.events:>7,} events  {verdict}")
