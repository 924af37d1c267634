"""Without an API key the HTTP API asks for the token that lies in the data directory."""

import stat
from copy import copy
from pathlib import Path

import pytest

from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.http.local_token import local_token, token_file
from mnemolog.domain.errors import EngineError
from tests.adapters.principals.keys import calling, calling_with, principal
from tests.testkit.settings import settings_in


def with_token(engine: Engine) -> tuple[Engine, str]:
    """The engine as it is unless a setting turns the token off, and the token."""
    asking = copy(engine)
    asking.settings = engine.settings.model_copy(update={"http_token": "on"})
    token = local_token(asking.settings)
    assert token
    return asking, token


def test_the_token_is_made_once_and_for_its_owner_alone(tmp_path: Path) -> None:
    settings = settings_in(tmp_path / "new", http_token="on")

    token = local_token(settings)

    assert stat.S_IMODE(token_file(settings).stat().st_mode) == 0o600
    assert token == token_file(settings).read_text().strip()
    assert local_token(settings) == token
    assert local_token(settings_in(tmp_path / "other", http_token="on")) != token


def test_no_token_is_made_where_it_is_turned_off(tmp_path: Path) -> None:
    settings = settings_in(tmp_path, http_token="off")

    assert local_token(settings) is None
    assert not token_file(settings).exists()


def test_a_file_without_a_token_is_an_error_and_admits_nobody(tmp_path: Path) -> None:
    settings = settings_in(tmp_path, http_token="on")
    token_file(settings).write_text("\n")

    with pytest.raises(EngineError) as refused:
        local_token(settings)

    assert refused.value.field == "http_token"


async def test_who_does_not_send_the_token_reads_and_writes_nothing(engine: Engine, user: str) -> None:
    asking, token = with_token(engine)
    for wrong in (None, "", "mnt_wrong", token[:-1], f"{token}x", "mnk_0_0"):
        async with calling_with(asking, wrong) as client:
            read = await client.get("/v1/memories", params={"user_id": user})
            written = await client.post("/v1/memories", json={"user_id": user, "text": "Ana drinks tea"})
        assert {read.status_code, written.status_code} == {401}, wrong
        assert read.headers["WWW-Authenticate"] == "Bearer"
        assert read.json()["error"]["code"] == "unauthenticated"


async def test_the_token_gives_all_rights_to_callers_on_this_machine(engine: Engine, user: str) -> None:
    asking, token = with_token(engine)
    async with calling_with(asking, token) as client:
        assert (await client.post("/v1/memories", json={"user_id": user, "text": "Ana drinks tea"})).status_code == 201
        assert "Ana drinks tea" in (await client.get(f"/v1/user/export?user_id={user}")).text
    async with calling_with(asking, token, host="192.0.2.7") as elsewhere:
        assert (await elsewhere.get("/v1/memories", params={"user_id": user})).status_code == 403
    async with calling_with(asking, token) as client:
        behind_a_proxy = {"X-Forwarded-For": "192.0.2.7"}
        refused = await client.get("/v1/memories", params={"user_id": user}, headers=behind_a_proxy)
        assert refused.status_code == 403


async def test_the_token_is_taken_beside_api_keys(guarded: Engine, user: str) -> None:
    asking, token = with_token(guarded)
    async with calling(asking, principal(f"app-{user}")) as app, calling_with(asking, token) as operator:
        assert (await app.post("/v1/memories", json={"user_id": user, "text": "Ana drinks tea"})).status_code == 201
        assert (await app.get(f"/v1/user/export?user_id={user}")).status_code == 403
        assert (await operator.get("/v1/memories", params={"user_id": user})).status_code == 200
        assert (await operator.get(f"/v1/user/export?user_id={user}")).status_code == 200
    async with calling_with(guarded, token) as off:
        assert (await off.get("/v1/memories", params={"user_id": user})).status_code == 401


async def test_health_without_a_token_says_only_that_the_server_lives(engine: Engine) -> None:
    asking, token = with_token(engine)
    async with calling_with(asking, None) as stranger, calling_with(asking, token) as operator:
        told, whole = await stranger.get("/health"), await operator.get("/health")
        assert (told.status_code, told.json()) == (200, {"status": "ok"})
        assert set(whole.json()) > {"status", "lag", "outbox"}
        assert (await stranger.get("/docs")).status_code == 200
        assert (await stranger.get("/openapi.json")).status_code == 200
