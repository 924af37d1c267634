"""One process of a rebuild: fills shadows with a share of the streams and reports on standard output.

Its order is the first line of its standard input, then comes the number of a share whenever it asks. The end of its
input ends it.
"""

import asyncio
import gc
import json
import os
import sys
import threading
from collections import Counter
from collections.abc import Mapping
from contextlib import AsyncExitStack, suppress
from datetime import UTC, datetime
from functools import partial
from typing import IO

from mnemolog.adapters.minilm import InThread, embedder_named, model_in
from mnemolog.adapters.openai.client import ModelClient
from mnemolog.adapters.openai.embedder import OpenAIEmbedder
from mnemolog.adapters.postgres.log import PostgresLog
from mnemolog.adapters.postgres.pool import open_pool
from mnemolog.adapters.postgres.roots import open_roots
from mnemolog.adapters.postgres.sqlalchemy import PROJECTING, create_engine
from mnemolog.adapters.projecting.filling import FillEndpoints, Order
from mnemolog.adapters.projecting.projections import Projections
from mnemolog.adapters.redis.client import connect
from mnemolog.adapters.verify.log_check import require_keys
from mnemolog.events.codec import Codec
from mnemolog.projections.filling import Share
from mnemolog.projections.mem0.projector import Mem0Projector
from mnemolog.projections.seal import RowSeal
from mnemolog.projections.vectors.embedder import Embedder

# While Postgres writes one batch, another is decoded.
LANES = 2


def main() -> None:
    # Not sys.stdin, which cannot be closed while a thread reads it.
    lines = os.fdopen(os.dup(sys.stdin.fileno()), "rb")
    order = Order.of_line(lines.readline())
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)  # A batch has many thousands of objects, none of them in a cycle.
    gc.enable()
    try:
        _tell(taken=asyncio.run(_fill(order, lines)))
    except Exception as error:  # noqa: BLE001  Any error is reported to the parent.
        # Only the first line: the rest of a database error quotes the row, and with it what somebody said.
        _tell(failed=f"{type(error).__name__}: {error}".splitlines()[0])
        os._exit(1)
    os._exit(0)  # Unloading all imports would take a quarter of a second.


async def _fill(order: Order, lines: IO[bytes]) -> Mapping[str, int]:
    parent = _Parent(lines)
    taken: Counter[str] = Counter()
    async with AsyncExitStack() as stack:
        projections = await _wire(stack, order.place)
        shadows = [await projections.shadow(name) for name in order.names]

        async def fill_shares() -> None:
            while (number := await parent.next_share()) < order.shares:
                share = Share(number, order.shares)
                taken.update(await projections.fill(shadows, share, lambda count: _tell(applied=count)))

        await asyncio.gather(*(fill_shares() for _ in range(LANES)))
        return taken


class _Parent:
    """Hands out share numbers, read by a thread from lines, so that the parent's end is noticed at any time."""

    def __init__(self, lines: IO[bytes]) -> None:
        self._numbers = asyncio.Queue[int]()
        self._loop = asyncio.get_running_loop()
        threading.Thread(target=self._listen, args=(lines,), daemon=True).start()

    async def next_share(self) -> int:
        _tell(asks=True)
        return await self._numbers.get()

    def _listen(self, lines: IO[bytes]) -> None:
        for line in lines:
            with suppress(RuntimeError):  # The loop is closed: this process failed, and ends.
                self._loop.call_soon_threadsafe(self._numbers.put_nowait, int(line))
        os._exit(1)


async def _wire(stack: AsyncExitStack, place: FillEndpoints) -> Projections:
    pool = await open_pool(place.postgres_dsn, size=2 * LANES)
    stack.push_async_callback(pool.close)
    roots = await open_roots(pool, place.master_key, os.urandom)
    log = PostgresLog(pool, Codec(), roots, lambda: datetime.now(UTC))
    seal = RowSeal(roots.derived("rows"))
    engine = create_engine(place.projections_dsn, seal, PROJECTING, pool_size=2 * LANES)
    stack.push_async_callback(engine.dispose)
    beside_log = None
    if place.projections_dsn != place.postgres_dsn:
        beside_log = create_engine(place.postgres_dsn, seal, pool_size=1)
        stack.push_async_callback(beside_log.dispose)
    redis = await connect(place.redis_url)
    stack.push_async_callback(redis.aclose)
    folder = place.embedder_folder
    embedder: Embedder = InThread(model_in(folder, {})) if folder else embedder_named(place.embedder)
    if place.embedding:
        client = ModelClient(place.embedding)
        stack.push_async_callback(client.aclose)
        embedder = OpenAIEmbedder(client)
    optional = [Mem0Projector()] if place.mem0 else []
    projections = Projections(engine, redis, log, embedder, beside_log=beside_log, optional=optional)
    projections.require_keys = partial(require_keys, pool, roots)
    return projections


def _tell(**report: object) -> None:
    sys.stdout.write(json.dumps(report) + "\n")
    sys.stdout.flush()
