"""The command `mnemolog replay`."""

from collections.abc import Sequence

from mnemolog.adapters.cli import output
from mnemolog.adapters.cli.progress import bar
from mnemolog.adapters.engine.engine import Engine
from mnemolog.projections.rebuild import Rebuilt


async def rebuild_all(engine: Engine, names: Sequence[str] = ()) -> list[Rebuilt]:
    """Rebuild these projections, or all, in one pass, with a progress bar over their events."""
    wanted = list(dict.fromkeys(names or engine.projections.running))
    for name in wanted:
        engine.projections.require(name)
    with bar("replaying the log", await engine.projections.size() * len(wanted)) as progressed:
        return await engine.projections.rebuild_all(wanted, progressed)


def show(rebuilt: Sequence[Rebuilt]) -> None:
    for one in rebuilt:
        differed = output.count(sum(one.differences.values()), "row") + " differed"
        verdict = "[green]equal to the live one[/]" if one.equal else f"[yellow]{differed}[/]"
        output.done(f"{one.name:<12} {one.events:>7,} events  {verdict}")
