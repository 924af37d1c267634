"""API keys: who has none is not answered, and a key that no engine made opens nothing."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.export.exporting import lines
from mnemolog.adapters.http import export
from mnemolog.commands.writes.api_keys import FRESH_SECONDS
from mnemolog.domain.errors import NotFound, Unauthenticated
from mnemolog.domain.principal import Role
from mnemolog.events.access import API_KEYS
from tests.adapters.principals.keys import calling, calling_with, other_process, principal


async def test_without_any_key_this_machine_is_answered_and_no_other(engine: Engine, user: str) -> None:
    async with calling(engine, None) as near, calling(engine, None, host="192.0.2.7") as far:
        assert (await near.get("/v1/memories", params={"user_id": user})).status_code == 200
        refused = await far.get("/v1/memories", params={"user_id": user})
    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "not_permitted")


@pytest.mark.parametrize("header", ["Forwarded", "Via", "X-Forwarded-For", "X-Real-IP"])
async def test_without_any_key_whoever_comes_through_a_proxy_is_not_of_this_machine(
    engine: Engine, user: str, header: str
) -> None:
    async with calling(engine, None) as near:
        refused = await near.get("/v1/memories", params={"user_id": user}, headers={header: "192.0.2.7"})
    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "not_permitted")


@pytest.mark.parametrize("path", ["/v1/memories", "/metrics", "/no-such-page", "/health/"])
async def test_once_there_is_a_key_every_request_but_for_the_open_ones_needs_one(guarded: Engine, path: str) -> None:
    async with calling(guarded, principal()) as known, calling(guarded, None) as stranger:
        assert (await known.get(path)).status_code in (200, 404, 422)
        refused = await stranger.get(path, params={"user_id": "ana"})
        assert (refused.status_code, refused.json()["error"]["code"]) == (401, "unauthenticated")
        assert refused.headers["WWW-Authenticate"] == "Bearer"
        for open_to_all in ("/health", "/docs", "/openapi.json"):
            assert (await stranger.get(open_to_all)).status_code == 200


async def test_an_unknown_key_is_refused(guarded: Engine) -> None:
    key, text = await guarded.api_keys.create(principal())
    assert await guarded.api_keys.principal(text) == principal()
    wrong = [
        text[:-1] + ("A" if text[-1] != "A" else "B"),
        text[:-1],
        text + "A",
        text.replace(key.key_id, "0" * 16),
        text.replace("mnk", "mnx"),
        f"mnk_{key.key_id}_",
        "mnk__",
        "",
        "ü" * 80,
        "x" * 100_000,
    ]
    for one in wrong:
        with pytest.raises(Unauthenticated):
            await guarded.api_keys.principal(one)
    async with calling_with(guarded, wrong[0]) as client:
        assert (await client.get("/v1/memories", params={"user_id": "ana"})).status_code == 401


async def test_a_revoked_key_opens_nothing_within_a_second_wherever_it_was_used(guarded: Engine) -> None:
    elsewhere = other_process(guarded)
    key, text = await guarded.api_keys.create(principal())
    assert await elsewhere.principal(text) == principal()
    revoked = await guarded.api_keys.revoke(key.key_id)
    with pytest.raises(Unauthenticated):
        await guarded.api_keys.principal(text)
    assert FRESH_SECONDS < 1
    await asyncio.sleep(FRESH_SECONDS + 0.05)
    with pytest.raises(Unauthenticated):
        await elsewhere.principal(text)
    assert await guarded.api_keys.revoke(key.key_id) == revoked, "once more changes nothing"
    with pytest.raises(NotFound):
        await guarded.api_keys.revoke("no-such-key")


async def test_the_database_contains_no_secret(guarded: Engine) -> None:
    key, text = await guarded.api_keys.create(principal())
    secret = text.split("_", 2)[2]
    events = [event async for batch in guarded.log.scan(API_KEYS) for event in batch]
    stood = [event.data.decode() for event in events if key.key_id in event.data.decode()]
    assert stood
    assert not [data for data in stood if secret in data or secret.encode().hex() in data]
    assert secret not in repr(key)


async def test_a_key_that_another_process_has_just_made_is_known(
    guarded: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = other_process(guarded)
    monkeypatch.setattr(here, "_clock", lambda: 0.0)
    await here.list()
    _, text = await guarded.api_keys.create(principal("newcomer"))
    assert (await here.principal(text)).name == "newcomer"
    with pytest.raises(Unauthenticated):
        await here.principal("mnk_0123456789abcdef_secret")


async def test_an_export_ends_with_its_key(guarded: Engine, user: str, monkeypatch: pytest.MonkeyPatch) -> None:
    key, text = await guarded.api_keys.create(principal("leaver", users=[user], roles=[Role.ADMIN]))
    await guarded.writes.create({"user_id": user, "text": "Drinks tea"})

    async def read_slowly(*of: Any) -> AsyncIterator[tuple[int, bytes]]:
        async for part in lines(*of):
            yield part
            await guarded.api_keys.revoke(key.key_id)

    monkeypatch.setattr(export, "lines", read_slowly)
    async with calling_with(guarded, text) as leaver:
        answer = await leaver.get("/v1/user/export", params={"user_id": user})

    head, last = map(json.loads, answer.content.splitlines())
    assert head["events"] == 1
    assert last["error"]["code"] == "unauthenticated"
