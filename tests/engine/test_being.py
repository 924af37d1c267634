"""The stores of a being end to end: what its readers show, and what a rebuild, an erasure and an export say."""

from typing import Any
from uuid import UUID

import pytest

from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.erasure import forgetting
from mnemolog.adapters.erasure.erasing import erase
from mnemolog.adapters.erasure.prove import prove
from mnemolog.adapters.erasure.target import ProofSubject
from mnemolog.commands.being import MarkEntry, RemoveEntry
from mnemolog.commands.erasure import EraseKnown, EraseThread
from mnemolog.commands.rollback import Rollback
from mnemolog.commands.scopes import EraseScope, Reach
from mnemolog.domain.being import Store
from mnemolog.domain.errors import NotFound
from mnemolog.events.fields import validated
from mnemolog.projections.reads.moment import Moment
from tests.commands.test_being import SAMPLES
from tests.engine.equality import assert_live_equals_replayed
from tests.engine.person import Person


@pytest.fixture
def mika(engine: Engine, user: str) -> Person:
    return Person(engine, user, agent="mika")


def beside(being: Person) -> Person:
    """Another being of the same user."""
    return Person(being.engine, being.user, being.tenant, "juno")


def who(being: Person) -> dict[str, Any]:
    return {"tenant": being.tenant, "user_id": being.user, "agent_id": being.agent, "thread_id": being.thread}


async def puts(being: Person, store: Store, body: dict[str, Any], **fields: Any) -> UUID:
    entry_id, _ = await being.engine.writes.put_entry({**who(being), "store": store, "body": body, **fields})
    return entry_id


async def entries(being: Person, *stores: Store, **asked: Any) -> list[dict[str, Any]]:
    return list(await being.engine.reads.being_entries(being.viewer, stores, moment=Moment(), **asked))


@pytest.mark.spec("C15")
async def test_each_store_shows_what_was_put_oldest_first(mika: Person) -> None:
    for store, (body, _) in SAMPLES.items():
        await puts(mika, store, body)
    note = await puts(mika, Store.NOTE, {"type": "reminder", "text": "call Zoë"}, key="zoe")

    found = await entries(mika)
    assert [one["store"] for one in found] == [*SAMPLES, Store.NOTE]
    assert all(SAMPLES[one["store"]][0].items() <= one["body"].items() for one in found[:-1])
    await mika.engine.writes.handle(validated(MarkEntry, {**who(mika), "entry_id": note}))
    assert [one["entry_id"] for one in await entries(mika, Store.NOTE, read=True)] == [note]
    assert [one["body"]["type"] for one in await entries(mika, Store.NOTE, read=False)] == ["scene"]
    again = await puts(mika, Store.NOTE, {"type": "reminder", "text": "call Zoë on Monday"}, key="zoe")
    assert again == note
    shown = [one["body"]["text"] for one in await entries(mika, Store.NOTE, read=False)]
    assert shown[1:] == ["call Zoë on Monday"]
    await assert_live_equals_replayed(mika.engine, mika.stream)


@pytest.mark.spec_part("C01")
async def test_a_being_sees_nothing_of_another_of_its_user(mika: Person) -> None:
    mine = await puts(mika, Store.DIARY, {"date": "2026-01-03", "text": "Ana cried."})
    juno = beside(mika)
    theirs = await puts(juno, Store.DIARY, {"date": "2026-01-03", "text": "Ana laughed."})
    assert mine != theirs
    assert [one["entry_id"] for one in await entries(mika)] == [mine]
    assert [one["entry_id"] for one in await entries(juno)] == [theirs]
    for ask in (
        mika.engine.reads.entry_history(juno.viewer, mine, moment=Moment()),
        mika.engine.reads.why(juno.viewer, str(mine), Moment()),
    ):
        with pytest.raises(NotFound):
            await ask


