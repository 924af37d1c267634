"""`mnemolog producer`, and what the setting `api_key` lets one do with turns."""

import json
from pathlib import Path

import pytest

from mnemolog.adapters.embedded.producers import Producer, Producers
from mnemolog.adapters.engine.engine import Engine, now
from mnemolog.adapters.nats.dead_letters import DeadLetters
from mnemolog.domain.principal import Role
from mnemolog.events.envelope import StreamId
from tests.adapters.cli.command import Ran, mnemolog
from tests.adapters.nats.test_turns import message
from tests.adapters.principals.keys import principal


async def producers(engine: Engine, *arguments: str) -> Ran:
    return await mnemolog(engine.settings.directory, "producer", *arguments)


async def test_producers_are_added_listed_and_removed(guarded: Engine, user: str) -> None:
    name = f"cli-{user}"
    reach = ("--user", "ana", "--user", "ben", "--agent", "planner")

    added = (await producers(guarded, "add", name, "--tenant", "acme", *reach, "--json")).value
    twice = await producers(guarded, "add", name, "--json")
    found = await producers(guarded, "list", "--json")
    shown = await producers(guarded, "list")
    removed = await producers(guarded, "remove", name, "--json")
    again = await producers(guarded, "remove", name, "--json")

    assert added["nats_url"] == f"nats://{name}:{added['password']}@{guarded.endpoints.nats_url.rpartition('@')[2]}"
    assert added["subject"] == f"mnemolog.turns.acme.{name}"
    assert added["password"].startswith("mnk_")
    assert (twice.code, twice.value["error"]["code"]) == (1, "conflict")
    [one] = [row for row in found.value if row["name"] == name]
    assert (one["tenant"], one["users"], one["agents"], one["state"]) == ("acme", ["ana", "ben"], ["planner"], "valid")
    assert added["password"] not in found.out + shown.out
    assert (removed.code, removed.value) == (0, {"name": name, "tenant": "acme"})
    assert (again.code, again.value["error"]["code"]) == (1, "not_found")


async def test_whom_a_producer_reaches_is_said_when_nobody_is_named(guarded: Engine, user: str) -> None:
    added = await producers(guarded, "add", f"cli-{user}")
    await producers(guarded, "remove", f"cli-{user}")
    assert "all users of the tenant" in added.out
    assert "all agents of the tenant" in added.out


async def test_one_of_before_there_were_keys_is_shown_and_removed(guarded: Engine, user: str) -> None:
    name = f"old-{user}"
    Producers(guarded.settings.directory).put(Producer.of(name, "acme", now(), "secret", ""))

    [one] = [row for row in (await producers(guarded, "list", "--json")).value if row["name"] == name]
    removed = await producers(guarded, "remove", name, "--json")

    assert (one["state"], one["users"]) == ("without a key", [])
    assert removed.value == {"name": name, "tenant": "acme"}


async def test_for_a_nats_of_ones_own_the_user_is_printed_and_written_nowhere(
    guarded: Engine, user: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = f"own-{user}"
    monkeypatch.setenv("MNEMOLOG_NATS_URL", guarded.endpoints.nats_url)

    added = (await producers(guarded, "add", name, "--tenant", "acme", "--json")).value
    shown = await producers(guarded, "remove", name)

    assert added["nats_user"]["user"] == name
    assert added["nats_user"]["permissions"] == {
        "publish": [f"mnemolog.turns.acme.{name}"],
        "subscribe": [f"mnemolog.receipts.acme.{name}.>", f"_INBOX.{name}.>"],
    }
    assert added["password"] not in json.dumps(added["nats_user"])
    assert name not in [one.name for one in Producers(guarded.settings.directory).all()]
    assert "configuration of your NATS" in shown.out


async def test_turns_ingested_with_a_key_are_limited_to_its_scope(
    guarded: Engine, user: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, text = await guarded.api_keys.create(principal("importer", users=[user]))
    file = tmp_path / "turns.jsonl"
    others = f"other-{user}"
    file.write_text("\n".join(json.dumps(message(whose, message_id=whose)) for whose in (user, others, user)))
    monkeypatch.setenv("MNEMOLOG_API_KEY", text)

    ran = await mnemolog(guarded.settings.directory, "ingest", str(file), "--json")
    letters = await mnemolog(guarded.settings.directory, "dead-letter", "list", "--json")
    listed = await producers(guarded, "list", "--json")

    assert (ran.code, ran.value["recorded"], ran.value["already"]) == (1, 1, 1)
    assert [one["error"]["code"] for one in ran.value["set_aside"]] == ["not_found"]
    assert await guarded.log.head(StreamId.of_user(others)) == 0
    [first, *_] = await guarded.log.read(StreamId.of_user(user))
    assert first.meta.actor == "importer/default"
    for refused in (letters, listed):
        assert (refused.code, refused.value["error"]["code"]) == (1, "not_permitted")


async def test_the_operators_file_is_taken_in_where_there_are_keys(guarded: Engine, user: str, tmp_path: Path) -> None:
    await guarded.api_keys.create(principal(roles=[Role.READ]))
    file = tmp_path / "turns.jsonl"
    file.write_text(json.dumps(message(user)) + "\n{not json")

    ran = await mnemolog(guarded.settings.directory, "ingest", str(file), "--json")

    assert (ran.value["recorded"], len(ran.value["set_aside"])) == (1, 1)
    letters = [one async for one in DeadLetters(guarded.nats).all("default") if one.body == b"{not json"]
    assert letters[-1].address.producer == "engine"
