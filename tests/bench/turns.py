"""Turns at a steady rate: until the receipt, until visible in every projection, processor time and bytes for each.

python -m tests.bench.turns [--seconds 20] [--threads 50] [--rate 5] [--embedder minilm]

Twice in one run: as turns are recorded now, and as they were before they became messages, each with a memory of the
same text beside it. The load is open, as in `tests.bench.visibility`: a receipt's time counts from when its turn was
due. The writers are a program of their own, attached to the engine of this process as `AsyncMemory` attaches: it
decides and appends, while this process relays, projects and runs jobs. `cpu_ms_per_turn` is everything together;
`cpu_ms` is each process alone, with that program as `client`. Bytes are those of all tables and indexes of the log
and the projections.
"""

import asyncio
import gc
import json
import random
import sys
import tempfile
import time
from argparse import SUPPRESS, ArgumentParser, Namespace
from asyncio.subprocess import PIPE, Process
from collections.abc import Mapping, Sequence
from dataclasses import astuple, replace
from typing import Any, NamedTuple
from unittest.mock import patch
from uuid import uuid5

from rich.console import Console
from rich.table import Table
from sqlalchemy import text

from mnemolog.adapters.config import load
from mnemolog.adapters.engine.engine import Engine, open_engine
from mnemolog.adapters.engine.garbage import collect_rarely
from mnemolog.commands import heard
from mnemolog.commands.turns import TURNS, Conversation, RecordTurn
from mnemolog.domain.memory import Content, Kind, default_importance
from mnemolog.domain.message import CATEGORY, full_text
from mnemolog.domain.scope import Scope
from mnemolog.events.conversation import TurnRecorded
from mnemolog.events.envelope import StreamId
from mnemolog.events.event import Event
from mnemolog.events.memory import MemoryCreated
from tests.bench.processes import cpu_seconds_by_name
from tests.bench.visibility import ACTS, PLACES, THINGS, Watched, watch

WARM_SECONDS = 2.0
FIGURES = ("receipt_p95_ms", "visible_p50_ms", "visible_p99_ms", "cpu_ms_per_turn", "bytes_per_turn")
SIZE = text("""
SELECT coalesce(sum(pg_total_relation_size(class.oid)), 0)
FROM pg_class AS class JOIN pg_namespace AS space ON space.oid = class.relnamespace
WHERE class.relkind = 'r' AND (space.nspname = 'mnemolog' OR space.nspname LIKE 'mnemolog\\_%')
""")


def remembered(state: Conversation, turn: RecordTurn) -> Sequence[Event]:
    """What a turn was decided to be before version 3 of `TurnRecorded`: the turn, and a memory with the same text."""
    events: list[Event] = []
    for event in TURNS.decide(state, turn):
        if not isinstance(event, TurnRecorded):
            events.append(event)
            continue
        content = Content(
            full_text(turn.speaker, turn.text),
            CATEGORY,
            default_importance(Kind.EPISODE),
            1.0,
            pinned=False,
            metadata=turn.metadata,
        )
        memory = MemoryCreated.of(
            uuid5(turn.entity_id, turn.turn_id),
            content,
            kind=Kind.EPISODE,
            scope=Scope.GLOBAL,
            role=turn.role,
            run_id=turn.run_id,
            source_turn_ids=(turn.turn_id,),
            entity_ids=(event.speaker_entity_id,) if event.speaker_entity_id else (),
        )
        events += [event.model_copy(update={"remembered": True}), memory]
    return events


class Sent(NamedTuple):
    """One turn: when it was due, when its receipt came, and its place in the log."""

    due: float
    answered: float
    stream: StreamId
    seq: int


async def main(arguments: Sequence[str]) -> None:
    parser = ArgumentParser(prog="tests.bench.turns", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--threads", type=int, default=50)
    parser.add_argument("--rate", type=float, default=5.0, help="turns a second in each thread")
    parser.add_argument("--embedder", default="minilm", choices=("minilm", "lexical"))
    parser.add_argument("--client", help=SUPPRESS)
    parser.add_argument("--remembered", action="store_true", help=SUPPRESS)
    asked = parser.parse_args(arguments)
    if asked.client:
        await write(asked)
        return
    before = await measured(asked, "--remembered")
    now = await measured(asked)
    shown = Table("", "receipt p95 ms", "visible p50 ms", "visible p99 ms", "cpu ms a turn", "bytes a turn", box=None)
    for name, found in (("with a memory", before), ("a message", now)):
        shown.add_row(name, *(f"{found[key]:,.1f}" for key in FIGURES))
    console = Console()
    console.print(shown)
    ratio = round(now["cpu_ms_per_turn"] / before["cpu_ms_per_turn"], 2)
    told = {**now, "before": before, "cpu_ratio": ratio, "turns": int(asked.seconds * asked.threads * asked.rate)}
    console.print(json.dumps(told), soft_wrap=True, highlight=False)


async def measured(asked: Namespace, *flags: str) -> dict[str, Any]:
    watched = watch()
    with tempfile.TemporaryDirectory(prefix="mnemolog-turns-") as directory:
        async with open_engine(load(data_dir=directory, embedder=asked.embedder, http_port=0)) as engine:
            collect_rarely()  # As `mnemolog up` does.
            given = ("--seconds", asked.seconds, "--threads", asked.threads, "--rate", asked.rate)
            client = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "tests.bench.turns", "--client", directory, *map(str, given), *flags),
                stdin=PIPE,
                stdout=PIPE,
                limit=1 << 26,
            )
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
        with patch.object(heard, "TURNS", replace(TURNS, decide=remembered) if asked.remembered else TURNS):
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
        receipt = await engine.writes.record_turn({**turn, "speaker": "Ana", "text": texts[thread][number]})
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
    asyncio.run(main(sys.argv[1:]))
