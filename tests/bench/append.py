"""Appends of 300 bytes, everything on, beside the `eventsourcing` package's Postgres recorder on the same server.

python -m tests.bench.append [--seconds 5] [--rounds 3]
"""

import argparse
import asyncio
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

import psycopg
from eventsourcing.persistence import StoredEvent as PeerEvent
from eventsourcing.postgres import PostgresApplicationRecorder, PostgresDatastore
from psycopg.conninfo import conninfo_to_dict
from rich.console import Console
from rich.table import Table

from mnemolog.adapters.embedded import EmbeddedServers
from mnemolog.adapters.postgres.log import PostgresLog
from mnemolog.adapters.postgres.migrate import migrate
from mnemolog.adapters.postgres.pool import open_pool
from mnemolog.adapters.postgres.roots import open_roots
from mnemolog.domain.importance import STANDARD
from mnemolog.domain.memory import Content
from mnemolog.events.codec import Codec
from mnemolog.events.envelope import Meta, NewEvent, Receipt, StreamId
from mnemolog.events.event import memory_tag
from mnemolog.events.log import Append, Guard
from mnemolog.events.memory import MemoryUpdated

EVENT_BYTES = 300
WRITERS = 32
TEXT = "Ana drinks her tea with honey, and never before nine. "


async def ours(dsn: str, writers: int, seconds: float) -> float:
    """Appends a second: one event each, under a guard, chained, encrypted, tagged and in the outbox."""
    async with await open_pool(dsn, check=False) as pool:
        roots = await open_roots(pool, bytes(32), os.urandom)
        log = PostgresLog(pool, Codec(), roots, lambda: datetime.now(UTC))
        streams = [StreamId.of_user(uuid4().hex) for _ in range(writers)]
        counts = await _rates(seconds, [_writer(log, stream) for stream in streams])
        return sum(counts) / seconds


def _writer(log: PostgresLog, stream: StreamId) -> Callable[[float], Awaitable[int]]:
    """Writes to a memory of its own, each time under a guard on what it wrote before."""
    memory_id, meta = uuid4(), Meta("bench")
    text = (TEXT * 6)[: EVENT_BYTES - 90]  # With the other fields, 300 bytes of JSON.
    content = Content(text, "note", STANDARD, 1.0, pinned=False)
    payload, tags = MemoryUpdated.of(memory_id, content, changed=("text",)), frozenset({memory_tag(memory_id)})

    async def write(until: float) -> int:
        count = seq = 0
        while time.perf_counter() < until:
            event = NewEvent(uuid4(), payload, meta, datetime.now(UTC))
            [outcome] = await log.append([Append(stream, (event,), Guard(tags, seq))])
            assert isinstance(outcome, Receipt), outcome
            seq, count = outcome.last_seq, count + 1
        return count

    return write


async def _rates(seconds: float, writers: list[Callable[[float], Awaitable[int]]]) -> list[int]:
    until = time.perf_counter() + seconds
    return await asyncio.gather(*(writer(until) for writer in writers))


def peer(dsn: str, writers: int, seconds: float) -> float:
    """Appends a second of the peer, from as many threads with a connection each; no chain and no encryption."""
    recorder = _recorder(dsn, writers)
    until = time.perf_counter() + seconds

    def write() -> int:
        aggregate, version = uuid4(), 0
        while time.perf_counter() < until:
            version += 1
            recorder.insert_events([PeerEvent(aggregate, version, "bench:Event", os.urandom(EVENT_BYTES))])
        return version

    with ThreadPoolExecutor(writers) as threads:
        counts = [future.result() for future in [threads.submit(write) for _ in range(writers)]]
    recorder.datastore.close()
    return sum(counts) / seconds


def _recorder(dsn: str, writers: int) -> PostgresApplicationRecorder:
    address = {name: str(value) for name, value in conninfo_to_dict(dsn).items()}
    datastore = PostgresDatastore(
        address.get("dbname", "postgres"),
        address["host"],
        address.get("port", "5432"),
        address["user"],
        address.get("password", ""),
        pool_size=writers,
        schema="public",
    )
    recorder = PostgresApplicationRecorder(datastore, events_table_name="peer_events")
    recorder.create_table()
    return recorder


def limit(dsn: str, seconds: float) -> float:
    """Rows a second that the server takes: 300 bytes each, a thousand in a statement and a commit."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS public.raw (id bigint GENERATED ALWAYS AS IDENTITY, data bytea)")
        rows, count, until = [os.urandom(EVENT_BYTES) for _ in range(1000)], 0, time.perf_counter() + seconds
        while time.perf_counter() < until:
            connection.execute("INSERT INTO public.raw (data) SELECT unnest(%s::bytea[])", [rows])
            count += len(rows)
        return count / seconds


def fsync_us(directory: Path) -> float:
    """The median of a hundred disk syncs of 8 KiB, in microseconds (as pg_test_fsync does with fdatasync)."""
    took: list[float] = []
    with (directory / "fsync-probe").open("wb", buffering=0) as file:
        for _ in range(100):
            began = time.perf_counter()
            file.seek(0)
            file.write(os.urandom(8192))
            os.fdatasync(file.fileno())
            took.append(time.perf_counter() - began)
    return round(statistics.median(took) * 1e6, 1)


@contextmanager
def _server() -> Iterator[tuple[str, Path]]:
    with tempfile.TemporaryDirectory(prefix="mnemolog-bench-") as directory:
        servers = EmbeddedServers(Path(directory))
        servers.start()
        try:
            migrate(servers.endpoints.postgres_dsn)
            yield servers.endpoints.postgres_dsn, Path(directory)
        finally:
            servers.stop()


def measure(seconds: float, rounds: int) -> dict[str, float]:
    """The median of each figure over interleaved rounds, so that a drifting disk is shared by both."""
    found: dict[str, list[float]] = {name: [] for name in ("ours_1", "peer_1", "ours_32", "peer_32", "limit", "fsync")}
    with _server() as (dsn, directory):
        for _ in range(rounds):
            found["fsync"].append(fsync_us(directory))
            for writers in (1, WRITERS):
                found[f"peer_{writers}"].append(peer(dsn, writers, seconds))
                found[f"ours_{writers}"].append(asyncio.run(ours(dsn, writers, seconds)))
            found["limit"].append(limit(dsn, seconds / 2))
    return {name: statistics.median(values) for name, values in found.items()}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=5.0, help="how long each writer runs")
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    found = measure(arguments.seconds, arguments.rounds)
    figures = {
        "ratio_1": round(found["ours_1"] / found["peer_1"], 2),
        "ratio_32": round(found["ours_32"] / found["peer_32"], 2),
        "ratio_limit": round(found["ours_32"] / found["limit"], 3),
        "appends_per_s_1": round(found["ours_1"]),
        "appends_per_s_32": round(found["ours_32"]),
        "peer_per_s_1": round(found["peer_1"]),
        "peer_per_s_32": round(found["peer_32"]),
        "limit_rows_per_s": round(found["limit"]),
        "fsync_us": found["fsync"],
    }
    table = Table("what", "figure", title="Appends of 300 bytes, durable, in one run", title_justify="left")
    for name, value in figures.items():
        table.add_row(name, f"{value:,}")
    console = Console()
    console.print(table)
    console.print(json.dumps(figures), soft_wrap=True, highlight=False)
    return 0


if __name__ == "__main__":
    sys.exit(main())
