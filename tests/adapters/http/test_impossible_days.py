"""Impossible days are refused in Python, on the command line and over HTTP, with the field and what to send."""

from typing import Any

import pytest

from mnemolog.adapters.engine.engine import Engine
from mnemolog.domain.errors import InvalidInput
from tests.adapters.cli.command import mnemolog
from tests.adapters.http.conftest import Api

REFUSED: list[tuple[dict[str, str], str]] = [
    ({"predicate": "birthday", "object": "31 February"}, "object"),
    ({"predicate": "birthday", "object": "2999-01-01"}, "object"),
    ({"predicate": "lives_in", "object": "Porto", "since": "0000-01-01"}, "since"),
    ({"predicate": "lives_in", "object": "Porto", "since": "2026-02-31"}, "since"),
    ({"predicate": "lives_in", "object": "Porto", "since": "2026-02-03", "until": "2026-02-01"}, "until"),
]


@pytest.mark.spec_part("X13")
@pytest.mark.parametrize(("fact", "field"), REFUSED)
async def test_it_is_refused_in_python(engine: Engine, user: str, fact: dict[str, Any], field: str) -> None:
    async def told() -> None:
        await engine.writes.remember({"user_id": user, "subject": "me", **fact})

    with pytest.raises(InvalidInput) as refused:
        await told()
    assert (refused.value.field, bool(refused.value.fix)) == (field, True)


@pytest.mark.spec_part("X13")
@pytest.mark.parametrize(("fact", "field"), REFUSED)
async def test_it_is_refused_over_http(api: Api, fact: dict[str, Any], field: str) -> None:
    refused = await api.post("/v1/facts", 422, subject="me", **fact)
    assert refused["error"]["field"] == field
    assert refused["error"]["fix"]


@pytest.mark.spec_part("X13")
async def test_it_is_refused_on_the_command_line(engine: Engine, user: str) -> None:
    words = ("fact", "add", "me", "birthday", "31 February")
    ran = await mnemolog(engine.settings.directory, *words, "-u", user, "--json")
    assert (ran.code, ran.value["error"]["field"]) == (2, "object")


@pytest.mark.parametrize(
    ("field", "value"), [("since", "0001-01-01T00:00:00+14:00"), ("until", "9999-12-31T23:59:59-12:00")]
)
async def test_a_time_that_utc_does_not_have_is_refused_where_operations_are_counted(
    api: Api, field: str, value: str
) -> None:
    refused = await api.get("/v1/stats", 422, **{field: value})
    assert refused["error"]["field"] == field
    assert refused["error"]["fix"]
