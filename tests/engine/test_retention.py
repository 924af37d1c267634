"""Retention, end to end: what nobody uses fades, what was forgotten long ago is purged, what is used grows (B §7)."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from datetime import timedelta
from typing import Any

import pytest

from mnemolog.adapters.engine.engine import Engine, now, open_engine
from mnemolog.adapters.erasure import erasing
from mnemolog.adapters.erasure.prove import prove
from mnemolog.adapters.erasure.target import ProofSubject
from mnemolog.adapters.maintenance.retention import retain
from mnemolog.domain.errors import Erased
from mnemolog.domain.memory import Status
from mnemolog.events.conversation import TurnRecorded
from mnemolog.events.envelope import StreamId
from mnemolog.events.memory import MemoriesRecalled, MemoryObserved
from mnemolog.projections.reads.moment import Moment
from mnemolog.projections.requests import ContextRequest
from tests.engine.equality import assert_live_equals_replayed
from tests.engine.person import Person
from tests.engine.teller import Teller
from tests.testkit.settings import settings_in

TTL = timedelta(days=61)


@pytest.fixture(scope="module")
async def engine(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Engine]:
    """An engine of their own: a pass goes over all users. Recalls are written when a test says so."""
    async with open_engine(settings_in(tmp_path_factory.mktemp("retention"), recall_seconds=3600)) as opened:
        yield opened


async def row(ana: Person, memory_id: Any) -> dict[str, Any]:
    return dict(await ana.engine.reads.memory(ana.viewer, memory_id, await ana.caught_up()))


@pytest.mark.spec("B07")
async def test_what_is_unimportant_and_unused_fades_is_told_once_and_can_be_restored(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    light = await ana.creates("Ana wore a red scarf", importance=0.25)
    heavy = await ana.creates("Ana is allergic to nuts", importance=0.75)
    pinned = await ana.creates("Ana speaks Croatian", pinned=True)
    before = (await ana.changes()).rev

    planned = await retain(engine, now() + TTL, dry_run=True)
    assert (await row(ana, light))["status"] == Status.ACTIVE
    done = await retain(engine, now() + TTL)

    assert light in planned.faded == done.faded
    assert not {heavy, pinned}.intersection(done.faded)
    faded = await row(ana, light)
    assert (faded["status"], faded["deleted_cause"]) == (Status.SOFT_DELETED, "ttl")
    assert "Ana wore a red scarf" not in await ana.finds("red scarf")
    told = await ana.changes(before)
    assert [str(entry.change) for entry in told.entries] == ["soft_deleted"]
    assert [one["event"] for one in await engine.reads.history(ana.viewer, light)] == ["TTL", "ADD"]
    assert [one["actor"] for one in await engine.reads.history(ana.viewer, light)] == ["retention", "user"]
    await ana.restores(light)
    assert (await row(ana, light))["status"] == Status.ACTIVE
    assert light not in (await retain(engine, now() + timedelta(days=59))).faded


@pytest.mark.spec("B07", "X07")
async def test_what_was_forgotten_is_purged_at_its_time_with_its_turns_and_never_before(
    engine: Engine, user: str
) -> None:
    ana = Person(engine, user)
    memory_id = await ana.remembers("I hid a key under the mat", turn_id="t1")
    await ana.deletes(memory_id)
    await ana.caught_up()
    await engine.settled(60)

    assert memory_id not in (await retain(engine, now() + timedelta(days=29))).purged
    assert memory_id in (await retain(engine, now() + timedelta(days=31))).purged

    with pytest.raises(Erased):
        await row(ana, memory_id)
    turns = [one.payload for one in await engine.log.read(ana.stream) if isinstance(one.payload, TurnRecorded)]
    assert [turn.text for turn in turns] == [""]
    assert memory_id not in (await retain(engine, now() + timedelta(days=31))).purged
    await assert_live_equals_replayed(engine, StreamId.of_user(user))


@pytest.mark.spec("B07")
async def test_a_purge_of_what_faded_leaves_the_turns(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    memory_id = await ana.remembers("I wore a blue scarf", turn_id="t1")
    await ana.updates(memory_id, importance=0.25)
    await engine.settled(60)
    await retain(engine, now() + TTL)
    await engine.settled(60)

    done = await retain(engine, now() + TTL + timedelta(days=31))

    assert memory_id in done.purged
    turns = [one.payload for one in await engine.log.read(ana.stream) if isinstance(one.payload, TurnRecorded)]
    assert [turn.text for turn in turns] == ["I wore a blue scarf"]


@pytest.mark.spec("A19", "B07")
async def test_deleted_entities_and_facts_are_purged_on_time_with_their_facts(engine: Engine, user: str) -> None:
    ana = Teller(engine, user)
    marta = await ana.knows_of("Marta Quince")
    told, hidden = (
        await ana.tells("Marta Quince", "likes", "quince jam"),
        await ana.tells("Alice", "motto", "quince first"),
    )
    back = await ana.tells("Alice", "likes", "plums")
    await ana.forgets(marta)
    for one in (hidden, back):
        await ana.hides(one)
    await ana.shows(back)
    await engine.settled(60)

    early = await retain(engine, now() + timedelta(days=29))
    planned = await retain(engine, now() + timedelta(days=31), dry_run=True)
    assert "Marta Quince" in str([one.payload for one in await engine.log.read(ana.stream)])
    done = await retain(engine, now() + timedelta(days=31))

    assert (early.purged_facts, early.purged_entities) == ([], [])
    assert hidden in planned.purged_facts
    assert {told, back}.isdisjoint(done.purged_facts)
    assert (planned.purged_facts, planned.purged_entities) == (done.purged_facts, [marta])
    assert done.purged_entities == [marta]
    text = str([one.payload for one in await engine.log.read(ana.stream)])
    assert "uince" not in text
    assert "plums" in text
    again = await retain(engine, now() + timedelta(days=31))
    assert (again.purged_facts, again.purged_entities) == ([], [])
    await assert_live_equals_replayed(engine, StreamId.of_user(user))


@pytest.mark.spec("X07")
async def test_a_purge_that_would_leave_the_text_elsewhere_is_refused_and_reported(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    kept, gone = await ana.creates("Ana drinks tea"), await ana.creates("Ana drinks milk")
    await ana.merges(kept, gone, text="Ana drinks tea with milk")
    await ana.undoes(gone)
    await ana.deletes(gone)
    await engine.settled(60)

    done = await retain(engine, now() + timedelta(days=31))

    assert str(kept) in done.refused[gone]
    assert gone not in done.purged


@pytest.mark.spec("B07", "X07")
async def test_a_purge_removes_twenty_of_a_user_at_once_from_everywhere_without_what_is_refused(
    engine: Engine, user: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    cleaned, clean = list[tuple[str, int]](), erasing._clean

    async def counting(services: Any, written: Sequence[Any]) -> Any:
        cleaned.append((written[0].command.user_id, len(written)))
        return await clean(services, written)

    ana, ben = Person(engine, user), Person(engine, f"{user}-2")
    kept, refused = await ana.creates("Ana drinks tea"), await ana.creates("Ana drinks milk")
    await ana.merges(kept, refused, text="Ana drinks tea with milk")
    await ana.undoes(refused)
    gone = [await ana.creates(f"Ana has seen film {number}") for number in range(22)]
    of_ben = await ben.creates("Ben has seen film 1")
    for person, one in (*((ana, one) for one in (refused, *gone)), (ben, of_ben)):
        await person.deletes(one)
    await engine.settled(60)
    monkeypatch.setattr(erasing, "_clean", counting)

    done = await retain(engine, now() + timedelta(days=31))

    assert set(done.purged) >= {*gone, of_ben}
    assert str(kept) in done.refused[refused]
    assert [one for one in cleaned if one[0] in (ana.user, ben.user)] == [(ana.user, 19), (ana.user, 3), (ben.user, 1)]
    assert (await prove(engine, ProofSubject(ana.stream, memory_id=gone[-1]), "film 21")).holds
    await assert_live_equals_replayed(engine, ana.stream)


@pytest.mark.spec("B07")
@pytest.mark.spec_part("D13")
async def test_what_is_found_again_and_again_stays_and_grows_without_being_a_change(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    memory_id = await ana.creates("Ana keeps bees", importance=0.25, confidence=0.5)
    born = await row(ana, memory_id)
    for _ in range(10):
        assert await ana.finds("bees") == ["Ana keeps bees"]
    await engine.reads.query(ana.question("bees"), await ana.caught_up())
    await asyncio.sleep(0)

    await flushed(engine)
    found = await row(ana, memory_id)

    assert (found["reactivation_count"], found["session_count"]) == (11, 0)
    assert found["last_accessed"] > born["last_accessed"]
    assert (found["seq"], found["updated_at"]) == (born["seq"], born["updated_at"])
    recalls = [one for one in await engine.log.read(ana.stream) if isinstance(one.payload, MemoriesRecalled)]
    assert len(recalls) == 1
    await engine.settled(60)
    done = await retain(engine, now())
    await retain(engine, now())
    assert memory_id in done.grown
    grown = await row(ana, memory_id)
    assert (grown["confidence"], grown["importance"]) == (pytest.approx(0.65), pytest.approx(0.3))
    assert grown["observations"] == 1
    uses = [one for one in await engine.log.read(ana.stream) if isinstance(one.payload, MemoryObserved)]
    assert len(uses) == 1
    await assert_live_equals_replayed(engine, StreamId.of_user(user))


@pytest.mark.spec("B07")
@pytest.mark.spec_part("D13")
async def test_memories_in_contexts_and_cards_are_in_use_and_do_not_fade(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    about = {"entity_refs": ["person:zed"], "category": "profile"}
    told = await ana.creates("Zed keeps goats", importance=0.25, **about)
    carded = await ana.creates("Zed is her brother", pinned=True, category="note", entity_refs=["person:zed"])
    aside = await ana.creates("Ana wore a green hat", importance=0.25, category="note")
    now_ = await ana.caught_up()
    for _ in range(10):
        context = await engine.reads.context(ana.viewer, ContextRequest(query="goats", categories=("profile",)), now_)
        [card] = await engine.reads.cards(ana.viewer, ["person:zed"])
    await engine.reads.context(ana.viewer, ContextRequest(query="goats"), Moment(as_of=now()))

    await flushed(engine)
    used = {id_: (await row(ana, id_))["reactivation_count"] for id_ in (told, carded, aside)}

    assert [one["memory_id"] for one in context.rows] == [told]
    assert [one["memory_id"] for one in card.memories] == [carded]
    assert used == {told: 10, carded: 10, aside: 0}
    grown = (await retain(engine, now())).grown
    assert told in grown
    assert (await row(ana, told))["importance"] == pytest.approx(0.3)
    await engine.settled(60)


async def flushed(engine: Engine) -> None:
    """What the engine does every `recall_seconds`."""
    await engine.recalls.flush()
    await engine.settled(60)
