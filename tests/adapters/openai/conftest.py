"""A server that speaks OpenAI's API, and a tenant of its own for each test."""

from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.openai import client as calling
from mnemolog.adapters.openai.budget import TokenBudget
from mnemolog.adapters.openai.client import ModelClient
from mnemolog.adapters.openai.endpoint import Endpoint
from mnemolog.adapters.postgres.pool import Pool, open_pool
from tests.testkit.model_server import ModelServer, model_server

Clients = Callable[..., ModelClient]


@pytest.fixture
async def server() -> AsyncIterator[ModelServer]:
    async with model_server() as opened:
        yield opened


@pytest.fixture
async def clients(server: ModelServer, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Clients]:
    """Makes clients of the server, which wait for a moment only before they try again."""
    monkeypatch.setattr(calling, "FIRST_DELAY_SECONDS", 0.01)
    made: list[ModelClient] = []
    plain = Endpoint(
        feature="chat",
        model="m-1",
        url=server.url,
        api_key="sk-secret",
        url_setting="model_url",
        key_setting="model_api_key",
        timeout=10.0,
        retries=3,
    )

    def client(**changed: object) -> ModelClient:
        made.append(ModelClient(replace(plain, **changed)))  # type: ignore[arg-type]
        return made[-1]

    yield client
    for one in made:
        await one.aclose()


@pytest.fixture(scope="session")
async def pool(engine: Engine) -> AsyncIterator[Pool]:
    opened = await open_pool(engine.endpoints.postgres_dsn, size=5)
    yield opened
    await opened.close()


@pytest.fixture
def budget(pool: Pool) -> TokenBudget:
    """Without a limit."""
    return TokenBudget(pool, lambda: datetime.now(UTC), 0)


@pytest.fixture
def tenant(user: str) -> str:
    return f"t.{user}"
