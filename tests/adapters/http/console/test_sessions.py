"""Signing in, and staying so: whose rights a session has, how it ends, and what no other site can send."""

from datetime import UTC, datetime, timedelta

import pytest

from mnemolog.adapters.engine.engine import Engine, now
from mnemolog.adapters.http.console.login import COOKIE
from mnemolog.adapters.http.console.sessions import LASTS, Session, Sessions
from mnemolog.domain.principal import Role
from tests.adapters.http.console.conftest import FORM_TOKEN, ORIGIN, signed_in, visiting
from tests.adapters.http.console.person import Told
from tests.adapters.principals.keys import principal

READER = principal("carer", roles=[Role.READ])
WRITER = principal("carer", roles=[Role.READ, Role.WRITE])


async def test_without_a_session_every_page_leads_to_the_login_and_back(guarded: Engine, ines: Told) -> None:
    async with visiting(guarded) as client:
        away = await client.get("/console/memories", params={"user": ines.user})
        assert away.status_code == 303
        assert away.headers["location"] == f"/console/login?to=%2Fconsole%2Fmemories%3Fuser%3D{ines.user}"
        _, key = await guarded.api_keys.create(READER)
        back = await client.post(away.headers["location"], data={"key": key}, headers={"Origin": ORIGIN})
        assert back.headers["location"] == f"/console/memories?user={ines.user}"
        assert "penicillin" in (await client.get(back.headers["location"])).text


@pytest.mark.parametrize(
    "to", ["https://example.org/", "//example.org", "/console//example.org", "/v1/memories", "\\\\x"]
)
async def test_the_login_leads_nowhere_else(guarded: Engine, to: str) -> None:
    _, key = await guarded.api_keys.create(READER)
    async with visiting(guarded) as client:
        answer = await client.post("/console/login", params={"to": to}, data={"key": key}, headers={"Origin": ORIGIN})
    assert answer.headers["location"] == "/console/"


async def test_a_wrong_key_is_refused_and_not_repeated(guarded: Engine, ines: Told) -> None:
    async with visiting(guarded) as client:
        for wrong in ("mnk_0000000000000000_wrong", "", "x" * 5000):
            answer = await client.post("/console/login", data={"key": wrong}, headers={"Origin": ORIGIN})
            assert answer.status_code == 401
            assert "set-cookie" not in answer.headers
            assert not wrong or wrong not in answer.text


async def test_the_cookie_is_out_of_reach_of_scripts_and_other_sites(guarded: Engine) -> None:
    _, key = await guarded.api_keys.create(READER)
    async with visiting(guarded) as client:
        answer = await client.post("/console/login", data={"key": key}, headers={"Origin": ORIGIN})
    cookie = answer.headers["set-cookie"]
    assert {"HttpOnly", "SameSite=strict", "Path=/console"} <= set(cookie.split("; "))
    assert key not in cookie
    assert key.split("_", 2)[2] not in cookie


async def test_a_session_ends_with_its_time_its_key_and_any_change_of_its_cookie(guarded: Engine, ines: Told) -> None:
    async with signed_in(guarded, READER) as visitor:
        await visitor.get("/memories", user=ines.user)
        good = visitor.http.cookies[COOKIE]
        said, _, mac = good.partition(".")
        for forged in (f"{said}x.{mac}", f"{said}.{mac}x", said, "", "é", f"{said}.", "."):
            visitor.http.cookies.clear()
            cookie = [(b"Cookie", f"{COOKIE}={forged}".encode())]
            answer = await visitor.http.get("/console/memories", headers=cookie)
            assert answer.status_code == 303, forged
        key = next(one for one in reversed(await guarded.api_keys.list()) if one.principal.name == "carer")
        await guarded.api_keys.revoke(key.key_id)
        answer = await visitor.http.get("/console/memories", headers={"Cookie": f"{COOKIE}={good}"})
        assert answer.status_code == 303


def test_a_cookie_is_read_until_it_ends_by_who_signed_it() -> None:
    sessions, at = Sessions(b"k" * 32), datetime(2026, 1, 1, tzinfo=UTC)
    session = Session("key", "", "nonce", int((at + LASTS).timestamp()))
    cookie = sessions.cookie(session)
    assert sessions.read(cookie, at + LASTS - timedelta(seconds=1)) == session
    assert sessions.read(cookie, at + LASTS) is None
    assert Sessions(b"o" * 32).read(cookie, at) is None
    assert sessions.form_token(session) not in cookie


async def test_signing_out_forgets_the_session(guarded: Engine, ines: Told) -> None:
    async with signed_in(guarded, READER) as visitor:
        await visitor.get("/memories", user=ines.user)
        assert "Sign in" in await visitor.post("/logout")
        assert COOKIE not in visitor.http.cookies


FOREIGN: tuple[dict[str, str], ...] = (
    {"Origin": "https://example.org"},
    {"Origin": "null"},
    {},
    {"Origin": ORIGIN, "Sec-Fetch-Site": "cross-site"},
    {"Origin": ORIGIN, "Sec-Fetch-Site": "same-site"},
    {"Origin": f"{ORIGIN}:81"},
    {"Origin": "http://["},
)


async def test_no_other_site_can_send_a_form(guarded: Engine, ines: Told) -> None:
    async with signed_in(guarded, WRITER) as visitor:
        await visitor.get(f"/memories/{ines.changed}", user=ines.user)
        found = FORM_TOKEN.search(visitor.page)
        assert found
        fields, path = {"user": ines.user, "form_token": found[1]}, f"/console/memories/{ines.changed}/delete"
        for headers in FOREIGN:
            assert (await visitor.http.post(path, data=fields, headers=headers)).status_code == 403, headers
            assert (await visitor.http.post("/console/login", data={}, headers=headers)).status_code == 403
        for token in ("", "x", "é"):
            refused = await visitor.http.post(path, data={**fields, "form_token": token}, headers={"Origin": ORIGIN})
            assert refused.status_code == 403
        async with signed_in(guarded, WRITER) as other:
            await other.get(f"/memories/{ines.changed}", user=ines.user)
            theirs = FORM_TOKEN.search(other.page)
            assert theirs
            stolen = {**fields, "form_token": theirs[1]}
            assert (await visitor.http.post(path, data=stolen, headers={"Origin": ORIGIN})).status_code == 403
        assert "Restore" not in await visitor.get(f"/memories/{ines.changed}", user=ines.user), "nothing was deleted"


async def test_a_key_opens_no_page_of_the_api_by_its_cookie(guarded: Engine, ines: Told) -> None:
    async with signed_in(guarded, WRITER) as visitor:
        assert (await visitor.http.get("/v1/memories", params={"user_id": ines.user})).status_code == 401
        session = Sessions(guarded.session_key).read(visitor.http.cookies[COOKIE], now())
        assert session
        assert session.key_id
