"""Damage that was found is kept as an incident, healed or not, until somebody acknowledges it (X08, X23)."""

import asyncio
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from mnemolog.adapters.engine.engine import Engine, new_id, now, open_engine
from mnemolog.adapters.verify import audit, incidents
from mnemolog.adapters.verify.anchor_stream import AnchorStream
from mnemolog.adapters.verify.damage import Damage, DamageKind, Part
from mnemolog.adapters.verify.incidents import By, Done, Incident, Incidents
from mnemolog.adapters.verify.row_comparison import RowComparison
from mnemolog.domain.errors import NotFound, ServerFailed
from mnemolog.events.envelope import StreamId
from mnemolog.events.log import Head
from tests.adapters.principals.keys import calling_with
from tests.engine.person import Person
from tests.tamper.attacker import Attacker, attacking, table
from tests.testkit.eventually import eventually
from tests.testkit.settings import PATIENCE, settings_in


def open_of(engine: Engine, stream: StreamId) -> list[Incident]:
    return [one for one in engine.incidents.open() if one.damage.stream == stream]


async def audited(engine: Engine, stream: StreamId) -> None:
    """What the audit does when it comes by."""
    await engine.audit.examine([Head(stream, await engine.log.head(stream))])


@pytest.fixture
async def tea(ana: Person) -> UUID:
    memory_id = await ana.creates("Ana drinks oolong tea")
    await ana.engine.settled(60)
    return memory_id


@pytest.mark.spec("X08")
@pytest.mark.spec_part("X23")
async def test_a_removed_row_is_healed_by_the_audit_and_shown_until_it_is_acknowledged(
    victim: Engine, ana: Person, mallory: Attacker, tea: UUID
) -> None:
    before = await ana.everything()
    await mallory.sql(
        f"DELETE FROM {table(victim, 'memories')}"
        " WHERE tenant = %(tenant)s AND user_id = %(user)s AND memory_id = %(id)s",
        id=tea,
    )
    await audited(victim, ana.stream)

    [found] = open_of(victim, ana.stream)
    damage = found.damage
    assert (damage.part, damage.kind, found.found_by, found.done) == (
        Part.ROW,
        DamageKind.REMOVED,
        By.AUDIT,
        Done.HEALED,
    )
    assert damage.key["memory_id"] == str(tea)
    assert await ana.everything() == before
    async with calling_with(victim, None) as http:
        health = (await http.get("/health")).json()
    assert health["status"] == "degraded"
    assert health["incidents"] == len(victim.incidents.open())

    [acknowledged] = await victim.incidents.acknowledge([found.id], "ops")
    assert (acknowledged.open, acknowledged.acknowledged_by) == (False, "ops")
    await audited(victim, ana.stream)
    assert open_of(victim, ana.stream) == []


