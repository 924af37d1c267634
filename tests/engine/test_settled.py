"""Who waits in vain for an engine to settle learns what is missing."""

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

    assert (
        str(waited.value) == "not settled within 0.2 s: 3 appends wait for delivery, and no projection may lack events"
    )
