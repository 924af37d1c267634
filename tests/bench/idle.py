"""An idle engine: the share of a core that it and its servers take while nobody asks for anything.

python -m tests.bench.idle [--seconds 60] [--turns 20]

After a few turns, and after everything that follows from them is done.
"""

import asyncio
import json
import sys
import tempfile
from argparse import ArgumentParser
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from mnemolog.adapters.config import load
from mnemolog.adapters.engine.engine import open_engine
from tests.bench.processes import cpu_seconds_by_name

REST_SECONDS = 5.0


async def main(arguments: Sequence[str]) -> None:
    parser = ArgumentParser(prog="tests.bench.idle", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--turns", type=int, default=20)
    asked = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="mnemolog-idle-") as directory:
        async with open_engine(load(data_dir=directory, embedder="lexical", http_port=0)) as engine:
            for number in range(asked.turns):
                turn = {"user_id": f"user-{number % 5}", "turn_id": f"turn-{number}", "text": f"sentence {number}"}
                await engine.writes.record_turn(turn)
            await engine.settled(60)
            await asyncio.sleep(REST_SECONDS)
            before = cpu_seconds_by_name()
            await asyncio.sleep(asked.seconds)
            after = cpu_seconds_by_name()
    shares = {name: round(100 * (taken - before.get(name, 0.0)) / asked.seconds, 2) for name, taken in after.items()}
    shown = Table("", "% of a core", box=None)
    for name, share in shares.items():
        shown.add_row(name, f"{share:.2f}")
    console = Console()
    console.print(shown)
    told = {"cpu_percent": round(sum(shares.values()), 2), "by_process": shares}
    console.print(json.dumps(told), soft_wrap=True, highlight=False)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
