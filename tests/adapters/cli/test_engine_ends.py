"""A command that uses the engine of another process says so when that one ends, and what to do."""

import asyncio
import os
import signal
from pathlib import Path

import pytest

from mnemolog.adapters.cli.session import _used
from mnemolog.adapters.config import load
from mnemolog.adapters.engine.engine import Engine
from mnemolog.domain.errors import EngineEnded
from tests.faults.deployment import deployed


async def test_a_command_whose_engine_is_killed_ends_with_what_to_do_and_the_next_one_works(tmp_path: Path) -> None:
    """The engine's servers live on, so nothing else would tell it."""
    settings = load(data_dir=tmp_path / "data", durable=False, embedder="lexical", http_port=0)
    async with deployed(tmp_path / "data") as deployment:
        pid = deployment.engine.endpoints.pid
        await deployment.engine.writes.create({"user_id": "ana", "text": "Ana drinks tea"})

        async def waits(engine: Engine) -> None:
            assert engine.attached
            os.kill(pid, signal.SIGKILL)
            await asyncio.Event().wait()

        with pytest.raises(EngineEnded, match=f"pid {pid}") as caught:
            await _used(settings, waits, attach=True, passive=False)
        assert "run the command again" in caught.value.fix

        async def reads(engine: Engine) -> int:
            return sum((await engine.log.counts()).values())

        assert await _used(settings, reads, attach=True, passive=False) == 1
