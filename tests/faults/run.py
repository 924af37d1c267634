"""Random faults under load: every acknowledged write is in the log once, in order; every projection equals a rebuild.

python -m tests.faults.run --rounds 200 --seed S [--only ROUND]: the seed is printed first and gives the same faults
and the same writers again, though not the same timing to the millisecond. The last line is one JSON object.
"""

import argparse
import asyncio
import json
import logging
import secrets
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console

from mnemolog.adapters.cli.progress import bar
from mnemolog.adapters.unreachable import UNREACHABLE
from mnemolog.domain.memory import Memory
from mnemolog.domain.viewer import Viewer
from mnemolog.events.envelope import DEFAULT_AGENT, Recorded, StreamId
from mnemolog.events.memory_fold import MEMORY
from tests.faults.checker import judge
from tests.faults.deployment import Deployment, deployed
from tests.faults.load import Book, Load
from tests.faults.plan import Round, plan
from tests.faults.strike import STRIKES

SETTLE_SECONDS = 240.0
REBUILD_EVERY = 50
WRITES = 8
EVERGREEN = ("ana", "ben", "chloé")
ALL = 10_000
# Each a list of sentences; `wrong` are answers that no fault excuses, `stuck` is what did not come back by itself.
KINDS = ("lost", "doubled", "disordered", "diverged", "wrong", "stuck")

errors = Console(stderr=True)


@dataclass(slots=True)
class Outcome:
    """What a run found: sentences under each of `KINDS`, none when all is well."""

    seed: int
    rounds: int = 0
    acknowledged: int = 0
    events: int = 0
    lost: list[str] = field(default_factory=list)
    doubled: list[str] = field(default_factory=list)
    disordered: list[str] = field(default_factory=list)
    diverged: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    stuck: list[str] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def good(self) -> bool:
        return not self.faults()

    def as_dict(self) -> dict[str, Any]:
        """Counts, for programs."""
        fields = {name: getattr(self, name) for name in self.__slots__}
        counts = {name: len(value) if isinstance(value, list) else value for name, value in fields.items()}
        return {**counts, "seconds": round(self.seconds, 1)}

    def faults(self) -> Sequence[str]:
        return [f"{name}: {sentence}" for name in KINDS for sentence in getattr(self, name)]


class Run:
    """Rounds over one deployment."""

    def __init__(self, deployment: Deployment, outcome: Outcome) -> None:
        self._deployment, self.outcome, self.book = deployment, outcome, Book(wrong=outcome.wrong)

    async def round(self, round_: Round) -> None:
        """Load, one fault in the middle of it, and what must hold once the dust has settled."""
        users = [f"round-{round_.number}", round_.random("users").choice(EVERGREEN)]
        load = Load(self._deployment, self.book, users, WRITES, round_.random("load"))
        try:
            writing = asyncio.create_task(load.run())
            striking = asyncio.create_task(self._strike(round_, load))
            await asyncio.gather(writing, striking)
            await self._deployment.engine.settled(SETTLE_SECONDS)
        except TimeoutError as late:
            await self._stuck(round_, late)
        await self._check([StreamId.of_user(user) for user in users])
        self.outcome.rounds += 1

    async def finish(self) -> None:
        """The whole log against everything that was ever acknowledged, and every projection against a rebuild."""
        await self._check([head.stream async for heads in self._deployment.engine.log.heads() for head in heads])
        await self.rebuild()
        self.outcome.acknowledged = len(self.book.acknowledged)

    async def rebuild(self) -> None:
        for rebuilt in await self._deployment.engine.projections.rebuild_all():
            if not rebuilt.equal:
                self.outcome.diverged.append(f"{rebuilt.name}: {dict(rebuilt.differences)}")

    async def _strike(self, round_: Round, load: Load) -> None:
        await load.reached(round_.after)
        if round_.fault in STRIKES:
            await STRIKES[round_.fault](self._deployment, round_.random("strike"))

    async def _stuck(self, round_: Round, late: TimeoutError) -> None:
        """Something did not come back by itself: say what, and go on with an engine that is started anew."""
        engine = self._deployment.engine
        try:
            where = f"lag {dict(await engine.projections.lag())}, outbox {await engine.outbox.size()}"
        except UNREACHABLE as fault:
            where = f"unreachable: {fault!r}"
        self.outcome.stuck.append(f"round {round_.number} ({round_.fault}): {late} {where}")
        await self._deployment.kill()
        await self._deployment.restart()

    async def _check(self, streams: Sequence[StreamId]) -> None:
        log = {stream: await self._deployment.engine.log.read(stream) for stream in streams}
        wanted = set(streams)
        verdict = judge(log, [one for one in self.book.acknowledged if one.receipt.stream in wanted])
        for name in ("lost", "doubled", "disordered"):
            found: list[str] = getattr(self.outcome, name)
            found += [sentence for sentence in getattr(verdict, name) if sentence not in found]
        for stream, recorded in log.items():
            await self._compare_with_reads(stream, recorded)
        self.outcome.events = sum(map(len, log.values()))

    async def _compare_with_reads(self, stream: StreamId, recorded: Sequence[Recorded]) -> None:
        """What a reader sees is the fold of the log: cheap enough for every round."""
        known: dict[Any, Memory] = {}
        for event in recorded:
            known |= MEMORY.evolve(known, event.payload)
        rows = await self._deployment.engine.reads.newest(Viewer(stream.tenant, stream.owner, DEFAULT_AGENT), ALL)
        shown = {row["memory_id"]: (row["text"], row["importance"]) for row in rows}
        folded = {id_: (one.content.text, one.content.importance) for id_, one in known.items() if one.visible}
        if shown != folded:
            self.outcome.diverged.append(f"memories of {stream} differ from the fold of the log")


