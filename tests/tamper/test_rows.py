"""Rows that somebody tampered with are refused by reads, named by verification, and healed from the log (X08)."""

import logging
from uuid import UUID, uuid4

import pytest
from sqlalchemy import text

from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.verify import rows_check
from mnemolog.adapters.verify.damage import Damage, DamageKind, Part
from mnemolog.adapters.verify.healing import heal
from mnemolog.domain.errors import NotFound
from mnemolog.events.envelope import StreamId
from tests.engine.person import Person
from tests.tamper.attacker import Attacker, table

pytestmark = pytest.mark.spec("X08")

OWN = "tenant = %(tenant)s AND user_id = %(user)s"


async def rows_of(engine: Engine, stream: StreamId) -> list[Damage]:
    report = await engine.verifier.verify(stream)
    return [one for one in report.damages if one.part is Part.ROW]


async def kinds(engine: Engine, stream: StreamId) -> set[tuple[str, DamageKind]]:
    return {(one.table, one.kind) for one in await rows_of(engine, stream)}


@pytest.fixture
async def tea(ana: Person) -> UUID:
    """A memory of Ana's that no attack has touched yet."""
    memory_id = await ana.creates("Ana drinks oolong tea")
    await ana.updates(memory_id, text="Ana drinks oolong")
    await ana.engine.settled(60)
    return memory_id


CHANGES = [
    ("memories", "memories", "text = 'Ana drinks gin'"),
    ("memories", "memories", "importance = importance / 2 + 0.1"),
    ("memories", "memories", "scope = 'agent', agent_id = 'default'"),
    ("memories", "memories", "purge_at = now()"),
    ("memories", "memories", "source_turn_ids = '{another}'"),
    ("history", "history", "actor = 'eve'"),
    ("history", "history", 'meta = meta || \'{"type": "Nothing"}\''),
    ("history", "history", "ts = ts - interval '1 microsecond'"),
    ("changes", "change_log", "event = 'soft_deleted'"),
    ("memories", "memories", "mac = '\\x00'"),
    ("memories", "memories", "created_at = 'infinity'"),
    ("memories", "memories", "created_at = '4000-01-01 BC'"),
    ("history", "history", "meta = (repeat('[', 5000) || repeat(']', 5000))::jsonb"),
    ("memories", "memories", "entity_ids = '{NULL}'"),
    ("memories", "memories", "entity_ids = '{{NULL}}'"),
]


@pytest.mark.parametrize(("projection", "name", "change"), CHANGES)
async def test_a_changed_row_is_named_is_never_shown_and_is_healed_by_the_read(
    victim: Engine, ana: Person, mallory: Attacker, tea: UUID, projection: str, name: str, change: str
) -> None:
    before = await ana.everything()
    await mallory.sql(
        f"UPDATE {table(victim, projection, name)} SET {change} WHERE {OWN} AND memory_id = %(id)s", id=tea
    )
    assert await kinds(victim, ana.stream) == {(name, DamageKind.CHANGED)}
    assert await ana.everything() == before
    assert await rows_of(victim, ana.stream) == []


@pytest.mark.parametrize("change", ["name = 'Eve'", "attributes = '{'", "attributes = repeat('[', 5000)"])
async def test_a_changed_entity_is_never_shown(victim: Engine, ana: Person, mallory: Attacker, change: str) -> None:
    before = await ana.everything()
    await mallory.sql(f"UPDATE {table(victim, 'graph', 'entities')} SET {change} WHERE {OWN}")

    assert await kinds(victim, ana.stream) == {("entities", DamageKind.CHANGED)}
    assert await ana.everything() == before


async def test_a_changed_link_is_named(victim: Engine, ana: Person, mallory: Attacker) -> None:
    await mallory.sql(f"UPDATE {table(victim, 'memories', 'links')} SET strength = 1 WHERE {OWN}")

    assert await kinds(victim, ana.stream) == {("links", DamageKind.CHANGED)}


async def test_a_changed_vector_is_named(victim: Engine, ana: Person, mallory: Attacker, tea: UUID) -> None:
    vectors = table(victim, "vectors")
    await mallory.sql(
        f"UPDATE {vectors} SET embedding = embedding * embedding WHERE {OWN} AND subject_id = %(id)s", id=tea
    )

    assert {name for name, _ in await kinds(victim, ana.stream)} == {"vectors"}


async def test_a_forged_row_is_never_shown_and_is_named(
    victim: Engine, ana: Person, mallory: Attacker, tea: UUID
) -> None:
    before = await ana.everything()
    await forge(mallory, table(victim, "memories"), tea, memory_id=str(uuid4()), text="Ana owes Eve money")
    await mallory.sql(f"UPDATE {table(victim, 'memories')} SET mac = sha256(text::bytea) WHERE text LIKE '%%owes%%'")

    assert await kinds(victim, ana.stream) == {("memories", DamageKind.FORGED)}
    assert await ana.everything() == before
    assert await kinds(victim, ana.stream) == set()


