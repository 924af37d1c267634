"""Servers that cannot be reached become one error that names the setting."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Literal

from mnemolog.adapters.embedded.servers import without_secrets
from mnemolog.adapters.unreachable import UNREACHABLE
from mnemolog.domain.errors import ServerFailed

SECONDS = 15.0


@asynccontextmanager
async def reaching(name: Literal["postgres", "nats", "redis"], url: str) -> AsyncIterator[None]:
    """ServerFailed when what happens inside cannot reach the server, or waits for it too long."""
    try:
        async with asyncio.timeout(SECONDS):
            yield
    except UNREACHABLE as error:
        raise ServerFailed(
            f"{name} at {without_secrets(url)} does not answer ({type(error).__name__})",
            field=f"{name}_url",
            fix="see that it runs and that the address, user and password are right",
        ) from error
