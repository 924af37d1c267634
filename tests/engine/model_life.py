"""Lives in messages with what a scripted model proposes about them, as the samples tell them, such as `ines.json`."""

import json
import re
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from importlib.resources import files
from itertools import groupby
from pathlib import Path

import pytest
from sqlalchemy import text

from mnemolog.adapters.engine.engine import Engine, now, open_engine
from mnemolog.adapters.jobs import worker
from mnemolog.adapters.maintenance import extracting, extracting_by_model, prompting, segmenting, summarizing
from mnemolog.adapters.maintenance.extracting import THREAD, WINDOWS, enqueue_due
from mnemolog.commands.extraction_requests import EXTRACTORS
from mnemolog.domain.facts import State
from mnemolog.events.extraction import MessagesExtracted
from mnemolog.events.memory import MemoryCreated
from tests.engine.teller import Row, Teller, sentence
from tests.testkit.eventually import eventually
from tests.testkit.model_server import Json, ModelServer, Reply, completion, error
from tests.testkit.settings import settings_in

BROKEN = Reply(completion('{"candidates": [{"sort"'))
ANOTHER_SCHEMA = Reply(completion('{"facts": ["The user lives in Lisbon."]}'))
REFUSAL = Reply(completion(None, refusal="I cannot help with that"))
# What the model does at one of its calls: an answer that does not fit is sent back once.
FAULTS: Sequence[Sequence[Reply]] = (
    [error(429, retry_after="0"), error(500)],
    [BROKEN, BROKEN],
    [REFUSAL],
    [ANOTHER_SCHEMA, ANOTHER_SCHEMA],
)
# What a proposal has unless the sample says otherwise.
_PLAIN: Json = {
    "confidence": 0.9,
    "importance": 2,
    "category": "",
    "subject": "",
    "predicate": "",
    "object": "",
    "single": False,
    "change": "states",
    "since": "",
    "until": "",
}


@dataclass(frozen=True, slots=True)
class Life:
    """What is said, what the model answers, and, of a short life, all that readers see afterwards."""

    messages: Sequence[Json]
    answers: Sequence[Json]
    after: Json = field(default_factory=dict)

    @classmethod
    def of(cls, name: str) -> "Life":
        return cls(**json.loads((files("mnemolog.samples") / f"{name}.json").read_text(encoding="utf-8")))

    def answer(self, request: Json) -> str:
        """The answer about the messages of a request, with their numbers there."""
        asked = request["messages"][1]["content"].rpartition("Messages:\n")[2]
        numbers = {text: int(number) for number, text in re.findall(r"^\[(\d+)\] [^:]*: (.*)$", asked, re.MULTILINE)}
        found = [one for answer in self.answers if answer["about"] in asked for one in answer["candidates"]]
        return json.dumps({"candidates": [_numbered(one, numbers) for one in found]})

    def fails_before_each_answer(self, server: ModelServer) -> int:
        """Let the model fail at each call, in one way after another, before it answers; how often it fails."""
        faults = [FAULTS[number % len(FAULTS)] for number in range(len(self.answers))]
        later = iter(faults[1:])

        def answer(request: Json) -> str:
            server.replies.extend(next(later, ()))
            return self.answer(request)

        server.replies.extend(faults[0])
        server.chat = answer
        return sum(map(len, faults))

    async def told(self, teller: Teller) -> None:
        """The life is told at once, and everything that is enqueued for it is done."""
        await _says(teller, self.messages)
        await extracted(teller.engine)

    async def lived(self, teller: Teller) -> Sequence[str]:
        """The life is told day by day, and each day is read before the next one; the delta header of each."""
        headers, rev = list[str](), 0
        for _, day in groupby(self.messages, key=lambda one: one["occurred_at"][:10]):
            await _says(teller, list(day))
            await extracted(teller.engine)
            changed = await teller.changes(rev)
            headers, rev = [*headers, changed.header], changed.rev
        return headers


async def _says(teller: Teller, messages: Sequence[Json]) -> None:
    for one in messages:
        turn = {"turn_id": f"{teller.user}-{one['message_id']}", "speaker": "", "occurred_at": one["occurred_at"]}
        await teller.says(one["text"], role=one["role"], **turn)


