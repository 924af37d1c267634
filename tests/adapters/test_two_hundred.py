"""Two hundred at once, over HTTP and over JetStream: one memory, one entity, one fact, and every observation kept."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import httpx
import pytest

from mnemolog import AsyncTurnProducer
from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.engine.moment import Moment
from mnemolog.adapters.http.app import create_app
from mnemolog.events.envelope import Position, StreamId
from mnemolog.events.event import Event
from mnemolog.events.graph import EntityObserved, RelationAsserted, RelationObserved
from mnemolog.events.memory import MemoryCreated, MemoryObserved
from tests.engine.equality import assert_live_equals_replayed
from tests.engine.person import Person

MANY = 200
Send = Callable[[Mapping[str, Any]], Awaitable[object]]


def turn(user: str, number: int) -> dict[str, Any]:
    memory = {"text": "Ana drinks tea", "memory_key": "drink"}
    fact = {"subject": "Marta", "predicate": "likes", "object": "tea", "literal": True}
    about = {"message_id": f"t{number}", "user_id": user, "text": f"We had tea {number} times", "speaker": "Ana"}
    return {**about, "occurred_at": "2026-01-02T03:04:05Z", "memories": [memory], "facts": [fact]}


@pytest.mark.spec("D04", "A07", "A08", "X14")
@pytest.mark.spec_part("D13")
@pytest.mark.parametrize("way", ["http", "jetstream"])
async def test_the_same_key_entity_and_fact_from_two_hundred_writers_are_kept_once(
    engine: Engine, user: str, way: str
) -> None:
    async def told(send: Send) -> None:
        await asyncio.gather(*(send(turn(user, number)) for number in range(MANY)))

    if way == "http":
        transport = httpx.ASGITransport(create_app(engine))
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost", timeout=120) as client:

            async def post(body: Mapping[str, Any]) -> None:
                (await client.post("/turns", json=body)).raise_for_status()

            await told(post)
    else:
        async with AsyncTurnProducer(engine.endpoints.nats_url, deadline=120) as producer:
            await told(producer.publish)

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
