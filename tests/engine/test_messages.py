"""A turn is a message: found beside memories, marked as what it is, and no memory."""

from datetime import timedelta

import pytest

from mnemolog.adapters.clock import now
from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.erasure.erasing import Erasure, erase
from mnemolog.adapters.erasure.prove import prove
from mnemolog.adapters.erasure.target import ProofSubject
from mnemolog.adapters.maintenance.retention import retain
from mnemolog.commands.erasure import EraseMessages
from mnemolog.commands.rollback import Rollback
from mnemolog.domain.errors import Erased, NotFound
from mnemolog.domain.memory import PURGE_AFTER
from mnemolog.projections.reads.moment import Moment
from tests.bullets import undated
from tests.engine.equality import assert_live_equals_replayed
from tests.engine.person import Person

SECRET = "quetzal"


async def listed(ana: Person, thread_id: str | None = None) -> list[str]:
    rows = await ana.engine.reads.messages(ana.viewer, thread_id, 100, await ana.caught_up())
    return [row["text"] for row in rows]


async def erases(ana: Person, message_id: str, **fields: bool) -> Erasure:
    command = EraseMessages.model_validate({"user_id": ana.user, "message_ids": [message_id], **fields})
    return await erase(ana.engine, command)


@pytest.mark.spec_part("E01")
async def test_what_was_said_is_found_and_leaves_no_memory(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    await ana.says("Good morning!")
    await ana.says("I moved to Lisbon", turn_id="t1", run_id="r1", metadata={"mood": "glad"})
    await ana.creates("Ana works in Lisbon")

    hits = (await ana.asks("Lisbon")).hits
    found = next(hit for hit in hits if hit.kind == "message" and hit.id == "t1")

    assert (found.text, undated(found.bullet)) == ("Ana: I moved to Lisbon", "[message] Ana: I moved to Lisbon")
    assert {hit.kind for hit in hits} == {"message", "fact"}
    assert (found.row["run_id"], found.row["role"], found.row["metadata"]) == ("r1", "user", {"mood": "glad"})
    assert found.similarity is not None
    assert [row["text"] for row in await engine.reads.newest(ana.viewer, 10)] == ["Ana works in Lisbon"]
    assert [one.text for one in (await ana.changes()).entries] == ["Ana works in Lisbon"]
    assert await listed(ana) == ["I moved to Lisbon", "Good morning!"]
    await assert_live_equals_replayed(engine, ana.stream)


@pytest.mark.spec_part("B06")
@pytest.mark.parametrize(
    ("filters", "found"),
    [
        ({"role": "user"}, True),
        ({"role": "assistant"}, False),
        ({"run_id": "r1"}, True),
        ({"run_id": "r2"}, False),
        ({"metadata": {"mood": "glad"}}, True),
        ({"metadata": {"mood": "sad"}}, False),
        ({"category": "activity"}, True),
        ({"category": "note"}, False),
        ({"pinned": False}, True),
        ({"pinned": True}, False),
        ({"importance_min": 1}, False),
        ({"updated_before": "2020-01-01"}, False),
    ],
)
async def test_filters_hold_for_messages(engine: Engine, user: str, filters: dict[str, object], found: bool) -> None:
    ana = Person(engine, user)
    await ana.says("I moved to Lisbon", turn_id="t1", run_id="r1", metadata={"mood": "glad"})

    assert bool((await ana.asks("Lisbon", filters=filters)).hits) is found


@pytest.mark.spec_part("B05")
async def test_an_agent_whose_allowlist_leaves_activity_out_sees_no_message(engine: Engine, user: str) -> None:
    await Person(engine, user).says("I moved to Lisbon", turn_id="t1")
    planner = Person(engine, user, agent="planner")

    assert (await planner.finds("Lisbon"), await listed(planner)) == ([], [])
    with pytest.raises(NotFound):
        await engine.reads.message(planner.viewer, "t1")


async def test_a_message_is_left_out_if_a_memory_says_the_same(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    await ana.remembers("I moved to Lisbon", turn_id="t1")

    assert await ana.finds("Lisbon") == ["Ana: I moved to Lisbon"]
    assert [hit.kind for hit in (await ana.asks("Lisbon")).hits] == ["episode"]


@pytest.mark.spec_part("X03", "X02")
async def test_what_was_said_more_than_once_is_one_hit(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    for _ in range(3):
        await ana.says("My bicycle is broken")
    await ana.says("my  bicycle is broken.", role="tool", speaker="Ana")
    await ana.says("My bicycle is red")

    found = [hit.text for hit in (await ana.asks("bicycle")).hits]

    assert sorted(found) == ["Ana: My bicycle is broken", "Ana: My bicycle is red", "Ana: my  bicycle is broken."]
    assert len(await listed(ana)) == 5


async def test_a_deleted_message_is_hidden_until_it_is_restored(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    await ana.says("I moved to Lisbon", turn_id="t1")
    before = Moment(as_of=await engine.log.head(ana.stream))

    await ana.deletes_message("t1", f"about {SECRET}")

    assert (await ana.finds("Lisbon"), await listed(ana)) == ([], [])
    hidden = await engine.reads.message(ana.viewer, "t1")
    assert (hidden["status"], hidden["forget_reason"]) == ("soft_deleted", f"about {SECRET}")
    assert hidden["forgotten_at"] == hidden["updated_at"] > hidden["created_at"]
    assert await ana.finds("Lisbon", before) == ["Ana: I moved to Lisbon"]
    await ana.restores_message("t1")
    assert await ana.finds("Lisbon") == ["Ana: I moved to Lisbon"]
    shown = await engine.reads.message(ana.viewer, "t1")
    assert (shown["forgotten_at"], shown["forget_reason"]) == (None, "")
    await assert_live_equals_replayed(engine, ana.stream)


@pytest.mark.spec_part("X15")
async def test_a_rollback_of_a_run_hides_its_messages(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    await ana.says("I moved to Lisbon", run_id="r1")
    await ana.says("I bake bread in Lisbon")

    await engine.writes.rollback(Rollback(user_id=user, of_run="r1", at=now()))

    assert await ana.finds("Lisbon") == ["Ana: I bake bread in Lisbon"]


@pytest.mark.spec_part("X07", "X16")
@pytest.mark.parametrize("keep_memories", [True, False])
async def test_an_erased_message_is_readable_nowhere(engine: Engine, user: str, keep_memories: bool) -> None:
    ana = Person(engine, user)
    await ana.says(f"I hide in {SECRET}", turn_id="t1")
    await ana.says("I like tea", turn_id="t2")
    memory_id = await ana.creates("Ana has a hiding place", source_turn_ids=["t1"])
    await ana.deletes_message("t1", f"about {SECRET}")
    await ana.restores_message("t1")
    assert await ana.finds(SECRET)
    await ana.deletes_message("t1", f"still about {SECRET}")
    await ana.says("I like coffee", turn_id="t3")
    await ana.deletes_message("t3")
    await erases(ana, "t3")

    erasure = await erases(ana, "t1", keep_memories=keep_memories)

    assert erasure.extent.memories == (() if keep_memories else (memory_id,))
    assert SECRET not in repr(await ana.everything())
    assert not any(SECRET in text for text in await ana.finds(SECRET))
    with pytest.raises(Erased):
        await engine.reads.message(ana.viewer, "t1")
    assert (await prove(engine, ProofSubject(ana.stream, message_id="t1"))).holds
    why = await engine.reads.why(ana.viewer, str(memory_id)) if keep_memories else None
    assert why is None or [turn.erased for turn in why.turns] == [True]
    assert await listed(ana) == ["I like tea"]
    await assert_live_equals_replayed(engine, ana.stream)


async def test_a_message_of_another_user_is_not_found(engine: Engine, user: str) -> None:
    ana, ben = Person(engine, user), Person(engine, f"{user}-ben")
    await ana.says("I moved to Lisbon", turn_id="t1")
    await ben.says("hello", turn_id="t2")

    with pytest.raises(NotFound):
        await engine.reads.message(ben.viewer, "t1", await ben.caught_up())
    with pytest.raises(NotFound):
        await erases(ben, "t1")
    assert "moved" not in repr(await ben.everything())


async def test_messages_of_one_thread_are_listed_in_pages(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    for number in range(5):
        await ana.says(f"message {number}", thread_id="chat")
    await ana.says("elsewhere")

    first = await engine.reads.messages(ana.viewer, "chat", 3, await ana.caught_up())
    rest = await engine.reads.messages(ana.viewer, "chat", 3, cursor=first.next_cursor)

    assert [row["text"] for row in (*first, *rest)] == [f"message {number}" for number in (4, 3, 2, 1, 0)]
    assert rest.next_cursor is None


@pytest.mark.spec_part("B07")
async def test_messages_end_with_their_retention_and_their_memories_stay(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    kept = await ana.remembers("I moved to Lisbon", turn_id=f"{user}-1")
    await ana.says("I bake bread", turn_id=f"{user}-2")
    await ana.deletes_message(f"{user}-2")
    await ana.says("I like tea", turn_id=f"{user}-3")
    await engine.settled(60)

    done = await retain(engine, now() + PURGE_AFTER + timedelta(hours=1))

    assert f"{user}-2" in done.purged_messages
    assert f"{user}-3" not in done.purged_messages
    assert (await engine.reads.memory(ana.viewer, kept))["text"] == "Ana: I moved to Lisbon"
    with pytest.raises(Erased):
        await engine.reads.message(ana.viewer, f"{user}-2")
