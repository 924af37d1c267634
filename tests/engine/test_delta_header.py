"""The delta header over the engine: revisions without gaps, and no change passed over (B §1)."""

import asyncio

import pytest

from mnemolog.adapters.engine.engine import Engine, now
from mnemolog.adapters.operations.memories import ContextRead, context
from mnemolog.adapters.operations.results import Context
from mnemolog.adapters.postgres.rebuildable import RebuildablePostgres
from mnemolog.adapters.postgres.store import PostgresStore
from mnemolog.domain.delta import Change
from mnemolog.projections.reads.moment import NOW
from tests.engine.person import Person
from tests.engine.teller import Teller


@pytest.mark.spec("B01")
async def test_twenty_writers_of_one_thread_leave_revisions_without_gap_or_double(engine: Engine, user: str) -> None:
    ana = Person(engine, user)

    ids = await asyncio.gather(*(ana.creates(f"Ana drinks tea number {n}") for n in range(20)))
    await asyncio.gather(*(ana.updates(memory_id, pinned=True) for memory_id in ids))

    told = await ana.changes()
    assert [entry.rev for entry in told.entries] == list(range(1, 41))
    assert told.rev == 40


@pytest.mark.spec("B01")
async def test_each_thread_counts_for_itself(engine: Engine, user: str) -> None:
    home, work = Person(engine, user, thread="home"), Person(engine, user, thread="work")
    await home.creates("Ana drinks tea")
    await work.creates("Ana ships on Friday", category="goals")
    await home.creates("Ana has a cat")

    assert (await home.changes()).rev == 2
    assert (
        await work.changes()
    ).header == "Memory updates since rev 0:\n- +created: [Goals] Ana ships on Friday (imp=2)"


@pytest.mark.spec("B01", "B06")
async def test_an_answer_carries_the_header_first_and_the_revision_to_ask_from_next(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    await ana.creates("Preferred name is Ana", category="personal", importance=0.25)

    first = await ana.asks("name", since_rev=0)
    second = await ana.asks("name", since_rev=first.rev)

    assert first.header == "Memory updates since rev 0:\n- +created: [Personal] Preferred name is Ana (imp=2)"
    assert second.header == ""
    assert (await ana.asks("name")).header == ""


@pytest.mark.spec("B01")
async def test_a_context_begins_with_the_header(engine: Engine, user: str) -> None:
    ana = Teller(engine, user)
    await ana.creates("Ana drinks tea", category="personal", importance=0.25)
    await ana.tells("me", "allergy", "peanuts", literal=True)

    async def asked(**fields: int) -> Context:
        who = {"user_id": user, "agent_id": ana.agent, "thread_id": ana.thread, "query": "tea"}
        await ana.caught_up()
        return await context.run(engine, ContextRead.model_validate({**who, **fields}))

    first = await asked(since_rev=0)
    second = await asked(since_rev=first.rev)

    told = ["Memory updates since rev 0:", "- +created: [Personal] Ana drinks tea (imp=2)"]
    assert first.header.splitlines() == told
    assert first.lines[:3] == [*told, f"[fact] {user} is allergic to peanuts ({now():as of %Y-%m-%d})"]
    assert first.text.startswith(f"{first.header}\n\nAlways consider:\n")
    assert (second.header, second.rev, (await asked()).header) == ("", 1, "")
    small = await asked(since_rev=0, budget_tokens=1)
    assert small.text.startswith(first.header)
    assert "Ana drinks tea" not in small.text.removeprefix(first.header)


@pytest.mark.spec("B01", "B07")
async def test_the_transition_of_a_deleted_memory_is_reported_once(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    tea = await ana.creates("Ana drinks tea")
    await ana.deletes(tea)

    told = await ana.changes(1)

    assert told.header == "Memory updates since rev 1:\n- -soft_deleted: [Note] Ana drinks tea"
    assert (await ana.changes(told.rev)).header == ""


@pytest.mark.spec("B01")
async def test_an_absorbed_memory_is_only_reported_through_its_survivor(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    lactose = await ana.creates("Ana is lactose intolerant")
    milk = await ana.creates("Ana avoids milk")
    await ana.merges(lactose, milk, text="lactose intolerance")

    assert (await ana.changes()).header == (
        "Memory updates since rev 0:\n- ↔merged: Combined 2 notes about lactose intolerance"
    )


@pytest.mark.spec("B01", "X03")
async def test_an_undone_merge_is_in_the_history_of_both_memories(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    lactose = await ana.creates("Ana is lactose intolerant")
    milk = await ana.creates("Ana avoids milk")
    merged = await ana.merges(lactose, milk, text="lactose intolerance")
    await ana.undoes(lactose)

    assert merged.first_seq == 3
    assert [(entry.memory_id, entry.change) for entry in (await ana.changes(3)).entries] == [
        (lactose, Change.UPDATED),
        (milk, Change.RESTORED),
    ]


@pytest.mark.spec("B01", "X09")
async def test_a_change_is_not_passed_over_while_the_memories_lag_behind_the_change_log(
    engine: Engine, user: str
) -> None:
    ana = Person(engine, user)
    tea = await ana.creates("Ana drinks tea")
    await ana.changes()
    memories = engine.projections.stores["memories"]
    assert isinstance(memories, PostgresStore)

    async with RebuildablePostgres(memories).quiet():
        await ana.updates(tea, text="Ana drinks white tea")
        async with asyncio.timeout(300):
            while await engine.projections.stores["changes"].progress(ana.stream) < 2:  # noqa: ASYNC110
                await asyncio.sleep(0.005)
        early = await ana.changes(0, NOW)

    assert early.rev == 1
    assert (await ana.changes(early.rev)).header == (
        "Memory updates since rev 1:\n- ↑updated: [Note] Ana drinks white tea"
    )
