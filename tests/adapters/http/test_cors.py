"""Web pages of other origins call the API only where a setting names them."""

from copy import copy

import pytest

from mnemolog.adapters.config import load
from mnemolog.adapters.engine.engine import Engine
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


@pytest.mark.parametrize(
    "origin", ["app.example", "https://app.example/", "https://App.example", "ftp://a", "", "null"]
)
def test_what_is_no_origin_is_refused(origin: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        load(cors_origins=[origin])
    assert refused.value.field == "cors_origins[0]"
