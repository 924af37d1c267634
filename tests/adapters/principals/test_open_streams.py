"""What is open ends as soon as a request like its own would be refused, although nothing happens in it."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager
from functools import partial
from pathlib import Path
from typing import Any

import httpx2
import pytest

from mnemolog import AsyncMemory
from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.http import watching
from mnemolog.adapters.http.server import serve
from mnemolog.adapters.operations.watching import watch
from mnemolog.domain.errors import Unauthenticated
from mnemolog.domain.principal import Role
from mnemolog.events.envelope import StreamId
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


@pytest.mark.parametrize("path", ["/v1/memories", "/v1/user/import?user_id=idle-ida", "/mcp"])
async def test_a_request_whose_key_is_revoked_before_its_body_ends_is_refused(guarded: Engine, path: str) -> None:
    key, secret = await guarded.api_keys.create(principal("slow", users=["idle-ida"], roles=[Role.ADMIN]))
    body = b'{"user_id": "idle-ida", "text": "Ida drinks coffee"}'

    async def pieces() -> AsyncGenerator[bytes, None]:
        yield body[:20]
        await guarded.api_keys.revoke(key.key_id)
        yield body[20:]

    headers = {"Authorization": f"Bearer {secret}", "Content-Type": "application/json", "Accept": "application/json"}
    before = await guarded.log.head(StreamId.of_user("idle-ida"))
    async with serve(guarded) as url, httpx2.AsyncClient(base_url=url, timeout=PATIENCE) as http:
        answer = await http.post(path, content=pieces(), headers=headers)

    assert (answer.status_code, answer.json()["error"]["code"]) == (401, "unauthenticated")
    assert await guarded.log.head(StreamId.of_user("idle-ida")) == before


async def test_an_object_whose_key_is_revoked_reads_writes_and_watches_no_more(tmp_path: Path) -> None:
    settings: Any = {"embedder": "lexical", "durable": False, "minds": "off"}
    async with AsyncMemory(tmp_path, **settings) as operator:
        engine = await operator._engine()
        key, secret = await engine.api_keys.create(principal("app", users=["ana"]))
        async with AsyncMemory(tmp_path, api_key=secret, user_id="ana", **settings) as memory:
            await memory.create("Ana drinks tea")
            watched = memory.watch(since=0)
            assert (await anext(watched)).event == "ADD"
            await engine.api_keys.revoke(key.key_id)

            calls = [memory.create("Ana drinks coffee"), memory.search("tea")]
            refused = await asyncio.gather(*calls, return_exceptions=True)
            await operator.create("Ana drinks water", user_id="ana")
            with pytest.raises(Unauthenticated):
                await anext(watched)

    assert [type(one) for one in refused] == [Unauthenticated] * 2
