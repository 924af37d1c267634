"""Turns at a steady rate: until the receipt, until visible in every projection, processor time and bytes for each.

python -m tests.bench.turns [--seconds 20] [--threads 50] [--rate 5] [--embedder minilm]

Twice in one run: as turns are recorded now, and as they were before they became messages, each with a memory of the
same text beside it. The load is open, as in `tests.bench.visibility`. Processor time is that of this process and its
servers; bytes are those of all tables and indexes of the log and the projections.
"""

import asyncio
import gc
import json
import random
import sys
import tempfile
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any
from unittest.mock import patch
from uuid import uuid5

from rich.console import Console
from rich.table import Table
from sqlalchemy import text

from mnemolog.adapters.config import load
from mnemolog.adapters.engine.engine import Engine, open_engine
from mnemolog.commands import heard
from mnemolog.commands.turns import TURNS, Conversation, RecordTurn
from mnemolog.domain.memory import Content, Kind, default_importance
from mnemolog.domain.message import CATEGORY, full_text
from mnemolog.domain.scope import Scope
from mnemolog.events.conversation import TurnRecorded
from mnemolog.events.envelope import Receipt
from mnemolog.events.event import Event
from mnemolog.events.memory import MemoryCreated
from tests.bench.processes import cpu_seconds
from tests.bench.visibility import ACTS, PLACES, THINGS, Watched, watch

WARM_SECONDS = 2.0
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


async def main(arguments: Sequence[str]) -> None:
    parser = ArgumentParser(prog="tests.bench.turns", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--threads", type=int, default=50)
    parser.add_argument("--rate", type=float, default=5.0, help="turns a second in each thread")
    parser.add_argument("--embedder", default="minilm", choices=("minilm", "lexical"))
    asked = parser.parse_args(arguments)
    before = await measured(asked, replace(TURNS, decide=remembered))
    now = await measured(asked, TURNS)
    shown = Table("", "receipt p95 ms", "visible p50 ms", "visible p99 ms", "cpu ms a turn", "bytes a turn", box=None)
    for name, found in (("with a memory", before), ("a message", now)):
        shown.add_row(name, *(f"{found[key]:,.1f}" for key in found))
    console = Console()
    console.print(shown)
    ratio = round(now["cpu_ms_per_turn"] / before["cpu_ms_per_turn"], 2)
    told = {**now, "before": before, "cpu_ratio": ratio, "turns": int(asked.seconds * asked.threads * asked.rate)}
    console.print(json.dumps(told), soft_wrap=True, highlight=False)


async def measured(asked: Namespace, turns: Any) -> dict[str, float]:
    watched = watch()
    with tempfile.TemporaryDirectory(prefix="mnemolog-turns-") as directory:
        settings = load(data_dir=directory, embedder=asked.embedder, http_port=0)
        async with open_engine(settings) as engine:
            gc.freeze()  # As `mnemolog up` does.
            with patch.object(heard, "TURNS", turns):
                return await _of(engine, asked, watched)


async def _of(engine: Engine, asked: Namespace, watched: Mapping[str, Watched]) -> dict[str, float]:
    words = random.Random(7)
    await _load(engine, asked, words, WARM_SECONDS, "warm")
    await engine.settled(120)
    size, cpu = await _bytes(engine), cpu_seconds()
    sent = await _load(engine, asked, words, asked.seconds, "turn")
    await engine.settled(300)
    cpu, size = cpu_seconds() - cpu, await _bytes(engine) - size
    receipts = sorted(1000 * (ended - began) for began, ended, _ in sent)
    shown = [(began, [one.at.get((it.stream, it.last_seq)) for one in watched.values()]) for began, _, it in sent]
    # What a sweep applied at the very end has no time of its own.
    visible = sorted(1000 * (max(filter(None, times)) - began) for began, times in shown if all(times))
    return {
        "receipt_p95_ms": round(_quantile(receipts, 0.95), 1),
        "visible_p50_ms": round(_quantile(visible, 0.5), 1),
        "visible_p99_ms": round(_quantile(visible, 0.99), 1),
        "cpu_ms_per_turn": round(1000 * cpu / len(sent), 2),
        "bytes_per_turn": round(size / len(sent)),
    }


async def _load(
    engine: Engine, asked: Namespace, words: random.Random, seconds: float, name: str
) -> list[tuple[float, float, Receipt]]:
    """Each thread belongs to a user of its own, and speaks at its own times."""
    count = int(seconds * asked.rate)
    begin = time.perf_counter() + 0.1
    offsets = [words.random() / asked.rate for _ in range(asked.threads)]
    texts = [[_sentence(words, number) for number in range(count)] for _ in range(asked.threads)]

    async def say(thread: int, number: int) -> tuple[float, float, Receipt]:
        at = begin + offsets[thread] + number / asked.rate
        await asyncio.sleep(at - time.perf_counter())
        turn = {"user_id": f"user-{thread}", "thread_id": f"chat-{thread}", "turn_id": f"{name}-{number}"}
        receipt = await engine.writes.record_turn({**turn, "speaker": "Ana", "text": texts[thread][number]})
        return at, time.perf_counter(), receipt

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
