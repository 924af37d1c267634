"""Save and load checkpoints of 1, 10 and 100 KB, beside LangGraph's PostgresSaver on the same server.

python -m tests.bench.checkpoint [--steps 150] [--directory DIR]

`grown`: a list of messages to which each step adds one, as in a conversation; `new`: a state that each step replaces
whole. Both savers take turns, step by step, async and then without await. A load is of the newest checkpoint, in a
saver that has saved it. `save_ratio` and `load_ratio` are the peer's median time divided by ours, as the geometric mean
over all rows: above 1 we are faster. `async` and `sync` are the same over these rows. `p95_ms` is our slowest.
`bytes_ratio`: what the peer's tables take, divided by what ours take.
"""

import argparse
import asyncio
import json
import statistics
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import psycopg
from langgraph.checkpoint.base import BaseCheckpointSaver, empty_checkpoint
from langgraph.checkpoint.conformance import checkpointer_test, validate
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from psycopg.conninfo import make_conninfo
from rich.console import Console
from rich.table import Table

from mnemolog import AsyncMemory, Memory
from mnemolog.langgraph import MnemologSaver
from tests.bench.background import data_directory

KILOBYTES = (1, 10, 100)
MESSAGE = 480
WARM = 10
OURS = ("checkpoint_threads", "supervisor_checkpoints", "checkpoint_chunks", "checkpoint_writes")
PEERS = ("checkpoints", "checkpoint_blobs", "checkpoint_writes")


@dataclass(slots=True)
class Times:
    """Of one saver and one kind of state, in milliseconds."""

    save: list[float] = field(default_factory=list)
    load: list[float] = field(default_factory=list)


