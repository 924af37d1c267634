"""Web pages of other origins call the API only where a setting names them."""

from copy import copy

import httpx
import pytest
from starlette.types import Message, Receive, Scope, Send

from mnemolog.adapters.config import load
from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.http.app import create_app
from mnemolog.adapters.http.errors import Unforeseen
from mnemolog.domain.errors import InvalidInput
from tests.adapters.http.test_local_token import with_token
from tests.adapters.principals.keys import calling_with

APP = "https://app.example"
PREFLIGHT = {
    "Access-Control-Request-Method": "PATCH",
    "Access-Control-Request-Headers": "authorization,idempotency-key",
}
ALLOWED = "Access-Control-Allow-Origin"


def for_pages(engine: Engine, *origins: str) -> Engine:
    serving = copy(engine)
    serving.settings = engine.settings.model_copy(update={"cors_origins": list(origins)})
    return serving


async def test_no_page_is_let_in_unless_it_is_named(engine: Engine, user: str) -> None:
    async with calling_with(engine, None) as http:
        answer = await http.get("/v1/memories", params={"user_id": user}, headers={"Origin": APP})
        asked = await http.options("/v1/memories", headers={"Origin": APP, **PREFLIGHT})
    assert ALLOWED not in answer.headers
    assert ALLOWED not in asked.headers


async def test_a_named_page_asks_before_it_sends_the_token(engine: Engine, user: str) -> None:
    asking, token = with_token(for_pages(engine, APP))
    async with calling_with(asking, None) as http:
        asked = await http.options("/v1/memories", headers={"Origin": APP, **PREFLIGHT})
        sent = {"Origin": APP, "Authorization": f"Bearer {token}"}
        answer = await http.get("/v1/memories", params={"user_id": user}, headers=sent)
        without = await http.get("/v1/memories", params={"user_id": user}, headers={"Origin": APP})
        other = await http.options("/v1/memories", headers={"Origin": "https://other.example", **PREFLIGHT})
    assert (asked.status_code, asked.headers[ALLOWED]) == (200, APP)
    assert "PATCH" in asked.headers["Access-Control-Allow-Methods"]
    assert "Access-Control-Allow-Credentials" not in asked.headers
    assert (answer.status_code, answer.headers[ALLOWED]) == (200, APP)
    assert (without.status_code, without.headers[ALLOWED]) == (401, APP), "the page can read why"
    assert ALLOWED not in other.headers


@pytest.mark.parametrize(("fault", "status"), [(ZeroDivisionError("secret"), 500), (TimeoutError("secret"), 503)])
async def test_a_named_page_can_read_that_a_request_failed(engine: Engine, fault: Exception, status: int) -> None:
    app = create_app(for_pages(engine, APP))

    @app.get("/broken")
    async def broken() -> None:
        raise fault

    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as http:
        answer = await http.get("/broken", headers={"Origin": APP})
    assert (answer.status_code, answer.headers[ALLOWED]) == (status, APP)
    assert "secret" not in answer.text


@pytest.mark.parametrize("begins", [True, False])
async def test_what_fails_in_the_middle_of_an_answer_gets_no_second_one(begins: bool) -> None:
    async def broken(scope: Scope, receive: Receive, send: Send) -> None:
        if begins:
            await send({"type": "http.response.start", "status": 200, "headers": []})
        raise ZeroDivisionError

    sent = list[Message]()

    async def send(message: Message) -> None:
        sent.append(message)

    async def receive() -> Message:
        return {"type": "http.request"}

    with pytest.raises(ZeroDivisionError):
        await Unforeseen(broken)({"type": "http"}, receive, send)
    assert [one["status"] for one in sent if one["type"] == "http.response.start"] == [200 if begins else 500]


@pytest.mark.parametrize(
    "origin", ["app.example", "https://app.example/", "https://App.example", "ftp://a", "", "null"]
)
def test_what_is_no_origin_is_refused(origin: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        load(cors_origins=[origin])
    assert refused.value.field == "cors_origins[0]"
