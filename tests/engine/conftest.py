"""A model endpoint for the tests of what asks a model."""

from collections.abc import AsyncIterator

import pytest

from tests.testkit.model_server import ModelServer, model_server


@pytest.fixture(scope="module")
async def server() -> AsyncIterator[ModelServer]:
    async with model_server() as one:
        yield one