async def test_a_row_that_was_copied_to_another_user_is_never_shown_and_is_named(
    victim: Engine, ana: Person, bob: Person, mallory: Attacker, tea: UUID
) -> None:
    before = await bob.everything()
    await forge(mallory, table(victim, "memories"), tea, user_id=bob.user)

    assert await kinds(victim, bob.stream) == {("memories", DamageKind.COPIED)}
    assert await bob.everything() == before


async def test_a_row_of_a_user_that_never_was_is_refused_and_named(
    victim: Engine, ana: Person, mallory: Attacker, tea: UUID
) -> None:
    nobody = Person(victim, f"{ana.user}-nobody")
    await forge(mallory, table(victim, "memories"), tea, user_id=nobody.user)

    report = await victim.verifier.verify()
    assert (nobody.stream, DamageKind.COPIED) in {(one.stream, one.kind) for one in report.damages}
    with pytest.raises(NotFound):
        await victim.reads.memory(nobody.viewer, tea)


async def test_a_change_that_was_copied_to_another_thread_is_never_shown_and_is_named(
    victim: Engine, ana: Person, mallory: Attacker, tea: UUID
) -> None:
    log = table(victim, "changes", "change_log")
    there = Person(victim, ana.user, thread="another")
    await mallory.sql(
        f"INSERT INTO {log} SELECT tenant, stream_kind, user_id, gen_random_uuid(), 'another', rev, seq, memory_id,"
        f" event, meta, ts, mac FROM {log} WHERE {OWN} AND memory_id = %(id)s",
        id=tea,
    )

    assert await kinds(victim, ana.stream) == {("change_log", DamageKind.COPIED)}
    assert (await there.changes()).entries == []


async def test_two_rows_that_swapped_their_contents_with_their_macs_are_never_shown(
    victim: Engine, ana: Person, mallory: Attacker, tea: UUID
) -> None:
    coffee = await ana.creates("Ana drinks coffee")
    await victim.settled(60)
    before = await ana.everything()
    memories = table(victim, "memories")
    await mallory.sql(
        f"UPDATE {memories} AS one SET text = other.text, document = other.document, mac = other.mac, seq = other.seq"
        f" FROM {memories} AS other WHERE one.user_id = %(user)s AND other.user_id = %(user)s"
        " AND one.memory_id = ANY(%(ids)s) AND other.memory_id = ANY(%(ids)s) AND one.memory_id <> other.memory_id",
        ids=[tea, coffee],
    )

    assert await kinds(victim, ana.stream) == {("memories", DamageKind.COPIED)}
    assert await ana.everything() == before


async def test_a_removed_row_is_named_and_healed(victim: Engine, ana: Person, mallory: Attacker, tea: UUID) -> None:
    before = await ana.everything()
    await mallory.sql(f"DELETE FROM {table(victim, 'memories')} WHERE {OWN} AND memory_id = %(id)s", id=tea)

    report = await victim.verifier.verify(ana.stream)
    assert {(one.table, one.kind) for one in report.damages} == {("memories", DamageKind.REMOVED)}
    await heal(report, victim.verifier.pool, victim.projections.running)

    assert (await victim.verifier.verify(ana.stream)).clean
    assert await ana.everything() == before


async def test_an_older_row_that_was_put_back_is_named_and_healed(
    victim: Engine, ana: Person, mallory: Attacker, tea: UUID
) -> None:
    memories = table(victim, "memories")
    [older] = await mallory.sql(f"SELECT * FROM {memories} WHERE {OWN} AND memory_id = %(id)s", id=tea)
    await ana.updates(tea, text="Ana drinks water")
    await victim.settled(60)
    back = {name: value for name, value in older.items() if name != "search"}
    await mallory.sql(
        f"UPDATE {memories} SET {', '.join(f'{name} = %({name})s' for name in back)}"
        f" WHERE {OWN} AND memory_id = %(memory_id)s",
        **back,
    )

    report = await victim.verifier.verify(ana.stream)
    assert {(one.table, one.kind) for one in report.damages} == {("memories", DamageKind.REPLAYED)}
    await heal(report, victim.verifier.pool, victim.projections.running)

    assert (await victim.verifier.verify(ana.stream)).clean
    assert "Ana drinks water" in await ana.finds("water")


async def test_a_progress_beyond_the_log_is_named_and_healed(victim: Engine, ana: Person, mallory: Attacker) -> None:
    await mallory.sql(f"UPDATE {table(victim, 'memories', 'progress')} SET seq = seq + 5 WHERE stream = %(stream)s")

    report = await victim.verifier.verify(ana.stream)
    assert {(one.table, one.kind) for one in report.damages} == {("progress", DamageKind.CHANGED)}
    await heal(report, victim.verifier.pool, victim.projections.running)
    assert (await victim.verifier.verify(ana.stream)).clean


