"""Whatever happens to messages on the way, a projection ends as if each event had come once and in order (X09)."""

from collections.abc import Sequence
from dataclasses import replace
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemolog.events.envelope import Position, Recorded, StoredEvent, StreamId
from mnemolog.events.memory import ContentEvent, MemoryRestored
from mnemolog.projections.kinds import Need
from mnemolog.projections.rule import Delivered
from mnemolog.projections.runtime import Projection
from tests.testkit.events import created, rows
from tests.testkit.log import MemoryLog
from tests.testkit.store import MemoryStore, Unreachable

POISON = "poison"
STREAMS = [StreamId.of_user(name) for name in ("ana", "bob", "eve")]
LOG = MemoryLog()
LOG.streams = {stream: rows(stream, [created() for _ in range(6)]) for stream in STREAMS}
EVENTS = [event for events in LOG.streams.values() for event in events]
HEADS = dict.fromkeys(STREAMS, 6)
# What was too large for its message, or found no place in a queue.
ANNOUNCED = [Position(event.header.stream, event.header.seq) for event in EVENTS]

batches = st.lists(st.lists(st.sampled_from([*EVENTS, *ANNOUNCED]), min_size=1, max_size=10), max_size=12)


def seqs(store: MemoryStore) -> dict[StreamId, list[int]]:
    return {stream: [event.seq for event in events] for stream, events in store.rows.items()}


@pytest.mark.spec("X09")
@given(batches)
async def test_any_delivery_and_then_a_sweep_end_as_in_order(deliveries: Sequence[Sequence[Delivered]]) -> None:
    store = MemoryStore()
    projection = Projection(store, LOG)

    for delivery in deliveries:
        await projection.deliver(delivery)
        for stream, applied in seqs(store).items():
            assert applied == list(range(1, await store.progress(stream) + 1)), "no gap and no repetition at any time"
    await projection.catch_up()

    assert seqs(store) == {stream: [1, 2, 3, 4, 5, 6] for stream in STREAMS}
    assert await store.all_progress() == HEADS
    assert await projection.lag() == 0


@pytest.mark.spec("X09")
@given(batches, st.sets(st.integers(1, 40), max_size=6))
async def test_an_unreliable_store_changes_nothing_in_the_end(
    deliveries: Sequence[Sequence[Delivered]], away: set[int]
) -> None:
    calls = 0

    def applying(event: Recorded) -> None:
        nonlocal calls
        calls += 1
        if calls in away:
            raise Unreachable

    projection = Projection(store := MemoryStore(applying), LOG)

    for delivery in deliveries:
        await _until_it_answers(projection, delivery)
    await _until_it_answers(projection, EVENTS)

    assert seqs(store) == {stream: [1, 2, 3, 4, 5, 6] for stream in STREAMS}
    assert await store.stopped() == {}


@pytest.mark.spec("X09")
@given(batches, st.integers(1, 6))
async def test_poison_stops_its_stream_before_it_and_no_other(
    deliveries: Sequence[Sequence[Delivered]], at: int
) -> None:
    log = MemoryLog()
    said = ["fine"] * (at - 1) + [POISON] + ["fine"] * (6 - at)
    log.streams = {**LOG.streams, STREAMS[0]: rows(STREAMS[0], [created(text=text) for text in said])}
    store = MemoryStore(_cannot_bear_poison)
    projection = Projection(store, log)

    for delivery in deliveries:
        await projection.deliver([_of(log, event) for event in delivery])
    await projection.catch_up()

    progress = await store.all_progress()
    assert progress.get(STREAMS[0], 0) < at
    assert [progress[stream] for stream in STREAMS[1:]] == [6, 6]
    assert set(await store.stopped()) == {STREAMS[0]}
    assert await projection.lag() == 0, "what was set aside is not waited for"


def _of(log: MemoryLog, one: Delivered) -> Delivered:
    return log.streams[one.header.stream][one.header.seq - 1] if isinstance(one, StoredEvent) else one


def _cannot_bear_poison(event: Recorded) -> None:
    if isinstance(event.payload, ContentEvent) and event.payload.text == POISON:
        raise ValueError("I cannot bear this")


async def _until_it_answers(projection: Projection, delivery: Sequence[Delivered]) -> None:
    while True:
        try:
            await projection.deliver(delivery)
            return
        except Unreachable:
            continue


@pytest.mark.spec("X09")
async def test_events_that_a_projection_leaves_aside_are_passed_without_being_decoded() -> None:
    store, log = MemoryStore(), MemoryLog()
    store.needs = {"MemoryRestored": Need.NOTHING}
    kept, *_ = mixed = rows(STREAMS[0], [created(), MemoryRestored(memory_id=uuid4())])
    log.streams = {STREAMS[0]: [kept, replace(mixed[1], data=b"nobody can read this")]}

    await Projection(store, log).catch_up()

    assert seqs(store) == {STREAMS[0]: [1]}
    assert (await store.all_progress(), await store.stopped()) == ({STREAMS[0]: 2}, {})
