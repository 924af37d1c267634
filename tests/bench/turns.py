"""Turns at a steady rate: until the receipt, until visible in every projection, processor time and bytes for each.

python -m tests.bench.turns [--seconds 20] [--threads 50] [--rate 5] [--embedder minilm]

Twice in one run: as turns are recorded now, and by the engine as it was before they became messages, when each was
written as a turn and as a memory with the same text. That one is taken from the history of the repository (`BEFORE`)
and runs with the packages of this environment; `--now` leaves it out.

The load is open, as in `tests.bench.visibility`: a receipt's time counts from when its turn was due. The writers are a
program of their own, attached to an engine in another process as `AsyncMemory` attaches: it decides and appends, while
the other relays, projects and runs jobs. `cpu_ms_per_turn` is everything together; `cpu_ms` is each process alone, with
that program as `client`. Bytes are those of all tables and indexes of the log and the projections.
"""

import asyncio
import gc
import io
import json
import os
import random
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from argparse import SUPPRESS, ArgumentParser, Namespace
from asyncio.subprocess import PIPE, Process
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import astuple
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console
from rich.table import Table
from sqlalchemy import text

from mnemolog.adapters.config import load
from mnemolog.adapters.engine.engine import Engine, open_engine
from mnemolog.events.envelope import StreamId
from tests.bench.processes import cpu_seconds_by_name
from tests.bench.visibility import ACTS, PLACES, THINGS, Watched, watch

BEFORE = "b3c9c3a4254987fe69063b0b539f65ec17bad4a9"
"""The last commit in which a turn left a memory."""
WARM_SECONDS = 2.0
FIGURES = ("receipt_p95_ms", "visible_p50_ms", "visible_p99_ms", "cpu_ms_per_turn", "bytes_per_turn")
SIZE = text("""
SELECT coalesce(sum(pg_total_relation_size(class.oid)), 0)
FROM pg_class AS class JOIN pg_namespace AS space ON space.oid = class.relnamespace
WHERE class.relkind = 'r' AND (space.nspname = 'mnemolog' OR space.nspname LIKE 'mnemolog\\_%')
""")


class Sent(NamedTuple):
    """One turn: when it was due, when its receipt came, and its place in the log."""

    due: float
    answered: float
    stream: StreamId
    seq: int


def main(arguments: Sequence[str]) -> None:
    parser = ArgumentParser(prog="tests.bench.turns", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--threads", type=int, default=50)
    parser.add_argument("--rate", type=float, default=5.0, help="turns a second in each thread")
    parser.add_argument("--embedder", default="minilm", choices=("minilm", "lexical"))
    parser.add_argument("--now", action="store_true", help="measure only how turns are recorded now")
    parser.add_argument("--client", help=SUPPRESS)
    parser.add_argument("--engine", action="store_true", help=SUPPRESS)
    asked = parser.parse_args(arguments)
    if asked.client:
        asyncio.run(write(asked))
    elif asked.engine:
        sys.stdout.write(json.dumps(asyncio.run(measured(asked))))
    else:
        compare(asked)


def compare(asked: Namespace) -> None:
    """Measure both, each in a process of its own, and print them."""
    before = {} if asked.now else _before(asked)
    now = _run(asked, Path.cwd())
    shown = Table("", "receipt p95 ms", "visible p50 ms", "visible p99 ms", "cpu ms a turn", "bytes a turn", box=None)
    for name, found in (("a turn and a memory", before), ("a message", now)):
        if found:
            shown.add_row(name, *(f"{found[key]:,.1f}" for key in FIGURES))
    ratio = round(now["cpu_ms_per_turn"] / before["cpu_ms_per_turn"], 2) if before else None
    told = {**now, "before": before, "cpu_ratio": ratio, "turns": int(asked.seconds * asked.threads * asked.rate)}
    console = Console()
    console.print(shown)
    console.print(json.dumps(told), soft_wrap=True, highlight=False)


def _before(asked: Namespace) -> Mapping[str, Any]:
    """The figures of the engine in the commit `BEFORE`, measured by this very file."""
    with tempfile.TemporaryDirectory(prefix="mnemolog-before-") as folder:
        root = Path(folder)
        archive = subprocess.run(("git", "archive", BEFORE), capture_output=True, check=False)
        if archive.returncode:
            sys.exit(f"{archive.stderr.decode().strip()}: fetch the whole history, or measure with --now")
        with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as packed:
            packed.extractall(root, filter="data")
        for name in ("turns.py", "processes.py"):
            shutil.copy(Path(__file__).with_name(name), root / "tests" / "bench")
        # As they are installed: `mnemolog` is adapters/python, with the other packages in it.
        package = root / "installed" / "mnemolog"
        shutil.copytree(root / "adapters" / "python", package)
        for name in ("adapters", "commands", "domain", "events", "projections"):
            (package / name).symlink_to(root / name)
        return _run(asked, root, PYTHONPATH=str(package.parent))


def _run(asked: Namespace, root: Path, **environment: str) -> Mapping[str, Any]:
    given = (f"--{name}={getattr(asked, name)}" for name in ("seconds", "threads", "rate", "embedder"))
    command = (sys.executable, "-m", "tests.bench.turns", "--engine", *given)
    ended = subprocess.run(
        command, cwd=root, env={**os.environ, **environment}, stdout=PIPE, check=True, start_new_session=True
    )
    told: dict[str, Any] = json.loads(ended.stdout.splitlines()[-1])
    return told


async def measured(asked: Namespace) -> dict[str, Any]:
    watched = watch()
    with tempfile.TemporaryDirectory(prefix="mnemolog-turns-") as directory:
        async with open_engine(load(data_dir=directory, embedder=asked.embedder, http_port=0)) as engine:
            gc.freeze()  # As a background engine does it today, for both.
            gc.set_threshold(10_000, 20, 20)
            given = ("--seconds", asked.seconds, "--threads", asked.threads, "--rate", asked.rate)
            client = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "tests.bench.turns", "--client", directory, *map(str, given)),
                stdin=PIPE,
                stdout=PIPE,
                limit=1 << 26,
                start_new_session=True,  # As programs run in another session than a background engine.
            )
            with suppress(ImportError):  # `BEFORE` kept its priority.
                from mnemolog.adapters.priority import lower_priority

                lower_priority()
            try:
                return await _of(engine, client, watched)
            finally:
                await client.communicate(b"")  # Which also ends its input.


