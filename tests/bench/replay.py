"""Rebuild all Postgres projections from 200,000 events: events a second, memory, and whether it stays linear.

python -m tests.bench.replay [--events 200000] [--directory DIR]

An event counts once it is applied by every projection on Postgres. The clock runs from the start of the rebuild to
the last swap; the comparison with the live rows is in it. The log is written by 200 users through the real append
path, encrypted; the embeddings are in the cache. It is vacuumed first, as any log is that stood for a minute. `cpu_us`
is what an event costs on all cores, Postgres included: it tells what a machine could do that has nothing else to do.
"""

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import psutil  # type: ignore[import-untyped]
import psycopg
from rich.console import Console
from rich.table import Table

from mnemolog.adapters.config import load
from mnemolog.adapters.engine.engine import Engine, open_engine
from mnemolog.domain.errors import MnemologError
from mnemolog.projections.filling import fill
from tests.bench.lives import appends

USERS = 200
GROUP = 500
STEP = 100_000
PROJECTIONS = (
    "memories",
    "graph",
    "changes",
    "history",
    "profile",
    "artifacts",
    "knowledge",
    "conversation",
    "episodes",
    "summaries",
    "operations",
    "vectors",
)
MEGABYTE = 2**20


@asynccontextmanager
async def opened(directory: Path) -> AsyncIterator[Engine]:
    """An engine with its servers and nothing that runs by itself, durable as by default."""
    async with open_engine(load(data_dir=directory, http_port=0, embedder="lexical"), passive=True) as engine:
        yield engine


async def write(directory: Path, events: int) -> None:
    """Fill a log, and its live projections after it."""
    lives = appends(USERS, events)
    async with opened(directory) as engine:
        while group := list(islice(lives, GROUP)):
            refused = [one for one in await engine.log.append(group) if isinstance(one, MnemologError)]
            if refused:
                raise refused[0]
        await fill(engine.log, [engine.projections.stores[name] for name in PROJECTIONS])


async def vacuum(engine: Engine) -> None:
    """What autovacuum does soon after so many writes, so that it does not do it meanwhile."""
    async with await psycopg.AsyncConnection.connect(engine.endpoints.postgres_dsn, autocommit=True) as connection:
        await connection.execute("VACUUM ANALYZE")


@dataclass
class Watch:
    """What a run shows while it goes on: when each 100,000 events were done, and the memory of its processes."""

    began: float = field(default_factory=time.perf_counter)
    taken: int = 0
    done: list[float] = field(default_factory=list)
    peaks: list[float] = field(default_factory=lambda: [0.0])

    def progressed(self, count: int) -> None:
        self.taken += count
        if self.taken // len(PROJECTIONS) >= STEP * (len(self.done) + 1):
            self.done.append(self.elapsed)
            self.peaks.append(0.0)

    @property
    def elapsed(self) -> float:
        return time.perf_counter() - self.began

    @property
    def seconds(self) -> list[float]:
        return [round(end - begin, 2) for begin, end in zip([0.0, *self.done], self.done, strict=False)]

    async def memory(self) -> None:
        """Sample the resident memory of this process and of the Python processes below it, until cancelled."""
        while True:
            with suppress(psutil.NoSuchProcess):  # One ended meanwhile.
                held = sum(process.memory_info().rss for process in _pythons())
                self.peaks[-1] = max(self.peaks[-1], held / MEGABYTE)
            await asyncio.sleep(0.1)


def _pythons() -> Sequence[psutil.Process]:
    own = psutil.Process()
    return [own, *(child for child in own.children() if "fill_process" in " ".join(child.cmdline()))]


def _cpu_seconds(engine: Engine) -> float:
    """Of this process, of Postgres, and of all processes below either, those that ended included."""
    assert engine.servers is not None
    roots = [
        psutil.Process(),
        *(psutil.Process(pid) for name, pid in engine.servers.pids.items() if name == "postgres"),
    ]
    below = {child for root in roots for child in root.children(recursive=True)}
    return float(sum(map(_seconds_of, below.union(roots))))


def _seconds_of(process: psutil.Process) -> float:
    """None of one that ended meanwhile: its parent's count has them."""
    with suppress(psutil.NoSuchProcess):
        times = process.cpu_times()
        return float(times.user + times.system + times.children_user + times.children_system)
    return 0.0


async def measure(directory: Path) -> dict[str, Any]:
    """The figures of one rebuild of all of them."""
    async with opened(directory) as engine:
        await vacuum(engine)
        events = sum((await engine.log.counts()).values())
        cpu, watch = _cpu_seconds(engine), Watch()
        sampling = asyncio.create_task(watch.memory())
        rebuilt = await engine.projections.rebuild_all(PROJECTIONS, watch.progressed)
        seconds = watch.elapsed
        sampling.cancel()
        cpu = _cpu_seconds(engine) - cpu
        return {
            "events": events,
            "events_per_s": round(events / seconds),
            "seconds": round(seconds, 2),
            "seconds_by_100k": watch.seconds,
            "compare_and_swap_s": round(seconds - (watch.done[-1] if watch.done else 0.0), 2),
            "cpu_us": round(cpu / events * 1e6, 1),
            "peak_rss_mb": round(max(watch.peaks)),
            "peak_rss_mb_by_100k": [round(peak) for peak in watch.peaks[: len(watch.done)]],
            "equal": all(one.equal for one in rebuilt),
        }


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--events", type=int, default=200_000)
    parser.add_argument("--directory", type=Path, help="where the log is, or is written and kept")
    parser.add_argument("--write", action="store_true", help="write the log only")
    given = parser.parse_args()
    if given.write:
        asyncio.run(write(given.directory, given.events))
        return 0
    with tempfile.TemporaryDirectory(prefix="mnemolog-bench-") as temporary:
        return _shown(asyncio.run(measure(_written(given.directory or Path(temporary), given.events))))


def _written(directory: Path, events: int) -> Path:
    """A directory with a log; written by another process, whose memory is not ours."""
    if not (directory / "postgres").exists():
        command = (sys.executable, "-m", __spec__.name, "--write", "--events", str(events), "--directory")
        subprocess.run([*command, str(directory)], check=True)
    return directory


def _shown(figures: dict[str, Any]) -> int:
    table = Table("what", "figure", title="Rebuild of every projection on Postgres", title_justify="left")
    for name, value in figures.items():
        table.add_row(name, f"{value:,}" if isinstance(value, int | float) else str(value))
    console = Console()
    console.print(table)
    console.print(json.dumps(figures), soft_wrap=True, highlight=False)
    return int(not figures["equal"])


if __name__ == "__main__":
    sys.exit(main())