async def test_a_forged_word_to_skip_an_event_is_named_and_hides_nothing(
    victim: Engine, ana: Person, mallory: Attacker, tea: UUID
) -> None:
    before = await ana.everything()
    schema = table(victim, "memories", "skipped")
    event = await mallory.event(await mallory.head())
    await mallory.sql(
        f"INSERT INTO {schema} (tenant, stream, seq, event_id, type, reason, at, by, projection, mac)"
        " VALUES (%(tenant)s, %(stream)s, %(seq)s, %(id)s, 'MemoryUpdated', '', now(), 'eve', 'memories', 'x')",
        seq=event["seq"],
        id=event["event_id"],
    )
    await mallory.sql(f"DELETE FROM {table(victim, 'memories')} WHERE {OWN}")

    report = await victim.verifier.verify(ana.stream)
    assert ("skipped", DamageKind.FORGED) in {(one.table, one.kind) for one in report.damages}
    assert ("memories", DamageKind.REMOVED) in {(one.table, one.kind) for one in report.damages}
    await heal(report, victim.verifier.pool, victim.projections.running)

    assert (await victim.verifier.verify(ana.stream)).clean
    assert await ana.everything() == before


async def test_what_a_projector_reads_is_checked_so_that_it_seals_nothing_forged(
    victim: Engine, ana: Person, mallory: Attacker, tea: UUID, caplog: pytest.LogCaptureFixture
) -> None:
    await mallory.sql(
        f"UPDATE {table(victim, 'memories')} SET run_id = 'forged' WHERE {OWN} AND memory_id = %(id)s", id=tea
    )
    with caplog.at_level(logging.ERROR):
        await ana.updates(tea, pinned=True)
        await victim.settled(60)

    assert "was not written by its projector" in caplog.text
    assert (await victim.reads.memory(ana.viewer, tea))["run_id"] is None
    assert (await victim.verifier.verify(ana.stream)).clean


async def test_a_tampered_row_is_reported_in_the_log_and_counted(
    victim: Engine, ana: Person, mallory: Attacker, tea: UUID, caplog: pytest.LogCaptureFixture
) -> None:
    counted = victim.reads.tampered["memories"]
    await mallory.sql(f"UPDATE {table(victim, 'memories')} SET text = 'gin' WHERE {OWN} AND memory_id = %(id)s", id=tea)

    with caplog.at_level(logging.ERROR):
        await victim.reads.memory(ana.viewer, tea)

    assert victim.reads.tampered["memories"] == counted + 1
    assert str(tea) in caplog.text
    assert "gin" not in caplog.text


async def temporary_tables(engine: Engine) -> dict[int, int]:
    """Of the connection that verification keeps: how many rows there are in each."""
    async with engine.verifier.engine.connect() as connection:
        tables = await connection.execute(
            text("SELECT oid, relname FROM pg_class WHERE relnamespace = pg_my_temp_schema() AND relkind = 'r'")
        )
        counts = {oid: text(f"SELECT count(*) FROM pg_temp.{name}") for oid, name in tables.all()}
        return {oid: (await connection.execute(count)).scalar_one() for oid, count in counts.items()}


async def test_the_next_verification_uses_the_same_temporary_tables_and_finds_nothing_in_them(
    victim: Engine, ana: Person, bob: Person, mallory: Attacker, tea: UUID
) -> None:
    assert (await victim.verifier.verify(ana.stream)).clean
    tables = await temporary_tables(victim)
    await mallory.sql(f"UPDATE {table(victim, 'memories')} SET text = 'gin' WHERE {OWN} AND memory_id = %(id)s", id=tea)

    assert await kinds(victim, ana.stream) == {("memories", DamageKind.CHANGED)}
    await ana.everything()
    assert (await victim.verifier.verify(bob.stream)).clean
    assert (await victim.verifier.verify(ana.stream)).clean
    assert set(tables.values()) == {0}
    assert await temporary_tables(victim) == tables


async def test_after_some_thousand_events_a_verification_makes_its_tables_anew(
    victim: Engine, ana: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert (await victim.verifier.verify(ana.stream)).clean
    tables = await temporary_tables(victim)
    monkeypatch.setattr(rows_check, "EVENTS_AT_ONCE", 1)

    assert (await victim.verifier.verify(ana.stream)).clean
    assert await temporary_tables(victim) == {}
    assert (await victim.verifier.verify(ana.stream)).clean
    assert tables


async def forge(mallory: Attacker, memories: str, like: UUID, **values: str) -> None:
    """A row like another, with some columns of the attacker's own."""
    [row] = await mallory.sql(f"SELECT * FROM {memories} WHERE {OWN} AND memory_id = %(id)s", id=like)
    kept = {name: value for name, value in row.items() if name != "search"}
    names = ", ".join(kept)
    slots = ", ".join(f"%({name})s" for name in kept)
    await mallory.sql(f"INSERT INTO {memories} ({names}) VALUES ({slots})", **{**kept, **values})
