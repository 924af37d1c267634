"""Two hundred connections of four processes, by HTTP and JetStream: one memory, entity and fact, each turn kept."""

import asyncio
import json
from asyncio.subprocess import PIPE
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import pytest

from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.http.server import serve
from mnemolog.events.envelope import Position, StreamId
from mnemolog.events.event import Event
from mnemolog.events.graph import EntityObserved, RelationAsserted, RelationObserved
from mnemolog.events.memory import MemoryCreated, MemoryObserved
from mnemolog.projections.reads.moment import Moment
from tests.engine.equality import assert_live_equals_replayed
from tests.engine.person import Person
from tests.testkit import warm

MANY, PROCESSES = 200, 4
PATIENCE_SECONDS = 600


def turn(user: str, number: int) -> dict[str, Any]:
    memory = {"text": "Ana drinks tea", "memory_key": "drink"}
    fact = {"subject": "Marta", "predicate": "likes", "object": "tea", "literal": True}
    about = {"message_id": f"t{number}", "user_id": user, "text": f"We had tea {number} times", "speaker": "Ana"}
    return {**about, "occurred_at": "2026-01-02T03:04:05Z", "memories": [memory], "facts": [fact]}


@asynccontextmanager
async def writing(way: str, url: str, turns: Sequence[dict[str, Any]]) -> AsyncIterator[warm.Process]:
    """A process with a writer, and a connection, for each turn."""
    arguments = ["-m", "tests.adapters.writers_process", way, url]
    process = await warm.spawn(*arguments, stdin=PIPE, stdout=PIPE)
    try:
        assert process.stdin
        process.stdin.write(json.dumps(turns).encode() + b"\n")
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def number_of(process: warm.Process) -> int:
    """What it says next."""
    assert process.stdout
    return int(await process.stdout.readline())


@pytest.mark.spec("D04", "A07", "A08", "X14")
@pytest.mark.spec_part("D13")
@pytest.mark.parametrize("way", ["http", "jetstream"])
async def test_the_same_key_entity_and_fact_from_two_hundred_writers_are_kept_once(
    engine: Engine, user: str, way: str
) -> None:
    turns = [turn(user, number) for number in range(MANY)]
    async with AsyncExitStack() as stack, asyncio.timeout(PATIENCE_SECONDS):
        url = engine.endpoints.nats_url if way == "jetstream" else await stack.enter_async_context(serve(engine))
        writers = [
            await stack.enter_async_context(writing(way, url, turns[first::PROCESSES])) for first in range(PROCESSES)
        ]
        assert sum([await number_of(one) for one in writers]) == MANY, "each on a connection of its own"
        for one in writers:
            assert one.stdin
            one.stdin.write(b"go on\n")
        assert sum([await number_of(one) for one in writers]) == MANY

    ana = Person(engine, user)
    await require_once(ana)
    await assert_live_equals_replayed(engine, StreamId.of_user(user))


async def require_once(ana: Person) -> None:
    events = [event.payload for event in await ana.engine.log.read(ana.stream)]
    counts = Counter(map(_told, events))
    assert counts["memory"] == 1
    assert counts["memory observed"] == MANY - 1
    assert (counts["Marta"], counts["Ana"]) == (1, 1)
    assert (counts["fact"], counts["fact observed"]) == (1, MANY - 1)

    moment = Moment(after=Position(ana.stream, await ana.engine.log.head(ana.stream)))
    [kept] = [one for one in events if isinstance(one, MemoryCreated) and one.memory_key]
    rows = await ana.engine.reads.history(ana.viewer, kept.memory_id, 1000, moment)
    assert Counter(row["event"] for row in rows) == {"ADD": 1, "UPDATE": MANY - 1}
    assert len([one for one in await ana.engine.reads.entities(ana.viewer, moment) if one["name"] == "Marta"]) == 1
    [fact] = await ana.engine.reads.facts(ana.viewer, moment=moment)
    assert fact["predicate"] == "likes"


def _told(event: Event) -> str:
    match event:
        case MemoryCreated(memory_key=key) if key:
            return "memory"
        case MemoryObserved():
            return "memory observed"
        case EntityObserved(name=name):
            return name
        case RelationAsserted():
            return "fact"
        case RelationObserved():
            return "fact observed"
        case _:
            return ""
