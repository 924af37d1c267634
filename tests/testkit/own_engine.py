"""An engine for one file of tests alone, by importing `own_engine` there: its log holds what these tests wrote.

For tests that go through the whole log, such as rebuilds: on the shared engine that is what every test wrote.
"""

from collections.abc import AsyncIterator

import pytest

from mnemolog.adapters.engine.engine import Engine, open_engine
from tests.testkit.settings import settings_in


@pytest.fixture(scope="module", name="engine")
async def own_engine(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Engine]:
    async with open_engine(settings_in(tmp_path_factory.mktemp("own"))) as opened:
        yield opened
