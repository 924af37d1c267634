"""The streams: what the settings say, what an operator has set, and what a lost store takes along."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from nats.aio.client import Client
from nats.js import JetStreamContext
from nats.js.api import ConsumerConfig, DiscardPolicy, RetentionPolicy, StorageType, StreamConfig
from nats.js.errors import APIError

from mnemolog.adapters.config import load
from mnemolog.adapters.engine.starting import limits_of
from mnemolog.adapters.nats.connection import connect
from mnemolog.adapters.nats.streams import SET_LAST, StreamLimits, Streams, merged
from mnemolog.adapters.nats.subjects import DEAD_LETTERS, EVENTS, INTAKE, TURNS
from mnemolog.domain.errors import ServerFailed
from tests.adapters.nats.own_server import OwnServer, own_server

MIB = 1024 * 1024


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OwnServer]:
    with own_server(tmp_path_factory.mktemp("nats")) as started:
        yield started


@pytest.fixture
async def client(server: OwnServer) -> AsyncIterator[Client]:
    opened = await connect(server.url, "tests")
    yield opened
    await opened.close()


@pytest.fixture
async def jetstream(client: Client) -> JetStreamContext:
    """With none of our streams."""
    jetstream = client.jetstream()
    for info in await jetstream.streams_info():
        await jetstream.delete_stream(info.config.name or "")
    return jetstream


async def config(jetstream: JetStreamContext, name: str) -> StreamConfig:
    return (await jetstream.stream_info(name)).config


async def test_streams_stand_on_file_with_the_limits_of_the_settings(jetstream: JetStreamContext) -> None:
    limits = StreamLimits(
        events_max_age=3600,
        events_max_bytes=10_000,
        turns_max_bytes=20_000,
        dead_letters_max_age=7200,
        dead_letters_per_producer=30,
    )

    await Streams(jetstream, limits).ensure()

    events, turns, letters = [await config(jetstream, name) for name in (EVENTS, TURNS, DEAD_LETTERS)]
    assert {one.storage for one in (events, turns, letters)} == {StorageType.FILE}
    assert (events.max_age, events.max_bytes, events.discard) == (3600, 10_000, DiscardPolicy.OLD)
    assert (turns.max_age, turns.max_bytes, turns.discard) == (0, 20_000, DiscardPolicy.NEW)
    assert (letters.max_age, letters.max_bytes, letters.discard) == (7200, -1, DiscardPolicy.OLD)
    assert turns.retention == RetentionPolicy.WORK_QUEUE
    assert [one.max_msgs_per_subject for one in (events, turns, letters)] == [-1, -1, 30]
    assert (events.duplicate_window, turns.duplicate_window, letters.duplicate_window) == (120, 0.1, 120)


async def test_a_limit_that_an_operator_set_stays_and_the_others_follow_the_settings(
    jetstream: JetStreamContext,
) -> None:
    await Streams(jetstream, StreamLimits(events_max_age=3600)).ensure()
    found = await config(jetstream, EVENTS)
    await jetstream.update_stream(found.evolve(max_age=500.0, description="mind the disk"))

    for limits in (StreamLimits(events_max_age=7200, events_max_bytes=50_000), StreamLimits(events_max_age=9000)):
        await Streams(jetstream, limits).ensure()
        now = await config(jetstream, EVENTS)
        assert (now.max_age, now.description) == (500, "mind the disk")
        assert now.max_bytes == (limits.events_max_bytes or -1)


async def test_a_changed_setting_updates_a_stream_that_no_operator_changed(jetstream: JetStreamContext) -> None:
    await Streams(jetstream, StreamLimits(events_max_age=3600)).ensure()
    await Streams(jetstream, StreamLimits(events_max_age=0)).ensure()
    assert (await config(jetstream, EVENTS)).max_age == 0


async def test_a_stream_of_the_first_version_is_brought_up_to_date_with_its_messages(
    jetstream: JetStreamContext,
) -> None:
    former = StreamConfig(name=TURNS, subjects=["mnemolog.turns.*"], retention=RetentionPolicy.WORK_QUEUE)
    await jetstream.add_stream(former.evolve(storage=StorageType.FILE, duplicate_window=120.0, num_replicas=1))
    await jetstream.publish("mnemolog.turns.acme", b"waiting")

    await Streams(jetstream, StreamLimits(turns_max_bytes=1 << 20)).ensure()

    now = await jetstream.stream_info(TURNS)
    assert (now.config.discard, now.config.max_bytes, now.state.messages) == (DiscardPolicy.NEW, 1 << 20, 1)


@pytest.mark.spec("X14")
async def test_a_stream_of_before_producers_had_subjects_takes_theirs_and_loses_nothing_that_waits(
    client: Client, jetstream: JetStreamContext
) -> None:
    former = StreamConfig(name=TURNS, subjects=["mnemolog.turns.*"], retention=RetentionPolicy.WORK_QUEUE)
    await jetstream.add_stream(former.evolve(storage=StorageType.FILE, duplicate_window=120.0, num_replicas=1))
    inbox = client.new_inbox()
    taking = ConsumerConfig(durable_name="turn-intake", deliver_subject=inbox, filter_subject="mnemolog.turns.*")
    await jetstream.add_consumer(TURNS, taking)
    arrived = await client.subscribe(inbox)
    for number in range(3):
        await jetstream.publish("mnemolog.turns.acme", f"waiting {number}".encode())
    await (await arrived.next_msg(60)).ack_sync()
    await arrived.next_msg(60), "one is on its way, and nobody acknowledges it"

    await Streams(jetstream, StreamLimits()).ensure()
    await jetstream.publish("mnemolog.turns.acme.juno", b"a producer's")

    assert [one.name for one in await jetstream.consumers_info(TURNS)] == []
    fresh = await jetstream.subscribe("mnemolog.turns.>", queue=INTAKE, stream=TURNS, manual_ack=True)
    found = [await fresh.next_msg(60) for _ in range(3)]
    assert [(one.subject, one.data) for one in found] == [
        ("mnemolog.turns.acme", b"waiting 1"),
        ("mnemolog.turns.acme", b"waiting 2"),
        ("mnemolog.turns.acme.juno", b"a producer's"),
    ]


@pytest.mark.parametrize(
    ("found", "note", "wanted", "expected"),
    [
        (0, None, 60, 60),
        (30, None, 60, 30),
        (60, 60, 90, 90),
        (30, 60, 90, 30),
        (60, 60, 0, 0),
        (0, 60, 90, 0),
    ],
)
def test_ours_is_what_still_is_as_we_set_it_last(found: int, note: int | None, wanted: int, expected: int) -> None:
    metadata = {} if note is None else {SET_LAST: json.dumps({"max_age": note})}
    [before, *_] = StreamLimits(events_max_age=found).configs()
    [after, *_] = StreamLimits(events_max_age=wanted).configs()

    result = merged(before.evolve(metadata=metadata, duplicate_window=120.0), after)

    assert result.max_age == expected
    set_last: dict[str, Any] = json.loads((result.metadata or {})[SET_LAST])
    assert set_last["max_age"] == (wanted if expected == wanted else note or 0)


async def test_more_replicas_than_servers_are_refused_with_the_setting(jetstream: JetStreamContext) -> None:
    with pytest.raises(ServerFailed) as refused:
        await Streams(jetstream, StreamLimits(replicas=3)).ensure()
    assert "replicas" in refused.value.fix


async def test_a_full_queue_of_turns_refuses_the_newest_and_keeps_what_waits(jetstream: JetStreamContext) -> None:
    await Streams(jetstream, StreamLimits(turns_max_bytes=2000)).ensure()

    for number in range(3):
        await jetstream.publish("mnemolog.turns.acme", bytes(500), headers={"Nats-Msg-Id": str(number)})

    with pytest.raises(APIError, match="maximum bytes exceeded"):
        await jetstream.publish("mnemolog.turns.acme", bytes(500), headers={"Nats-Msg-Id": "3"})

    assert (await jetstream.get_msg(TURNS, 1)).headers == {"Nats-Msg-Id": "0"}


async def test_no_setting_is_without_an_end_and_the_server_has_room_for_all_of_them(
    jetstream: JetStreamContext,
) -> None:
    limits = limits_of(load())

    await Streams(jetstream, limits).ensure()

    events, turns, letters = [await config(jetstream, name) for name in (EVENTS, TURNS, DEAD_LETTERS)]
    assert all(one.max_bytes and one.max_bytes > 0 for one in (events, turns, letters))
    assert (events.max_age, letters.max_age) == (7 * 24 * 3600, 30 * 24 * 3600)
    assert limits.store_bytes
    assert limits.store_bytes > sum(one.max_bytes or 0 for one in (events, turns, letters))
    # What the limits of one producer's letters let it keep, with all that JetStream stores beside a body.
    assert limits.dead_letters_per_producer * (load().dead_letter_bytes + 16 * 1024) < limits.dead_letters_max_bytes / 4


async def test_a_flood_of_turns_and_of_dead_letters_leaves_events_their_room(tmp_path: Path) -> None:
    limits = StreamLimits(events_max_bytes=MIB, turns_max_bytes=MIB, dead_letters_max_bytes=MIB)
    with own_server(tmp_path, 3 * MIB + 64 * 1024) as server:
        client = await connect(server.url, "tests")
        jetstream = client.jetstream()
        await Streams(jetstream, limits).ensure()

        refused = 0
        for number in range(40):
            await jetstream.publish(f"mnemolog.dead.turns.acme.p{number}", bytes(100_000))
            try:
                await jetstream.publish("mnemolog.turns.acme", bytes(100_000))
            except APIError:
                refused += 1
        for _ in range(40):
            await jetstream.publish("mnemolog.events.p0.TurnRecorded", bytes(100_000))

        held = [(await jetstream.stream_info(name)).state.bytes for name in (EVENTS, TURNS, DEAD_LETTERS)]
        await client.close()
    assert refused == 30
    assert all(0.8 * MIB < one <= MIB for one in held)


async def test_letters_of_one_producer_leave_those_of_another(jetstream: JetStreamContext) -> None:
    await Streams(jetstream, StreamLimits(dead_letters_per_producer=5)).ensure()

    await jetstream.publish("mnemolog.dead.turns.acme.quiet", b"kept")
    for number in range(20):
        await jetstream.publish("mnemolog.dead.turns.acme.noisy", str(number).encode())

    assert (await jetstream.get_last_msg(DEAD_LETTERS, "mnemolog.dead.turns.acme.quiet")).data == b"kept"
    assert (await jetstream.stream_info(DEAD_LETTERS)).state.messages == 6


@pytest.mark.spec("X14")
async def test_a_message_id_of_one_producer_does_not_shadow_anothers(jetstream: JetStreamContext) -> None:
    await Streams(jetstream, StreamLimits()).ensure()

    for producer in ("juno", "mallory"):
        await jetstream.publish(f"mnemolog.turns.acme.{producer}", b"{}", headers={"Nats-Msg-Id": "1"})
        await asyncio.sleep(0.3)  # The shortest window that JetStream takes is a tenth of a second.

    assert (await jetstream.stream_info(TURNS)).state.messages == 2


async def test_after_a_lost_store_streams_and_consumer_stand_again_and_deliver(
    server: OwnServer, client: Client, jetstream: JetStreamContext
) -> None:
    streams = Streams(jetstream, StreamLimits())
    await streams.ensure()
    inbox = client.new_inbox()
    own = ConsumerConfig(durable_name=INTAKE, deliver_subject=inbox, deliver_group=INTAKE, ack_wait=30.0)
    await jetstream.add_consumer(TURNS, own)
    arriving = await client.subscribe(inbox, queue=INTAKE)
    keeping = asyncio.create_task(streams.keep())
    await asyncio.sleep(0.5)

    server.wipe()
    async with asyncio.timeout(60):
        while True:
            try:
                await jetstream.publish("mnemolog.turns.acme", b"after", timeout=0.5)
                break
            except Exception:  # noqa: BLE001  Whatever a server says that is just coming back.
                await asyncio.sleep(0.1)

    message = await arriving.next_msg(60)
    keeping.cancel()
    assert message.data == b"after"


async def test_a_lost_stream_is_reported_with_what_was_in_it(
    jetstream: JetStreamContext, caplog: pytest.LogCaptureFixture
) -> None:
    streams = Streams(jetstream, StreamLimits())
    await streams.ensure()
    await streams.look()
    assert not caplog.messages

    await jetstream.delete_stream(TURNS)
    await streams.look()

    [said] = caplog.messages
    assert TURNS in said
    assert "send it again" in said
    assert (await jetstream.stream_info(TURNS)).state.messages == 0
