"""Savers on one engine, and what they save."""

from collections.abc import AsyncIterator

import pytest

from mnemolog import AsyncMemory
from mnemolog.adapters.engine.engine import Engine
from mnemolog.langgraph import MnemologSaver


@pytest.fixture
async def memory(engine: Engine) -> AsyncIterator[AsyncMemory]:
    """Attached to the engine of all tests."""
    async with AsyncMemory(engine.settings.directory, durable=False, embedder="lexical") as opened:
        yield opened


@pytest.fixture
def saver(memory: AsyncMemory, user: str) -> MnemologSaver:
    return MnemologSaver(memory, user_id=user)
