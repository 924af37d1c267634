"""What many tests share: one engine on real servers for the whole run, and a user of its own for each test."""

import gc
import os
from collections.abc import AsyncIterator, Iterator
from itertools import count

import pytest

from mnemolog.adapters.engine.engine import Engine, open_engine
from tests.testkit.examples import register
from tests.testkit.settings import settings_in

register()
gc.disable()  # Until all tests are collected: what is imported stays.
# Tests run their engines themselves, unless they are about the one in the background.
os.environ["MNEMOLOG_ENGINE"] = "in-process"
_users: Iterator[int] = count(1)


def pytest_collection_finish() -> None:
    """From here on, no collection of garbage walks through all modules and tests."""
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session")
async def engine(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Engine]:
    """An engine with embedded servers and the lexical embedder; each test uses users of its own."""
    async with open_engine(settings_in(tmp_path_factory.mktemp("engine"))) as opened:
        yield opened


@pytest.fixture(scope="session")
async def guarded(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Engine]:
    """An engine for tests that make API keys: after the first, it answers nobody who has none."""
    async with open_engine(settings_in(tmp_path_factory.mktemp("guarded"))) as opened:
        yield opened


@pytest.fixture
def user() -> str:
    """A user id that no other test uses."""
    return f"user-{next(_users)}"
