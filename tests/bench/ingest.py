"""Ingest a LoCoMo file through JetStream with the shipped model, then ask its questions: turns a second, latencies.

python -m tests.bench.ingest --data FILE
"""

import asyncio
import json
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from mnemolog.adapters.config import load
from mnemolog.adapters.engine.engine import Engine, open_engine
from mnemolog.adapters.ingest import source
from mnemolog.adapters.ingest.ingest import Ingest
from mnemolog.projections.requests import MemoryQuery
from tests.bench.data import locomo_path


async def measure(path: Path) -> dict[str, Any]:
    """The figures, from an engine of its own in a temporary directory, durable as by default."""
    with tempfile.TemporaryDirectory(prefix="mnemolog-bench-") as directory:
        async with open_engine(load(data_dir=directory, http_port=0)) as engine:
            turns = source.read(path, "locomo")
            began = time.perf_counter()
            report = await Ingest(engine, turns).run()
            logged = time.perf_counter() - began
            await engine.settled()
            found = time.perf_counter() - began
            latencies = [await _timed(engine, user, question) for user, question in _questions(path)]
            return {
                "file_turns": len(turns),
                "log_turns": (await engine.log.counts()).get("TurnRecorded", 0),
                "set_aside": len(report.set_aside),
                "turns_per_s": round(len(turns) / found, 1),
                "log_turns_per_s": round(len(turns) / logged, 1),
                "queries": len(latencies),
                "query_p50_ms": _percentile(latencies, 50),
                "query_p95_ms": _percentile(latencies, 95),
            }


def _questions(path: Path) -> Iterator[tuple[str, str]]:
    for conversation in json.loads(path.read_bytes()):
        for entry in conversation["qa"]:
            yield str(conversation["sample_id"]), str(entry["question"])


async def _timed(engine: Engine, user: str, question: str) -> float:
    request = MemoryQuery.model_validate({"query": question, "filters": {"user_id": user}, "since_rev": 0})
    began = time.perf_counter()
    await engine.reads.query(request)
    return time.perf_counter() - began


def _percentile(seconds: Sequence[float], share: int) -> float:
    ordered = sorted(seconds)
    return round(1000 * ordered[min(len(ordered) - 1, len(ordered) * share // 100)], 1)


def main() -> int:
    figures = asyncio.run(measure(locomo_path(__doc__ or "")))
    table = Table("what", "figure", title="Ingest through JetStream, MiniLM, durable log", title_justify="left")
    for name, value in figures.items():
        table.add_row(name, f"{value:,}")
    console = Console()
    console.print(table)
    console.print(json.dumps(figures), soft_wrap=True, highlight=False)
    return int(figures["file_turns"] != figures["log_turns"])


if __name__ == "__main__":
    sys.exit(main())
