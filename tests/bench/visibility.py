"""From a write to its being visible in every projection: writers at a steady rate, latencies for each projection.

python -m tests.bench.visibility [--seconds 60] [--rate 200] [--users 100] [--embedder minilm]

The load is open: a write begins when its time has come, however long the others take, so that nothing slow hides what
waits behind it. A write is visible in a projection once the transaction that applies it has ended; the moment is taken
where the worker goes on after it, which costs nothing. At the end the stores themselves are asked.
"""

import asyncio
import json
import random
import sys
import tempfile
import time
from argparse import ArgumentParser, Namespace
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from mnemolog.adapters.config import load
from mnemolog.adapters.engine.engine import Engine, open_engine
from mnemolog.adapters.engine.garbage import collect_rarely
from mnemolog.adapters.projecting.projections import Projections
from mnemolog.events.envelope import Receipt, StreamId
from mnemolog.projections.rule import Delivered, Unread, seq_of, stream_of
from mnemolog.projections.runtime import Projection

WARM_SECONDS = 3.0
ACTS = ("likes", "bought", "lost", "painted", "repaired", "forgot", "visited", "sold", "wants", "remembers")
THINGS = (
    "a blue bicycle",
    "the old harbour",
    "her sister's piano",
    "a recipe for bread",
    "the night train",
    "a red tent",
)
PLACES = ("in Lisbon", "near the station", "on the island", "at work", "in the mountains", "behind the museum")


class Watched:
    """When each event became visible in one projection."""

    def __init__(self) -> None:
        self._reached: dict[StreamId, int] = {}
        self.at: dict[tuple[StreamId, int], float] = {}

    def delivered(self, events: Sequence[Delivered]) -> None:
        now = time.perf_counter()
        for event in events:
            stream, seq = stream_of(event), seq_of(event)
            for shown in range(self._reached.get(stream, 0) + 1, seq + 1):
                self.at[stream, shown] = now
            self._reached[stream] = max(seq, self._reached.get(stream, 0))


def watch() -> defaultdict[str, Watched]:
    """Take the moment after each delivery from now on; what a sweep applies shows with the delivery after it."""
    watched: defaultdict[str, Watched] = defaultdict(Watched)
    deliver = Projections.deliver

    async def delivered(
        self: Projections, projections: Sequence[Projection], events: Sequence[Delivered], share: int | None = None
    ) -> Sequence[Unread]:
        left = await deliver(self, projections, events, share)
        for projection in projections:
            watched[projection.name].delivered(events)
        return left

    Projections.deliver = delivered  # type: ignore[method-assign]
    return watched


class Written:
    """One write: when its call began, when the receipt came, and where it stands."""

    def __init__(self, called: float, answered: float, receipt: Receipt) -> None:
        self.called, self.answered, self.place = called, answered, (receipt.stream, receipt.last_seq)


async def measure(options: Namespace) -> dict[str, Any]:
    """The figures, from an engine of its own in a temporary directory, durable and with default settings."""
    watched = watch()
    with tempfile.TemporaryDirectory(prefix="mnemolog-bench-") as directory:
        async with open_engine(load(data_dir=directory, http_port=0, embedder=options.embedder)) as engine:
            await _write_steadily(engine, options, WARM_SECONDS)
            await engine.settled()
            collect_rarely()  # As `mnemolog up` does.
            written = await _write_steadily(engine, options, options.seconds)
            await engine.settled()
            await _require_visible(engine, written)
            return _figures(written, watched)


async def _write_steadily(engine: Engine, options: Namespace, seconds: float) -> Sequence[Written]:
    began, count = time.perf_counter(), int(seconds * options.rate)
    writes = []
    for number in range(count):
        await asyncio.sleep(max(0.0, began + number / options.rate - time.perf_counter()))
        writes.append(asyncio.create_task(_write(engine, f"user-{random.randrange(options.users)}")))
    return await asyncio.gather(*writes)


async def _write(engine: Engine, user: str) -> Written:
    text = f"{user} {random.choice(ACTS)} {random.choice(THINGS)} {random.choice(PLACES)}, {random.randrange(10**6)}"
    called = time.perf_counter()
    # What happened, as turns leave it: statements are linked to their neighbours, which makes several events of one.
    fields = {"user_id": user, "text": text, "category": "note", "kind": "episode"}
    _, receipt = await engine.writes.create(fields)
    return Written(called, time.perf_counter(), receipt)


async def _require_visible(engine: Engine, written: Sequence[Written]) -> None:
    for store in engine.projections.stores.values():
        progress = await store.all_progress()
        assert all(progress[stream] >= seq for stream, seq in (one.place for one in written)), store.name


def _figures(written: Sequence[Written], watched: Mapping[str, Watched]) -> dict[str, Any]:
    latest = [max(one.at[write.place] for one in watched.values()) for write in written]
    from_receipt = [at - write.answered for at, write in zip(latest, written, strict=True)]
    from_call = [at - write.called for at, write in zip(latest, written, strict=True)]
    elapsed = max(one.answered for one in written) - min(one.called for one in written)
    single = {name: [one.at[write.place] - write.answered for write in written] for name, one in watched.items()}
    return {
        "writes": len(written),
        "writes_per_s": round(len(written) / elapsed, 1),
        "p50_ms": _percentile(from_receipt, 50),
        "p99_ms": _percentile(from_receipt, 99),
        "max_ms": _percentile(from_receipt, 100),
        "from_call_p50_ms": _percentile(from_call, 50),
        "from_call_p99_ms": _percentile(from_call, 99),
        "call_p50_ms": _percentile([one.answered - one.called for one in written], 50),
        "call_p99_ms": _percentile([one.answered - one.called for one in written], 99),
        "per_projection": {
            name: {"p50_ms": _percentile(times, 50), "p99_ms": _percentile(times, 99)} for name, times in single.items()
        },
    }


def _percentile(seconds: Sequence[float], share: int) -> float:
    """Never below 0: a projection may be faster than the task that waits for the receipt."""
    ordered = sorted(seconds)
    return round(1000 * max(0.0, ordered[min(len(ordered) - 1, len(ordered) * share // 100)]), 1)


def _options(arguments: Sequence[str]) -> Namespace:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--rate", type=float, default=200.0)
    parser.add_argument("--users", type=int, default=100)
    parser.add_argument("--embedder", choices=["minilm", "lexical"], default="minilm")
    return parser.parse_args(arguments)


def _show(figures: Mapping[str, Any], embedder: str, console: Console) -> None:
    title = f"Write to visible, {embedder}, durable log, {figures['writes_per_s']:,} writes a second"
    table = Table("what", "p50 ms", "p99 ms", title=title, title_justify="left")
    table.add_row("receipt to every projection", str(figures["p50_ms"]), str(figures["p99_ms"]))
    table.add_row("call to every projection", str(figures["from_call_p50_ms"]), str(figures["from_call_p99_ms"]))
    table.add_row("call to receipt", str(figures["call_p50_ms"]), str(figures["call_p99_ms"]))
    for name, times in figures["per_projection"].items():
        table.add_row(f"receipt to {name}", str(times["p50_ms"]), str(times["p99_ms"]))
    console.print(table)


def main() -> int:
    options = _options(sys.argv[1:])
    figures = asyncio.run(measure(options))
    console = Console()
    _show(figures, options.embedder, console)
    console.print(json.dumps(figures), soft_wrap=True, highlight=False)
    return 0


if __name__ == "__main__":
    sys.exit(main())
