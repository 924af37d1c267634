"""A client of the API, without a network, and short words for what most tests do."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.http.app import create_app

Json = dict[str, Any]


@dataclass(frozen=True)
class Api:
    """One user's view of the API."""

    http: httpx.AsyncClient
    user: str

    async def call(self, method: str, path: str, status: int = 200, **options: Any) -> Json:
        """The body of an answer that must have this status."""
        response = await self.http.request(method, path, **options)
        assert response.status_code == status, response.text
        body: Json = response.json()
        return body

    async def get(self, path: str, status: int = 200, **params: Any) -> Json:
        return await self.call("GET", path, status, params={"user_id": self.user, **params})

    async def post(self, path: str, status: int = 200, key: str | None = None, **body: Any) -> Json:
        headers = {"Idempotency-Key": key} if key is not None else {}
        return await self.call("POST", path, status, json={"user_id": self.user, **body}, headers=headers)

    async def patch(self, path: str, status: int = 200, **body: Any) -> Json:
        return await self.call("PATCH", path, status, json={"user_id": self.user, **body})

    async def delete(self, path: str, status: int = 200, **params: Any) -> Json:
        return await self.call("DELETE", path, status, params={"user_id": self.user, **params})

    async def remember(self, text: str, **fields: Any) -> Json:
        return await self.post("/v1/memories", 201, text=text, **fields)

    async def query(
        self, query: str, status: int = 200, params: Json | None = None, returns: str = "bullets", **fields: Any
    ) -> Json:
        return await self.post("/v1/search", status, query=query, **{"return": returns}, **(params or {}), **fields)

    def of(self, user: str) -> "Api":
        return Api(self.http, user)


@pytest.fixture(scope="session")
async def http(engine: Engine) -> AsyncIterator[httpx.AsyncClient]:
    # As behind a server: what a route raises unforeseen becomes an answer.
    transport = httpx.ASGITransport(create_app(engine), raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
        yield client


@pytest.fixture
def api(http: httpx.AsyncClient, user: str) -> Api:
    return Api(http, user)
