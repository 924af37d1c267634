"""`mnemolog profile`, `consent`, `todos` and `seed`, each in a process of its own."""

import json
from pathlib import Path
from typing import Any

import pytest

from mnemolog.adapters.engine.engine import Engine
from tests.adapters.cli.command import mnemolog

pytestmark = pytest.mark.spec("B10")


async def run(engine: Engine, user: str, *arguments: str, code: int = 0) -> Any:
    ran = await mnemolog(engine.settings.directory, *arguments, "--user", user, "--json")
    assert ran.code == code, ran.out + ran.err
    return ran.value


async def test_an_agents_proposal_is_listed_granted_and_shown(engine: Engine, user: str) -> None:
    queued = await run(engine, user, "profile", "set", "city", "Lisbon", "--agent", "coach")
    assert queued["status"] == "proposed"
    assert await run(engine, user, "profile", "show") == []
    [row] = await run(engine, user, "consent", "list")
    assert (row["patch_id"], row["field"], row["value"]) == (queued["patch_id"], "city", "Lisbon")

    refused = await run(engine, user, "consent", "grant", queued["patch_id"], "--agent", "coach", code=1)
    assert refused["error"]["code"] == "consent_required"
    await run(engine, user, "consent", "grant", queued["patch_id"])

    [row] = await run(engine, user, "profile", "show")
    assert (row["field"], row["value"]) == ("city", "Lisbon")
    told = await run(engine, user, "profile", "history", "city")
    assert [row["meta"]["type"] for row in told] == ["ProfileSet", "ProfileDecided", "ProfileProposed"]
    assert await run(engine, user, "consent", "list") == []
    assert [one["status"] for one in await run(engine, user, "consent", "list", "--all")] == ["granted"]


async def test_what_is_refused_is_never_shown(engine: Engine, user: str) -> None:
    queued = await run(engine, user, "profile", "set", "language", "pt", "--agent", "coach")
    await run(engine, user, "consent", "refuse", queued["patch_id"])
    assert await run(engine, user, "profile", "show") == []


async def test_the_user_himself_and_a_benign_field_need_no_grant(engine: Engine, user: str) -> None:
    assert (await run(engine, user, "profile", "set", "city", "Lisbon", "--consent"))["status"] == "granted"
    assert (await run(engine, user, "profile", "set", "goals_add", "run"))["status"] == "corroborated"
    shown = await mnemolog(engine.settings.directory, "profile", "show", "--user", user)
    assert shown.out.split("\n")[:2] == ["city Lisbon", "goals run"]


@pytest.mark.spec("D11")
async def test_todos_are_added_listed_done_and_dropped(engine: Engine, user: str) -> None:
    mine = ("--agent", "coach")
    walk = (await run(engine, user, "todos", "add", "walk", "--kind", "habit", *mine))["todo_id"]
    read = (await run(engine, user, "todos", "add", "read", "--due", "2026-01-03T01:02:10Z", *mine))["todo_id"]
    assert [one["text"] for one in await run(engine, user, "todos", "list", *mine)] == ["read", "walk"]

    await run(engine, user, "todos", "done", walk, *mine)
    told = await run(engine, user, "todos", "history", walk, *mine)
    assert [(row["event"], row["meta"]["status"]) for row in told] == [("UPDATE", "done"), ("ADD", "open")]
    await run(engine, user, "todos", "drop", read, *mine)

    assert await run(engine, user, "todos", "list", *mine) == []
    shown = {one["text"]: one["status"] for one in await run(engine, user, "todos", "list", "--all", *mine)}
    assert shown == {"walk": "done", "read": "dropped"}


@pytest.mark.spec("D14")
async def test_a_seed_is_read_from_a_file_and_given_once(engine: Engine, user: str, tmp_path: Path) -> None:
    file = tmp_path / "seed.json"
    file.write_text(json.dumps({"profile": {"city": "Lisbon"}, "memories": [{"text": "Ana drinks tea"}]}))
    first = await run(engine, user, "seed", str(file))
    again = await run(engine, user, "seed", str(file))
    assert (first["queued"], again["seed"], again["receipt"]["already"]) == (["city"], first["seed"], True)

    for content, field in (("{", "file"), ("[]", "file"), ('{"profile": {"shoe": "44"}}', "profile.shoe")):
        file.write_text(content)
        assert (await run(engine, user, "seed", str(file), code=2))["error"]["field"] == field
    assert (await run(engine, user, "seed", str(tmp_path / "none"), code=2))["error"]["field"] == "file"
