"""Processes that fill the shadows of a rebuild side by side, each with a share of the streams (design §5)."""

import asyncio
import json
import sys
from asyncio.subprocess import PIPE, Process
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from mnemolog.domain.errors import EngineError

# Fewer events for each are filled before a process has started.
EVENTS_A_PROCESS = 20_000

Progressed = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a process finds the log and the stores, and the key that opens them."""

    postgres_dsn: str = field(repr=False)
    redis_url: str = field(repr=False)
    master_key: bytes = field(repr=False)
    embedder: Literal["minilm", "lexical"]


@dataclass(frozen=True, slots=True)
class Order:
    """Fill the shadows of the projections `names` with share `number` of `of`."""

    place: Place
    names: tuple[str, ...]
    number: int
    of: int

    def line(self) -> bytes:
        fields = asdict(self)
        fields["place"]["master_key"] = self.place.master_key.hex()
        return json.dumps(fields).encode() + b"\n"

    @classmethod
    def of_line(cls, line: bytes) -> "Order":
        fields = json.loads(line)
        place = fields["place"]
        key = bytes.fromhex(place["master_key"])
        return cls(Place(**{**place, "master_key": key}), tuple(fields["names"]), fields["number"], fields["of"])


class FillProcesses:
    """Starts processes, adds up what they tell, and leaves none behind."""

    def __init__(self, place: Place) -> None:
        self._place = place

    async def fill(self, names: Sequence[str], processes: int, progressed: Progressed) -> Mapping[str, int]:
        """How many events each projection took. EngineError when a process fails; done again, it goes on from there."""
        orders = [Order(self._place, tuple(names), number, processes) for number in range(processes)]
        tasks = [asyncio.create_task(_filled(order, progressed)) for order in orders]
        try:
            return sum((Counter(taken) for taken in await asyncio.gather(*tasks)), Counter())
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)


async def _filled(order: Order, progressed: Progressed) -> Mapping[str, int]:
    command = (sys.executable, "-m", "mnemolog.adapters.engine.fill_process")
    process = await asyncio.create_subprocess_exec(*command, stdin=PIPE, stdout=PIPE)
    try:
        return await _listened(process, order, progressed)
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def _listened(process: Process, order: Order, progressed: Progressed) -> Mapping[str, int]:
    assert process.stdin is not None
    assert process.stdout is not None
    # Not by arguments or the environment, which others can read. Its input stays open: its end tells of our own.
    process.stdin.write(order.line())
    told: dict[str, Any] = {}
    async for line in process.stdout:
        told = json.loads(line)
        progressed(told.get("applied", 0))
    await process.wait()
    if "taken" not in told:
        why = told.get("failed", f"it ended with {process.returncode}")
        raise EngineError(f"a process of the rebuild failed: {why}", fix="rebuild again: it goes on from there")
    taken: Mapping[str, int] = told["taken"]
    return taken