async def _of(engine: Engine, client: Process, watched: Mapping[str, Watched]) -> dict[str, Any]:
    assert client.stdin
    assert client.stdout
    await client.stdout.readline()  # It is warm.
    await engine.settled(120)
    size, began = await _bytes(engine), cpu_seconds_by_name()
    client.stdin.write(b"\n")
    told = json.loads(await client.stdout.readline())
    sent = [Sent(due, answered, StreamId(*stream), seq) for due, answered, stream, seq in told["sent"]]
    await engine.settled(300)
    spent, size = _by_process(began, cpu_seconds_by_name(), told["cpu"]), await _bytes(engine) - size
    receipts = sorted(1000 * (one.answered - one.due) for one in sent)
    shown = [(one.due, [each.at.get((one.stream, one.seq)) for each in watched.values()]) for one in sent]
    # What a sweep applied at the very end has no time of its own.
    visible = sorted(1000 * (max(filter(None, times)) - due) for due, times in shown if all(times))
    return {
        "receipt_p50_ms": round(_quantile(receipts, 0.5), 1),
        "receipt_p95_ms": round(_quantile(receipts, 0.95), 1),
        "visible_p50_ms": round(_quantile(visible, 0.5), 1),
        "visible_p99_ms": round(_quantile(visible, 0.99), 1),
        "cpu_ms_per_turn": round(1000 * sum(spent.values()) / len(sent), 2),
        "cpu_ms": {name: round(1000 * seconds / len(sent), 2) for name, seconds in spent.items()},
        "bytes_per_turn": round(size / len(sent)),
    }


def _by_process(began: Mapping[str, float], ended: Mapping[str, float], client: float) -> dict[str, float]:
    """The client and the embedding process are both interpreters; the client tells its own time."""
    spent = {name: seconds - began.get(name, 0.0) for name, seconds in ended.items()}
    interpreters = sum(spent.pop(name) for name in list(spent) if name.startswith("python"))
    return {**spent, "embedding": max(0.0, interpreters - client), "client": client}


async def write(asked: Namespace) -> None:
    """The writers: warm up, wait for a line, and tell what was sent and the processor time it took."""
    words = random.Random(7)
    async with open_engine(load(data_dir=asked.client, http_port=0), attach=True) as engine:
        await _load(engine, asked, words, WARM_SECONDS, "warm")
        gc.freeze()
        sys.stdout.write("warm\n")
        sys.stdout.flush()
        await asyncio.to_thread(sys.stdin.readline)
        began = time.process_time()
        sent = await _load(engine, asked, words, asked.seconds, "turn")
        spent = time.process_time() - began
        sys.stdout.write(json.dumps({"cpu": spent, "sent": sent}, default=astuple) + "\n")
        sys.stdout.flush()
        # It ends after the last look at processor times: that of an ended child counts as its parent's.
        await asyncio.to_thread(sys.stdin.read)


async def _load(engine: Engine, asked: Namespace, words: random.Random, seconds: float, name: str) -> Sequence[Sent]:
    """Each thread belongs to a user of its own, and speaks at its own times."""
    count = int(seconds * asked.rate)
    begin = time.perf_counter() + 0.1
    offsets = [words.random() / asked.rate for _ in range(asked.threads)]
    texts = [[_sentence(words, number) for number in range(count)] for _ in range(asked.threads)]

    async def say(thread: int, number: int) -> Sent:
        due = begin + offsets[thread] + number / asked.rate
        await asyncio.sleep(due - time.perf_counter())
        turn = {"user_id": f"user-{thread}", "thread_id": f"chat-{thread}", "turn_id": f"{name}-{number}"}
        told: Any = await engine.writes.record_turn({**turn, "speaker": "Ana", "text": texts[thread][number]})
        receipt = told[1] if isinstance(told, tuple) else told  # `BEFORE` returns the memory's id with it.
        return Sent(due, time.perf_counter(), receipt.stream, receipt.last_seq)

    return await asyncio.gather(*(say(thread, number) for thread in range(asked.threads) for number in range(count)))


def _sentence(words: random.Random, number: int) -> str:
    return f"{number}: she {words.choice(ACTS)} {words.choice(THINGS)} {words.choice(PLACES)}"


async def _bytes(engine: Engine) -> int:
    async with engine.projections.live.connect() as connection:
        return int((await connection.execute(SIZE)).scalar_one())


def _quantile(values: Sequence[float], part: float) -> float:
    return values[min(len(values) - 1, int(part * len(values)))]


if __name__ == "__main__":
    main(sys.argv[1:])
