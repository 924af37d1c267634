"""Batches on a real engine: a run is rolled back whole; a scope is forgotten, and a rollback brings it back."""

from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest

from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.erasure import erasing
from mnemolog.adapters.erasure import forgetting as module
from mnemolog.adapters.erasure.forgetting import extent, forget
from mnemolog.commands.erasure import EraseMemory, EraseThread, EraseUser
from mnemolog.commands.rollback import Rollback
from mnemolog.commands.scopes import EraseScope, ForgetScope, OfScope, Reach
from mnemolog.domain.errors import IdempotencyConflict, InvalidInput, NotFound, ServerFailed, UndoConflict
from mnemolog.events.envelope import Position, StreamId
from mnemolog.events.fields import validated
from mnemolog.projections.reads.moment import Moment
from tests.engine.equality import assert_live_equals_replayed
from tests.engine.person import Person
from tests.engine.teller import Teller


async def shown(person: Person) -> set[str]:
    """The texts of the memories that the person's agent sees."""
    head = await person.engine.log.head(person.stream)
    rows = await person.engine.reads.newest(person.viewer, 100, Moment(after=Position(person.stream, head)))
    return {row["text"] for row in rows}


def rolled_back(person: Person, **named: Any) -> Rollback:
    return validated(Rollback, {**who(person), **named, "at": person.engine.writes.now()})


def forgetting(person: Person, scope: Reach, **more: Any) -> ForgetScope:
    return validated(ForgetScope, {**who(person), "scope": scope, **more})


def erasing_all(person: Person, scope: Reach) -> EraseScope:
    return validated(EraseScope, {**who(person), "scope": scope})


def who(person: Person) -> dict[str, str]:
    return {"tenant": person.tenant, "user_id": person.user, "agent_id": person.agent}


