"""`mnemolog dead-letter`: what was refused, shown, sent again, let go; alone and many at once."""

import json
from pathlib import Path
from typing import Any

import pytest

from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.nats.subjects import Address
from mnemolog.domain.principal import OPERATOR, Role
from mnemolog.events.envelope import StreamId
from tests.adapters.cli.command import Ran, mnemolog
from tests.adapters.nats.test_dead_letters import encoded, refused
from tests.adapters.nats.test_turns import all_taken
from tests.adapters.principals.keys import principal


@pytest.fixture
def tenant(user: str) -> str:
    return f"cli.{user}"


async def letters(engine: Engine, *arguments: str) -> Ran:
    return await mnemolog(engine.settings.directory, "dead-letter", *arguments)


async def listed(engine: Engine, tenant: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (await letters(engine, "list", "--tenant", tenant, "--json")).value["items"]
    return found


async def test_a_letter_is_listed_shown_corrected_and_gone(
    engine: Engine, tenant: str, user: str, tmp_path: Path
) -> None:
    letter = await refused(engine, tenant, encoded(user, text=""))
    file = tmp_path / "fixed.json"
    file.write_bytes(encoded(user))

    [found] = await listed(engine, tenant)
    shown = await letters(engine, "get", str(letter.id))
    again = await letters(engine, "replay", str(letter.id))
    corrected = await letters(engine, "replay", str(letter.id), "--file", str(file), "--json")
    gone = await letters(engine, "get", str(letter.id), "--json")

    assert (found["id"], found["reason"]["field"]) == (letter.id, "text")
    assert "is empty" in shown.out
    assert '"text": ""' in shown.out
    assert (again.code, "is empty" in again.out, "✓" in again.out) == (1, True, False)
    assert corrected.value[0]["receipt"]["token"].startswith(f"{tenant}/user:{user}@")
    assert await listed(engine, tenant) == []
    assert (gone.code, gone.value["error"]["code"]) == (1, "not_found")


async def test_all_of_a_tenant_are_sent_again_and_discarded(engine: Engine, tenant: str, user: str) -> None:
    for number in range(3):
        await refused(engine, tenant, encoded(user, text="", message_id=f"msg-{number}"))
    await refused(engine, tenant, b"{")

    again = await letters(engine, "replay", "--all", "--tenant", tenant, "--json")
    some = await letters(engine, "discard", "--all", "--tenant", tenant, "--reason", "unreadable_turn", "--yes")
    left = await listed(engine, tenant)
    rest = await letters(engine, "discard", *(str(one["id"]) for one in left), "--yes", "--json")

    assert [one["error"]["code"] for one in again.value] == ["invalid_input"] * 3 + ["unreadable_turn"]
    assert (some.code, "1 discarded" in some.out) == (0, True)
    assert len(left) == 3
    assert [one["id"] for one in rest.value] == [one["id"] for one in left]
    assert await listed(engine, tenant) == []


async def test_they_are_listed_page_by_page(engine: Engine, tenant: str) -> None:
    sent = [(await refused(engine, tenant, b"{")).id for _ in range(3)]

    first = await letters(engine, "list", "--tenant", tenant, "--limit", "2", "--json")
    shown = await letters(engine, "list", "--tenant", tenant, "--limit", "2")
    cursor = first.value["next_cursor"]
    last = await letters(engine, "list", "--tenant", tenant, "--limit", "2", "--cursor", cursor, "--json")

    assert [one["id"] for page in (first, last) for one in page.value["items"]] == sent
    assert f"--cursor {cursor}" in shown.out
    assert last.value["next_cursor"] is None
    await letters(engine, "discard", *map(str, sent), "--yes")


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        (["replay"], "ids"),
        (["replay", "1", "--all"], "ids"),
        (["replay", "1", "2", "--file", "x.json"], "file"),
        (["replay", "1", "--file", "no-such-file.json"], "file"),
        (["discard"], "ids"),
    ],
)
async def test_what_is_not_clear_is_refused(engine: Engine, arguments: list[str], field: str) -> None:
    ran = await letters(engine, *arguments, "--json")
    assert (ran.code, json.loads(ran.out)["error"]["field"]) == (2, field)


async def test_discard_asks_first(engine: Engine, tenant: str, user: str) -> None:
    letter = await refused(engine, tenant, b"{")

    ran = await letters(engine, "discard", str(letter.id))

    assert ran.code != 0
    assert "Delete 1 dead letter" in ran.err
    assert len(await listed(engine, tenant)) == 1


async def test_a_letter_without_a_producer_can_be_sent_as_one_but_not_the_operators(
    guarded: Engine, tenant: str, user: str
) -> None:
    await guarded.api_keys.create(principal(f"p-{user}", tenant=tenant, roles=[Role.PUBLISH]))
    nobodys = await refused(guarded, tenant, encoded(user))
    await guarded.nats.jetstream().publish(Address.of(tenant, OPERATOR).turns, b"{")
    await all_taken(guarded)
    own = (await listed(guarded, tenant))[-1]["id"]

    wrong = await letters(guarded, "replay", str(nobodys.id), "--as", "a.b", "--json")
    other = await letters(guarded, "replay", str(own), "--as", f"p-{user}", "--json")
    sent = await letters(guarded, "replay", str(nobodys.id), "--as", f"p-{user}", "--json")

    assert (wrong.code, wrong.value["error"]["field"]) == (2, "name")
    assert (other.code, other.value[0]["error"]["field"]) == (1, "as")
    assert sent.value[0]["receipt"]["token"].startswith(f"{tenant}/user:{user}@")
    [first, *_] = await guarded.log.read(StreamId.of_user(user, tenant))
    assert first.meta.actor == f"p-{user}/default"


@pytest.mark.parametrize("id_", ["0", "18446744073709551616"])
async def test_an_id_that_no_letter_can_have_is_not_found(engine: Engine, id_: str) -> None:
    shown = await letters(engine, "get", id_, "--json")
    after = await letters(engine, "list", "--cursor", "18446744073709551616")

    assert shown.value["error"]["code"] == "not_found"
    assert "--cursor" in after.err
