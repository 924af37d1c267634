"""`mnemolog api-key`, and commands in the name of a key."""

import pytest

from mnemolog.adapters.embedded.producers import Producers
from mnemolog.adapters.engine.engine import Engine
from tests.adapters.cli.command import Ran, mnemolog


async def keys(engine: Engine, *arguments: str) -> Ran:
    return await mnemolog(engine.settings.directory, "api-key", *arguments)


async def test_a_key_is_made_listed_and_revoked(guarded: Engine) -> None:
    made = (await keys(guarded, "create", "shop", "--users", "ana", "--agents", "planner", "--json")).value
    listed = await keys(guarded, "list", "--json")
    shown = await keys(guarded, "list")
    revoked = await keys(guarded, "revoke", made["id"])

    assert made["api_key"].startswith(f"mnk_{made['id']}_")
    assert (made["name"], made["tenant"]) == ("shop", "default")
    [found] = [row for row in listed.value if row["id"] == made["id"]]
    assert (found["users"], found["agents"], found["roles"]) == (["ana"], ["planner"], ["read", "write"])
    assert "api_key" not in found
    assert made["api_key"] not in shown.out
    assert revoked.code == 0
    [gone] = [row for row in (await keys(guarded, "list", "--json")).value if row["id"] == made["id"]]
    assert gone["revoked_at"]


async def test_no_user_or_agent_is_called_what_stands_for_all_of_them(guarded: Engine, user: str) -> None:
    """A name that a stranger chose, as in `--user "$name"`, must not open everything."""
    for command in (["api-key", "create", user], ["producer", "add", f"all-{user}"]):
        for option, field in (("--user", "users"), ("--agent", "agents")):
            ran = await mnemolog(guarded.settings.directory, *command, option, "ana", option, "*", "--json")
            assert (ran.code, ran.value["error"]["field"]) == (2, field)
    assert not [one for one in (await keys(guarded, "list", "--json")).value if user in one["name"]]


async def test_commands_in_the_name_of_a_key_reach_what_it_reaches(
    guarded: Engine, user: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = ("create", "cli", "--users", user, "--tenant", "acme", "--json")
    made = (await keys(guarded, *asked)).value
    monkeypatch.setenv("MNEMOLOG_API_KEY", made["api_key"])

    own = await mnemolog(guarded.settings.directory, "create", "tea", "--user", user, "--json")
    other = await mnemolog(guarded.settings.directory, "create", "tea", "--user", "somebody", "--json")
    more = await keys(guarded, "create", "another", "--json")
    erase = ("user", "erase", "--user", user, "--yes", "--json")
    erased = await mnemolog(guarded.settings.directory, *erase)

    assert "error" not in own.value, own.value
    assert own.value["stream"] == f"acme/user:{user}"
    assert (other.code, other.value["error"]["code"]) == (1, "not_found")
    assert (more.code, more.value["error"]["code"]) == (1, "not_permitted")
    assert erased.value["error"]["code"] == "not_permitted"
    monkeypatch.setenv("MNEMOLOG_API_KEY", "mnk_wrong_key")
    wrong = await mnemolog(guarded.settings.directory, "list", "--user", user, "--json")
    assert (wrong.code, wrong.value["error"]["code"]) == (1, "unauthenticated")


@pytest.mark.spec("X07")
async def test_what_is_erased_and_forgotten_is_the_keys_own(
    guarded: Engine, user: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    others, _ = await guarded.writes.create({"user_id": f"{user}-other", "tenant": "acme", "text": "tea"})
    theirs, _ = await guarded.writes.create({"user_id": user, "text": "coffee"})
    roles = [part for role in ("read", "write", "erase") for part in ("--roles", role)]
    made = (await keys(guarded, "create", "eraser", "--users", user, "--tenant", "acme", *roles, "--json")).value
    monkeypatch.setenv("MNEMOLOG_API_KEY", made["api_key"])

    async def run(*arguments: str, of: str = user) -> Ran:
        return await mnemolog(guarded.settings.directory, *arguments, "--user", of, "--json")

    own = (await run("create", "milk")).value["memory_id"]
    everything = ("user", "erase", "--dry-run")
    forgotten = (await run("forget", "global", "--dry-run")).value
    listed = (await run(*everything)).value
    refused = [await run(*command, of=f"{user}-other") for command in (everything, ("prove-erased",))]

    assert forgotten["memories"] == listed["memories"] == [own]
    assert [ran.value["error"]["code"] for ran in refused] == ["not_found"] * 2
    assert not any(str(one) in ran.out for one in (others, theirs) for ran in refused)
    assert (await run("user", "erase", "--yes")).value["memories"] == [own]
    assert (await run("prove-erased")).value["erased"] is True


async def test_a_producers_key_is_made_by_producers_and_revoked_takes_its_user_of_nats_along(
    guarded: Engine, user: str
) -> None:
    name = f"p-{user}"
    alone = await keys(guarded, "create", name, "--roles", "publish", "--json")
    await mnemolog(guarded.settings.directory, "producer", "add", name, "--json")
    [key] = [row for row in (await keys(guarded, "list", "--json")).value if row["name"] == name]

    revoked = await keys(guarded, "revoke", key["id"])
    left = [one.name for one in Producers(guarded.settings.directory).all()]
    again = await mnemolog(guarded.settings.directory, "producer", "add", name, "--json")

    assert (alone.code, alone.value["error"]["field"]) == (2, "roles")
    assert "producer add" in alone.value["error"]["fix"]
    assert (revoked.code, name in left, again.code) == (0, False, 0)
