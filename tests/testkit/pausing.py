"""Pauses of projections, once this process has noticed them: its workers look every second."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from unittest.mock import patch

from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.projecting.workers import Sweeper
from tests.testkit.settings import PATIENCE


@asynccontextmanager
async def noticed(engine: Engine, *names: str) -> AsyncIterator[None]:
    """Ends once the workers of the engine have noticed that these projections were paused inside."""
    awaited, none_left = {id(engine.projections.running[name]) for name in names}, asyncio.Event()
    set_paused = Sweeper.set_paused

    def noticing(sweeper: Sweeper, paused: bool) -> None:
        set_paused(sweeper, paused)
        if paused:
            awaited.discard(id(sweeper.projection))
        if not awaited:
            none_left.set()

    with patch.object(Sweeper, "set_paused", noticing):
        yield
        async with asyncio.timeout(PATIENCE):
            await none_left.wait()
