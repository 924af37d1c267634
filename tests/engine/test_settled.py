"""Who waits in vain for an engine to settle learns what is missing."""

from collections.abc import Mapping, Sequence

import pytest

from mnemolog.adapters.engine.engine import Engine
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