async def test_its_history_and_its_past_say_what_it_was(mika: Person) -> None:
    rule = await puts(mika, Store.RULE, {"text": "Answer briefly."}, key="brief")
    seq = await mika.engine.log.head(mika.stream)
    await puts(mika, Store.RULE, {"text": "Answer at length."}, key="brief")
    await mika.engine.writes.handle(validated(RemoveEntry, {**who(mika), "entry_id": rule}))

    assert await entries(mika) == []
    [then] = await mika.engine.reads.being_entries(mika.viewer, moment=Moment(as_of=seq))
    assert then["body"]["text"] == "Answer briefly."
    found = await mika.engine.reads.entry_history(mika.viewer, rule, moment=Moment())
    assert [one["event"] for one in found] == ["DELETE", "UPDATE", "ADD"]
    assert {"field": "text", "old": "Answer briefly.", "new": "Answer at length."} in found[1]["changes"]
    why = await mika.engine.reads.why(mika.viewer, str(rule), Moment())
    assert [one.type for one in why.events] == ["BeingEntrySet", "BeingEntrySet", "BeingEntryRemoved"]


@pytest.mark.spec_part("X15")
async def test_the_rollback_of_a_run_puts_the_stores_back(mika: Person) -> None:
    note = await puts(mika, Store.NOTE, {"type": "scene", "text": "{}"})
    await puts(mika, Store.SNAPSHOT, {"think_md": "- tea"})
    before = await entries(mika)
    run = {"run_id": "patrol-1"}
    await mika.engine.writes.handle(validated(MarkEntry, {**who(mika), **run, "entry_id": note}))
    await puts(mika, Store.SNAPSHOT, {"think_md": "- coffee"}, **run)
    await puts(mika, Store.DIARY, {"date": "2026-01-03", "text": "A day."}, **run)

    asked = {**who(mika), "of_run": "patrol-1", "at": mika.engine.writes.now()}
    await mika.engine.writes.rollback(Rollback.model_validate(asked))
    without = {"seq", "updated_at", "run_id"}
    then = await entries(mika)
    assert [{k: v for k, v in one.items() if k not in without} for one in then] == [
        {k: v for k, v in one.items() if k not in without} for one in before
    ]
    await assert_live_equals_replayed(mika.engine, mika.stream)


@pytest.mark.spec("X16")
async def test_an_erased_entry_is_readable_nowhere(mika: Person) -> None:
    entry = await puts(mika, Store.RELATIONSHIP, {"name": "Zoquinha", "text": "Ana owes Zoquinha money."})
    kept = await puts(mika, Store.RELATIONSHIP, {"name": "Bob", "text": "A colleague."})
    command = EraseKnown(**who(mika), kind="being_entry", name=str(entry))
    await erase(mika.engine, command)
    assert [one["entry_id"] for one in await entries(mika)] == [kept]
    proof = await prove(mika.engine, ProofSubject(mika.stream, known=f"being_entry:{entry}"), "Zoquinha")
    assert proof.holds, [place for place in proof.places if place.readable]
    await assert_live_equals_replayed(mika.engine, mika.stream)
    again = await puts(mika, Store.RELATIONSHIP, {"name": "Zoquinha", "text": "Met again."})
    assert again != entry


async def test_what_was_made_from_a_thread_goes_with_it(mika: Person) -> None:
    await mika.says("I am tired.", turn_id="m-tired")
    await puts(mika, Store.DIARY, {"date": "2026-01-03", "text": "Ana is tired."}, source_turn_ids=["m-tired"])
    kept = await puts(mika, Store.DIARY, {"date": "2026-01-04", "text": "Quiet."})
    await erase(mika.engine, EraseThread(**who(mika)))
    assert [one["entry_id"] for one in await entries(mika)] == [kept]


async def test_erasing_what_an_agent_owns_takes_its_stores_and_no_others(mika: Person) -> None:
    removed = await puts(mika, Store.NOTE, {"type": "todo", "text": "ask about Rome"})
    await mika.engine.writes.handle(validated(RemoveEntry, {**who(mika), "entry_id": removed}))
    shown = await puts(mika, Store.DIARY, {"date": "2026-01-03", "text": "Ana planned Rome."})
    juno = beside(mika)
    theirs = await puts(juno, Store.DIARY, {"date": "2026-01-03", "text": "Ana laughed."})

    command = EraseScope.model_validate({**who(mika), "scope": Reach.AGENT})
    done = await forgetting.forget(mika.engine, command)
    assert set(done.extent.entries) == {removed, shown}
    assert await entries(mika) == []
    assert [one["entry_id"] for one in await entries(juno)] == [theirs]
