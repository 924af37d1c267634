"""The surfaces of one engine: searches over MCP and HTTP, and LangGraph's store beside its PostgresStore.

python -m tests.bench.surfaces [--items 200] [--searches 1000] [--directory DIR]

The engine runs in the background, as for any program. `store`: items are put and searched one after another, in turns
with PostgresStore on the same Postgres, with its HNSW index and with vectors of the same embedder. The ratios are its
median time divided by ours: above 1 we are faster. Its put returns when the item can be found, ours when it is durable;
`visible` is how long a search takes that must see the last put. `http`: 50 clients at once, in a process of their own,
search over HTTP, and call a route of FastAPI that does nothing in the same process. `direct`: in the same rounds, the
process that serves them answers the same questions, 50 at once, without HTTP. `http_overhead_ms`: the 95th percentile
over HTTP without that of direct searches. `mcp_p95_ms`: `search_memory` with the
official client and `mnemolog mcp` on standard input and output, one at a time.
"""

import argparse
import asyncio
import json
import os
import socket
import statistics
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import psycopg
import uvicorn
from fastapi import FastAPI
from langgraph.store.postgres import AsyncPostgresStore
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from psycopg.conninfo import make_conninfo
from rich.console import Console
from rich.table import Table

from mnemolog import AsyncMemory
from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.http.server import serve
from mnemolog.adapters.operations.memories import Search, search
from mnemolog.langgraph import MnemologStore
from tests.bench.background import data_directory
from tests.bench.http_clients import CLIENTS, USER, questions
from tests.bench.lives import Talk

WARM, ROUNDS = 20, 5
NAMESPACE = ("memories", USER)
Figures = dict[str, list[float]]
Step = Callable[[], Awaitable[Any]]


async def timed(step: Step, into: list[float]) -> None:
    began = time.perf_counter()
    await step()
    into.append(1000 * (time.perf_counter() - began))


async def stores(memory: AsyncMemory, engine: Engine, items: int, figures: Figures) -> None:
    """Both put the same items and answer the same searches, in turns."""
    embedder, talk = engine.reads._embedder, Talk(Random(3))

    async def embedded(texts: Sequence[str]) -> list[list[float]]:
        return [[float(number) for number in vector] for vector in await embedder.embed(list(texts))]

    peers = await asyncio.to_thread(peers_database, engine.endpoints.postgres_dsn)
    [vector] = await embedded(["tea"])
    ours = MnemologStore(memory, user_at=1)
    index: Any = {"dims": len(vector), "embed": embedded, "fields": ["text"]}
    async with AsyncPostgresStore.from_conn_string(peers, index=index) as peer:
        await peer.setup()
        both = (("ours", ours), ("peer", peer))
        for number in range(items + WARM):
            key, value = f"k{number}", {"text": talk.sentence()}
            for name, store in both if number % 2 else reversed(both):
                await timed(partial(store.aput, NAMESPACE, key, value), figures[f"{name} put"])
        await timed(lambda: ours.asearch(NAMESPACE, query="tea", limit=10), figures["ours visible"])
        for number in range(items + WARM):
            query = talk.sentence()
            for name, store in both if number % 2 else reversed(both):
                await timed(partial(store.asearch, NAMESPACE, query=query, limit=10), figures[f"{name} search"])
    for name in ("ours put", "peer put", "ours search", "peer search"):
        del figures[name][:WARM]


def peers_database(dsn: str) -> str:
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("CREATE DATABASE peer")
    return make_conninfo(dsn, dbname="peer")


@asynccontextmanager
async def empty_route() -> AsyncIterator[str]:
    """A route that does nothing, served as ours are."""
    app = FastAPI()

    @app.post("/v1/search")
    async def nothing() -> dict[str, Any]:
        return {}

    listening = socket.create_server(("127.0.0.1", 0))
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    config = uvicorn.Config(app, lifespan="off", ws="none", log_config=None, access_log=False, server_header=False)
    server = uvicorn.Server(config)
    running = asyncio.create_task(server.serve(sockets=[listening]))
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        server.should_exit = True
        await running


