"""Every way to tamper with events by SQL alone is found and named by verification (X08)."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from uuid import uuid4

import pytest

from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.nats.subjects import EVENTS
from mnemolog.adapters.verify.damage import DamageKind, Part
from mnemolog.domain.errors import TamperedEvent
from mnemolog.events.envelope import StreamId
from tests.engine.person import Person
from tests.tamper.attacker import Attacker

pytestmark = pytest.mark.spec("X08")

Found = set[tuple[Part, DamageKind, int]]


async def found(engine: Engine, stream: StreamId) -> Found:
    report = await engine.verifier.verify(stream)
    return {(one.part, one.kind, one.seq) for one in report.damages}


async def changes_what_was_said(mallory: Attacker) -> None:
    event = await mallory.event(3)
    await mallory.changes(3, "data", bytes(event["data"]).replace(b'"open"', b'"Open"'))


async def changes_who_did_it(mallory: Attacker) -> None:
    await mallory.sql(
        'UPDATE mnemolog.events SET meta = meta || \'{"actor": "eve"}\''
        " WHERE tenant = %(tenant)s AND stream = %(stream)s AND seq = 3"
    )


async def moves_it_to_another_thread(mallory: Attacker) -> None:
    await mallory.sql(
        'UPDATE mnemolog.events SET meta = meta || \'{"thread_id": "another"}\''
        " WHERE tenant = %(tenant)s AND stream = %(stream)s AND seq = 3"
    )


async def changes_when_it_happened(mallory: Attacker) -> None:
    await mallory.sql(
        "UPDATE mnemolog.events SET occurred_at = occurred_at + interval '1 microsecond'"
        " WHERE tenant = %(tenant)s AND stream = %(stream)s AND seq = 3"
    )


async def takes_its_tags_away(mallory: Attacker) -> None:
    await mallory.changes(3, "tags", [])
    await mallory.tidies()


@pytest.mark.parametrize(
    "attack",
    [
        changes_what_was_said,
        changes_who_did_it,
        moves_it_to_another_thread,
        changes_when_it_happened,
        takes_its_tags_away,
    ],
)
async def test_a_changed_event_is_found(
    victim: Engine, ana: Person, mallory: Attacker, attack: Callable[[Attacker], Awaitable[None]]
) -> None:
    await attack(mallory)

    assert await found(victim, ana.stream) == {(Part.EVENT, DamageKind.CHANGED, 3)}


async def test_a_changed_last_event_is_found_though_no_later_one_vouches_for_it(
    victim: Engine, ana: Person, mallory: Attacker
) -> None:
    head = await mallory.head()
    await mallory.changes(head, "occurred_at", (await mallory.event(1))["occurred_at"])

    assert await found(victim, ana.stream) == {(Part.EVENT, DamageKind.CHANGED, head)}


async def test_a_forged_event_is_found_with_head_and_tags_to_match(
    victim: Engine, ana: Person, mallory: Attacker
) -> None:
    head = await mallory.head()
    await mallory.inserts({**await mallory.event(head), "seq": head + 1, "event_id": uuid4(), "link": bytes(32)})

    assert await found(victim, ana.stream) == {(Part.EVENT, DamageKind.FORGED, head + 1)}


async def test_a_removed_event_is_found(victim: Engine, ana: Person, mallory: Attacker) -> None:
    await mallory.removes(4)
    await mallory.tidies()

    assert await found(victim, ana.stream) == {(Part.EVENT, DamageKind.REMOVED, 4)}


async def test_a_removed_event_is_found_after_the_rest_moved_up(victim: Engine, ana: Person, mallory: Attacker) -> None:
    head = await mallory.head()
    await mallory.removes(4)
    for seq in range(5, head + 1):
        await mallory.moves(seq, to=seq - 1)
    await mallory.tidies()

    moved = {(Part.EVENT, DamageKind.REORDERED, seq) for seq in range(4, head)}
    assert moved <= await found(victim, ana.stream)


@pytest.mark.parametrize(("one", "other"), [(3, 4), (3, 7), (1, 2)])
async def test_two_events_that_changed_places_are_found(
    victim: Engine, ana: Person, mallory: Attacker, one: int, other: int
) -> None:
    await swap(mallory, one, other)

    damages = await found(victim, ana.stream)
    assert {(Part.EVENT, DamageKind.REORDERED, one), (Part.EVENT, DamageKind.REORDERED, other)} <= damages


async def test_a_replayed_event_is_found(victim: Engine, ana: Person, mallory: Attacker) -> None:
    head = await mallory.head()
    await mallory.sql("DROP INDEX mnemolog.events_event_id")
    try:
        await mallory.inserts({**await mallory.event(3), "seq": head + 1})
        assert await found(victim, ana.stream) == {(Part.EVENT, DamageKind.REPLAYED, head + 1)}
    finally:
        await mallory.removes(head + 1)
        await mallory.sql("CREATE UNIQUE INDEX events_event_id ON mnemolog.events (event_id, tenant, stream)")


async def test_an_event_that_was_copied_from_another_user_is_found(
    victim: Engine, ana: Person, bob: Person, mallory: Attacker
) -> None:
    head = await mallory.head()
    theirs = await mallory.on(bob.stream).event(3)
    await mallory.inserts({**theirs, "stream": ana.stream.name, "seq": head + 1})

    assert await found(victim, ana.stream) == {(Part.EVENT, DamageKind.COPIED, head + 1)}


async def test_a_stream_copied_to_another_user_is_found(victim: Engine, ana: Person, mallory: Attacker) -> None:
    other = replace(ana.stream, name=f"{ana.stream.name}-twin")
    await mallory.sql(
        "INSERT INTO mnemolog.events SELECT tenant, %(other)s, seq, event_id, type, version, tags, meta, occurred_at,"
        " recorded_at, data, link FROM mnemolog.events WHERE tenant = %(tenant)s AND stream = %(stream)s",
        other=other.name,
    )
    await mallory.sql("INSERT INTO mnemolog.heads (tenant, stream) VALUES (%(tenant)s, %(other)s)", other=other.name)
    await mallory.on(other).tidies()

    kinds = {(part, kind) for part, kind, _ in await found(victim, other)}
    assert (Part.EVENT, DamageKind.COPIED) in kinds
    assert (Part.EVENT, DamageKind.FORGED) not in kinds


async def test_a_cut_tail_is_found_by_its_head(victim: Engine, ana: Person, mallory: Attacker) -> None:
    head = await mallory.head()
    await mallory.removes(head)

    assert (Part.EVENT, DamageKind.TAIL_CUT, head) in await found(victim, ana.stream)


async def cut_the_tail(mallory: Attacker) -> int:
    head = await mallory.head()
    await mallory.removes(head - 2, head)
    await mallory.tidies()
    return head - 2


async def test_a_tail_that_was_cut_with_everything_about_it_is_found_by_the_copies_on_jetstream(
    victim: Engine, ana: Person, bob: Person, mallory: Attacker
) -> None:
    seq = await cut_the_tail(mallory)

    assert (Part.EVENT, DamageKind.TAIL_CUT, seq) in await found(victim, ana.stream)


async def test_a_tail_that_was_cut_is_found_by_an_anchor_when_jetstream_kept_no_copy(
    victim: Engine, ana: Person, mallory: Attacker
) -> None:
    await anchored(victim)
    await Person(victim, f"{ana.user}-later").creates("Somebody else went on")
    await victim.settled(60)
    await victim.nats.jetstream().purge_stream(EVENTS)
    head = await mallory.head()
    await cut_the_tail(mallory)

    damages = {one for one in await found(victim, ana.stream) if one[0] is Part.EVENT}

    assert damages == {(Part.EVENT, DamageKind.TAIL_CUT, head)}


async def test_a_removed_stream_is_found(victim: Engine, ana: Person, bob: Person, mallory: Attacker) -> None:
    await mallory.forgets_everything()

    assert (Part.EVENT, DamageKind.TAIL_CUT, 1) in await found(victim, ana.stream)


async def test_a_stream_that_went_on_from_an_older_copy_of_itself_is_found(
    victim: Engine, ana: Person, mallory: Attacker
) -> None:
    seq = await cut_the_tail(mallory)
    with pytest.raises(TamperedEvent):
        await ana.says("I am somebody else now")
    victim.anchoring.known.forget(ana.stream)  # As in a process that was not told of her events.
    await ana.says("I am somebody else now")

    assert (Part.EVENT, DamageKind.ROLLED_BACK, seq) in await found(victim, ana.stream)


async def anchored(engine: Engine) -> None:
    """Anchor now what would be anchored within seconds."""
    await engine.anchoring.flush()


async def swap(mallory: Attacker, one: int, other: int) -> None:
    aside = 1_000_000
    await mallory.moves(one, to=aside)
    await mallory.moves(other, to=one)
    await mallory.moves(aside, to=other)
    await mallory.tidies()
