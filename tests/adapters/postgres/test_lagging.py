"""What a projection lacks is found by sums and one join, in batches, and never counts what was set aside."""

from collections.abc import AsyncIterator, Sequence
from unittest.mock import patch

import pytest
from sqlalchemy import MetaData
from sqlalchemy.ext.asyncio import AsyncConnection

from mnemolog.adapters.engine.engine import Engine, now
from mnemolog.adapters.postgres import lagging
from mnemolog.adapters.postgres.pauses import Pause
from mnemolog.adapters.postgres.store import PostgresStore
from mnemolog.events.envelope import Position, Recorded, StreamId
from mnemolog.events.event import Event
from mnemolog.projections.kinds import Kinds
from mnemolog.projections.runtime import Projection
from tests.engine.person import Person
from tests.testkit.own_engine import own_engine  # noqa: F401  Jobs for the users of other tests append, too.
from tests.testkit.pausing import noticed


class Nothing:
    """A projector without tables."""

    name = "nothing"
    version = 1
    readable_from = 1
    variant = ""
    kinds = Kinds(Event)
    tables = MetaData(schema=name)

    async def apply(self, connection: AsyncConnection, events: Sequence[Recorded]) -> None:
        """Keeps progress only."""


@pytest.fixture
async def projection(engine: Engine) -> AsyncIterator[Projection]:
    """One that has applied everything there is."""
    store = PostgresStore(engine.projections.live, Nothing())
    await store.create()
    projection = Projection(store, engine.log)
    await projection.catch_up()
    yield projection
    await store.drop()


# Alike in nothing: what is near to something becomes linked to it, once that is visible.
SAID = ("Ana drinks green tea", "The dentist comes on Monday", "Bruno plays chess in Lisbon")


async def written(engine: Engine, user: str, *counts: int) -> dict[StreamId, int]:
    """New streams with so many events each."""
    people = [Person(engine, f"{user}-{number}") for number in range(len(counts))]
    for ana, count in zip(people, counts, strict=True):
        for text in SAID[:count]:
            await ana.creates(text)
    return {ana.stream: count for ana, count in zip(people, counts, strict=True)}


async def test_what_lags_comes_back_in_batches_and_nothing_else(
    engine: Engine, user: str, projection: Projection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lagging, "BATCH", 2)
    assert not await projection.lags()
    new = await written(engine, user, 1, 2, 1, 1, 3)

    batches = [batch async for batch in projection.lagging()]

    assert [len(batch) for batch in batches] == [2, 2, 1]
    assert {one.stream: one.events for batch in batches for one in batch} == new
    assert (await projection.lags(), await projection.lag()) == (True, 8)


async def test_a_stopped_stream_does_not_lag_and_hides_no_other(
    engine: Engine, user: str, projection: Projection
) -> None:
    first, second = await written(engine, user, 2, 1)
    await projection.store.stop(first, 1, "ValueError: made up")

    assert set(await projection.behind()) == {second}
    await projection.catch_up()

    assert not await projection.lags()
    await projection.store.resume()
    assert await projection.lag() == 2


async def test_the_age_is_that_of_the_oldest_event_that_is_not_applied(
    engine: Engine, user: str, projection: Projection
) -> None:
    before = now()
    new = await written(engine, user, 2, 1)
    [first, *_] = [event async for batch in engine.log.scan(next(iter(new))) for event in batch]

    oldest = await lagging.oldest(engine.projections.live, [Position(stream, 1) for stream in new])

    assert oldest == first.header.recorded_at
    assert before <= oldest


async def test_one_statement_tells_how_far_all_projections_are_behind(engine: Engine, user: str) -> None:
    projections, behind, asked = engine.projections, ("memories", "history", "graph"), list[str]()
    [first, second] = await written(engine, user, 1, 1)
    await engine.settled()
    async with noticed(engine, *behind):
        for name in behind:
            await projections.pause(name, Pause(now(), "tests"))
    lag = Projection.lag

    async def asking(projection: Projection) -> int:
        asked.append(projection.name)
        return await lag(projection)

    try:
        await Person(engine, first.name.removeprefix("user:")).creates("Ana moved to Porto")
        await projections.stores["graph"].stop(second, 2, "ValueError: made up")
        await Person(engine, second.name.removeprefix("user:")).creates("Ana plays the cello")
        missing = {name: await projections.running[name].lag() for name in behind}
        with patch.object(Projection, "lag", asking):
            found, without = await projections.lag(), await projections.lag([*behind, "vectors"])
    finally:
        await projections.stores["graph"].resume()
        for name in behind:
            await projections.resume(name)

    assert {name: found[name] for name in behind} == missing
    assert missing["memories"] > missing["graph"] > 0
    assert asked == ["graph", "working", "working"]
    assert without.keys() == projections.running.keys() - {*behind, "vectors"}
    assert await projections.lag(projections.running) == {}
