"""Waits for what nobody tells of: another process or a server does it when it gets round to it."""

import asyncio
from collections.abc import Awaitable, Callable

from tests.testkit.settings import PATIENCE


async def eventually(reached: Callable[[], Awaitable[bool]], seconds: float = PATIENCE) -> None:
    """Return once it is so; TimeoutError when it is not within the seconds, which a busy machine may need."""
    async with asyncio.timeout(seconds):
        while not await reached():  # noqa: ASYNC110
            await asyncio.sleep(0.02)
