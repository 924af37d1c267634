"""A life in 40 messages with what a scripted model proposes about them, as `infra/samples/ines.json` tells it."""

import json
import re
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from mnemolog.adapters.engine.engine import Engine, now
from mnemolog.adapters.jobs.job import Status
from mnemolog.adapters.maintenance.extracting import THREAD, WINDOWS, enqueue_due
from mnemolog.commands.extraction import EXTRACTORS
from mnemolog.events.extraction import MessagesExtracted
from mnemolog.events.memory import MemoryCreated
from tests.engine.teller import Teller, sentence
from tests.testkit.eventually import eventually
from tests.testkit.model_server import Json

LIFE: Mapping[str, Any] = json.loads((files("mnemolog.samples") / "ines.json").read_text(encoding="utf-8"))


def scripted(request: Json) -> str:
    """The answer about the messages of a request, with their numbers there."""
    asked = request["messages"][1]["content"].rpartition("Messages:\n")[2]
    numbers = {text: int(number) for number, text in re.findall(r"^\[(\d+)\] [^:]*: (.*)$", asked, re.MULTILINE)}
    found = [one for answer in LIFE["answers"] if answer["about"] in asked for one in answer["candidates"]]
    return json.dumps({"candidates": [_numbered(one, numbers) for one in found]})


def _numbered(one: Mapping[str, Any], numbers: Mapping[str, int]) -> dict[str, Any]:
    cited = [number for said in one["says"] for text, number in numbers.items() if said in text]
    return {**{name: value for name, value in one.items() if name != "says"}, "messages": cited}


async def lives(ines: Teller) -> None:
    """The life is told, and everything that is enqueued for it is done."""
    for one in LIFE["messages"]:
        turn = {"turn_id": f"{ines.user}-{one['message_id']}", "speaker": "", "occurred_at": one["occurred_at"]}
        await ines.says(one["text"], role=one["role"], **turn)
    await extracted(ines.engine)


async def extracted(engine: Engine) -> None:
    """Once the jobs of all threads are done, those of the rules and those of the model."""
    await engine.settled(60)
    await enqueue_due(engine, now())

    async def done() -> bool:
        jobs = [one for kind in (THREAD, WINDOWS) for one in await engine.jobs.list(kind=kind, limit=1000)]
        return all(job.status not in (Status.QUEUED, Status.RUNNING) for job in jobs)

    await eventually(done)


async def state(ines: Teller) -> dict[str, Any]:
    """What readers see: facts, memories, todos, why the rest was left out, the history and the delta header."""
    moment = await ines.caught_up()
    reads, viewer = ines.engine.reads, ines.viewer
    log = await ines.engine.log.read(ines.stream)
    ids = [one.payload.memory_id for one in log if isinstance(one.payload, MemoryCreated)]
    memories = [await reads.memory(viewer, memory_id, moment) for memory_id in ids]
    windows = [one.payload for one in log if isinstance(one.payload, MessagesExtracted)]
    told = {
        "facts": sorted(
            f"{sentence(row)} {row['valid_from']:%Y-%m-%d} {row['valid_to'] or ''}".strip()
            for row in await ines.facts(valid_at="any")
        ),
        "memories": [f"{row['kind']} {row['category']} {row['importance']}: {row['text']}" for row in memories],
        "todos": [f"{row['text']} {row['due']:%Y-%m-%d}" for row in await reads.todos(viewer, moment=moment)],
        "faults": [[str(fault) for fault in one.faults] for one in windows],
        "history": [
            [row["event"] for row in reversed(await reads.history(viewer, memory["memory_id"], moment=moment))]
            for memory in memories
        ],
        "events": [one.header.type for one in log if one.meta.actor in EXTRACTORS],
        "header": (await ines.changes()).header,
    }
    plain: dict[str, Any] = json.loads(json.dumps(told, default=str).replace(ines.user, "ines"))
    return plain
