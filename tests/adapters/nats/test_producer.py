"""Producers in Python: checked before, once in the log, answered, and never more than a window ahead."""

import asyncio
import json
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from nats.aio.client import Client

from mnemolog import AsyncTurnProducer, MnemologError, TurnProducer
from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.nats.connection import connect
from mnemolog.adapters.nats.pipeline import IN_FLIGHT
from mnemolog.adapters.nats.producer import TurnSender
from mnemolog.adapters.nats.streams import StreamLimits, Streams
from mnemolog.adapters.nats.subjects import TURNS, Address
from mnemolog.domain.errors import IdempotencyConflict, InvalidInput, ServerFailed
from mnemolog.events.conversation import TurnRecorded
from mnemolog.events.envelope import Receipt, StreamId
from tests.adapters.nats.own_server import OwnServer, own_server
from tests.adapters.nats.test_turns import message


@pytest.fixture
async def producer(engine: Engine) -> AsyncIterator[AsyncTurnProducer]:
    async with AsyncTurnProducer(engine.endpoints.nats_url) as opened:
        yield opened


async def turn_ids(engine: Engine, user: str) -> Sequence[str]:
    events = await engine.log.read(StreamId.of_user(user))
    return [event.payload.turn_id for event in events if isinstance(event.payload, TurnRecorded)]


@pytest.mark.spec("X14")
async def test_publish_returns_the_receipt_and_a_second_time_the_same(
    engine: Engine, user: str, producer: AsyncTurnProducer
) -> None:
    first, again = [await producer.publish(message(user)) for _ in range(2)]

    assert first is not None
    assert again is not None
    assert first.event_ids == tuple(one.event_id for one in await engine.log.read(StreamId.of_user(user)))
    assert (first.already, again.already, again.token) == (False, True, first.token)


async def test_turns_that_are_published_together_keep_their_order(
    engine: Engine, user: str, producer: AsyncTurnProducer
) -> None:
    names = [f"msg-{number}" for number in range(IN_FLIGHT + 500)]

    outcomes = await producer.publish_all(message(user, message_id=name) for name in names)

    assert all(isinstance(one, Receipt) for one in outcomes)
    assert list(await turn_ids(engine, user)) == names


@pytest.mark.parametrize(
    ("fields", "field"), [({"text": ""}, "text"), ({"mood": "calm"}, "mood"), ({"role": 1}, "role")]
)
async def test_a_turn_that_the_engine_would_refuse_is_refused_before_it_is_sent(
    user: str, fields: dict[str, Any], field: str
) -> None:
    nobody_there = AsyncTurnProducer("nats://127.0.0.1:1")

    with pytest.raises(InvalidInput) as refused:
        await nobody_there.publish(message(user, **fields))
    assert (refused.value.field, bool(refused.value.fix)) == (field, True)


async def test_a_turn_larger_than_a_message_is_refused_with_its_size(user: str, producer: AsyncTurnProducer) -> None:
    many = [{"type": "image", "caption": "x" * 32_000, "url": "y" * 32_000}] * 50

    with pytest.raises(InvalidInput, match="more than a message can hold"):
        await producer.publish(message(user, attachments=many))


async def test_a_refusal_of_the_engine_is_raised_as_the_engine_made_it(user: str, producer: AsyncTurnProducer) -> None:
    await producer.publish(message(user))

    with pytest.raises(IdempotencyConflict) as refused:
        await producer.publish(message(user, text="Something else"))
    assert refused.value.field == "message_id"


async def test_refused_turns_keep_their_place_and_hold_up_no_other(user: str, producer: AsyncTurnProducer) -> None:
    good = [message(user, message_id=f"msg-{number}") for number in range(4)]

    outcomes = await producer.publish_all([good[0], {"text": "?"}, good[1], message(user, text=""), *good[2:]])

    assert [isinstance(one, MnemologError) for one in outcomes] == [False, True, False, True, False, False]


def test_the_producer_needs_no_engine_in_its_process() -> None:
    loaded = ["mnemolog.adapters.engine", "sqlalchemy", "redis", "onnxruntime", "faststream", "psycopg"]
    code = "import sys; from mnemolog import TurnProducer; print(*sys.modules)"
    modules = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True).stdout.split()
    assert not set(loaded) & set(modules)


