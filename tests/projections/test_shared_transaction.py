"""Projections that share a database share a transaction, until one of them meets anything out of the ordinary."""

from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import AbstractAsyncContextManager
from functools import partial

import pytest

from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.postgres.log import PostgresLog
from mnemolog.adapters.postgres.statements import Ask
from mnemolog.adapters.postgres.store import PostgresStore, sessions
from mnemolog.events.envelope import Recorded, StoredEvent, StreamId
from mnemolog.events.log import EventLog
from mnemolog.projections.projector import Stop
from mnemolog.projections.runtime import Projection
from mnemolog.projections.shared_transaction import Opened, SharedTransaction
from tests.engine.person import Person
from tests.projections.test_runtime import Seen, stored


class Counting:
    """A log that counts how often it is asked to decode."""

    def __init__(self, log: PostgresLog) -> None:
        self._log, self.decoded = log, 0

    def __getattr__(self, name: str) -> object:
        return getattr(self._log, name)

    async def decode(self, events: Sequence[StoredEvent], shapes: Collection[str] = ()) -> Sequence[Recorded]:
        self.decoded += 1
        return await self._log.decode(events, shapes)

    async def decode_beside(self, ask: Ask, events: Sequence[StoredEvent]) -> Sequence[Recorded]:
        self.decoded += 1
        return await self._log.decode_beside(ask, events)


class Pair:
    """Two projections of their own on the engine's Postgres."""

    def __init__(self, engine: Engine) -> None:
        self.log = Counting(engine.log)
        self.seen = (Seen(), Seen())
        self.stores = [PostgresStore(engine.projections.live, one) for one in self.seen]
        log: EventLog = self.log  # type: ignore[assignment]
        self.projections = [Projection(store, log) for store in self.stores]
        self._together = SharedTransaction(self._opened)

    async def deliver(self, events: Sequence[StoredEvent]) -> None:
        await self._together.deliver(self.projections, events)

    def _opened(
        self, projections: Sequence[Projection], streams: Sequence[StreamId], events: Sequence[StoredEvent]
    ) -> AbstractAsyncContextManager[Opened]:
        by_name = {store.name: store for store in self.stores}
        decoding = partial(self.log.decode_beside, events=events)
        return sessions([by_name[one.name] for one in projections], streams, decoding)


@pytest.fixture
async def pair(engine: Engine) -> AsyncIterator[Pair]:
    pair = Pair(engine)
    for store in pair.stores:
        await store.create()
    yield pair
    for store in pair.stores:
        await store.drop()


@pytest.mark.spec("X09")
async def test_a_delivery_is_decoded_once_and_applied_once_by_each(engine: Engine, user: str, pair: Pair) -> None:
    ana = Person(engine, user)
    for number in range(3):
        await ana.creates(f"Ana drinks tea number {number}", kind="episode")
    events = await stored(engine, ana)

    await pair.deliver(events[:1])
    pair.log.decoded = 0
    await pair.deliver(events[1:])
    assert pair.log.decoded == 1
    await pair.deliver(events)

    for seen, store in zip(pair.seen, pair.stores, strict=True):
        assert seen.seqs == [(user, 1), (user, 2), (user, 3)]
        assert await store.progress(ana.stream) == 3


@pytest.mark.spec("X09")
async def test_poison_for_one_of_them_stops_that_one_alone(engine: Engine, user: str, pair: Pair) -> None:
    ana = Person(engine, user)
    tea = await ana.creates("Ana drinks tea", kind="episode")
    await ana.deletes(tea)
    await ana.restores(tea)
    pair.seen[1].poisoned = True

    await pair.deliver(await stored(engine, ana))

    assert [await store.progress(ana.stream) for store in pair.stores] == [3, 1]
    assert await pair.stores[0].stopped() == {}
    assert await pair.stores[1].stopped() == {ana.stream: Stop(2, "ValueError: deletions are not understood")}
    await ana.creates("Ana has a cat", kind="episode")
    await pair.deliver((await stored(engine, ana))[3:])
    assert [await store.progress(ana.stream) for store in pair.stores] == [4, 1]


@pytest.mark.spec("X09")
async def test_a_gap_in_one_of_them_is_healed_from_the_log(engine: Engine, user: str, pair: Pair) -> None:
    ana = Person(engine, user)
    for number in range(3):
        await ana.creates(f"Ana drinks tea number {number}", kind="episode")
    first, _lost, third = await stored(engine, ana)
    await pair.projections[0].deliver([first, _lost])

    await pair.deliver([third])

    assert [await store.progress(ana.stream) for store in pair.stores] == [3, 3]
