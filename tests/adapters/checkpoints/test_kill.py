"""A process that is killed while it saves has lost nothing that it was told is saved (B15)."""

import asyncio
import os

import pytest

from mnemolog.adapters.engine.engine import Engine
from mnemolog.langgraph import MnemologSaver
from tests.adapters.checkpoints.saving_process import state
from tests.testkit import warm
from tests.testkit.checkpoints import config, saved, values


@pytest.mark.spec("B15")
async def test_what_was_saved_before_a_kill_is_there_and_the_thread_goes_on(
    engine: Engine, saver: MnemologSaver, user: str
) -> None:
    told = 0
    for _ in range(3):
        process = await warm.spawn(
            *("-m", "tests.adapters.checkpoints.saving_process"),
            *(str(engine.settings.directory), user),
            stdout=asyncio.subprocess.PIPE,
            env={**os.environ, "MNEMOLOG_ENGINE": "background"},
        )
        assert process.stdout is not None
        for _ in range(25):
            told = int(await process.stdout.readline())
        process.kill()
        rest = (await process.stdout.read()).split()
        await process.wait()
        told = int(rest[-1]) if rest else told

        found = await saver.aget_tuple(config())
        assert found is not None
        newest = found.metadata["step"]
        assert newest in (told, told + 1), "it may have been killed before it said so"
        assert found.checkpoint["channel_values"] == {"state": [state(newest)]}
        if newest == told:
            assert found.pending_writes == [("task", "state", told)]
        await saver.adelete_thread("main")

    await saved(saver, of="who goes on")
    assert await values(saver) == {"of": "who goes on"}