@pytest.mark.spec("X15")
async def test_a_run_is_rolled_back_completely_and_earlier_state_stays(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    kept = await ana.creates("Ana drinks tea")
    await ana.updates(kept, text="Ana drinks coffee", run_id="r1")
    await ana.creates("Ana likes rain", run_id="r1")
    await ana.creates("Ana has a cat", run_id="r2")

    plan = await engine.writes.preview_rollback(rolled_back(ana, of_run="r1"))
    assert (len(plan.undone), plan.conflicts) == (2, ())
    assert "Ana likes rain" in await shown(ana), "a plan changes nothing"
    receipt = await engine.writes.rollback(rolled_back(ana, of_run="r1"))

    assert await shown(ana) == {"Ana drinks tea", "Ana has a cat"}
    assert len(receipt.event_ids) == 2
    assert (await engine.writes.rollback(rolled_back(ana, of_run="r1"))).already
    await assert_live_equals_replayed(engine, StreamId.of_user(user))


@pytest.mark.spec("X15")
async def test_a_later_change_is_a_conflict_and_skipping_it_undoes_the_rest(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    both = await ana.creates("Ana drinks tea", run_id="r1")
    await ana.creates("Ana likes rain", run_id="r1")
    await ana.updates(both, text="Ana drinks coffee")

    with pytest.raises(UndoConflict, match="changed later by MemoryUpdated"):
        await engine.writes.rollback(rolled_back(ana, of_run="r1"))
    await engine.writes.rollback(rolled_back(ana, of_run="r1", skip_conflicts=True))

    assert await shown(ana) == {"Ana drinks coffee"}


@pytest.mark.spec("X14", "X15")
async def test_a_thread_that_is_rolled_back_with_undos_and_redos_in_it_is_not_changed_again(
    engine: Engine, user: str
) -> None:
    ana = Person(engine, user)
    tea = await ana.creates("Ana drinks tea")
    await ana.updates(tea, text="Ana drinks coffee")
    undone = await ana.undoes(tea)
    await engine.writes.rollback(rolled_back(ana, of_event=undone.event_ids[0]))
    assert await shown(ana) == {"Ana drinks coffee"}

    first = await engine.writes.rollback(rolled_back(ana, of_thread=ana.thread))
    again = await engine.writes.rollback(rolled_back(ana, of_thread=ana.thread))

    assert (len(first.event_ids), again.already) == (2, True)
    assert await shown(ana) == set()
    await assert_live_equals_replayed(engine, StreamId.of_user(user))


@pytest.mark.spec("X15")
async def test_what_names_nothing_or_two_things_is_refused(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    await ana.creates("Ana drinks tea")

    with pytest.raises(NotFound):
        await engine.writes.rollback(rolled_back(ana, of_run="never"))
    with pytest.raises(InvalidInput):
        await engine.writes.rollback(rolled_back(ana, of_run="r1", of_thread="main"))


@pytest.mark.spec("A19", "X15")
async def test_an_agents_own_is_forgotten_without_the_rest_and_a_rollback_brings_it_back(
    engine: Engine, user: str
) -> None:
    coach = Person(engine, user, agent="coach")
    await coach.creates("Ana runs")
    await coach.creates("Ana hides a cake", scope="agent")
    await Person(engine, user, agent="cook").creates("Ana bakes", scope="agent")
    asked = forgetting(coach, Reach.AGENT, reason="asked to")

    assert len((await extent(engine, asked)).memories) == 1
    done = await forget(engine, asked)

    assert await shown(coach) == {"Ana runs"}
    assert "Ana bakes" in await shown(Person(engine, user, agent="cook"))
    await engine.writes.rollback(rolled_back(coach, of_batch=done.batch))
    assert await shown(coach) == {"Ana runs", "Ana hides a cake"}
    await assert_live_equals_replayed(engine, StreamId.of_user(user))


@pytest.mark.spec("A19")
async def test_forgetting_a_session_keeps_its_turns(engine: Engine, user: str) -> None:
    ana = Person(engine, user, thread=f"chat-{uuid4().hex[:6]}")
    await ana.says("I moved to Lisbon")
    await engine.settled()
    await engine.reads.session(ana.viewer, ana.thread)

    done = await forget(engine, forgetting(ana, Reach.SESSION, thread_id=ana.thread))
    assert done.receipt
    after = Moment(after=done.receipt.position)

    with pytest.raises(NotFound):
        await engine.reads.session(ana.viewer, ana.thread, after)
    assert await ana.finds("Lisbon") == ["Ana: I moved to Lisbon"]
    await forget(engine, forgetting(ana, Reach.SESSION, thread_id=ana.thread, with_episodes=True))
    assert await ana.finds("Lisbon") == []


async def heard(person: Person, moment: Moment | None = None) -> list[str] | None:
    """What was said in the session of the person's chat, as working memory shows it; None when there is none."""
    try:
        session = await person.engine.reads.session(person.viewer, person.thread, moment or await person.caught_up())
    except NotFound:
        return None
    assert session.msg_count == len(session.turns) == len(session.scratch["said"])
    return [turn["text"] for turn in session.turns]


@pytest.mark.spec("A04", "A19", "X03")
async def test_a_forgotten_session_is_brought_back_by_an_undo_with_what_was_said_since(
    engine: Engine, user: str
) -> None:
    ana = Person(engine, user, thread=f"chat-{uuid4().hex[:6]}")
    await ana.says("one")
    await ana.says("two")
    forgotten = (await forget(engine, forgetting(ana, Reach.SESSION, thread_id=ana.thread))).receipt
    assert forgotten
    assert await heard(ana) is None
    since = await ana.says("three")
    assert await heard(ana) == ["three"]

    [event_id] = forgotten.event_ids
    plan = await engine.writes.preview_undo(ana.stream, None, event_id)
    assert plan.changes == [{"subject": f"thread:{ana.thread}", "type": "SessionReverted"}]
    assert await heard(ana) == ["three"], "a plan changes nothing"
    undone = await engine.writes.undo_event(ana.stream, event_id)

    assert await heard(ana) == ["one", "two", "three"]
    assert await heard(ana, Moment(as_of=forgotten.last_seq)) is None
    assert await heard(ana, Moment(as_of=since.last_seq)) == ["three"]
    assert await heard(ana, Moment(as_of=undone.last_seq)) == ["one", "two", "three"]
    assert (await engine.writes.undo_event(ana.stream, event_id)).already
    await assert_live_equals_replayed(engine, ana.stream)
    await engine.writes.undo_event(ana.stream, undone.event_ids[0])
    assert await heard(ana) == ["three"]
    await assert_live_equals_replayed(engine, ana.stream)


@pytest.mark.spec("X03")
async def test_an_event_that_is_no_change_is_named_when_it_is_to_be_undone(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    await ana.remembers("I moved to Lisbon")
    unknown = uuid4()
    with pytest.raises(NotFound, match=str(unknown)) as refused:
        await engine.writes.undo_event(ana.stream, unknown)
    assert refused.value.field == "event_id"
    assert "receipt" in refused.value.fix


@pytest.mark.spec("A19", "X15")
async def test_a_rollback_brings_a_session_back_with_the_memories_that_were_forgotten_along(
    engine: Engine, user: str
) -> None:
    ana = Person(engine, user, thread=f"chat-{uuid4().hex[:6]}")
    await ana.remembers("I moved to Lisbon")
    done = await forget(engine, forgetting(ana, Reach.SESSION, thread_id=ana.thread, with_episodes=True))
    assert (await heard(ana), await shown(ana), await ana.finds("Lisbon")) == (None, set(), [])

    plan = await engine.writes.preview_rollback(rolled_back(ana, of_batch=done.batch))
    assert {change["type"] for change in plan.changes} == {"MemoryReverted", "MessageReverted", "SessionReverted"}
    await engine.writes.rollback(rolled_back(ana, of_batch=done.batch))

    assert await heard(ana) == ["I moved to Lisbon"]
    assert len(await shown(ana)) == 1
    await assert_live_equals_replayed(engine, ana.stream)


@pytest.mark.spec("A19", "X03", "X07")
async def test_what_was_erased_after_a_session_was_forgotten_does_not_come_back_with_it(
    engine: Engine, user: str
) -> None:
    ana = Person(engine, user, thread=f"chat-{uuid4().hex[:6]}")
    who = {"tenant": ana.tenant, "user_id": user}
    secret = await ana.remembers("I hide marzipan")
    await ana.says("I moved to Lisbon")
    forgotten = (await forget(engine, forgetting(ana, Reach.SESSION, thread_id=ana.thread))).receipt
    assert forgotten
    await erasing.erase(engine, validated(EraseMemory, {**who, "memory_id": secret, "with_survivors": True}))

    undone = await engine.writes.undo_event(ana.stream, forgotten.event_ids[0])
    session = await engine.reads.session(ana.viewer, ana.thread, await ana.caught_up())
    assert [turn["text"] for turn in session.turns] == ["I moved to Lisbon"]
    await assert_live_equals_replayed(engine, ana.stream)

    await engine.writes.undo_event(ana.stream, undone.event_ids[0])
    await erasing.erase(engine, validated(EraseThread, {**who, "thread_id": ana.thread}))
    plan = await engine.writes.preview_undo(ana.stream, None, forgotten.event_ids[0])
    assert plan.changes == []
    assert "changed later by ThreadErased" in plan.conflicts[0].error.message
    with pytest.raises(UndoConflict, match="ThreadErased"):
        await engine.writes.undo_event(ana.stream, forgotten.event_ids[0])
    assert await heard(ana) is None
    await assert_live_equals_replayed(engine, ana.stream)


def test_a_session_is_forgotten_by_its_thread() -> None:
    with pytest.raises(InvalidInput, match="is required for scope session") as refused:
        validated(ForgetScope, {"user_id": "ana", "scope": Reach.SESSION})
    assert refused.value.field == "thread_id"


@pytest.mark.spec("A19", "X16")
async def test_a_scope_that_is_erased_can_be_read_nowhere(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    await ana.says("My secret is marzipan")
    await ana.creates("Ana hides marzipan")

    await forget(engine, erasing_all(ana, Reach.GLOBAL))

    events = await engine.log.read(ana.stream)
    assert not [event for event in events if "marzipan" in str(event.payload)]
    assert await shown(ana) == set()


@pytest.mark.spec("A19", "X16")
async def test_what_was_forgotten_softly_before_and_the_profile_are_erased_with_what_all_share(
    engine: Engine, user: str
) -> None:
    ana = Teller(engine, user)
    writes, who = engine.writes, {"tenant": ana.tenant, "user_id": user, "agent_id": ana.agent}
    await ana.deletes(await ana.creates("Ana hides marzipan"))
    await ana.hides(await ana.tells("Ana", "motto", "marzipan first"))
    await ana.forgets(await ana.knows_of("Marzipan Mia"))
    await writes.propose({**who, "field": "city", "value": "Marzipan City"}, consented=True)
    todo_id, _ = await writes.open_todo({**who, "text": "buy sugar", "kind": "commitment"})

    softly = await extent(engine, forgetting(ana, Reach.GLOBAL))
    assert (softly.memories, softly.facts, softly.profile) == ([], [], ())
    done = await forget(engine, erasing_all(ana, Reach.GLOBAL))

    assert (len(done.extent.memories), len(done.extent.facts), done.extent.profile) == (1, 1, ["city"])
    events = str([event.payload for event in await engine.log.read(ana.stream)])
    assert "arzipan" not in events
    assert "buy sugar" in events, "a todo is the agent's own"
    own = erasing_all(ana, Reach.AGENT)
    assert (await extent(engine, forgetting(ana, Reach.AGENT))).todos == ()
    assert (await forget(engine, own)).extent.as_dict()["todos"] == [str(todo_id)]
    assert "buy sugar" not in str([event.payload for event in await engine.log.read(ana.stream)])
    assert (await extent(engine, own)).todos == []
    head = await engine.log.head(ana.stream)
    for reach in (Reach.GLOBAL, Reach.AGENT):
        again = await forget(engine, erasing_all(ana, reach))
        assert not any(again.extent.as_dict().values())
        assert again.receipt is None
    assert await engine.log.head(ana.stream) == head
    await assert_live_equals_replayed(engine, StreamId.of_user(user))


@pytest.mark.spec("A19", "B10")
async def test_a_field_emptied_by_an_undo_is_erased_with_its_earlier_values(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    who = {"tenant": ana.tenant, "user_id": user, "agent_id": ana.agent}
    done = await engine.writes.propose({**who, "field": "city", "value": "Marzipan City"}, consented=True)
    await engine.writes.undo_event(ana.stream, done.receipt.event_ids[-1])

    found = await forget(engine, erasing_all(ana, Reach.GLOBAL))

    assert found.extent.profile == ["city"]
    assert "Marzipan" not in str([event.payload for event in await engine.log.read(ana.stream)])
    assert (await extent(engine, erasing_all(ana, Reach.GLOBAL))).profile == []


@pytest.mark.spec("A19", "X15")
@pytest.mark.parametrize("command", [forgetting, erasing_all])
async def test_a_scope_is_forgotten_once_under_an_idempotency_key_whatever_came_since(
    engine: Engine, user: str, command: Callable[[Person, Reach], OfScope]
) -> None:
    ana = Teller(engine, user)
    for text in ("Ana runs", "Ana bakes bread", "Ana lives in Lisbon"):
        await ana.creates(text)
    await ana.tells("Ana", "motto", "bread first")
    first = await forget(engine, command(ana, Reach.GLOBAL), "once")
    assert len(first.extent.memories) == 3
    await ana.creates("Ana moved to Porto")
    head = await engine.log.head(ana.stream)

    again = await forget(engine, command(ana, Reach.GLOBAL), "once")

    assert again.receipt
    assert first.receipt
    assert (again.extent, again.batch, again.receipt.already) == (first.extent, first.batch, True)
    assert again.receipt.event_ids == first.receipt.event_ids
    assert (await engine.log.head(ana.stream), await shown(ana)) == (head, {"Ana moved to Porto"})
    with pytest.raises(IdempotencyConflict):
        await forget(engine, forgetting(ana, Reach.GLOBAL, reason="another"), "once")


@pytest.mark.spec("A19", "X15")
async def test_a_retry_finishes_a_forgetting_that_was_interrupted_as_one_batch(
    engine: Engine, user: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ana = Person(engine, user)
    for text in ("Ana runs", "Ana bakes bread", "Ana lives in Lisbon"):
        await ana.creates(text)
    monkeypatch.setattr(module, "PORTION", 1)
    hidden = engine.writes.forget_all

    async def interrupted(commands: Any, keyed: Any = None) -> Any:
        if keyed:
            raise ServerFailed
        return await hidden(commands, keyed)

    monkeypatch.setattr(engine.writes, "forget_all", interrupted)
    with pytest.raises(ServerFailed):
        await forget(engine, forgetting(ana, Reach.GLOBAL), "once")
    assert len(await shown(ana)) == 1
    monkeypatch.setattr(engine.writes, "forget_all", hidden)

    done = await forget(engine, forgetting(ana, Reach.GLOBAL), "once")

    assert (len(done.extent.memories), await shown(ana)) == (3, set())
    await engine.writes.rollback(rolled_back(ana, of_batch=done.batch))
    assert len(await shown(ana)) == 3


async def test_a_long_forgetting_reports_how_far_it_is(
    engine: Engine, user: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ana = Person(engine, user)
    for number in range(4):
        await ana.creates(f"Ana runs race {number}")
    monkeypatch.setattr(module, "PORTION", 1)
    reports: list[str] = []
    monkeypatch.setattr(engine, "report", reports.append)

    await forget(engine, forgetting(ana, Reach.GLOBAL))

    assert reports == ["25%", "50%", "75%", "100%"]


@pytest.mark.spec("X07", "X14")
async def test_a_retry_of_the_erasure_of_a_user_leaves_alone_what_came_since(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    old = await ana.creates("Ana hides marzipan")
    first = await erasing.erase(engine, EraseUser(user_id=user), "once")
    await ana.creates("Ana is back")

    again = await erasing.erase(engine, EraseUser(user_id=user), "once")

    assert (again.receipt.already, again.receipt.last_seq) == (True, first.receipt.last_seq)
    assert again.extent.memories == first.extent.memories == (old,)
    assert await shown(ana) == {"Ana is back"}
    assert not (await erasing.erase(engine, EraseUser(user_id=user), "twice")).receipt.already
    assert await shown(ana) == set()