def grown(kilobytes: int, random: Random) -> Iterator[list[dict[str, Any]]]:
    """A conversation of that size, and one message more each time."""
    said = [message(random) for _ in range(max(1, kilobytes * 1024 // MESSAGE))]
    while True:
        yield list(said)
        said.append(message(random))


def new(kilobytes: int, random: Random) -> Iterator[list[dict[str, Any]]]:
    while True:
        yield [message(random) for _ in range(max(1, kilobytes * 1024 // MESSAGE))]


def message(random: Random) -> dict[str, Any]:
    words = " ".join(random.choices(WORDS, k=64))
    return {"type": "human", "id": f"{random.getrandbits(64):016x}", "content": words[: MESSAGE - 80]}


WORDS = [f"{Random(number).getrandbits(28):x}" for number in range(4000)]


class Steps:
    """The checkpoints of one thread, saved one after another in a saver."""

    def __init__(self, saver: BaseCheckpointSaver[Any], thread_id: str) -> None:
        self.saver, self.times, self._version = saver, Times(), None
        self.at: Any = {"configurable": {"thread_id": thread_id, "checkpoint_ns": ""}}
        self.newest = self.at

    def arguments(self, messages: Sequence[Any], step: int) -> tuple[Any, ...]:
        self._version = self.saver.get_next_version(self._version, None)
        versions = {"messages": self._version}
        made = {**empty_checkpoint(), "channel_values": {"messages": messages}, "channel_versions": versions}
        return self.at, made, {"source": "loop", "step": step, "parents": {}}, versions

    async def step(self, messages: Sequence[Any], step: int) -> None:
        arguments = self.arguments(messages, step)
        with timed(self.times.save):
            self.at = await self.saver.aput(*arguments)
        with timed(self.times.load):
            found = await self.saver.aget_tuple(self.newest)
        assert found is not None
        assert found.checkpoint["channel_values"]["messages"] == messages

    def step_sync(self, messages: Sequence[Any], step: int) -> None:
        arguments = self.arguments(messages, step)
        with timed(self.times.save):
            self.at = self.saver.put(*arguments)
        with timed(self.times.load):
            found = self.saver.get_tuple(self.newest)
        assert found is not None
        assert found.checkpoint["channel_values"]["messages"] == messages


@contextmanager
def timed(into: list[float]) -> Iterator[None]:
    began = time.perf_counter()
    yield
    into.append((time.perf_counter() - began) * 1000)


Rows = dict[tuple[str, str, int], tuple[Times, Times]]


async def measure(ours: MnemologSaver, peer: AsyncPostgresSaver, steps: int, rows: Rows) -> None:
    for name, states in (("grown", grown), ("new", new)):
        for size in KILOBYTES:
            pair = [Steps(saver, f"{name}-{size}") for saver in (ours, peer)]
            source = states(size, Random(size))
            for step in range(steps + WARM):
                messages = next(source)
                for one in pair if step % 2 else reversed(pair):
                    await one.step(messages, step)
            rows["async", name, size] = kept(pair)


def measure_sync(ours: MnemologSaver, peer: PostgresSaver, steps: int, rows: Rows) -> None:
    for name, states in (("grown", grown), ("new", new)):
        for size in KILOBYTES:
            pair = [Steps(saver, f"sync-{name}-{size}") for saver in (ours, peer)]
            source = states(size, Random(size))
            for step in range(steps + WARM):
                messages = next(source)
                for one in pair if step % 2 else reversed(pair):
                    one.step_sync(messages, step)
            rows["sync", name, size] = kept(pair)


def kept(pair: Sequence[Steps]) -> tuple[Times, Times]:
    """Without the first steps, in which statements are prepared and connections opened."""
    first, second = (Times(one.times.save[WARM:], one.times.load[WARM:]) for one in pair)
    return first, second


async def conformance(memory: AsyncMemory) -> str:
    async def savers() -> AsyncIterator[MnemologSaver]:
        yield MnemologSaver(memory, user_id="conformance")

    report = await validate(checkpointer_test(name="Mnemolog")(savers))
    passed = sum(result.tests_passed for result in report.results.values())
    return f"{passed}/{passed + sum(result.tests_failed for result in report.results.values())}"


def peers_database(dsn: str) -> str:
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("CREATE DATABASE peer")
    return make_conninfo(dsn, dbname="peer")


def size_of(dsn: str, schema: str, tables: Sequence[str]) -> int:
    with psycopg.connect(dsn) as connection:
        asked = "SELECT sum(pg_total_relation_size(name::regclass)) FROM unnest(%s::text[]) AS name"
        [size] = connection.execute(asked, [[f"{schema}.{one}" for one in tables]]).fetchone() or [0]
        return int(size)


def shown(rows: Rows) -> Table:
    table = Table(title="Milliseconds, median (p95): ours / PostgresSaver")
    for name in ("", "state", "KB", "save", "peer", "load", "peer"):
        table.add_column(name, justify="left" if name in ("", "state") else "right")
    for (how, state, size), (ours, peer) in rows.items():
        columns = [figure(one) for one in (ours.save, peer.save, ours.load, peer.load)]
        table.add_row(how, state, str(size), *columns)
    return table


def figure(times: Sequence[float]) -> str:
    return f"{statistics.median(times):.2f} ({p95(times):.2f})"


def p95(times: Sequence[float]) -> float:
    return statistics.quantiles(times, n=20)[-1]


def saves(times: Times) -> Sequence[float]:
    return times.save


def loads(times: Times) -> Sequence[float]:
    return times.load


def ratio(rows: Rows, of: Callable[[Times], Sequence[float]]) -> float:
    """How many times the peer's time is ours."""
    return statistics.geometric_mean(
        statistics.median(of(peer)) / statistics.median(of(ours)) for ours, peer in rows.values()
    )


def result(rows: Rows, tests: str, bytes_ratio: float) -> Mapping[str, Any]:
    ours = [times for one, _ in rows.values() for times in (one.save, one.load)]
    parts = {how: {row: times for row, times in rows.items() if row[0] == how} for how in ("async", "sync")}
    return {
        "save_ratio": round(ratio(rows, saves), 2),
        "load_ratio": round(ratio(rows, loads), 2),
        "p95_ms": round(max(map(p95, ours)), 2),
        "bytes_ratio": round(bytes_ratio, 2),
        "conformance": tests,
        **{
            how: {"save_ratio": round(ratio(part, saves), 2), "load_ratio": round(ratio(part, loads), 2)}
            for how, part in parts.items()
        },
    }


async def run(directory: Path, steps: int) -> Mapping[str, Any]:
    rows: Rows = {}
    async with AsyncMemory(directory, user_id="bench", engine="background", embedder="lexical") as memory:
        dsn = (await memory._engine()).endpoints.postgres_dsn
        peers = await asyncio.to_thread(peers_database, dsn)
        tests = await conformance(memory)
        async with AsyncPostgresSaver.from_conn_string(peers) as peer:
            await peer.setup()
            await measure(MnemologSaver(memory), peer, steps, rows)
        sizes = [await asyncio.to_thread(size_of, *of) for of in ((peers, "public", PEERS), (dsn, "mnemolog", OURS))]
        await asyncio.to_thread(run_sync, directory, peers, steps, rows)
    Console(stderr=not sys.stdout.isatty()).print(shown(rows))
    return result(rows, tests, sizes[0] / sizes[1])


def run_sync(directory: Path, peers: str, steps: int, rows: Rows) -> None:
    with (
        Memory(directory, user_id="bench", engine="background", embedder="lexical") as memory,
        PostgresSaver.from_conn_string(peers) as peer,
    ):
        measure_sync(MnemologSaver(memory), peer, steps, rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=150)
    parser.add_argument("--directory", type=Path)
    asked = parser.parse_args()
    with data_directory(asked.directory) as directory:
        sys.stdout.write(json.dumps(asyncio.run(run(directory, asked.steps))) + "\n")


if __name__ == "__main__":
    main()
