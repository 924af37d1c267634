"""Read as of the middle of streams of 1,000 to 50,000 events: events replayed a second, and whether it stays linear.

python -m tests.bench.asof [--sizes 1000,5000,15000,50000] [--directory DIR]

`seconds` is a `memory.query` as of the middle, from the call to the answer, where nobody asked for that moment before;
`events_per_s` the events up to there, of the longest stream, by that. `again` is the same question once more, `all` a
replay of every projection on Postgres. `cpu_us` is what an event costs this process and Postgres: it tells what a
machine could do that has nothing else to do. The log is written through the real append path, encrypted; most of
its commands are turns. The embeddings are in the cache.
"""

import argparse
import asyncio
import json
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

import psutil  # type: ignore[import-untyped]
from rich.console import Console
from rich.table import Table
from sqlalchemy import text

from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.engine.garbage import collect_rarely
from mnemolog.commands.memories import Memories
from mnemolog.commands.turns import Conversation
from mnemolog.domain.errors import MnemologError
from mnemolog.events.envelope import StreamId
from mnemolog.events.log import Append
from mnemolog.projections import filling
from mnemolog.projections.reads.moment import Moment
from mnemolog.projections.requests import MemoryQuery
from tests.bench.lives import Life, Talk
from tests.bench.replay import GROUP, PROJECTIONS, opened, vacuum

REMEMBERED = 1000
LIVE = 20  # events of a batch
SIZES = (1000, 5000, 15_000, 50_000)


def life(user: str, events: int) -> Iterator[Append]:
    """One user's stream. The deciders are shown what the last thousand events made, or it would take the square."""
    random = Random(7)
    one, count = Life(user, random, Talk(random)), 0
    while count < events:
        if happened := tuple(one.step()):
            if (count + len(happened)) // REMEMBERED > count // REMEMBERED:
                one = replace(one, memories=Memories(), conversation=Conversation())
            count += len(happened)
            yield Append(StreamId.of_user(user), happened)


async def write(engine: Engine, sizes: Sequence[int]) -> None:
    """A user of each size, and the live projections after them."""
    for size in sizes:
        lives = life(f"user-{size}", size)
        while group := list(islice(lives, GROUP)):
            refused = [one for one in await engine.log.append(group) if isinstance(one, MnemologError)]
            if refused:
                raise refused[0]
    # As live projections do it: of a big portion only the last text of each memory would be embedded, and kept.
    filling.PORTION = LIVE
    await filling.fill(engine.log, [engine.projections.stores[name] for name in PROJECTIONS])
    await vacuum(engine)


async def measure(engine: Engine, size: int) -> dict[str, Any]:
    """The figures of one stream."""
    stream, until = StreamId.of_user(f"user-{size}"), size // 2
    question = MemoryQuery.model_validate({"query": "about people", "filters": {"user_id": stream.owner}})
    own, began = psutil.Process(), time.perf_counter()
    cpu = sum(own.cpu_times()[:2])
    await engine.reads.query(question, Moment(as_of=until))
    seconds, cpu = time.perf_counter() - began, sum(own.cpu_times()[:2]) - cpu
    async with engine.reads.replays.at(stream, until, PROJECTIONS[:1]) as connection:
        pid = (await connection.execute(text("SELECT pg_backend_pid()"))).scalar_one()
        cpu += sum(psutil.Process(pid).cpu_times()[:2])
    began = time.perf_counter()
    await engine.reads.query(question, Moment(as_of=until))
    again = time.perf_counter() - began
    await engine.reads.replays.aclose()
    began = time.perf_counter()
    async with engine.reads.replays.at(stream, until, PROJECTIONS):
        whole = time.perf_counter() - began
    await engine.reads.replays.aclose()
    return {
        "seconds": round(seconds, 3),
        "again": round(again, 3),
        "all": round(whole, 3),
        "events_per_s": round(until / seconds),
        "cpu_us": round(cpu / until * 1e6),
    }


async def run(directory: Path, sizes: Sequence[int]) -> dict[int, dict[str, Any]]:
    written = (directory / "postgres").exists()
    async with opened(directory) as engine:
        collect_rarely()  # As an engine does at its start.
        if not written:
            await write(engine, sizes)
        return {size: await measure(engine, size) for size in sizes}


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)))
    parser.add_argument("--directory", type=Path, help="where the log is, or is written and kept")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="mnemolog-bench-") as temporary:
        found = asyncio.run(run(given.directory or Path(temporary), sorted(map(int, given.sizes.split(",")))))
    table = Table("events of the stream", *next(iter(found.values())), title="Read as of its middle")
    for size, figures in found.items():
        table.add_row(f"{size:,}", *(f"{value:,}" for value in figures.values()))
    console = Console()
    console.print(table)
    figures = {
        "seconds": {str(size): one["seconds"] for size, one in found.items()},
        "again": {str(size): one["again"] for size, one in found.items()},
        "all": {str(size): one["all"] for size, one in found.items()},
        "cpu_us": {str(size): one["cpu_us"] for size, one in found.items()},
        "events_per_s": found[max(found)]["events_per_s"],
    }
    console.print(json.dumps(figures), soft_wrap=True, highlight=False)
    return 0


if __name__ == "__main__":
    sys.exit(main())
