"""The history of a memory: one row a change, each reference leading to the row before (B §8)."""

from typing import Any
from uuid import UUID

import pytest

from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.erasure.erasing import erase
from mnemolog.commands.erasure import EraseMemory
from mnemolog.domain.errors import NotFound
from mnemolog.projections.reads.moment import Moment
from tests.engine.person import Person


async def rows(ana: Person, memory_id: UUID) -> list[dict[str, Any]]:
    """Oldest first."""
    found = await ana.engine.reads.history(ana.viewer, memory_id, moment=await ana.caught_up())
    return [dict(row) for row in reversed(found)]


@pytest.mark.spec("B08", "X03")
async def test_a_merge_and_its_undo_leave_an_unbroken_chain_on_both_memories(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    lactose = await ana.creates("Ana is lactose intolerant")
    milk = await ana.creates("Ana avoids milk")
    await ana.merges(lactose, milk)
    await ana.undoes(milk)

    assert [(row["event"], row["old_ref"], row["new_ref"]) for row in await rows(ana, lactose)] == [
        ("ADD", None, f"{lactose}@1"),
        ("MERGE", f"{lactose}@1", f"{lactose}@3"),
        ("UPDATE", f"{lactose}@3", f"{lactose}@4"),
    ]
    assert [(row["event"], row["old_ref"], row["new_ref"]) for row in await rows(ana, milk)] == [
        ("ADD", None, f"{milk}@2"),
        ("MERGE", f"{milk}@2", f"{lactose}@3"),
        ("RESTORE", f"{milk}@3", f"{milk}@5"),
    ]


@pytest.mark.spec("B08", "X02")
async def test_a_reference_leads_to_the_memory_as_it_was(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    tea = await ana.creates("Ana drinks green tea")
    await ana.updates(tea, text="Ana drinks white tea")
    [_, update] = await rows(ana, tea)

    texts = []
    for reference in (update["old_ref"], update["new_ref"]):
        memory_id, _, seq = reference.partition("@")
        moment = Moment(as_of=int(seq))
        texts.append((await engine.reads.memory(ana.viewer, UUID(memory_id), moment))["text"])

    assert texts == ["Ana drinks green tea", "Ana drinks white tea"]


@pytest.mark.spec("B08")
async def test_every_kind_of_write_has_its_word(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    tea, cup = await ana.creates("Ana drinks tea"), await ana.creates("Ana has a cup")
    await ana.updates(tea, importance=0.75)
    await ana.links(tea, cup, strength=0.5)
    await ana.deletes(tea, reason="no longer true")
    await ana.restores(tea)
    await ana.merges(tea, cup)

    told = await rows(ana, tea)

    assert [row["event"] for row in told] == ["ADD", "UPDATE", "LINK", "DELETE", "RESTORE", "MERGE"]
    assert told[1]["meta"]["changed"] == ["importance"]
    assert told[2]["meta"].items() >= {"to": str(cup), "strength": 0.5}.items()
    assert told[3]["meta"]["reason"] == "no longer true"
    assert told[5]["meta"]["absorbed"] == [str(cup)]


@pytest.mark.spec("B08", "X04")
async def test_a_row_names_the_actor_and_the_event(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    tea, receipt = await engine.writes.create({"user_id": user, "text": "Ana drinks tea", "actor": "deanna"})

    [row] = await rows(ana, tea)

    assert row["actor"] == "deanna"
    assert row["meta"]["event_id"] == str(receipt.event_ids[0])
    assert row["seq"] == receipt.first_seq


async def test_the_history_of_an_unknown_memory_is_not_found(engine: Engine, user: str) -> None:
    with pytest.raises(NotFound) as missing:
        await rows(Person(engine, user), UUID(int=7))

    assert missing.value.field == "id"


@pytest.mark.spec("B08")
async def test_each_row_tells_the_old_and_the_new_value_of_what_it_changed(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    ship = await ana.creates("Ship v1 by August", category="tasks", metadata={"team": "core"})
    await ana.updates(ship, text="Ship v1 by September", importance=0.75)
    await ana.deletes(ship)
    await ana.restores(ship)

    added, updated, deleted, restored = await rows(ana, ship)

    made = {one["field"]: one["new"] for one in added["changes"]}
    assert (made["text"], made["category"], made["metadata"]) == ("Ship v1 by August", "tasks", {"team": "core"})
    assert all(one["old"] is None for one in added["changes"])
    assert updated["changes"] == [
        {"field": "text", "old": "Ship v1 by August", "new": "Ship v1 by September"},
        {"field": "importance", "old": pytest.approx(1 / 3), "new": 0.75},
    ]
    assert deleted["changes"] == [{"field": "status", "old": "active", "new": "soft_deleted"}]
    assert restored["changes"] == [{"field": "status", "old": "soft_deleted", "new": "active"}]


@pytest.mark.spec("B08", "X07")
async def test_a_row_of_something_erased_says_so_and_shows_no_text(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    secret = await ana.creates("The number is Quux-0199", metadata={"area": "Quux"})
    await ana.updates(secret, text="The number is Quux-0200", pinned=True)
    await erase(engine, EraseMemory.model_validate({**ana._who, "memory_id": secret}))

    added, updated, gone = await rows(ana, secret)

    assert (added["erased"], updated["erased"], gone["meta"]["erased"]) == (True, True, True)
    assert "Quux" not in repr([added, updated, gone])
    assert {one["field"] for one in updated["changes"]} == {"importance", "pinned"}
    assert gone["changes"] == [{"field": "status", "old": "active", "new": "purged"}]
