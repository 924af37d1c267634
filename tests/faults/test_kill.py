"""Kill -9 of the engine or of any server in the middle of an ingest: no turn lost, none doubled, live = rebuilt."""

import asyncio
import json
import logging
import os
import random
import signal
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from mnemolog.adapters.config import load
from mnemolog.adapters.engine.engine import Engine, open_engine
from mnemolog.events.conversation import TurnRecorded
from mnemolog.events.envelope import StreamId
from tests.testkit import warm

pytestmark = pytest.mark.faults

_logger = logging.getLogger(__name__)

TURNS = 750
USERS = ("ana", "ben", "chloé")


def conversations(path: Path) -> Path:
    """A file of turns of several users, each with ids of its own."""
    with path.open("w", encoding="utf-8") as file:
        for number in range(TURNS):
            turn = {
                "message_id": f"turn-{number}",
                "user_id": USERS[number % len(USERS)],
                "speaker": ("Ana", "Ben")[number % 2],
                "text": f"The number of this turn is {number}, and it is about topic {number % 7}",
                "occurred_at": f"2026-03-01T10:{number // 60 % 60:02}:{number % 60:02}Z",
            }
            file.write(json.dumps(turn) + "\n")
    return path


class IngestRun:
    """The ingest process, watched line by line."""

    def __init__(self, process: warm.Process) -> None:
        self.process = process
        self.pids: dict[str, int] = {}
        self.taken = 0

    @classmethod
    async def start(cls, data_dir: Path, path: Path) -> "IngestRun":
        run = cls(
            await warm.spawn(
                *("-m", "tests.faults.ingest_process", str(data_dir), str(path)),
                stdout=asyncio.subprocess.PIPE,
            )
        )
        await run.until(lambda: bool(run.pids))
        return run

    async def until(self, reached: Callable[[], bool]) -> None:
        """Read on until something is reached, or the process ends."""
        assert self.process.stdout
        while not reached():
            word, _, rest = (await self.process.stdout.readline()).decode().strip().partition(" ")
            if word == "pids":
                self.pids = {**json.loads(rest), "engine": self.process.pid}
            elif word == "taken":
                self.taken = int(rest)
            else:
                return

    async def finish(self) -> int:
        await self.until(lambda: False)
        return await self.process.wait()


@pytest.mark.spec("X01", "X09", "X14")
@pytest.mark.parametrize("victim", ["engine", "postgres", "nats", "redis"])
async def test_a_kill_during_an_ingest_loses_and_doubles_nothing(victim: str, tmp_path: Path) -> None:
    path = conversations(tmp_path / "turns.jsonl")
    moment = random.randrange(1, TURNS)
    _logger.warning("killing %s after %d receipts", victim, moment)
    run = await IngestRun.start(tmp_path / "data", path)
    await run.until(lambda: run.taken >= moment)
    os.kill(run.pids[victim], signal.SIGKILL)
    code = await run.finish()
    if victim == "engine":
        assert code == -signal.SIGKILL
        code = await (await IngestRun.start(tmp_path / "data", path)).finish()
    assert code == 0, f"killed {victim} after {moment} receipts"
    settings = load(data_dir=tmp_path / "data", durable=False, embedder="lexical", http_port=0)
    async with open_engine(settings) as engine:
        await engine.settled()
        await assert_each_turn_once(engine)
        for rebuilt in await engine.projections.rebuild_all():
            differ = f"{rebuilt.name} differs after a kill of {victim} at {moment}: {rebuilt.differences}"
            assert rebuilt.equal, differ


async def assert_each_turn_once(engine: Engine) -> None:
    recorded: Counter[str] = Counter()
    for user in USERS:
        events = await engine.log.read(StreamId.of_user(user))
        assert [event.seq for event in events] == list(range(1, len(events) + 1))
        recorded.update(event.payload.turn_id for event in events if isinstance(event.payload, TurnRecorded))
    assert recorded == Counter({f"turn-{number}": 1 for number in range(TURNS)})
