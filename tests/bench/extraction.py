"""How long receipts and questions take while messages are extracted, also by a model that is slow (B13).

python -m tests.bench.extraction [--turns 200] [--rate 10] [--answer-seconds 2] [--embedder minilm]

Three times in one run: without extraction, by rules, and by rules and a model that takes seconds for each answer. Every
message states something, and is read at once. The load is open, as in `tests.bench.visibility`: a receipt's time counts
from when its message was due. A question, as bullets, follows each receipt. `while_asked` are the receipts that came
while the model was being asked, `written` what was extracted of all messages in the end.
"""

import asyncio
import json
import re
import sys
import tempfile
import time
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from datetime import timedelta
from typing import Any
from unittest.mock import patch

from rich.console import Console

from mnemolog.adapters.config import load
from mnemolog.adapters.engine.engine import Engine, now, open_engine
from mnemolog.adapters.engine.garbage import collect_rarely
from mnemolog.adapters.maintenance import extracting, extracting_by_model
from mnemolog.commands.extraction_requests import EXTRACTORS
from mnemolog.projections.reads.moment import NOW
from tests.bench.visibility import PLACES, THINGS
from tests.engine.model_life import extracted
from tests.engine.person import Person
from tests.testkit.model_server import Asked, Json, ModelServer, Reply, filled, schema_of

BUDGET_MS = 150  # B §13
EXTRACTIONS = ("off", "rules", "model")
TOWNS = ("Ghent", "Porto", "Riga", "Oslo", "Turin")


class SlowServer(ModelServer):
    """Takes so long for each answer; `asking` are those that it has not answered yet."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self.asking, self._seconds = 0, seconds
        self.chat = proposed

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.asking += 1
        try:
            await super().answer(reader, writer)
        finally:
            self.asking -= 1

    def good(self, request: Asked) -> Reply:
        reply = super().good(request)
        return Reply(reply.body, delay=self._seconds)


def said(number: int) -> str:
    town, thing, place = TOWNS[number % 5], THINGS[number % 6], PLACES[number // 6 % 6]
    return f"I moved to {town}. I always keep {thing} {place}, number {number}."


def proposed(request: Json) -> str:
    """A memory of each message that is asked about, as far as the model may propose; plain answers to other minds."""
    if "candidates" not in schema_of(request)["properties"]:
        return filled(schema_of(request))
    plain = {"sort": "fact", "confidence": 0.9, "importance": 3, "category": "", "single": False, "change": "states"}
    empty = dict.fromkeys(("subject", "predicate", "object", "since", "until"), "")
    asked = request["messages"][1]["content"].rpartition("Messages:\n")[2]
    found = re.findall(r"^\[(\d+)\] .*I always keep (.*)\.$", asked, re.MULTILINE)[:5]
    told = [{**plain, **empty, "text": f"The user keeps {what}.", "messages": [int(number)]} for number, what in found]
    return json.dumps({"candidates": told})


async def measured(options: Namespace) -> dict[str, Any]:
    return {"budget_ms": BUDGET_MS, **{one: await _measured(one, options) for one in EXTRACTIONS}}


async def _measured(extraction: str, options: Namespace) -> Mapping[str, Any]:
    server = SlowServer(options.answer_seconds)
    await server.start()
    model = {"model_url": server.url, "model_api_key": "sk-1", "chat_model": "m-1"}
    with ExitStack() as stack:
        directory = stack.enter_context(tempfile.TemporaryDirectory(prefix="mnemolog-bench-"))
        stack.enter_context(patch.object(extracting, "EVERY_SECONDS", 1.0))
        for reader in (extracting, extracting_by_model):
            stack.enter_context(patch.object(reader, "QUIET", timedelta()))
        plain = {"http_port": 0, "minds": "off", "embedder": options.embedder}
        settings = load(data_dir=directory, extraction=extraction, **plain, **model)
        async with open_engine(settings) as engine:
            collect_rarely()  # As `mnemolog up` does.
            figures = await _load(engine, server, options)
            await server.stop()
            return figures


async def _load(engine: Engine, server: SlowServer, options: Namespace) -> Mapping[str, Any]:
    ana = Person(engine, "ana")
    receipts, questions, while_asked = list[float](), list[float](), list[float]()

    async def one(number: int, due: float) -> None:
        await ana.says(said(number), speaker="", occurred_at=now())
        asked, answered = server.asking, time.perf_counter()
        await engine.reads.query(ana.question(f"Where do I keep {THINGS[number % 6]}?"), NOW)
        questions.append(time.perf_counter() - answered)
        receipts.append(answered - due)
        if asked:
            while_asked.append(answered - due)

    began, running = time.perf_counter(), list[asyncio.Task[None]]()
    for number in range(options.turns):
        due = began + number / options.rate
        await asyncio.sleep(max(0.0, due - time.perf_counter()))
        running.append(asyncio.create_task(one(number, due)))
    await asyncio.gather(*running)
    asked = server.asked
    await extracted(engine)
    events = await engine.log.read(ana.stream)
    return {
        "receipt": _percentiles(receipts),
        "receipt_while_asked": {"count": len(while_asked), **_percentiles(while_asked)},
        "query": _percentiles(questions),
        "asked_meanwhile": asked,
        "written": Counter(one.meta.actor for one in events if one.meta.actor in EXTRACTORS),
    }


def _percentiles(seconds: Sequence[float]) -> Mapping[str, float]:
    found = sorted(seconds)
    return {f"p{part}_ms": round(1000 * found[int(part / 100 * len(found))], 2) for part in (50, 95)} if found else {}


def main(arguments: Sequence[str]) -> None:
    parser = ArgumentParser(prog="tests.bench.extraction", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--turns", type=int, default=200, help="messages of each run (default: 200)")
    parser.add_argument("--rate", type=float, default=10, help="messages a second (default: 10)")
    parser.add_argument("--answer-seconds", type=float, default=2, help="how long an answer takes (default: 2)")
    parser.add_argument("--embedder", default="minilm", help="default: minilm")
    Console().print(json.dumps(asyncio.run(measured(parser.parse_args(arguments)))), soft_wrap=True, highlight=False)


if __name__ == "__main__":
    main(sys.argv[1:])
