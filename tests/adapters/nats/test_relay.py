"""The relay: each append reaches JetStream once and in order, and one relay leads at a time."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress

import psycopg
import pytest
from nats.aio.msg import Msg
from nats.errors import TimeoutError as NatsTimeout

from mnemolog.adapters.nats import wire
from mnemolog.adapters.nats.relay import Relay
from mnemolog.adapters.nats.subjects import ALL_EVENTS, EVENTS
from mnemolog.domain.errors import MalformedEvent, TamperedEvent
from mnemolog.events.envelope import StoredEvent, StreamId
from mnemolog.events.log import Append
from tests.adapters.nats.conftest import Apart
from tests.testkit.events import KEY, created, new


async def append(apart: Apart, stream: StreamId, count: int = 1) -> None:
    await apart.log.append([Append(stream, tuple(new(created()) for _ in range(count)))])


async def whole(apart: Apart, stream: StreamId) -> list[StoredEvent]:
    return [event async for batch in apart.log.scan(stream) for event in batch]


async def published(apart: Apart, stream: StreamId) -> Sequence[Msg]:
    """The messages of a stream, in the order of JetStream."""
    subscription = await apart.jetstream.subscribe(ALL_EVENTS, stream=EVENTS, ordered_consumer=True)
    expected = (await apart.jetstream.stream_info(EVENTS)).state.messages
    found = [await subscription.next_msg(60) for _ in range(expected)]
    with pytest.raises(NatsTimeout):
        await subscription.next_msg(0.05)
    await subscription.unsubscribe()
    return [one for one in found if (one.headers or {}).get("Mnemolog-Stream") == stream.name]


@asynccontextmanager
async def running(relay: Relay) -> AsyncIterator[None]:
    task = asyncio.create_task(relay.run())
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            async with asyncio.timeout(30):
                await task


async def delivered(apart: Apart, seconds: float = 60) -> None:
    async with asyncio.timeout(seconds):
        while await apart.outbox.size():  # noqa: ASYNC110  The relay runs beside us and tells nobody.
            await asyncio.sleep(0.02)


@pytest.mark.spec("X01")
async def test_an_append_reaches_jetstream_once_under_the_id_of_its_event(apart: Apart, user: str) -> None:
    stream = StreamId.of_user(user)
    await append(apart, stream, 3)

    async with running(apart.relay()):
        await append(apart, stream, 2)
        await delivered(apart)

    events = await whole(apart, stream)
    messages = await published(apart, stream)
    assert [wire.unpack(one.data) for one in messages] == events
    assert [(one.headers or {})["Nats-Msg-Id"] for one in messages] == [str(one.header.event_id) for one in events]


@pytest.mark.spec("X01")
async def test_events_republished_after_a_crash_are_stored_once(apart: Apart, user: str) -> None:
    stream = StreamId.of_user(user)
    await append(apart, stream, 5)
    for event in await whole(apart, stream):
        await apart.jetstream.publish("mnemolog.events.p0.MemoryCreated", wire.pack(event), headers=wire.headers(event))

    await apart.deliver()

    assert [wire.unpack(one.data).header.seq for one in await published(apart, stream)] == [1, 2, 3, 4, 5]


@pytest.mark.spec("X01")
async def test_the_order_of_each_stream_is_kept_under_many_writers(apart: Apart, user: str) -> None:
    streams = [StreamId.of_user(f"{user}-{number}") for number in range(5)]

    async with running(relay := apart.relay()):
        for _ in range(20):
            await asyncio.gather(*(append(apart, stream, 2) for stream in streams))
            relay.wake()
        await delivered(apart)

    for stream in streams:
        seqs = [int((one.headers or {})["Mnemolog-Seq"]) for one in await published(apart, stream)]
        assert seqs == list(range(1, 41))


async def test_an_append_of_thousands_of_events_is_delivered(apart: Apart, user: str) -> None:
    stream = StreamId.of_user(user)
    await append(apart, stream, 6000)

    await apart.deliver()

    assert len(await published(apart, stream)) == 6000


async def test_an_event_that_no_message_can_hold_holds_up_no_other(apart: Apart, user: str) -> None:
    large, small = StreamId.of_user(f"{user}-large"), StreamId.of_user(f"{user}-small")
    await apart.log.append([Append(large, (new(created(text="\x01" * 256 * 1024)),))])
    await append(apart, small)

    async with running(apart.relay()):
        await delivered(apart)

    assert len(await published(apart, small)) == 1
    [announced] = await published(apart, large)
    with pytest.raises(MalformedEvent):
        wire.unpack(announced.data)


async def test_a_relay_that_is_stopped_as_it_is_woken_stops(apart: Apart) -> None:
    """asyncio.wait_for of Python 3.11 would swallow the cancellation, and the engine would never end."""
    relay = apart.relay()
    task = asyncio.create_task(relay.run())
    await asyncio.sleep(0.3)

    relay.wake()
    task.cancel()

    done, _ = await asyncio.wait([task], timeout=30)
    assert done
    assert task.cancelled()


@pytest.mark.spec("X08")
async def test_what_does_not_fit_the_chain_is_not_published_and_holds_up_nothing(apart: Apart, user: str) -> None:
    forged, cut, sound = (StreamId.of_user(f"{user}-{name}") for name in ("forged", "cut", "sound"))
    await append(apart, forged, 2)
    await append(apart, cut, 3)
    async with await psycopg.AsyncConnection.connect(apart.postgres_dsn, autocommit=True) as mallory:
        await mallory.execute("SET session_replication_role = replica")
        await mallory.execute(
            "INSERT INTO mnemolog.events SELECT tenant, stream, 3, gen_random_uuid(), type, version, tags, meta,"
            " occurred_at, recorded_at, data, sha256(link) FROM mnemolog.events WHERE stream = %s AND seq = 2",
            [forged.name],
        )
        await mallory.execute(
            "INSERT INTO mnemolog.outbox (tenant, stream, first_seq, last_seq) VALUES ('default', %s, 3, %s)",
            [forged.name, 10**15],
        )
        await mallory.execute("DELETE FROM mnemolog.events WHERE stream = %s AND seq = 2", [cut.name])
    await append(apart, sound, 1)
    refused: list[tuple[str, int]] = []

    async def note(damage: TamperedEvent) -> None:
        refused.append((damage.stream, damage.seq))

    relay = Relay(apart.outbox, apart.nats, KEY, apart.streams, refused=note)
    async with apart.outbox.session() as session:
        while await relay.deliver(session):
            pass

    assert sorted(refused) == [(str(cut), 2), (str(forged), 3)]
    seen = [[wire.unpack(one.data).header.seq for one in await published(apart, each)] for each in (forged, cut, sound)]
    assert seen == [[1, 2], [1], [1]]
    assert not await apart.outbox.size()
