"""`mnemolog verify`: what it prints, what it exits with, what it heals, and that it runs where no engine starts."""

from uuid import UUID

import pytest

from mnemolog.adapters.engine.engine import Engine
from tests.adapters.cli.command import Ran, mnemolog
from tests.engine.person import Person
from tests.tamper.attacker import Attacker, table

pytestmark = pytest.mark.spec("X08")


async def verify(engine: Engine, *arguments: str) -> Ran:
    return await mnemolog(engine.settings.directory, "verify", *arguments)


async def drinks_tea(ana: Person) -> UUID:
    memory_id = await ana.creates("Ana drinks tea")
    await ana.engine.settled(60)
    return memory_id


async def test_a_clean_log_is_exit_code_0(victim: Engine, ana: Person) -> None:
    ran = await verify(victim, "-u", ana.user)

    assert ran.code == 0
    assert "nothing was changed" in ran.out
    assert "verifying" in ran.err


async def test_damage_is_exit_code_1_and_names_the_place(victim: Engine, ana: Person, mallory: Attacker) -> None:
    await mallory.changes(3, "version", 7)
    event_id = str((await mallory.event(3))["event_id"])

    ran, programs = await verify(victim, "-u", ana.user), await verify(victim, "-u", ana.user, "--json")

    assert ran.code == programs.code == 1
    assert f"event changed {ana.stream} seq 3 {event_id}" in ran.out
    assert "restore a backup" in ran.out
    assert programs.value["clean"] is False
    [found] = [one for one in programs.value["found"] if one["part"] == "event"]
    assert found == {
        "part": "event",
        "kind": "changed",
        "stream": str(ana.stream),
        "seq": 3,
        "event_id": event_id,
        "detail": "it was changed after it was appended",
    }


async def test_a_damaged_row_is_healed_and_then_all_is_well(victim: Engine, ana: Person, mallory: Attacker) -> None:
    memory_id = await drinks_tea(ana)
    await mallory.sql(
        f"DELETE FROM {table(victim, 'memories')} WHERE user_id = %(user)s AND memory_id = %(id)s", id=memory_id
    )
    before = await verify(victim, "-u", ana.user)

    healed = await verify(victim, "-u", ana.user, "--heal", "--json")

    assert (before.code, healed.code) == (1, 0)
    assert f"row removed {ana.stream} memories.memories" in before.out
    assert str(memory_id) in before.out
    assert "1 damaged, repairing" in healed.err
    assert (healed.value["clean"], healed.value["repaired"]) == (True, 1)


async def test_a_repair_is_said_and_the_log_tells_nothing_twice(victim: Engine, ana: Person, mallory: Attacker) -> None:
    memory_id = await drinks_tea(ana)
    await mallory.sql(
        f"UPDATE {table(victim, 'memories')} SET importance = 0.1 WHERE user_id = %(user)s AND memory_id = %(id)s",
        id=memory_id,
    )

    ran = await verify(victim, "-u", ana.user, "--heal")

    assert ran.out.startswith("✓ 1 repaired from the log, nothing else was changed: ")
    assert "ERROR" not in ran.err


async def test_damage_in_the_log_stays_after_healing(victim: Engine, ana: Person, mallory: Attacker) -> None:
    await mallory.removes(4)

    assert (await verify(victim, "-u", ana.user, "--heal")).code == 1


async def test_an_empty_user_is_refused_and_not_taken_for_all(victim: Engine) -> None:
    ran = await verify(victim, "--user", "", "--json")

    assert ran.code == 2
    assert ran.value["error"]["field"] == "user_id"
