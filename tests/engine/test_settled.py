"""Who waits in vain for an engine to settle learns what is missing."""

import asyncio
from collections.abc import Mapping, Sequence

import pytest

from mnemolog.adapters.engine import settling
from mnemolog.adapters.engine.engine import Engine
from mnemolog.events.envelope import StreamId
from mnemolog.projections.projector import Lag
from tests.engine.person import Person


async def test_what_is_missing_is_said_when_the_engine_does_not_settle_in_time(
    engine: Engine, user: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await Person(engine, user).creates("Ana drinks tea")
    await engine.settled(60)

    async def waiting() -> int:
        return 3

    monkeypatch.setattr(engine.outbox, "size", waiting)
    with pytest.raises(TimeoutError) as waited:
        await engine.settled(0.2)

    assert str(waited.value) == "not settled within 0.2 s: 3 appends wait for delivery; events behind: none"


async def test_how_far_behind_each_projection_is_is_said(
    engine: Engine, user: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await Person(engine, user).creates("Ana drinks tea")
    await engine.settled(60)

    async def lacking(without: Sequence[str] = ()) -> Mapping[str, int]:
        return {"graph": 2, "history": 0}

    async def unsettled() -> bool:
        return False

    monkeypatch.setattr(engine.projections, "settled", unsettled)
    monkeypatch.setattr(engine.projections, "lag", lacking)
    with pytest.raises(TimeoutError, match=r"0 appends wait for delivery; events behind: graph \(2\)$"):
        await engine.settled(0.2)


async def test_who_waits_does_not_wait_for_what_others_append_meanwhile(engine: Engine, user: str) -> None:
    busy, mia = Person(engine, f"{user}-busy"), Person(engine, user)

    async def append() -> None:
        while True:
            await busy.creates("Ana drinks tea")

    appending = [asyncio.create_task(append()) for _ in range(4)]
    try:
        await asyncio.sleep(0.5)
        await mia.creates("Mia drinks coffee")
        head = await engine.log.head(mia.stream)
        await engine.settled(60)
        reached = [await store.progress(mia.stream) for store in engine.projections.stores.values()]
    finally:
        for task in appending:
            task.cancel()
        await asyncio.gather(*appending, return_exceptions=True)

    assert reached == [head] * len(reached)


async def test_a_projection_that_does_not_get_on_is_waited_for(
    engine: Engine, user: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    mia = Person(engine, user)
    await mia.creates("Mia drinks coffee")
    await engine.settled(60)
    monkeypatch.setattr(settling, "MOVING_SECONDS", 0.0)

    async def behind() -> Mapping[StreamId, Lag]:
        return {mia.stream: Lag(mia.stream, 1, 2)}

    monkeypatch.setattr(engine.projections.running["graph"], "behind", behind)
    with pytest.raises(TimeoutError, match="not settled"):
        await engine.settled(0.5)
