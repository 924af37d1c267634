"""`mnemolog profile`, `consent`, `todo` and `seed`, each in a process of its own."""

import json
from typing import Any

import pytest

from mnemolog.adapters.engine.engine import Engine
from tests.adapters.cli.command import mnemolog

pytestmark = pytest.mark.spec("B10")


async def run(engine: Engine, user: str, *arguments: str, code: int = 0, stdin: str = "") -> Any:
    ran = await mnemolog(engine.settings.directory, *arguments, "--user", user, "--json", stdin=stdin)
    assert ran.code == code, ran.out + ran.err
    return ran.value


async def test_an_agents_proposal_is_listed_granted_and_shown(engine: Engine, user: str) -> None:
    queued = await run(engine, user, "profile", "propose", "city", "Lisbon", "--agent", "coach")
    assert (queued["status"], queued["field"]) == ("proposed", "city")
    assert (await run(engine, user, "profile", "get"))["fields"] == []
    [row] = (await run(engine, user, "consent", "list"))["items"]
    assert (row["patch_id"], row["field"], row["value"]) == (queued["patch_id"], "city", "Lisbon")

    refused = await run(engine, user, "consent", "grant", queued["patch_id"], "--agent", "coach", code=1)
    assert refused["error"]["code"] == "consent_required"
    await run(engine, user, "consent", "grant", queued["patch_id"])

    [row] = (await run(engine, user, "profile", "get"))["fields"]
    assert (row["field"], row["value"]) == ("city", "Lisbon")
    told = (await run(engine, user, "profile", "history", "city"))["items"]
    assert [row["meta"]["type"] for row in told] == ["ProfileSet", "ProfileDecided", "ProfileProposed"]
    assert (await run(engine, user, "consent", "list"))["items"] == []
    every = (await run(engine, user, "consent", "list", "--status", "all"))["items"]
    assert [one["status"] for one in every] == ["granted"]


async def test_what_is_refused_is_never_shown_and_waits_again_when_that_is_undone(engine: Engine, user: str) -> None:
    queued = await run(engine, user, "profile", "propose", "language", "pt", "--agent", "coach")
    refused = await run(engine, user, "consent", "refuse", queued["patch_id"])
    assert (await run(engine, user, "profile", "get"))["fields"] == []
    assert (await run(engine, user, "consent", "list"))["items"] == []

    await run(engine, user, "undo", "--event-id", *refused["event_ids"])
    assert [row["status"] for row in (await run(engine, user, "consent", "list"))["items"]] == ["proposed"]


async def test_the_user_himself_and_a_certain_benign_field_need_no_grant(engine: Engine, user: str) -> None:
    assert (await run(engine, user, "profile", "propose", "city", "Lisbon", "--consent"))["status"] == "granted"
    sure = ("--confidence", "1")
    assert (await run(engine, user, "profile", "propose", "goals_add", "run", *sure))["status"] == "corroborated"
    shown = await mnemolog(engine.settings.directory, "profile", "get", "--user", user)
    assert shown.out.split("\n")[:2] == ["city Lisbon", "goals run"]


@pytest.mark.spec("D11")
async def test_todos_are_added_listed_and_closed(engine: Engine, user: str) -> None:
    mine = ("--agent", "coach")
    walk = (await run(engine, user, "todo", "add", "walk", "--kind", "habit", *mine))["todo_id"]
    read = (await run(engine, user, "todo", "add", "read", "--due", "2026-01-03T01:02:10Z", *mine))["todo_id"]
    assert [one["text"] for one in (await run(engine, user, "todo", "list", *mine))["items"]] == ["read", "walk"]

    await run(engine, user, "todo", "update", walk, "--status", "done", *mine)
    told = (await run(engine, user, "todo", "history", walk, *mine))["items"]
    assert [(row["event"], row["meta"]["status"]) for row in told] == [("UPDATE", "done"), ("ADD", "open")]
    await run(engine, user, "todo", "update", read, "--status", "dropped", *mine)

    assert (await run(engine, user, "todo", "list", *mine))["items"] == []
    every = (await run(engine, user, "todo", "list", "--status", "all", *mine))["items"]
    assert {one["text"]: one["status"] for one in every} == {"walk": "done", "read": "dropped"}


@pytest.mark.spec("D14")
async def test_a_seed_is_read_from_standard_input_or_arguments_and_given_once(engine: Engine, user: str) -> None:
    content = {"profile": {"city": "Lisbon"}, "memories": [{"text": "Ana drinks tea"}]}
    given = [f"{name}={json.dumps(value)}" for name, value in content.items()]
    first = await run(engine, user, "seed", "-", stdin=json.dumps(content))
    again = await run(engine, user, "seed", *given)
    assert (first["queued"], again["correlation_id"]) == (["city"], first["correlation_id"])
    assert again["already"]

    for wrong, field in (("{", "content"), ("[]", "content"), ('{"profile": {"shoe": "44"}}', "content.profile.shoe")):
        assert (await run(engine, user, "seed", "-", code=2, stdin=wrong))["error"]["field"] == field
