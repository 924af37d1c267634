"""The history of a memory: one row a change, each reference leading to the row before (B §8)."""

from typing import Any
from uuid import UUID

import pytest

from mnemolog.adapters.engine.engine import Engine
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
async def test_a_row_names_who_did_it_and_the_event(engine: Engine, user: str) -> None:
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
