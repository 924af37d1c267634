"""The console of a user with 10,000 memories: milliseconds of the server for each view.

python -m tests.bench.console [--memories 10000]

`first` is the first request after the memories were written, `p95` of 20 more. The requests come without a network, so
that the figures are those of the server alone.
"""

import argparse
import asyncio
import json
import sys
import tempfile
import time
from pathlib import Path
from random import Random

import httpx
from rich.console import Console
from rich.table import Table

from mnemolog.adapters.engine.engine import Engine, open_engine
from mnemolog.adapters.http.app import create_app
from tests.bench.lives import Talk
from tests.testkit.settings import settings_in

USER, AT_ONCE, TIMES = "ana", 64, 20
ORIGIN = "http://localhost"


async def written(engine: Engine, count: int) -> str:
    """The memories, written through the commands; the id of the last one."""
    talk, few = Talk(Random(7)), asyncio.Semaphore(AT_ONCE)

    async def create() -> str:
        async with few:
            memory_id, _ = await engine.writes.create({"user_id": USER, "text": talk.sentence()})
            return str(memory_id)

    ids = await asyncio.gather(*(create() for _ in range(count)))
    await engine.settled()
    return ids[-1]


async def measured(client: httpx.AsyncClient, path: str) -> dict[str, float]:
    took = []
    for _ in range(TIMES + 1):
        began = time.perf_counter()
        answer = await client.get(f"/console{path}", params={"user": USER} if "?" not in path else None)
        took.append(1000 * (time.perf_counter() - began))
        assert answer.status_code == 200, answer.text
    first, *others = took
    return {"first": round(first, 1), "p95": round(sorted(others)[int(0.95 * TIMES) - 1], 1)}


async def run(count: int) -> dict[str, dict[str, float]]:
    with tempfile.TemporaryDirectory(prefix="mnemolog-bench-") as directory:
        async with open_engine(settings_in(Path(directory))) as engine:
            one = await written(engine, count)
            views = {
                "memories": "/memories",
                "search": f"/memories?user={USER}&q=what+about+people",
                "memory": f"/memories/{one}",
                "timeline": "/timeline",
                "entities": "/entities",
                "decisions": "/decisions",
                "operations": "/operations",
            }
            transport = httpx.ASGITransport(create_app(engine))
            async with httpx.AsyncClient(transport=transport, base_url=ORIGIN) as client:
                await client.post("/console/login", headers={"Origin": ORIGIN})
                return {name: await measured(client, path) for name, path in views.items()}


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--memories", type=int, default=10_000)
    found = asyncio.run(run(parser.parse_args().memories))
    table = Table("view", "first", "p95", title="Milliseconds")
    for name, figures in found.items():
        table.add_row(name, *(f"{value:,}" for value in figures.values()))
    console = Console()
    console.print(table)
    console.print(json.dumps({"console_first_view_ms": found["memories"]["first"], "views": found}), soft_wrap=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
