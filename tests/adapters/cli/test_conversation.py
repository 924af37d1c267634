"""`mnemolog add` and `session`, each in a process of its own."""

import json
from typing import Any

import pytest

from mnemolog.adapters.engine.engine import Engine
from tests.adapters.cli.command import mnemolog

pytestmark = pytest.mark.spec("X12")


async def run(engine: Engine, user: str, *arguments: str, code: int = 0, stdin: str = "") -> Any:
    ran = await mnemolog(engine.settings.directory, *arguments, "--user", user, "--json", stdin=stdin)
    assert ran.code == code, ran.out + ran.err
    return ran.value


async def test_messages_are_added_as_text_as_json_and_from_standard_input(engine: Engine, user: str) -> None:
    await run(engine, user, "add", "I moved to Lisbon", "[sigh] at last")
    await run(engine, user, "add", json.dumps({"role": "assistant", "content": "How is it?"}))
    chat = [{"role": "user", "name": "Ana", "content": "Sunny"}, {"role": "assistant", "content": "Good"}]
    added = await run(engine, user, "add", "-", stdin=json.dumps(chat))
    assert len(added["message_ids"]) == 2
    await run(engine, user, "add", "-", stdin="Bye")

    session = await run(engine, user, "session")
    assert [(turn["role"], turn["text"]) for turn in session["turns"]] == [
        ("user", "I moved to Lisbon"),
        ("user", "[sigh] at last"),
        ("assistant", "How is it?"),
        ("user", "Sunny"),
        ("assistant", "Good"),
        ("user", "Bye"),
    ]
    shown = await mnemolog(engine.settings.directory, "session", "--user", user)
    assert shown.out.splitlines()[0] == "user: I moved to Lisbon"
    refused = await run(engine, user, "add", '{"content": ', code=2)
    assert refused["error"]["field"] == "messages"
    dated = {"content": "Sunny", "created_at": "2026-01-03T01:02:10Z"}
    refused = await run(engine, user, "add", json.dumps(dated), code=2)
    assert (refused["error"]["field"], refused["error"]["fix"]) == ("messages[0].created_at", "use 'occurred_at'")


async def test_the_same_key_adds_once(engine: Engine, user: str) -> None:
    first, again = [await run(engine, user, "add", "I moved to Lisbon", "--key", "k") for _ in range(2)]
    assert (again["already"], again["message_ids"]) == (True, first["message_ids"])


@pytest.mark.spec_part("E01")
async def test_messages_are_listed_and_deleted_by_the_beginning_of_an_id(engine: Engine, user: str) -> None:
    [first, second] = (await run(engine, user, "add", "I moved to Lisbon", "It rains"))["message_ids"]

    listed = await mnemolog(engine.settings.directory, "message", "list", "--user", user)
    assert [line.split()[1] for line in listed.out.splitlines()] == ["role", "user", "user"]
    shortest = next(length for length in range(6, 37) if first[:length] != second[:length])
    await run(engine, user, "message", "delete", first[: max(shortest, 8)])

    assert [one["text"] for one in (await run(engine, user, "message", "list"))["items"]] == ["It rains"]
    assert (await run(engine, user, "message", "get", first))["status"] == "soft_deleted"


@pytest.mark.spec_part("A12")
async def test_what_a_pronoun_was_taken_to_mean_is_shown(engine: Engine, user: str) -> None:
    await run(engine, user, "fact", "add", "Ana", "lives_in", "Lisbon")
    await run(engine, user, "add", "I met Ana yesterday")

    found = await mnemolog(engine.settings.directory, "search", "Where does she live?", "--user", user)
    context = await mnemolog(engine.settings.directory, "context", "Where does she live?", "--user", user)

    assert found.out.splitlines()[-1].split() == ["she:", "Ana"]
    assert context.out.splitlines()[0].rstrip() == "• [person:ana]: lives in Lisbon"