async def run(
    seed: int,
    rounds: Sequence[Round],
    data_dir: Path,
    *,
    sabotage: str = "",
    rebuild_every: int = REBUILD_EVERY,
    progressed: Callable[[int], None] = lambda count: None,
) -> Outcome:
    """All rounds in a row on one new deployment. `sabotage` is code that its engine runs first, to see it found."""
    began, outcome = time.monotonic(), Outcome(seed)
    async with deployed(data_dir, sabotage) as deployment:
        running = Run(deployment, outcome)
        for round_ in rounds:
            known = len(outcome.faults())
            await running.round(round_)
            if outcome.rounds % rebuild_every == 0:
                await running.rebuild()
            _tell(round_, outcome.faults()[known:])
            progressed(1)
        await running.finish()
    outcome.seconds = time.monotonic() - began
    return outcome


def _tell(round_: Round, faults: Sequence[str]) -> None:
    for sentence in faults:
        errors.print(f"[red]✗[/] round {round_.number} ({round_.fault}): {sentence}", soft_wrap=True)
    if faults:
        errors.print(f"  again: python -m tests.faults.run --seed {round_.seed} --only {round_.number}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--seed", type=int, default=secrets.randbelow(2**32))
    parser.add_argument("--only", type=int, metavar="ROUND", help="this round of the seed's plan alone")
    parser.add_argument("--json", action="store_true", help="nothing but the seed and the last line")
    asked = parser.parse_args()
    logging.disable(logging.CRITICAL)  # Of drivers that lose their servers, which is the point here.
    out = Console()
    out.print(f"seed {asked.seed}", highlight=False)
    rounds = plan(asked.seed, asked.only or asked.rounds)[-1 if asked.only else 0 :]
    directory = Path(tempfile.mkdtemp(prefix="mnemolog-faults-"))
    with bar("rounds", len(rounds)) as progressed:
        outcome = asyncio.run(run(asked.seed, rounds, directory / "data", progressed=progressed))
    if outcome.good:
        shutil.rmtree(directory)
    else:
        errors.print(f"data and log of the engine are kept in {directory}", soft_wrap=True)
    if not asked.json:
        out.print("nothing lost, doubled or diverged" if outcome.good else "\n".join(outcome.faults()), soft_wrap=True)
    out.print(json.dumps(outcome.as_dict()), soft_wrap=True, highlight=False)
    return int(not outcome.good)


if __name__ == "__main__":
    sys.exit(main())
