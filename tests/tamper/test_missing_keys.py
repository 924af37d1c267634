"""A key that somebody took away is not an erasure: no text goes with it, and no new key hides it (X07)."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.erasure.erasing import erase
from mnemolog.adapters.verify.damage import DamageKind, Part
from mnemolog.adapters.verify.incidents import Done
from mnemolog.commands.erasure import EraseKnown, EraseMemory, EraseUser
from mnemolog.domain.errors import KeyMissing, LogError
from mnemolog.events.envelope import StreamId
from tests.engine.person import Person
from tests.tamper.attacker import PLACE, Attacker, attacking

pytestmark = pytest.mark.spec("X07")

KEYS = ("stream_keys", "data_keys")


@pytest.fixture
async def mallory(victim: Engine, user: str) -> AsyncIterator[Attacker]:
    async with attacking(victim, StreamId.of_user(user)) as attacker:
        yield attacker


@pytest.mark.parametrize("scope", ["memory:%", "%"])
async def test_nothing_is_rebuilt_without_texts_whose_keys_are_gone(
    victim: Engine, ana: Person, mallory: Attacker, scope: str
) -> None:
    before = await ana.everything()
    keys = await mallory.sql(f"SELECT * FROM mnemolog_keys.data_keys WHERE {PLACE}")
    await mallory.sql(f"DELETE FROM mnemolog_keys.data_keys WHERE {PLACE} AND scope LIKE %(scope)s", scope=scope)

    with pytest.raises(KeyMissing, match=f"{ana.stream}.*the key of") as missing:
        await victim.projections.rebuild_all()

    assert missing.value.stream == str(ana.stream)
    assert "mnemolog_keys" in missing.value.fix
    assert await victim.reads.newest(ana.viewer, 1000) == before["newest"]
    with pytest.raises(KeyMissing):
        await ana.everything()  # Values in a history are read from the log.
    told = [(one.damage.part, one.done) for one in victim.incidents.open() if one.damage.stream == ana.stream]
    assert told == [(Part.KEY, Done.REFUSED)]
    await mallory.sql(f"DELETE FROM mnemolog_keys.data_keys WHERE {PLACE}")
    await gives_back(mallory, "data_keys", keys)
    assert all(one.equal for one in await victim.projections.rebuild_all())


async def test_what_an_erasure_destroyed_is_rebuilt_without_it(victim: Engine, ana: Person, mallory: Attacker) -> None:
    await erase(victim, EraseUser(user_id=ana.user))
    await ana.creates("Ana begins anew")
    await victim.settled(60)

    assert all(one.equal for one in await victim.projections.rebuild_all())


@pytest.mark.parametrize("known", [True, False])
async def test_no_new_key_takes_the_place_of_one_that_nothing_erased(
    victim: Engine, ana: Person, mallory: Attacker, known: bool
) -> None:
    kept = {name: await mallory.sql(f"SELECT * FROM mnemolog_keys.{name} WHERE {PLACE}") for name in KEYS}
    for name in KEYS:
        await mallory.sql(f"DELETE FROM mnemolog_keys.{name} WHERE {PLACE}")
    if not known:
        victim.log._writer._tails.clear()

    with pytest.raises(KeyMissing, match=f"{ana.stream}.*key of the stream is gone"):
        await ana.creates("Ana drinks tea")

    assert await mallory.sql(f"SELECT * FROM mnemolog_keys.stream_keys WHERE {PLACE}") == []
    for name, rows in kept.items():
        await gives_back(mallory, name, rows)
    memory_id = await ana.creates("Ana drinks tea")
    await victim.settled(60)
    assert (await victim.reads.memory(ana.viewer, memory_id))["text"] == "Ana drinks tea"
    assert (await victim.verifier.verify(ana.stream)).clean


@pytest.mark.parametrize("known", [True, False])
async def test_no_new_key_takes_the_place_of_one_of_a_memory(
    victim: Engine, ana: Person, mallory: Attacker, known: bool
) -> None:
    memory_id = await ana.creates("Ana drinks tea")
    scope = f"memory:{memory_id}"
    gone = await mallory.sql(
        f"DELETE FROM mnemolog_keys.data_keys WHERE {PLACE} AND scope = %(scope)s RETURNING *", scope=scope
    )
    head = await mallory.head()
    if not known:
        victim.log._writer._tails.clear()

    with pytest.raises(KeyMissing, match=f"{ana.stream}.*key of {scope} is gone"):
        await ana.updates(memory_id, text="Ana drinks coffee")

    assert await mallory.head() == head
    assert await ana.creates("Ana keeps bees"), "what has its key, or none yet, is written"
    told = [one.damage.kind for one in victim.incidents.open() if one.damage.stream == ana.stream]
    assert told == [DamageKind.KEY_MISSING]
    await gives_back(mallory, "data_keys", gone)
    await ana.updates(memory_id, text="Ana drinks coffee")
    await victim.settled(60)
    assert (await victim.reads.memory(ana.viewer, memory_id))["text"] == "Ana drinks coffee"
    assert (await victim.verifier.verify(ana.stream)).clean


@pytest.mark.parametrize("known", [True, False])
async def test_no_new_key_takes_the_place_of_one_of_the_profile(
    victim: Engine, ana: Person, mallory: Attacker, known: bool
) -> None:
    await sets_city(ana, "Porto")
    gone = await mallory.sql(f"DELETE FROM mnemolog_keys.data_keys WHERE {PLACE} AND scope ~ 'profile' RETURNING *")
    assert gone
    if not known:
        victim.log._writer._tails.clear()

    with pytest.raises(KeyMissing, match="profile"):
        await sets_city(ana, "Lisbon")


@pytest.mark.parametrize("name", KEYS)
async def test_what_lies_under_a_key_that_does_not_open_is_erased_and_not_written_to(
    victim: Engine, ana: Person, mallory: Attacker, name: str
) -> None:
    memory_id = await ana.creates("Ana drinks tea")
    await victim.settled(60)
    await mallory.sql(f"UPDATE mnemolog_keys.{name} SET wrapped = decode(repeat('00', 60), 'hex') WHERE {PLACE}")
    victim.log._writer._tails.clear()

    with pytest.raises((LogError, KeyMissing)):
        await ana.updates(memory_id, text="Ana drinks coffee")
    await erase(victim, EraseMemory(user_id=ana.user, memory_id=memory_id))
    await erase(victim, EraseUser(user_id=ana.user))

    assert await mallory.sql(f"SELECT * FROM mnemolog_keys.{name} WHERE {PLACE}") == []
    again = await ana.creates("Ana is back")
    await victim.settled(60)
    assert [row["memory_id"] for row in await victim.reads.newest(ana.viewer, 10)] == [again]
    assert (await victim.verifier.verify(ana.stream)).clean


async def test_what_an_erasure_destroyed_gets_another_key(victim: Engine, ana: Person, mallory: Attacker) -> None:
    await sets_city(ana, "Porto")
    await erase(victim, EraseKnown(user_id=ana.user, kind="profile", name="city"))
    victim.log._writer._tails.clear()

    await sets_city(ana, "Lisbon")

    await victim.settled(60)
    assert (await victim.verifier.verify(ana.stream)).clean


async def test_a_forged_erasure_accounts_for_no_missing_key(victim: Engine, ana: Person, mallory: Attacker) -> None:
    for name in KEYS:
        await mallory.sql(f"DELETE FROM mnemolog_keys.{name} WHERE {PLACE}")
    await mallory.changes(await mallory.head() - 1, "type", "UserErased")

    with pytest.raises(KeyMissing):
        await ana.creates("Ana drinks tea")


async def sets_city(person: Person, city: str) -> None:
    fields = {"user_id": person.user, "field": "city", "value": city}
    await person.engine.writes.propose(fields, consented=True)


async def gives_back(mallory: Attacker, table_: str, rows: list[dict[str, Any]]) -> None:
    for row in rows:
        names, places = ", ".join(row), ", ".join(f"%({name})s" for name in row)
        await mallory.sql(f"INSERT INTO mnemolog_keys.{table_} ({names}) VALUES ({places})", **row)
