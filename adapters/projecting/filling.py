"""Processes that fill the shadows of a rebuild in parallel, each with a share of the streams (design §5)."""

import asyncio
import json
import sys
from asyncio.subprocess import PIPE, Process
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from mnemolog.adapters.openai.endpoint import Endpoint
from mnemolog.domain.errors import EngineError

# Below this, one process finishes before others have started.
EVENTS_A_PROCESS = 20_000
# A process takes the next share when it has finished one, so that none works alone for long.
SHARES_A_PROCESS = 8

# Garbage collection during imports finds nothing and takes a fifth of the start.
_START = "import gc; gc.disable(); from mnemolog.adapters.projecting import fill_process; fill_process.main()"

Progressed = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class FillEndpoints:
    """Where a process finds the log and the stores, and their master key."""

    postgres_dsn: str = field(repr=False)
    projections_dsn: str = field(repr=False)
    redis_url: str = field(repr=False)
    master_key: bytes = field(repr=False)
    embedder: Literal["minilm", "lexical"]
    embedder_folder: str | None = None
    embedding: Endpoint | None = field(default=None, repr=False)
    mem0: bool = False


@dataclass(frozen=True, slots=True)
class Order:
    """Fill the shadows of the projections `names` with some of the `shares`, requested one by one."""

    place: FillEndpoints
    names: tuple[str, ...]
    shares: int

    def line(self) -> bytes:
        fields = asdict(self)
        fields["place"]["master_key"] = self.place.master_key.hex()
        return json.dumps(fields).encode() + b"\n"

    @classmethod
    def of_line(cls, line: bytes) -> "Order":
        fields = json.loads(line)
        place = fields["place"]
        place["master_key"] = bytes.fromhex(place["master_key"])
        place["embedding"] = Endpoint(**place["embedding"]) if place["embedding"] else None
        return cls(FillEndpoints(**place), tuple(fields["names"]), fields["shares"])


class FillProcesses:
    """Starts processes, sums up their reports, and leaves none behind."""

    def __init__(self, place: FillEndpoints) -> None:
        self._place = place

    async def fill(self, names: Sequence[str], processes: int, progressed: Progressed) -> Mapping[str, int]:
        """The number of events per projection. EngineError if a process fails; a second call continues from there."""
        order = Order(self._place, tuple(names), processes * SHARES_A_PROCESS)
        left = iter(range(order.shares))
        tasks = [asyncio.create_task(_filled(order, left, progressed)) for _ in range(processes)]
        try:
            return sum((Counter(taken) for taken in await asyncio.gather(*tasks)), Counter())
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)


async def _filled(order: Order, left: Iterator[int], progressed: Progressed) -> Mapping[str, int]:
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", _START, stdin=PIPE, stdout=PIPE)
    try:
        return await _listened(process, order, left, progressed)
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def _listened(process: Process, order: Order, left: Iterator[int], progressed: Progressed) -> Mapping[str, int]:
    assert process.stdin is not None
    assert process.stdout is not None
    # Not by arguments or environment, which others can read. Its input stays open: when it closes, we have ended.
    process.stdin.write(order.line())
    report: dict[str, Any] = {}
    async for line in process.stdout:
        report = json.loads(line)
        progressed(report.get("applied", 0))
        if "asks" in report:
            process.stdin.write(b"%d\n" % next(left, order.shares))
    await process.wait()
    if "taken" not in report:
        why = report.get("failed", f"it ended with {process.returncode}")
        raise EngineError(f"a process of the rebuild failed: {why}", fix="rebuild again: it resumes where it stopped")
    taken: Mapping[str, int] = report["taken"]
    return taken
