"""The doctor: what lags and goes on is well, what lags and stands is not."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from mnemolog.adapters.cli import doctor
from mnemolog.adapters.cli.doctor import watched
from mnemolog.adapters.config import load
from mnemolog.adapters.engine.engine import open_engine
from tests.engine.person import Person


def looks(*seen: int) -> Iterator[int]:
    yield from seen
    while True:
        yield seen[-1]


@pytest.mark.parametrize(
    ("seen", "well", "course"),
    [
        ((0,), True, ""),
        ((77, 77, 12), True, ", 65 fewer than before"),
        ((77, 90, 80), True, ", 10 fewer than before"),
        ((77, 0), True, ""),
        ((77,), False, ", no fewer after 15 s"),
        ((77, 78), False, ", no fewer after 15 s"),
    ],
)
async def test_a_lag_is_well_when_it_shrinks(
    seen: tuple[int, ...], well: bool, course: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "LOOK_SECONDS", 0.001)
    found = looks(*seen)

    async def look() -> int:
        return next(found)

    lag = await watched(look, patience=60 if well else 0.05)

    assert (lag.well, lag.course) == (well, course)


async def test_events_that_nobody_applies_are_no_good_health(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "PATIENCE", 0.3)
    settings = load(data_dir=tmp_path, durable=False, embedder="lexical", http_port=0, recall_seconds=0)
    async with open_engine(settings, passive=True) as engine:  # Its servers, and nothing that runs.
        await Person(engine, "ana").says("I moved to Lisbon")

        found = {finding.part: finding async for finding in doctor._running(engine)}

    assert not found["memories"].good
    assert "no fewer" in found["memories"].found
    assert "mnemolog projection status" in found["memories"].fix
    assert not found["relay"].good
    assert found["log"].good
