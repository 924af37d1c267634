"""A stream that is open ends as soon as a request like its own would be refused, although nothing happens in it."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager
from functools import partial

import httpx2
import pytest

from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.http import watching
from mnemolog.adapters.http.server import serve
from mnemolog.adapters.operations.watching import watch
from mnemolog.domain.principal import Role
from tests.adapters.principals.keys import other_process, principal
from tests.testkit.settings import PATIENCE

WATCHED = {"user_id": "idle-ida"}


@pytest.fixture(autouse=True)
def no_heartbeat(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "watch", partial(watch, heartbeat=10 * PATIENCE))


async def test_an_idle_stream_ends_with_its_key_and_one_without_with_the_first_key(guarded: Engine) -> None:
    keys = other_process(guarded)
    async with serve(guarded) as url, httpx2.AsyncClient(base_url=url, timeout=PATIENCE) as http:
        async with http.stream("GET", "/v1/changes/stream", params=WATCHED) as answer:
            frames = _frames(answer)
            assert "event: ready" in await _next(frames)
            key, secret = await keys.create(principal("idle", users=["idle-ida"], roles=[Role.READ]))
            assert '"unauthenticated"' in await _next(frames)

        _, other = await guarded.api_keys.create(principal("busy", users=["idle-ida"], roles=[Role.READ]))
        async with _with_key(http, secret) as answer, _with_key(http, other) as kept:
            frames, theirs = _frames(answer), _frames(kept)
            assert "event: ready" in await _next(frames)
            assert "event: ready" in await _next(theirs)
            await keys.revoke(key.key_id)
            assert '"unauthenticated"' in await _next(frames)
            await guarded.writes.create({**WATCHED, "text": "Ida drinks tea"})
            assert "event: change" in await _next(theirs)


def _with_key(http: httpx2.AsyncClient, secret: str) -> AbstractAsyncContextManager[httpx2.Response]:
    headers = {"Authorization": f"Bearer {secret}"}
    return http.stream("GET", "/v1/changes/stream", params=WATCHED, headers=headers)


async def _frames(answer: httpx2.Response) -> AsyncGenerator[str, None]:
    text = ""
    async for piece in answer.aiter_text():
        text += piece
        while "\n\n" in text:
            frame, _, text = text.partition("\n\n")
            yield frame


async def _next(frames: AsyncGenerator[str, None]) -> str:
    async with asyncio.timeout(PATIENCE / 2):
        return await anext(frames)
