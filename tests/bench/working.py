"""Working memory: session and affect in one round trip to Redis, and through the engine with what a read checks.

python -m tests.bench.working [--sessions 1000] [--reads 5000]

Every session has twenty turns and an affect that fades: the read applies pulse and decay (A §8). A bare `MGET` of two
keys of the same size stands beside it in the same run.
"""

import asyncio
import json
import random
import sys
import tempfile
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Awaitable, Callable, Sequence

from redis.asyncio import Redis
from rich.console import Console
from rich.table import Table

from mnemolog.adapters.clock import now
from mnemolog.adapters.config import load
from mnemolog.adapters.engine.engine import Engine, open_engine
from mnemolog.commands.attention import SetAffect
from mnemolog.domain.viewer import Viewer
from mnemolog.events.envelope import DEFAULT_AGENT, DEFAULT_TENANT
from mnemolog.projections.reads.moment import Moment
from mnemolog.projections.working.projector import SessionPlace

THREAD = "chat"
TURNS = 20
# The aim for a read of the session and its affect.
AIM_MS = 2.0


async def main(arguments: Sequence[str]) -> None:
    parser = ArgumentParser(prog="tests.bench.working", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sessions", type=int, default=1000)
    parser.add_argument("--reads", type=int, default=5000)
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="mnemolog-working-") as directory:
        async with open_engine(load(data_dir=directory, embedder="lexical", http_port=0)) as engine:
            await _fill(engine, options)
            figures = await _measured(engine, options)
    shown = Table("read", "p50 ms", "p95 ms", box=None)
    for name in ("mget", "session_and_affect", "engine"):
        shown.add_row(name, f"{figures[f'{name}_p50_ms']:.2f}", f"{figures[f'{name}_p95_ms']:.2f}")
    console = Console()
    console.print(shown)
    console.print(json.dumps({**figures, "aim_ms": AIM_MS}), soft_wrap=True, highlight=False)


async def _fill(engine: Engine, options: Namespace) -> None:
    limit = asyncio.Semaphore(32)

    async def one(number: int) -> None:
        who = {"user_id": f"user-{number}", "thread_id": THREAD}
        async with limit:
            turns = [{"turn_id": f"t{turn}", "text": f"This is sentence {turn} of {number}"} for turn in range(TURNS)]
            await engine.writes.add([{**who, **turn} for turn in turns])
            mood = {**who, "label": "stressed", "confidence": 0.9, "markers": ["short messages"], "at": now()}
            await engine.writes.handle(SetAffect.model_validate(mood))

    await asyncio.gather(*map(one, range(options.sessions)))
    await engine.settled(300)


async def _measured(engine: Engine, options: Namespace) -> dict[str, float]:
    numbers = random.Random(7)
    places = [
        SessionPlace(DEFAULT_TENANT, f"user-{numbers.randrange(options.sessions)}", DEFAULT_AGENT, THREAD)
        for _ in range(options.reads)
    ]
    store, figures = engine.projections.working, dict[str, float]()
    redis = Redis.from_url(engine.endpoints.redis_url)

    async def both(place: SessionPlace) -> object:
        found = await store.read(place)
        assert found, "it was filled"
        return found.as_dict(), found.affect_shown(now())

    async def through_engine(place: SessionPlace) -> object:
        viewer = Viewer(place.tenant, place.user_id, place.agent_id)
        return await engine.reads.affect(viewer, place.chat_id, now(), Moment(consistency="eventual"))

    async def bare(place: SessionPlace) -> object:
        return await redis.mget(place.key, place.affect_key)

    reads: dict[str, Callable[[SessionPlace], Awaitable[object]]] = {
        "mget": bare,
        "session_and_affect": both,
        "engine": through_engine,
    }
    for name, read in reads.items():
        taken = []
        for place in places:
            began = time.perf_counter()
            await read(place)
            taken.append(1000 * (time.perf_counter() - began))
        taken.sort()
        figures[f"{name}_p50_ms"] = round(taken[len(taken) // 2], 3)
        figures[f"{name}_p95_ms"] = round(taken[int(0.95 * len(taken))], 3)
    await redis.aclose()
    return figures


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
