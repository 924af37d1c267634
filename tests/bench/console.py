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
from collections.abc import Iterator, Sequence
from datetime import timedelta
from itertools import islice
from pathlib import Path
from random import Random

import httpx
from rich.console import Console
from rich.table import Table

from mnemolog.adapters.engine.engine import Engine, now, open_engine
from mnemolog.adapters.http.app import create_app
from mnemolog.commands.memories import MEMORIES, CreateMemory, Memories
from mnemolog.domain.errors import MnemologError
from mnemolog.domain.identity import uuid7
from mnemolog.domain.viewer import Viewer
from mnemolog.events.envelope import DEFAULT_AGENT, NewEvent, StreamId
from mnemolog.events.event import Event
from mnemolog.events.log import Append
from tests.bench.lives import Talk
from tests.testkit.settings import settings_in

USER, GROUP, TIMES = "ana", 500, 20
EVERY = timedelta(hours=1)
ORIGIN = "http://localhost"


def appends(count: int) -> Iterator[Append]:
    """A memory each, an hour after the one before."""
    random = Random(7)
    talk, at = Talk(random), now() - count * EVERY
    for _ in range(count):
        at += EVERY
        command = CreateMemory(user_id=USER, memory_id=uuid7(at, random.randbytes(10)), text=talk.sentence())
        events = (NewEvent(uuid7(at, random.randbytes(10)), one, command.meta(), at) for one in decided(command))
        yield Append(StreamId.of_user(USER), tuple(events))


def decided(command: CreateMemory) -> Sequence[Event]:
    return MEMORIES.decide(Memories(), command)


async def written(engine: Engine, count: int) -> str:
    """Write the memories; the id of the last one."""
    found = appends(count)
    while group := list(islice(found, GROUP)):
        refused = [one for one in await engine.log.append(group) if isinstance(one, MnemologError)]
        if refused:
            raise refused[0]
    await engine.settled()
    [newest] = await engine.reads.newest(Viewer("default", USER, DEFAULT_AGENT), 1)
    return str(newest["memory_id"])


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
