"""Erasure, end to end: the text is gone from every projection, the shape stays, and a rebuild equals the live rows."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, ExitStack, asynccontextmanager
from typing import Any
from unittest.mock import patch
from uuid import UUID, uuid5

import pytest

from mnemolog.adapters.engine.engine import Engine, now
from mnemolog.adapters.erasure.erasing import Erasure, erase, erase_each
from mnemolog.adapters.erasure.proof import ProofPlace as Looked
from mnemolog.adapters.erasure.prove import prove
from mnemolog.adapters.erasure.target import ProofSubject
from mnemolog.adapters.postgres.pauses import Pause
from mnemolog.adapters.postgres.store import PostgresStore
from mnemolog.adapters.redis import working
from mnemolog.adapters.redis.working import WorkingStore
from mnemolog.commands.erasure import EraseMemory, EraseThread, EraseUser
from mnemolog.domain.errors import Erased, MnemologError, NotFound, ReadTimeout, TransitionRefused
from mnemolog.events.envelope import Position, Recorded, StreamId
from mnemolog.events.memory import MemoriesLinked
from mnemolog.projections.kinds import Need
from mnemolog.projections.memories.projector import MemoriesProjector
from mnemolog.projections.reads.moment import Moment
from mnemolog.projections.runtime import Projection
from mnemolog.projections.vectors.embedder import Vectors
from mnemolog.projections.vectors.projector import VectorsProjector
from mnemolog.projections.working.projector import fold
from tests.engine.equality import assert_live_equals_rebuilt, assert_live_equals_replayed
from tests.engine.person import Person
from tests.engine.story import tell
from tests.testkit.own_engine import own_engine  # noqa: F401
from tests.testkit.pausing import noticed

SECRET = "Zanzibarquux"


def turn_id(text: str) -> str:
    """The id that a producer gave to these words."""
    return str(uuid5(UUID(int=0), text))


async def erases(ana: Person, memory_id: UUID, **fields: bool) -> Erasure:
    command = EraseMemory.model_validate({"user_id": ana.user, "memory_id": memory_id, **fields})
    return await erase(ana.engine, command)


async def drawn(ana: Person, text: str, **fields: str) -> UUID:
    """A memory that was extracted from a turn."""
    return await ana.remembers(text, turn_id=turn_id(text), **fields)


async def in_the_log(ana: Person) -> str:
    """All that the keys still open."""
    return " ".join(event.payload.model_dump_json() for event in await ana.engine.log.read(ana.stream))


@pytest.mark.spec("X07", "A19")
async def test_an_erased_memory_takes_its_turn_along_and_leaves_its_neighbours(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    kept = await drawn(ana, "I like tea")
    gone = await drawn(ana, f"I hide in {SECRET}")
    await ana.updates(gone, text=f"Ana hides in {SECRET} by night")
    await ana.links(gone, kept)
    await ana.deletes(gone, reason=f"{SECRET} is a secret")
    await ana.restores(gone)
    assert await ana.finds(SECRET) != []

    erasure = await erases(ana, gone)

    assert erasure.extent.memories == (gone,)
    assert SECRET not in await in_the_log(ana)
    assert SECRET not in repr(await ana.everything())
    assert await ana.finds("tea") == ["Ana: I like tea"]
    session = await engine.reads.session(ana.viewer, ana.thread)
    assert [turn["text"] for turn in session.turns] == ["I like tea"]
    with pytest.raises(Erased):
        await engine.reads.memory(ana.viewer, gone)
    rows = await engine.reads.history(ana.viewer, gone)
    assert [row["event"] for row in rows] == ["DELETE", "RESTORE", "DELETE", "LINK", "UPDATE", "ADD"]
    assert (await ana.changes()).entries[-1].change == "deleted"
    await assert_live_equals_replayed(engine, ana.stream)
    assert SECRET not in repr(await ana.everything())


@pytest.mark.spec("X07", "X02")
async def test_no_moment_before_an_erasure_shows_the_text(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    gone = await drawn(ana, f"I hide in {SECRET}")
    before = Moment(as_of=await engine.log.head(ana.stream))

    await erases(ana, gone)

    assert SECRET not in repr(await ana.everything(before))
    assert await ana.finds("hide", before) == []


@pytest.mark.spec("X14", "X07")
async def test_a_turn_that_is_sent_again_after_its_erasure_is_not_written_again(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    gone = await drawn(ana, f"I hide in {SECRET}")
    await erases(ana, gone)
    head = await engine.log.head(ana.stream)

    receipt = await engine.writes.record_turn(
        {"user_id": user, "speaker": "Ana", "turn_id": turn_id(f"I hide in {SECRET}"), "text": f"I hide in {SECRET}"}
    )

    assert (receipt.already, receipt.erased) == (True, True)
    assert await engine.log.head(ana.stream) == head


@pytest.mark.spec("X14", "X07")
async def test_a_retry_after_the_erasure_gets_the_first_receipt_marked_as_erased(engine: Engine, user: str) -> None:
    fields = {"user_id": user, "text": f"Ana hides in {SECRET}"}
    gone, first = await engine.writes.create(fields, "key")
    assert not (await engine.writes.create(fields, "key"))[1].erased
    await erases(Person(engine, user), gone)

    again, receipt = await engine.writes.create(fields, "key")

    assert (again, receipt.event_ids, receipt.already, receipt.erased) == (gone, first.event_ids, True, True)


@pytest.mark.spec("X07")
async def test_what_was_merged_into_a_memory_goes_with_it_and_a_survivor_is_named(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    lactose, milk = await ana.creates(f"Ana avoids {SECRET}"), await ana.creates("Ana avoids milk")
    await ana.merges(lactose, milk, text=f"Ana avoids milk and {SECRET}")

    with pytest.raises(TransitionRefused, match=str(lactose)) as refused:
        await erases(ana, milk)
    assert "with-survivors" in refused.value.fix
    erasure = await erases(ana, milk, with_survivors=True)

    assert set(erasure.extent.memories) == {lactose, milk}
    assert SECRET not in await in_the_log(ana)
    await assert_live_equals_replayed(engine, StreamId.of_user(user))


@pytest.mark.spec("X07")
async def test_erasing_again_changes_nothing(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    gone = await drawn(ana, f"I hide in {SECRET}")
    first = await erases(ana, gone)

    second = await erases(ana, gone)

    assert second.receipt.already
    assert await engine.log.head(ana.stream) == first.receipt.last_seq


@pytest.mark.spec("X07")
async def test_a_turn_may_be_kept_and_erased_later(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    gone = await drawn(ana, f"I hide in {SECRET}")

    await erases(ana, gone, keep_turns=True)
    assert SECRET in await in_the_log(ana)
    await erases(ana, gone)

    assert SECRET not in await in_the_log(ana)
    await assert_live_equals_replayed(engine, StreamId.of_user(user))


@pytest.mark.spec("X07", "A19")
async def test_a_speaker_keeps_his_name_until_the_last_turn_that_he_speaks_in_is_erased(
    engine: Engine, user: str
) -> None:
    first, second = Person(engine, user, thread="first"), Person(engine, user, thread="second")
    for person, text in ((first, "I like tea"), (second, "I like coffee")):
        await drawn(person, text, speaker=SECRET)

    await erase(engine, EraseThread(user_id=user, thread_id="first"))
    assert [row["name"] for row in await engine.reads.entities(first.viewer)] == [SECRET]
    await erase(engine, EraseThread(user_id=user, thread_id="second"))

    assert await engine.reads.entities(first.viewer) == []
    assert SECRET not in await in_the_log(first) + repr(await first.everything())
    assert (await prove(engine, ProofSubject(first.stream, thread_id="second"), SECRET)).holds
    await drawn(second, "I am back", speaker=SECRET)
    assert [row["name"] for row in await engine.reads.entities(first.viewer, await second.caught_up())] == [SECRET]
    await assert_live_equals_replayed(engine, StreamId.of_user(user))


@pytest.mark.spec("X07", "A19")
async def test_an_erased_thread_takes_its_turns_memories_and_sessions(engine: Engine, user: str) -> None:
    secret, other = Person(engine, user, thread="secret/1"), Person(engine, user, thread="secret")
    gone, kept = await drawn(secret, f"I hide in {SECRET}"), await drawn(other, "I like tea")
    helper = Person(engine, user, thread="secret/1", agent="helper")
    await helper.says(f"{SECRET} it is")

    await erase(engine, EraseThread(user_id=user, thread_id="secret/1"))

    assert SECRET not in await in_the_log(secret) + repr(await secret.everything())
    assert await other.finds("tea") == ["Ana: I like tea"]
    for person in (secret, helper):
        with pytest.raises(NotFound):
            await engine.reads.session(person.viewer, person.thread)
    with pytest.raises(Erased):
        await engine.reads.memory(secret.viewer, gone)
    assert (await engine.reads.memory(secret.viewer, kept))["text"] == "Ana: I like tea"
    await assert_live_equals_replayed(engine, StreamId.of_user(user))

    await drawn(secret, "I am back")
    assert "Ana: I am back" in await secret.finds("back")
    assert (await erase(engine, EraseThread(user_id=user, thread_id="secret"))).receipt.already is False


@pytest.mark.spec("X07")
async def test_an_erased_user_leaves_no_row_and_may_come_back(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    await tell(ana)
    gone = await drawn(ana, f"I hide in {SECRET}")
    first = await erase(engine, EraseUser(user_id=user))

    assert (await erase(engine, EraseUser(user_id=user))).receipt.event_ids == first.receipt.event_ids
    everything = await ana.everything()
    assert everything["newest"] == everything["entities"] == []
    assert {*everything["memory"], *everything["history"]} == {None}
    assert everything["changes"].entries == []
    with pytest.raises(NotFound):
        await engine.reads.session(ana.viewer, ana.thread)
    with pytest.raises(Erased):
        await ana.updates(gone, pinned=True)

    await ana.says("I am back")
    assert await ana.finds("back") == ["Ana: I am back"]
    assert [row["name"] for row in await engine.reads.entities(ana.viewer)] == ["Ana"]
    await assert_live_equals_replayed(engine, StreamId.of_user(user))


async def test_what_does_not_exist_cannot_be_erased(engine: Engine, user: str) -> None:
    for command in (
        EraseMemory(user_id=user, memory_id=UUID(int=7)),
        EraseThread(user_id=user, thread_id="nowhere"),
        EraseUser(user_id=user),
    ):
        with pytest.raises(NotFound):
            await erase(engine, command)


@pytest.mark.spec("A01")
async def test_an_agent_cannot_erase_what_is_another_agents_own(engine: Engine, user: str) -> None:
    own = await Person(engine, user, agent="coach").creates("for the coach", scope="agent")

    with pytest.raises(NotFound):
        await erase(engine, EraseMemory(user_id=user, agent_id="planner", memory_id=own))


@pytest.mark.spec("X07")
@pytest.mark.spec_part("X05")
@pytest.mark.parametrize("name", ["memories", "history", "vectors", "working"])
async def test_an_erasure_covers_the_remains_of_a_crashed_rebuild_which_continues(
    engine: Engine, user: str, name: str
) -> None:
    ana = Person(engine, user)
    kept = await ana.creates("Ana likes tea")
    gone = await drawn(ana, f"I hide in {SECRET}")
    await ana.deletes(gone, reason=SECRET)
    await ana.caught_up()
    shadow = await engine.projections._rebuildable[name].shadow()
    await Projection(shadow, engine.log).read_on(ana.stream, 0, await engine.log.head(ana.stream))
    assert not await proven(ana, gone)

    await erases(ana, gone)

    assert await proven(ana, gone)
    await assert_live_equals_rebuilt(engine, name)
    assert (await engine.reads.memory(ana.viewer, kept))["text"] == "Ana likes tea"


@pytest.mark.spec("X07")
@pytest.mark.spec_part("X05")
async def test_a_rebuild_embeds_nothing_again_and_nothing_that_is_erased(
    engine: Engine, user: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ana = Person(engine, user)
    secret, kept = f"I hide in {SECRET}, {user}", f"{user} likes tea"
    gone = await drawn(ana, secret)
    await ana.creates(kept)
    await erases(ana, gone)
    asked: list[str] = []
    projector = next(one for one in engine.projections.projectors if isinstance(one, VectorsProjector))
    embed = projector._embedder.embed

    async def counted(texts: Sequence[str]) -> Vectors:
        asked.extend(texts)
        return await embed(texts)

    monkeypatch.setattr(projector._embedder, "embed", counted)

    await assert_live_equals_rebuilt(engine, "vectors")

    assert not {"", kept, secret, f"Ana: {secret}"}.intersection(asked)


Held = Callable[[Engine, Person], AbstractAsyncContextManager[None]]


@asynccontextmanager
async def every_projection_paused(engine: Engine, ana: Person) -> AsyncIterator[None]:
    async with noticed(engine, *engine.projections.running):
        for name in engine.projections.running:
            await engine.projections.pause(name, Pause(now(), "ops"))
    try:
        yield
    finally:
        for name in engine.projections.running:
            await engine.projections.resume(name)


@asynccontextmanager
async def every_projection_stopped(engine: Engine, ana: Person) -> AsyncIterator[None]:
    """At a poisoned event after everything that was said: a link that none of them can apply."""
    forbidden = [
        patch.object(type(one), "apply", _poisoned_by_links(type(one).apply)) for one in engine.projections.projectors
    ]
    with ExitStack() as stack:
        for one in forbidden:
            stack.enter_context(one)
        stack.enter_context(patch.object(working, "fold", _fold_poisoned_by_links(fold)))
        for kind in (PostgresStore, WorkingStore):  # Most would leave a link aside.
            stack.enter_context(patch.object(kind, "need", lambda self, event_type: Need.WHOLE))
        first, second = await ana.memory_ids()
        await ana.links(first, second)
        await engine.settled(60)
        try:
            yield
        finally:
            stack.close()
            for store in engine.projections.stores.values():
                await store.resume([ana.stream])


def _poisoned_by_links(apply: Callable[..., Awaitable[None]]) -> Callable[..., Awaitable[None]]:
    async def refuse(self: object, connection: object, events: Sequence[Recorded]) -> None:
        _refuse_links(events)
        await apply(self, connection, events)

    return refuse


def _fold_poisoned_by_links(fold: Callable[..., Any]) -> Callable[..., Any]:
    def refuse(before: object, events: Sequence[Recorded]) -> Any:
        _refuse_links(events)
        return fold(before, events)

    return refuse


def _refuse_links(events: Sequence[Recorded]) -> None:
    if any(isinstance(event.payload, MemoriesLinked) for event in events):
        raise ValueError("links are not understood")


held_up = pytest.mark.parametrize("held", [every_projection_paused, every_projection_stopped])


@pytest.mark.spec("X07")
@held_up
async def test_an_erased_memory_is_taken_out_of_projections_that_stand_still_and_its_neighbours_stay(
    engine: Engine, user: str, held: Held
) -> None:
    ana = Person(engine, user)
    kept, gone = await drawn(ana, "I like tea"), await drawn(ana, f"I hide in {SECRET}")
    await engine.settled(60)
    async with held(engine, ana):
        erasure = await erases(ana, gone)

        assert set(erasure.held_up) == set(engine.projections.running)
        assert all("mnemolog projection" in error.fix for error in erasure.held_up.values())
        assert await readable(ana, gone) == []
        assert (await engine.reads.memory(ana.viewer, kept))["text"] == "Ana: I like tea"
        session = await engine.reads.session(ana.viewer, ana.thread)
        assert "I like tea" in [turn["text"] for turn in session.turns]
        assert (await erases(ana, gone)).receipt.already
    with pytest.raises(Erased):
        await engine.reads.memory(ana.viewer, gone, await ana.caught_up())
    await assert_live_equals_replayed(engine, StreamId.of_user(user))


@pytest.mark.spec("X07")
@held_up
async def test_each_of_several_erased_at_once_is_taken_out_of_projections_that_stand_still(
    engine: Engine, user: str, held: Held
) -> None:
    ana = Person(engine, user)
    gone = [await drawn(ana, text) for text in (f"I hide in {SECRET}", f"{SECRET} is warm")]
    await engine.settled(60)
    commands = [EraseMemory(user_id=user, memory_id=one) for one in gone]
    async with held(engine, ana):
        assert len(await erase_each(engine, commands, None)) == 2

        assert [await readable(ana, one) for one in gone] == [[], []]
    assert await ana.finds(SECRET) == []
    await assert_live_equals_replayed(engine, StreamId.of_user(user))


@pytest.mark.spec("X07")
async def test_what_was_erased_before_an_error_is_removed_from_everywhere(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    gone = await drawn(ana, f"I hide in {SECRET}")
    commands = [EraseMemory(user_id=user, memory_id=one) for one in (gone, UUID(int=7))]

    async with every_projection_paused(engine, ana):
        with pytest.raises(NotFound):
            await erase_each(engine, commands, None)

        assert await readable(ana, gone) == []
    assert (await prove(engine, ProofSubject(ana.stream, memory_id=gone), SECRET)).holds


@pytest.mark.spec("X07")
@held_up
async def test_an_erased_user_leaves_no_row_in_projections_that_stand_still(
    engine: Engine, user: str, held: Held
) -> None:
    ana = Person(engine, user)
    await drawn(ana, "I like tea")
    gone = await drawn(ana, f"I hide in {SECRET}")
    await engine.settled(60)
    async with held(engine, ana):
        erasure = await erase(engine, EraseUser(user_id=user))

        assert erasure.held_up == {}, "nothing before an erasure counts: they came to it"
        assert await readable(ana) == []
        assert await engine.reads.newest(ana.viewer, 10) == []
        with pytest.raises(NotFound):
            await engine.reads.memory(ana.viewer, gone)
    await ana.says("I am back")
    assert await ana.finds("back") == ["Ana: I am back"]
    await assert_live_equals_replayed(engine, StreamId.of_user(user))


@pytest.mark.spec("X07")
async def test_what_cannot_be_applied_anew_is_removed_and_comes_back_without_the_text(
    engine: Engine, user: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ana = Person(engine, user)
    gone = await drawn(ana, f"I hide in {SECRET}")
    await engine.settled(60)
    with monkeypatch.context() as broken:
        broken.setattr(MemoriesProjector, "apply", _refusing)
        erasure = await erases(ana, gone)

        assert "cannot be told" in erasure.held_up["memories"].message
        assert await engine.reads.newest(ana.viewer, 10) == []
        assert await readable(ana, gone) == []
    assert await engine.projections.retry("memories", ana.stream) == {ana.stream: None}
    with pytest.raises(Erased):
        await engine.reads.memory(ana.viewer, gone, await ana.caught_up())
    await assert_live_equals_replayed(engine, StreamId.of_user(user))


async def _refusing(self: object, connection: object, events: object) -> None:
    raise ValueError("why cannot be told")


async def readable(ana: Person, memory_id: UUID | None = None) -> list[Looked]:
    """Where an erased text can still be read."""
    proof = await prove(ana.engine, ProofSubject(ana.stream, memory_id), SECRET)
    return [place for place in proof.places if place.readable]


async def proven(ana: Person, memory_id: UUID) -> bool:
    await ana.engine.settled(60)
    return (await prove(ana.engine, ProofSubject(ana.stream, memory_id), SECRET)).holds


@pytest.mark.spec("X07")
@pytest.mark.parametrize(("progress", "is_reapplied"), [((1, 2, 3), False), ((1, 2, 2), True)])
async def test_a_late_projection_is_waited_for_as_long_as_it_goes_on(
    engine: Engine, user: str, monkeypatch: pytest.MonkeyPatch, progress: Sequence[int], is_reapplied: bool
) -> None:
    ana = Person(engine, user)
    gone = await drawn(ana, f"I hide in {SECRET}")
    await engine.settled(60)
    graph, store = engine.projections.running["graph"], engine.projections.stores["graph"]
    late, seen, reapplied = iter(progress), iter(progress), list[Recorded]()
    forget, reached = graph.forget, store.progress

    async def held_up(position: Position) -> Mapping[str, MnemologError]:
        return {"graph": ReadTimeout("graph is late", field="projection")} if next(late, 0) else {}

    async def going_on(stream: StreamId) -> int:
        return next(seen, 0) or await reached(stream)

    async def reapplying(erasure: Recorded) -> None:
        reapplied.append(erasure)
        await forget(erasure)

    with monkeypatch.context() as slow:
        slow.setattr(engine.reads, "held_up", held_up)
        slow.setattr(store, "progress", going_on)
        slow.setattr(graph, "forget", reapplying)
        erasure = await erases(ana, gone)

    assert erasure.held_up == {}
    assert bool(reapplied) == is_reapplied
    await assert_live_equals_replayed(engine, StreamId.of_user(user))
