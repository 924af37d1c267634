"""A short run of the fault harness; and that it notices engines that lose, double or forget."""

import logging
import secrets
from pathlib import Path

import pytest

from tests.faults.plan import Round, plan
from tests.faults.run import Outcome, run

pytestmark = pytest.mark.faults

_logger = logging.getLogger(__name__)

# Run in the engine's process before it starts. Each breaks one promise.
SWALLOWS_APPENDS = """
from mnemolog.adapters.postgres.log import PostgresLog
from mnemolog.events.envelope import Receipt
honest, count = PostgresLog.append, 0
async def append(self, appends, *rest, **more):
    global count
    count += 1
    if count % 5 == 0:
        return [Receipt(one.stream, tuple(e.event_id for e in one.events), 1, len(one.events)) for one in appends]
    return await honest(self, appends, *rest, **more)
PostgresLog.append = append
"""
APPLIES_TWICE = """
from mnemolog.projections.changes.projector import ChangesProjector
honest = ChangesProjector.apply
async def apply(self, connection, events):
    await honest(self, connection, events)
    await honest(self, connection, events[-1:])
ChangesProjector.apply = apply
"""
DROPS_THE_OUTBOX = """
from mnemolog.adapters.engine import delivery
from mnemolog.adapters.projecting import workers
from mnemolog.adapters.nats.relay import Relay
workers.SWEEP_SECONDS = 10**6
delivery._delivered = lambda workers, events: None  # Nor are its own events handed to its workers.
async def publish(self, *what):
    pass
Relay._publish = publish
"""


@pytest.mark.spec("X01", "X09", "X14")
@pytest.mark.parametrize("seed", [3, secrets.randbelow(2**32)], ids=["fixed", "random"])
async def test_faults_under_load_lose_and_double_nothing(seed: int, tmp_path: Path) -> None:
    outcome = await run(seed, plan(seed, 3), tmp_path / "data")

    assert outcome.good, f"python -m tests.faults.run --rounds 3 --seed {seed}: {outcome.faults()}"
    assert outcome.acknowledged > 100


@pytest.mark.parametrize(
    ("sabotage", "kind"),
    [
        (SWALLOWS_APPENDS, "lost"),
        (APPLIES_TWICE, "diverged"),
        (DROPS_THE_OUTBOX, "stuck"),
    ],
    ids=["swallows appends", "applies twice", "drops the outbox"],
)
async def test_an_engine_that_breaks_a_promise_is_found(
    sabotage: str, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.faults.run.SETTLE_SECONDS", 5.0)

    outcome: Outcome = await run(1, [Round(1, 1, "nothing", 0.5)], tmp_path / "data", sabotage=sabotage)

    found = getattr(outcome, kind)
    assert found, outcome.as_dict()
    assert kind != "stuck" or "outbox 0" in found[0], "delivered in name only, and behind"