async def over_http(engine: Engine, searches: int, figures: Figures) -> None:
    """In rounds of all, so that what else the machine does meets all."""
    async with serve(engine) as url, empty_route() as empty:
        loads = {"http search": partial(load, url), "direct search": partial(direct, engine)}
        loads["http empty"] = partial(load, empty)
        for run in loads.values():
            await run(5 * CLIENTS)
        for _ in range(ROUNDS):
            for which, run in loads.items():
                figures[which] += await run(searches // ROUNDS)


async def load(url: str, count: int) -> list[float]:
    """The milliseconds of so many requests, by 50 clients at once in another process."""
    arguments = ("-m", "tests.bench.http_clients", url, str(count))
    child = await asyncio.create_subprocess_exec(sys.executable, *arguments, stdout=asyncio.subprocess.PIPE)
    out, _ = await child.communicate()
    assert child.returncode == 0
    took: list[float] = json.loads(out)
    return took


async def direct(engine: Engine, count: int) -> list[float]:
    """The milliseconds of as many searches with the questions of the clients, as many at once."""
    left, took = iter(range(count)), list[float]()

    async def client(number: int) -> None:
        for _, query in zip(left, questions(number), strict=False):
            await timed(partial(search.run, engine, Search.model_validate({"user_id": USER, "query": query})), took)

    await asyncio.gather(*map(client, range(CLIENTS)))
    return took


async def over_mcp(directory: Path, searches: int, figures: Figures) -> None:
    talk = Talk(Random(9))
    command = str(Path(sys.executable).with_name("mnemolog"))
    environment = {**os.environ, "MNEMOLOG_DATA_DIR": str(directory)}
    server = StdioServerParameters(command=command, args=["mcp", "--user", USER], env=environment)
    async with Client(stdio_client(server)) as client:
        for _ in range(searches + WARM):
            asked = {"query": talk.sentence()}
            began = time.perf_counter()
            answer = await client.call_tool("search_memory", asked)
            figures["mcp search"].append(1000 * (time.perf_counter() - began))
            assert not answer.is_error, answer
    del figures["mcp search"][:WARM]


def p95(times: Sequence[float]) -> float:
    return statistics.quantiles(times, n=20)[-1] if len(times) > 1 else times[0]


def shown(figures: Mapping[str, Sequence[float]]) -> Table:
    table = Table("what", "calls", "median", "p95", title="Milliseconds")
    for name, times in figures.items():
        table.add_row(name, f"{len(times):,}", f"{statistics.median(times):.2f}", f"{p95(times):.2f}")
    return table


def result(figures: Mapping[str, Sequence[float]]) -> Mapping[str, float]:
    middle = {name: statistics.median(times) for name, times in figures.items()}
    slow = {name: p95(times) for name, times in figures.items()}
    return {
        "store_put_ratio": round(middle["peer put"] / middle["ours put"], 2),
        "store_search_ratio": round(middle["peer search"] / middle["ours search"], 2),
        "http_overhead_ms": round(slow["http search"] - slow["direct search"], 1),
        "mcp_p95_ms": round(slow["mcp search"], 1),
        "http_search_p95_ms": round(slow["http search"], 1),
        "http_empty_p95_ms": round(slow["http empty"], 1),
        "direct_search_p95_ms": round(slow["direct search"], 1),
    }


async def run(directory: Path, items: int, searches: int) -> Mapping[str, float]:
    names = ("ours put", "peer put", "ours visible", "ours search", "peer search", "http empty", "http search")
    figures: Figures = {name: [] for name in (*names, "direct search", "mcp search")}
    async with AsyncMemory(directory, engine="background", http_token="off", idle_grace=5) as memory:
        engine = await memory._engine()
        await stores(memory, engine, items, figures)
        await over_http(engine, searches, figures)
        await over_mcp(directory, items, figures)
    Console(stderr=not sys.stdout.isatty()).print(shown(figures))
    return result(figures)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, default=200)
    parser.add_argument("--searches", type=int, default=1000)
    parser.add_argument("--directory", type=Path)
    asked = parser.parse_args()
    with data_directory(asked.directory) as directory:
        sys.stdout.write(json.dumps(asyncio.run(run(directory, asked.items, asked.searches))) + "\n")


if __name__ == "__main__":
    main()
