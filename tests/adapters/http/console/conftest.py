"""A person at the console: with an HTTP client, or with a real browser."""

import re
import shutil
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from dataclasses import dataclass
from html import unescape
from typing import Any

import httpx
import pytest
from playwright.async_api import Browser, async_playwright

from mnemolog.adapters.engine.engine import Engine, open_engine
from mnemolog.adapters.http.app import create_app
from mnemolog.adapters.http.server import serve
from mnemolog.domain.principal import Principal, Role
from tests.adapters.http.console.person import Told, told
from tests.adapters.principals.keys import principal
from tests.testkit.settings import settings_in

ORIGIN = "http://localhost"
FORM_TOKEN = re.compile(r'name="form_token" value="([^"]+)"')


@dataclass
class Visitor:
    """Somebody who is signed in, and the page that was shown last."""

    http: httpx.AsyncClient
    page: str = ""
    form_token: str = ""

    async def get(self, path: str, status: int = 200, **params: Any) -> str:
        return self._shown(await self.http.get(f"/console{path}", params=params or None), status)

    async def post(self, path: str, status: int = 200, **fields: Any) -> str:
        """Send a form, with the token of the forms that were shown, and follow to the page after it."""
        sent = {"form_token": self.form_token, **fields}
        answer = await self.http.post(f"/console{path}", data=sent, headers={"Origin": ORIGIN}, follow_redirects=True)
        return self._shown(answer, status)

    def _shown(self, answer: httpx.Response, status: int) -> str:
        self.page = answer.text
        if found := FORM_TOKEN.search(answer.text):
            self.form_token = found[1]
        assert answer.status_code == status, (answer.url, answer.status_code, text_of(answer.text))
        return text_of(answer.text)


def text_of(page: str) -> str:
    """The words of a page."""
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]*>", " ", page)))


@asynccontextmanager
async def visiting(engine: Engine, host: str = "127.0.0.1") -> AsyncIterator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(create_app(engine), raise_app_exceptions=False, client=(host, 1))
    async with httpx.AsyncClient(transport=transport, base_url=ORIGIN) as client:
        yield client


@asynccontextmanager
async def signed_in(engine: Engine, who: Principal) -> AsyncIterator[Visitor]:
    """A visitor with a new key of this principal."""
    _, key = await engine.api_keys.create(who)
    async with visiting(engine) as client:
        visitor = Visitor(client)
        await visitor.get("/login")
        answer = await client.post("/console/login", data={"key": key}, headers={"Origin": ORIGIN})
        assert answer.status_code == 303, answer.text
        yield visitor


@pytest.fixture(scope="session")
async def guarded(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Engine]:
    """One engine for all tests of the console. Each of them uses users of its own, and only keys."""
    async with open_engine(settings_in(tmp_path_factory.mktemp("console"))) as opened:
        await opened.api_keys.create(principal("first"))
        yield opened


@pytest.fixture(scope="session")
async def ines(guarded: Engine) -> Told:
    return await told(guarded, "ines-of-the-console")


async def key_of(engine: Engine, *roles: Role, users: Collection[str] = ("*",)) -> str:
    return (await engine.api_keys.create(principal("carer", users=users, roles=roles)))[1]


CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


@pytest.fixture(scope="session")
async def browser() -> AsyncIterator[Browser]:
    """A headless Chromium that resolves no name: it can only reach this machine."""
    if CHROMIUM is None:
        pytest.skip("there is no Chromium; on Debian: apt-get install chromium")
    offline = "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1"
    async with async_playwright() as playwright:
        launched = await playwright.chromium.launch(executable_path=CHROMIUM, args=[offline])
        yield launched
        await launched.close()


@pytest.fixture(scope="session")
async def url(guarded: Engine) -> AsyncIterator[str]:
    async with serve(guarded) as served:
        yield served