async def test_the_sync_producer_does_the_same(engine: Engine, user: str) -> None:
    def publish() -> list[Any]:
        with TurnProducer(engine.endpoints.nats_url) as producer:
            return [producer.publish(message(user)), *producer.publish_all([message(user)])]

    first, again = await asyncio.to_thread(publish)

    assert (first.already, again.already) == (False, True)


@pytest.fixture
async def silent(tmp_path: Path) -> AsyncIterator[OwnServer]:
    """JetStream with our streams, and no engine that takes turns from it."""
    with own_server(tmp_path) as server:
        client = await connect(server.url, "tests")
        await Streams(client.jetstream(), StreamLimits()).ensure()
        await client.close()
        yield server


def bodies(user: str, count: int) -> Iterator[bytes]:
    return (json.dumps(message(user, message_id=str(number))).encode() for number in range(count))


async def waiting(server: OwnServer) -> int:
    client = await connect(server.url, "tests")
    state = (await client.jetstream().stream_info(TURNS)).state
    await client.close()
    return state.messages


async def message_ids(client: Client) -> Counter[str]:
    """How often each message id waits in the stream, which this empties."""
    arriving = await client.jetstream().pull_subscribe("", stream=TURNS, durable="tests")
    found = Counter[str]()
    left = (await client.jetstream().stream_info(TURNS)).state.messages
    while left:
        batch = await arriving.fetch(min(left, 500), timeout=60)
        for one in batch:
            found[json.loads(one.data)["message_id"]] += 1
            await one.ack()
        left -= len(batch)
    return found


async def test_without_an_engine_a_producer_stops_at_its_window_and_says_so(silent: OwnServer, user: str) -> None:
    client = await connect(silent.url, "tests")
    async with TurnSender(client, Address.of("default"), silence=0.5, resend=0.6) as sender:
        with pytest.raises(ServerFailed, match="no answer"):
            async for _ in sender.send_all(bodies(user, 3 * IN_FLIGHT)):
                pass
    await client.close()

    assert await waiting(silent) == IN_FLIGHT


async def test_the_longer_a_turn_is_unanswered_the_less_often_it_is_sent_again(silent: OwnServer, user: str) -> None:
    client = await connect(silent.url, "tests")
    async with TurnSender(client, Address.of("default"), silence=3.0, resend=0.1) as sender:
        with pytest.raises(ServerFailed, match="no answer"):
            await sender.send(next(bodies(user, 1)))
    await client.close()

    assert 2 <= await waiting(silent) <= 6  # After 0.1, 0.3, 0.7, 1.5 and 3.1 s, and not 30 times.


async def test_without_receipts_a_turn_is_done_when_jetstream_has_it(silent: OwnServer, user: str) -> None:
    async with AsyncTurnProducer(silent.url, receipts=False) as producer:
        outcomes = await producer.publish_all(message(user, message_id=str(number)) for number in range(2000))

    assert outcomes == [None] * 2000
    assert await waiting(silent) == 2000


@pytest.mark.spec("X14")
async def test_turns_that_are_published_while_the_server_restarts_all_arrive(silent: OwnServer, user: str) -> None:
    client = await connect(silent.url, "tests")
    async with TurnSender(client, Address.of("default"), receipts=False, resend=1.0) as sender:
        outcomes = []
        async for outcome in sender.send_all(bodies(user, 20_000)):
            outcomes.append(outcome)
            if len(outcomes) == 1000:
                silent.kill()
                silent.start()
    assert outcomes == [None] * 20_000
    arrived = await message_ids(client)
    await client.close()
    # What was sent again because its acknowledgement was lost may be there twice: the log takes it in once.
    assert arrived.keys() == {str(number) for number in range(20_000)}


async def test_a_wrong_password_is_named(silent: OwnServer) -> None:
    url = silent.url.replace("engine:token", "engine:wrong")
    with pytest.raises(ServerFailed) as refused:
        async with asyncio.timeout(60):
            await AsyncTurnProducer(url).publish(message("ana"))
    assert refused.value.field == "nats_url"
