"""Waits for what nobody tells of: another process or a server does it when it gets round to it."""

import asyncio
import time
from collections.abc import Awaitable, Callable

from tests.testkit.settings import PATIENCE


async def eventually(reached: Callable[[], Awaitable[bool]], seconds: float = PATIENCE) -> None:
    """Return once it is so; TimeoutError when it is not within the seconds, which a busy machine may need."""
    began = time.monotonic()
    async with asyncio.timeout(seconds):
        while not await reached():  # noqa: ASYNC110
            # Each look takes processor time from what it waits for.
            await asyncio.sleep(min(0.25, max(0.02, (time.monotonic() - began) / 10)))
