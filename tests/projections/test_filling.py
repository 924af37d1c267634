"""One pass of the log into several stores: each ends as if it had read the log alone, wherever it began (X05)."""

from collections.abc import Collection, Sequence
from itertools import count
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemolog.events.envelope import Recorded, StoredEvent, StreamId
from mnemolog.events.memory import ContentEvent, MemoryRestored
from mnemolog.projections import filling
from mnemolog.projections.filling import Share, fill
from mnemolog.projections.kinds import Need
from mnemolog.projections.runtime import Projection
from tests.testkit.events import created, rows
from tests.testkit.log import MemoryLog
from tests.testkit.store import MemoryStore, Unreachable

LENGTHS = {"ana": 7, "bob": 1, "eve": 12, "zoe": 3}
STREAMS = {StreamId.of_user(name): length for name, length in LENGTHS.items()}
EVENTS = sum(LENGTHS.values())
POISON = "poison"


class CountingLog(MemoryLog):
    """A log that counts what it decodes."""

    decoded = 0

    async def decode(
        self, stored: Sequence[StoredEvent], shapes: Collection[str] = (), *, unread: bool = False
    ) -> Sequence[Recorded]:
        self.decoded += len(stored)
        return await super().decode(stored, shapes, unread=unread)


def a_log() -> CountingLog:
    log = CountingLog()
    log.streams = {stream: rows(stream, [created() for _ in range(length)]) for stream, length in STREAMS.items()}
    return log


def seqs(store: MemoryStore) -> dict[StreamId, list[int]]:
    return {stream: [event.seq for event in events] for stream, events in store.rows.items()}


WHOLE = {stream: list(range(1, length + 1)) for stream, length in STREAMS.items()}
begun = st.fixed_dictionaries({stream: st.integers(0, length) for stream, length in STREAMS.items()})


@pytest.mark.spec_part("X05")
@given(st.lists(begun, min_size=1, max_size=3), st.integers(1, 30))
async def test_stores_with_different_progress_end_complete_and_in_order(
    beginnings: list[dict[StreamId, int]], portion: int
) -> None:
    log, stores = a_log(), [MemoryStore() for _ in beginnings]
    for store, progress in zip(stores, beginnings, strict=True):
        for stream, seq in progress.items():
            await Projection(store, log).read_on(stream, 0, seq)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(filling, "PORTION", portion)
        await fill(log, stores)

    assert [seqs(store) for store in stores] == [WHOLE] * len(stores)


async def test_each_event_is_decoded_once_for_all_stores() -> None:
    log, stores = a_log(), [MemoryStore() for _ in range(5)]
    for number, store in enumerate(stores):
        store.name = f"store {number}"
    steps: list[int] = []

    taken = await fill(log, stores, progressed=steps.append)

    assert log.decoded == EVENTS
    assert taken == {store.name: EVENTS for store in stores}
    assert sum(steps) == 5 * EVENTS


async def test_a_store_receives_what_it_folds_and_nothing_else_is_decoded() -> None:
    log, some, none = a_log(), MemoryStore(), MemoryStore()
    stream = StreamId.of_user("eve")
    log.streams[stream] = rows(stream, [created(), MemoryRestored(memory_id=uuid4()), created()])
    some.needs = {"MemoryRestored": Need.NOTHING}
    none.needs = {"MemoryRestored": Need.NOTHING, "MemoryCreated": Need.NOTHING}

    await fill(log, [some, none])

    assert seqs(some)[stream] == [1, 3]
    assert none.rows == {}
    assert [await one.progress(stream) for one in (some, none)] == [3, 3]
    assert log.decoded == EVENTS - LENGTHS["eve"] + 2


@pytest.mark.parametrize(("others", "texts"), [(Need.SHAPE, [""]), (Need.NOTHING, [""]), (Need.WHOLE, ["tea"])])
async def test_what_none_of_the_stores_needs_stays_sealed(others: Need, texts: list[str]) -> None:
    stream, log, stores = StreamId.of_user("eve"), MemoryLog(), [MemoryStore(), MemoryStore()]
    log.streams[stream] = rows(stream, [created(text="tea")])
    stores[0].needs, stores[1].needs = {"MemoryCreated": Need.SHAPE}, {"MemoryCreated": others}

    await fill(log, stores)

    [shaped] = stores[0].rows[stream]
    assert isinstance(shaped.payload, ContentEvent)
    assert [shaped.payload.text] == texts
    assert not shaped.erased


@given(st.integers(1, 9))
async def test_shares_together_take_every_stream_once(shares: int) -> None:
    log, store = a_log(), MemoryStore()

    for number in range(shares):
        await fill(log, [store], Share(number, shares))

    assert seqs(store) == WHOLE
    assert log.decoded == EVENTS


async def test_what_cannot_be_applied_is_left_to_the_runtime_which_names_it() -> None:
    log = a_log()
    stream = StreamId.of_user("eve")
    log.streams[stream] = rows(stream, [created(text=POISON if number == 4 else "fine") for number in range(12)])
    store = MemoryStore(_cannot_bear_poison)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(filling, "PORTION", 3)
        await fill(log, [store])
    assert [seqs(store)[one] for one in STREAMS if one != stream] == [WHOLE[one] for one in STREAMS if one != stream]
    assert seqs(store)[stream] == [1, 2, 3], "nothing behind the event that was left out"

    await Projection(store, log).catch_up()
    assert {one: stop.seq for one, stop in (await store.stopped()).items()} == {stream: 5}


async def test_a_store_that_is_away_is_an_error_and_no_poison() -> None:
    calls = count(1)

    def applying(event: Recorded) -> None:
        if next(calls) == 5:
            raise Unreachable

    log, store = a_log(), MemoryStore(applying)

    with pytest.raises(Unreachable):
        await fill(log, [store])
    await fill(log, [store])

    assert seqs(store) == WHOLE


def _cannot_bear_poison(event: Recorded) -> None:
    if isinstance(event.payload, ContentEvent) and event.payload.text == POISON:
        raise ValueError("I cannot bear this")
