"""What stands beside the events: heads, the index of tags, keys, receipts, the outbox (X08)."""

import pytest

from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.verify.damage import DamageKind, Part
from mnemolog.adapters.verify.healing import heal
from mnemolog.adapters.verify.incidents import Done, Incident
from mnemolog.domain.errors import TamperedEvent
from mnemolog.events.envelope import StreamId
from mnemolog.events.log import Head
from tests.engine.person import Person
from tests.tamper.attacker import PLACE, Attacker, table
from tests.tamper.test_missing_keys import gives_back

pytestmark = pytest.mark.spec("X08")


async def parts(engine: Engine, stream: StreamId) -> set[tuple[Part, DamageKind]]:
    return {(one.part, one.kind) for one in (await engine.verifier.verify(stream)).damages}


async def heals(engine: Engine, stream: StreamId) -> bool:
    await heal(await engine.verifier.verify(stream), engine.verifier.pool, engine.projections.running)
    return (await engine.verifier.verify(stream)).clean


async def audited(engine: Engine, stream: StreamId) -> list[Incident]:
    """The incidents of one pass of the audit over a stream."""
    await engine.audit.examine([Head(stream, await engine.log.head(stream))])
    return [one for one in engine.incidents.all() if one.damage.stream == stream]


async def test_a_tag_that_was_taken_from_the_index_is_found_and_healed(
    victim: Engine, ana: Person, mallory: Attacker
) -> None:
    await mallory.sql(f"DELETE FROM mnemolog.tags WHERE {PLACE} AND seq = 4")

    assert await parts(victim, ana.stream) == {(Part.TAG, DamageKind.REMOVED)}
    assert await heals(victim, ana.stream)


async def test_a_tag_that_was_put_into_the_index_is_found_and_healed(
    victim: Engine, ana: Person, mallory: Attacker
) -> None:
    await mallory.sql("INSERT INTO mnemolog.tags VALUES (%(tenant)s, %(stream)s, 'key:another', 2)")

    assert await parts(victim, ana.stream) == {(Part.TAG, DamageKind.FORGED)}
    assert await heals(victim, ana.stream)


@pytest.mark.parametrize(
    "change", ["seq = seq - 1", "link = sha256(link)", "recorded_at = recorded_at - interval '1 day'"]
)
async def test_a_changed_head_is_found_and_healed(victim: Engine, ana: Person, mallory: Attacker, change: str) -> None:
    await mallory.sql(f"UPDATE mnemolog.heads SET {change} WHERE {PLACE}")

    assert await parts(victim, ana.stream) == {(Part.HEAD, DamageKind.CHANGED)}
    assert await heals(victim, ana.stream)


@pytest.mark.parametrize("change", ["seq = seq + 9", "link = sha256(link)"])
async def test_nothing_is_chained_to_a_head_that_is_not_the_last_event(
    victim: Engine, ana: Person, mallory: Attacker, change: str
) -> None:
    [head] = await mallory.sql(f"SELECT seq, link FROM mnemolog.heads WHERE {PLACE}")
    await mallory.sql(f"UPDATE mnemolog.heads SET {change} WHERE {PLACE}")

    with pytest.raises(TamperedEvent, match=r"head|no longer in the log"):
        await ana.creates("Ana drinks tea")

    await mallory.sql(f"UPDATE mnemolog.heads SET seq = %(seq)s, link = %(link)s WHERE {PLACE}", **head)
    await ana.creates("Ana drinks tea")
    assert (await victim.verifier.verify(ana.stream)).clean


async def test_a_removed_head_is_found_and_healed(victim: Engine, ana: Person, mallory: Attacker) -> None:
    await mallory.sql(f"DELETE FROM mnemolog.heads WHERE {PLACE}")

    assert (Part.HEAD, DamageKind.REMOVED) in await parts(victim, ana.stream)
    assert await heals(victim, ana.stream)


@pytest.mark.spec("X07")
async def test_a_key_that_is_gone_without_an_event_that_says_so_is_found(
    victim: Engine, ana: Person, mallory: Attacker
) -> None:
    await mallory.sql(f"DELETE FROM mnemolog_keys.data_keys WHERE {PLACE} AND scope LIKE 'memory:%%'")

    assert (Part.KEY, DamageKind.KEY_MISSING) in await parts(victim, ana.stream)


async def test_all_keys_of_a_stream_that_are_gone_are_found(victim: Engine, ana: Person, mallory: Attacker) -> None:
    await mallory.sql(f"DELETE FROM mnemolog_keys.data_keys WHERE {PLACE}")
    await mallory.sql(f"DELETE FROM mnemolog_keys.stream_keys WHERE {PLACE}")

    assert (Part.KEY, DamageKind.KEY_MISSING) in await parts(victim, ana.stream)


@pytest.mark.spec("X07")
async def test_what_can_still_be_read_is_not_healed_away_when_its_keys_are_gone(
    victim: Engine, ana: Person, mallory: Attacker
) -> None:
    before = await ana.everything()
    keys = await mallory.sql(f"SELECT * FROM mnemolog_keys.data_keys WHERE {PLACE}")
    await mallory.sql(f"DELETE FROM mnemolog_keys.data_keys WHERE {PLACE}")

    assert not await heals(victim, ana.stream)
    audit = await audited(victim, ana.stream)

    assert await victim.reads.newest(ana.viewer, 1000) == before["newest"]
    assert {one.done for one in audit if one.damage.part is Part.ROW} == {Done.REPORTED}
    await gives_back(mallory, "data_keys", keys)
    assert (await victim.verifier.verify(ana.stream)).clean


async def test_a_read_that_meets_a_forged_row_heals_nothing_when_keys_are_gone(
    victim: Engine, ana: Person, mallory: Attacker
) -> None:
    memories = table(victim, "memories")
    own = "tenant = %(tenant)s AND user_id = %(user)s"
    [count] = await mallory.sql(f"SELECT count(*) FROM {memories} WHERE {own}")
    await mallory.sql(f"DELETE FROM mnemolog_keys.data_keys WHERE {PLACE}")
    await mallory.sql(f"UPDATE {memories} SET category = 'forged' WHERE {own}")

    with pytest.raises(TamperedEvent, match="the key of"):
        await ana.everything()

    assert await mallory.sql(f"SELECT count(*) FROM {memories} WHERE {own}") == [count]


async def test_a_changed_key_is_found(victim: Engine, ana: Person, mallory: Attacker) -> None:
    await mallory.sql(f"UPDATE mnemolog_keys.data_keys SET wrapped = sha256(wrapped) WHERE {PLACE}")

    assert (Part.KEY, DamageKind.CHANGED) in await parts(victim, ana.stream)


async def test_outbox_rows_that_name_what_is_not_there_do_no_harm(
    victim: Engine, ana: Person, mallory: Attacker
) -> None:
    await mallory.sql(
        "INSERT INTO mnemolog.outbox (tenant, stream, first_seq, last_seq) VALUES"
        " (%(tenant)s, %(stream)s, 1, 3), (%(tenant)s, %(stream)s, 900, 905)"
    )
    await victim.settled(60)

    assert (await victim.verifier.verify(ana.stream)).clean


async def test_a_receipt_of_events_that_are_not_there_is_found(victim: Engine, ana: Person, mallory: Attacker) -> None:
    await mallory.sql(
        "INSERT INTO mnemolog.receipts (tenant, stream, idempotency_key, fingerprint, first_seq, last_seq)"
        " VALUES (%(tenant)s, %(stream)s, 'forged', 'x', 900, 901)"
    )

    assert await parts(victim, ana.stream) == {(Part.RECEIPT, DamageKind.CHANGED)}