@pytest.mark.spec("X08")
async def test_a_running_engine_finds_a_removed_row_by_itself_while_reads_go_on(
    tmp_path: Path, user: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody reads the user whose row is gone; somebody else is read in the middle of the audit's snapshot."""
    monkeypatch.setattr(audit, "REST_SECONDS", 0.1)
    walking, goes_on, compare = asyncio.Event(), asyncio.Event(), RowComparison.compare

    async def held(*given: Any) -> None:
        walking.set()
        await goes_on.wait()
        await compare(*given)

    async with open_engine(settings_in(tmp_path / "data", audit_share=0.5)) as engine:
        ana, bob = Person(engine, user), Person(engine, f"{user}-bob")
        for person in (ana, bob):
            await person.creates("Somebody drinks oolong tea")
        await engine.settled(60)
        before = await ana.everything()
        monkeypatch.setattr(RowComparison, "compare", held)
        async with attacking(engine, ana.stream) as mallory:
            gone = await mallory.sql(
                f"DELETE FROM {table(engine, 'memories')} WHERE user_id = %(user)s RETURNING memory_id"
            )

        async def found_and_healed() -> bool:
            return bool(open_of(engine, ana.stream)) and await ana.everything() == before

        async with asyncio.timeout(PATIENCE):
            await walking.wait()
            for _ in range(5):
                assert await bob.finds("tea")
        assert open_of(engine, ana.stream) == []
        goes_on.set()
        await eventually(found_and_healed)
        found = open_of(engine, ana.stream)

        assert [(one.damage.kind, one.found_by, one.done) for one in found] == [
            (DamageKind.REMOVED, By.AUDIT, Done.HEALED)
        ]
        assert found[0].damage.key["memory_id"] == str(gone[0]["memory_id"])


@pytest.mark.spec("X08")
@pytest.mark.spec_part("X23")
async def test_a_row_that_a_read_healed_leaves_an_incident_once(
    victim: Engine, ana: Person, mallory: Attacker, tea: UUID
) -> None:
    for _ in range(2):
        await mallory.sql(
            f"UPDATE {table(victim, 'memories')} SET text = 'Ana drinks gin'"
            " WHERE tenant = %(tenant)s AND user_id = %(user)s AND memory_id = %(id)s",
            id=tea,
        )
        assert "Ana drinks gin" not in await ana.finds("gin")

    [found] = open_of(victim, ana.stream)
    assert (found.damage.kind, found.found_by, found.done) == (DamageKind.CHANGED, By.READ, Done.HEALED)


@pytest.fixture
def kept(victim: Engine, tmp_path: Path) -> Incidents:
    """Incidents in a file and a stream of their own."""
    name = f"MNEMOLOG_INCIDENTS_{tmp_path.name}"
    return beside(victim, tmp_path / "incidents.jsonl", name)


@pytest.mark.spec("X08")
@pytest.mark.parametrize(("part", "count"), [(Part.ROW, 2), (Part.EVENT, 1)])
async def test_what_can_be_healed_and_is_damaged_again_is_another_incident(
    kept: Incidents, ana: Person, part: Part, count: int
) -> None:
    damage = Damage(part, DamageKind.CHANGED, ana.stream, "it is not as it was written", key={"memory_id": "1"})
    for _ in range(2):
        await kept.record(damage, By.VERIFY, Done.REPORTED)
    assert len(kept.all()) == 1
    await kept.acknowledge([], "ops")
    await kept.record(damage, By.VERIFY, Done.REPORTED)
    assert (len(kept.all()), len(kept.open())) == (count, count - 1)


def beside(engine: Engine, path: Path, name: str, key: bytes = bytes(32)) -> Incidents:
    stream = AnchorStream(engine.nats.jetstream(), 1, name, f"{name}.*")
    return Incidents(path, stream, key, now, new_id)


def removed(user: str) -> Damage:
    return Damage(Part.EVENT, DamageKind.REMOVED, StreamId.of_user(user), "it is gone", 3)


@pytest.mark.spec_part("X23")
async def test_either_of_file_and_jetstream_is_enough_and_words_of_others_count_for_nothing(
    victim: Engine, kept: Incidents, tmp_path: Path
) -> None:
    for user in ("ana", "bob"):
        await kept.record(removed(user), By.VERIFY, Done.REPORTED)
    [ana, bob] = kept.open()
    await kept.acknowledge([ana.id], "ops")
    stranger = beside(victim, kept.path, f"MNEMOLOG_INCIDENTS_{tmp_path.name}_else", key=b"1" * 32)
    await stranger.acknowledge([], "eve")
    await stranger.record(removed("eve"), By.VERIFY, Done.REPORTED)

    by_file = beside(victim, kept.path, f"MNEMOLOG_INCIDENTS_{tmp_path.name}_empty")
    by_stream = beside(victim, tmp_path / "none.jsonl", f"MNEMOLOG_INCIDENTS_{tmp_path.name}")
    for again in (by_file, by_stream):
        await again.load()
        assert [(one.id, one.open) for one in again.all()] == [(ana.id, False), (bob.id, True)]
    with pytest.raises(NotFound, match="no incident"):
        await kept.acknowledge(["nothing"], "ops")


@pytest.mark.spec_part("X23")
async def test_a_stream_that_was_deleted_is_made_anew_with_all_that_was_known(
    victim: Engine, kept: Incidents, tmp_path: Path
) -> None:
    stream = f"MNEMOLOG_INCIDENTS_{tmp_path.name}"
    other = beside(victim, tmp_path / "other.jsonl", stream)
    for user in ("ana", "bob"):
        await kept.record(removed(user), By.VERIFY, Done.REPORTED)
    await kept.acknowledge([kept.open()[0].id], "ops")
    await other.load()

    await victim.nats.jetstream().delete_stream(stream)
    await kept.record(removed("eve"), By.VERIFY, Done.REPORTED)

    anew = beside(victim, tmp_path / "none.jsonl", stream)
    await anew.load()
    await other.refresh()
    for one in (anew, other):
        assert one.all() == kept.all()


@pytest.mark.spec_part("X23")
async def test_acknowledged_ones_leave_room_for_new_ones(kept: Incidents, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(incidents, "MOST_OPEN", 1)
    for user in ("ana", "bob"):
        await kept.record(removed(user), By.VERIFY, Done.REPORTED)
    assert [one.damage.stream for one in kept.open()] == [StreamId.of_user("ana")]

    await kept.acknowledge([], "ops")
    await kept.record(removed("bob"), By.VERIFY, Done.REPORTED)
    assert [one.damage.stream for one in kept.open()] == [StreamId.of_user("bob")]


@pytest.mark.spec_part("X05", "X08", "X23")
async def test_dropped_tables_are_named_to_readers_made_anew_and_kept_as_an_incident(tmp_path: Path) -> None:
    async with open_engine(settings_in(tmp_path)) as engine:
        ana = Person(engine, "ana")
        await ana.creates("Ana drinks oolong tea")
        await ana.caught_up()
    async with open_engine(settings_in(tmp_path), passive=True) as engine:  # Nobody makes them anew meanwhile.
        ana = Person(engine, "ana")
        async with attacking(engine, ana.stream) as mallory:
            await mallory.sql(f"DROP SCHEMA {table(engine, 'memories').split('.')[0]} CASCADE")
        with pytest.raises(ServerFailed, match=r"tables of .*memories.* were dropped"):
            await ana.finds("oolong tea")
        await engine.projections.create_missing()
        [found] = engine.incidents.open()
    assert (found.damage.projection, found.damage.kind, found.done) == ("memories", DamageKind.REMOVED, Done.HEALED)
    async with open_engine(settings_in(tmp_path)) as engine:
        assert await Person(engine, "ana").finds("oolong tea") == ["Ana drinks oolong tea"]
        assert [one.id for one in engine.incidents.open()] == [found.id]