def _numbered(one: Json, numbers: Mapping[str, int]) -> Json:
    cited = [number for said in one["says"] for text, number in numbers.items() if said in text]
    return {**_PLAIN, **{name: value for name, value in one.items() if name != "says"}, "messages": cited}


async def extracted(engine: Engine) -> None:
    """Once the jobs of all threads are done, those of the rules and those of the model."""
    await engine.settled(60)
    await enqueue_due(engine, now())

    left = text("SELECT FROM mnemolog.jobs WHERE kind IN (:thread, :windows) AND status IN ('queued', 'running')")

    async def done() -> bool:
        async with engine.projections.live.connect() as connection:
            found = await connection.execute(left, {"thread": THREAD, "windows": WINDOWS})
            return found.first() is None

    await eventually(done)


async def state(teller: Teller, name: str) -> Json:
    """What readers see: facts, entities, memories, todos, proposals, why the rest was left out, and what changed."""
    moment = await teller.caught_up()
    reads, viewer = teller.engine.reads, teller.viewer
    log = await teller.engine.log.read(teller.stream)
    ids = [one.payload.memory_id for one in log if isinstance(one.payload, MemoryCreated)]
    memories = [await reads.memory(viewer, memory_id, moment) for memory_id in ids]
    texts = {memory["memory_id"]: memory["text"] for memory in memories}
    windows = [one.payload for one in log if isinstance(one.payload, MessagesExtracted)]
    changes = await teller.changes()
    told = {
        "facts": sorted(map(_period, await teller.facts(valid_at="any"))),
        "entities": sorted(f"{row['name']} ({row['category']})" for row in await teller.entities()),
        "memories": [f"{row['kind']} {row['category']} {row['importance']}: {row['text']}" for row in memories],
        "todos": [_due(row) for row in await reads.todos(viewer, moment=moment)],
        "proposals": [
            f"{row['field']} {row['value']} {row['status']}" for row in await reads.consent(viewer, moment=moment)
        ],
        "faults": [[str(fault) for fault in one.faults] for one in windows],
        "history": [
            [row["event"] for row in reversed(await reads.history(viewer, memory["memory_id"], moment=moment))]
            for memory in memories
        ],
        "events": Counter(one.header.type for one in log if one.meta.actor in EXTRACTORS),
        "changes": [f"{entry.rev} {entry.change}: {texts[entry.memory_id]}" for entry in changes.entries],
        "header": changes.header,
    }
    plain: Json = json.loads(json.dumps(told, default=str).replace(teller.user, name))
    return plain


def _period(row: Row) -> str:
    until = f"..{row['valid_to']:%Y-%m-%d}" if row["valid_to"] else ""
    retired = " retired" if row["state"] is State.RETIRED else ""
    return f"{sentence(row)} {row['valid_from']:%Y-%m-%d}{until}{retired}"


def _due(row: Row) -> str:
    return f"{row['text']} {row['due']:%Y-%m-%d}" if row["due"] else row["text"]


@asynccontextmanager
async def reading_engine(directory: Path, server: ModelServer) -> AsyncIterator[Engine]:
    """An engine of its own with this model, whose sweep leaves its users alone, and whose windows close at once."""
    model = {"model_url": server.url, "model_api_key": "sk-1", "chat_model": "m-1", "model_retries": 0}
    with pytest.MonkeyPatch.context() as patch:
        for module in (extracting, segmenting, summarizing):
            patch.setattr(module, "EVERY_SECONDS", 24 * 3600.0)
        patch.setattr(prompting, "QUIET_SECONDS", 24 * 3600.0)
        patch.setattr(worker, "LONGEST_DELAY_SECONDS", 0.2)
        patch.setattr(worker, "POLL_SECONDS", 0.25)
        for reader in (extracting, extracting_by_model):
            patch.setattr(reader, "QUIET", timedelta())
        async with open_engine(settings_in(directory, extraction="model", **model)) as opened:
            yield opened
