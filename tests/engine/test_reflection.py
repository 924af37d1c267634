"""The slow brain: reflects once on what came to rest, archives unsure memories, and is undone as one batch."""

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import delete

from mnemolog.adapters.engine.engine import Engine, now, open_engine
from mnemolog.adapters.erasure.erasing import erase
from mnemolog.adapters.jobs import worker
from mnemolog.adapters.jobs.job import JobStatus
from mnemolog.adapters.maintenance import extracting, reflecting, segmenting, summarizing
from mnemolog.adapters.maintenance.minds import Ran, Run
from mnemolog.adapters.maintenance.reflecting import THREAD, enqueue_due
from mnemolog.adapters.maintenance.running import run_mind
from mnemolog.adapters.pgvector.tables import vectors
from mnemolog.commands.erasure import EraseMessages
from mnemolog.commands.memories import LinkMemories
from mnemolog.commands.rollback import Rollback
from mnemolog.domain.contradiction import CONTRADICTS
from mnemolog.domain.errors import ModelOutputInvalid, ModelUnavailable
from mnemolog.domain.minds.mind import Mind, MindPolicy
from mnemolog.domain.minds.reflection import Reflected
from mnemolog.domain.policy import Policy
from mnemolog.events.envelope import Recorded
from mnemolog.events.fields import validated
from mnemolog.events.minds import MindRan
from mnemolog.projections.requests import MemoryQuery
from tests.engine.equality import assert_live_equals_replayed
from tests.engine.person import Person
from tests.engine.teller import Teller
from tests.testkit.eventually import eventually
from tests.testkit.model_server import ModelServer, Reply, completion, error
from tests.testkit.settings import settings_in

pytestmark = pytest.mark.spec_part("A17", "A18")

OBSERVATION = "The user quit the job at Acme."
ANSWER = Reflected(OBSERVATION, "The assistant listed three jobs in Lisbon.", unresolved=("Which job pays best?",))
BROKEN = Reply(completion('{"observation": '))


@pytest.fixture(scope="module")
async def engine(tmp_path_factory: pytest.TempPathFactory, server: ModelServer) -> AsyncIterator[Engine]:
    """An engine of their own, whose sweeps leave these users alone."""
    model = {"model_url": server.url, "model_api_key": "sk-1", "chat_model": "m-1", "model_retries": 0}
    with pytest.MonkeyPatch.context() as patch:
        for module in (extracting, segmenting, summarizing, reflecting):
            patch.setattr(module, "EVERY_SECONDS", 24 * 3600.0)
        patch.setattr(worker, "LONGEST_DELAY_SECONDS", 0.05)
        settings = settings_in(tmp_path_factory.mktemp("reflection"), extraction="off", minds="on", **model)
        async with open_engine(settings) as opened:
            yield opened


@pytest.fixture
def rosa(engine: Engine, server: ModelServer, user: str) -> Person:
    server.chat = lambda request: json.dumps(_fields(ANSWER))
    server.replies.clear()
    server.requests.clear()
    return Person(engine, user, agent="coach")


def _fields(answer: Reflected) -> dict[str, Any]:
    return {name: getattr(answer, name) for name in Reflected.__slots__}


async def talks(rosa: Person) -> list[str]:
    head = await rosa.engine.log.head(rosa.stream)
    lines = [("user", "I quit my job at Acme"), ("assistant", "I listed three jobs in Lisbon. Which job pays best?")]
    ids = [f"{rosa.user}-{head}-{number}" for number in range(len(lines))]
    for turn_id, (role, text) in zip(ids, lines, strict=True):
        await rosa.says(text, turn_id=turn_id, role=role, speaker="", occurred_at=now())
    return ids


async def reflects(rosa: Person, *, dry_run: bool = False) -> Ran:
    await rosa.engine.settled(60)
    about = (rosa.stream, rosa.agent, rosa.thread, f"reflection-{rosa.user}")
    return await run_mind(Run(rosa.engine, Mind.REFLECTION, *about, dry_run=dry_run))


async def texts(rosa: Person) -> set[str]:
    return {row["text"] for row in await rosa.engine.reads.newest(rosa.viewer, 10, await rosa.caught_up())}


async def written(rosa: Person) -> list[Recorded]:
    return [one for one in await rosa.engine.log.read(rosa.stream) if one.meta.actor == Mind.REFLECTION]


async def test_a_conversation_is_reflected_on_once(rosa: Person, server: ModelServer) -> None:
    ids = await talks(rosa)
    ran = await reflects(rosa)
    again = await reflects(rosa)

    [found] = await rosa.engine.reads.newest(rosa.viewer, 10, await rosa.caught_up())
    assert found["text"].startswith(f"Observation: {OBSERVATION}\nAction: ")
    assert (found["kind"], found["scope"], found["origin"]) == ("episode", "agent", "agent")
    assert found["metadata"]["reflection"]["unresolved"] == ["Which job pays best?"]
    [event, _] = await written(rosa)
    assert isinstance(event.payload, MindRan)
    assert event.payload.turn_ids == tuple(ids)
    assert (event.payload.generation.prompt, event.payload.generation.input_tokens > 0) == ("reflection", True)
    assert (len(ran.changes), again.changes, server.asked) == (1, [], 1)
    assert found["text"] in await rosa.finds("Who quit at Acme?")
    await assert_live_equals_replayed(rosa.engine, rosa.stream)


@pytest.mark.spec("A10")
async def test_a_reflection_is_a_whole_row_and_the_vector_index_only_an_index(
    rosa: Person, server: ModelServer
) -> None:
    """Importance, tags, entities, provenance and whether it is active (A §4.3), whatever is in the index."""
    answer = replace(ANSWER, tags=(" work ", "job search", "work"))
    server.chat = lambda request: json.dumps(_fields(answer))
    teller = Teller(rosa.engine, rosa.user, agent=rosa.agent)
    acme = await teller.knows_of("Acme", "Organization")
    lisbon = await teller.knows_of("Lisbon", "Place", scope="agent")
    await Teller(rosa.engine, rosa.user, agent="planner-2").knows_of("Jobs", "Topic", scope="agent")
    ids = await talks(rosa)
    await reflects(rosa)

    [row] = await rosa.engine.reads.newest(rosa.viewer, 10, await rosa.caught_up())
    assert (row["importance"], row["topics"], row["source_turn_ids"]) == (0.5, ["work", "job search"], ids)
    assert (set(row["entity_ids"]), row["status"]) == ({acme, lisbon}, "active")
    assert (row["agent_id"], row["scope"], row["user_id"]) == (rosa.agent, "agent", rosa.user)
    about = {"query": "What happened?", "agent": rosa.agent, "filters": {"user_id": rosa.user, "entity_ids": [acme]}}
    found = await rosa.engine.reads.query(MemoryQuery.model_validate(about))
    assert [hit.id for hit in found.hits] == [str(row["memory_id"])]
    await assert_live_equals_replayed(rosa.engine, rosa.stream)

    async with rosa.engine.projections.live.begin() as connection:
        await connection.execute(delete(vectors).where(vectors.c.user_id == rosa.user))
    assert (await rosa.engine.reads.newest(rosa.viewer, 10))[0] == row
    assert row["text"] in await rosa.finds("Acme")

    await rosa.deletes(row["memory_id"])
    assert row["text"] not in await rosa.finds("Acme")
    hidden = await rosa.engine.reads.memory(rosa.viewer, row["memory_id"], await rosa.caught_up())
    assert hidden["status"] == "soft_deleted"


@pytest.mark.parametrize("tags", [["x" * 300], ["  "], [str(number) for number in range(99)]])
async def test_tags_are_few_and_short(rosa: Person, server: ModelServer, tags: list[str]) -> None:
    server.chat = lambda request: json.dumps({**_fields(ANSWER), "tags": tags})
    await talks(rosa)
    await reflects(rosa)
    [row] = await rosa.engine.reads.newest(rosa.viewer, 10, await rosa.caught_up())
    assert len(row["topics"]) <= 5
    assert all(0 < len(one) <= 40 for one in row["topics"])


async def test_another_agent_sees_no_reflection(rosa: Person) -> None:
    await talks(rosa)
    await reflects(rosa)
    other = Person(rosa.engine, rosa.user, agent="planner-2")
    assert await other.engine.reads.newest(other.viewer, 10, await other.caught_up()) == []


async def test_old_messages_are_not_reflected_on(
    rosa: Person, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such as after an upgrade of an engine with long threads."""
    await talks(rosa)
    monkeypatch.setattr(reflecting, "READ_FOR", timedelta())
    assert (await reflects(rosa)).changes == []
    assert server.asked == 0


async def test_without_an_agent_a_reflection_is_the_users(rosa: Person) -> None:
    alone = Person(rosa.engine, rosa.user)
    await talks(alone)
    assert len((await reflects(alone)).changes) == 1
    [found] = await alone.engine.reads.newest(alone.viewer, 10, await alone.caught_up())
    assert found["scope"] == "global"


async def test_a_dry_run_shows_the_change_and_writes_nothing(rosa: Person) -> None:
    await talks(rosa)
    head = await rosa.engine.log.head(rosa.stream)
    ran = await reflects(rosa, dry_run=True)
    assert [(one["type"], one["kind"]) for one in ran.changes] == [("MemoryCreated", "episode")]
    assert await rosa.engine.log.head(rosa.stream) == head


async def test_a_run_is_undone_as_one_batch_and_not_repeated(rosa: Person) -> None:
    await talks(rosa)
    before = await rosa.engine.reads.newest(rosa.viewer, 10, await rosa.caught_up())
    ran = await reflects(rosa)
    undo = {"user_id": rosa.user, "agent_id": rosa.agent, "of_run": ran.run_id, "at": now()}
    await rosa.engine.writes.rollback(validated(Rollback, undo))
    assert await rosa.engine.reads.newest(rosa.viewer, 10, await rosa.caught_up()) == before
    assert (await reflects(rosa)).changes == []


@pytest.mark.parametrize(
    ("replies", "raised"), [([error(500)], ModelUnavailable), ([BROKEN, BROKEN], ModelOutputInvalid)]
)
async def test_a_model_that_fails_loses_and_doubles_nothing(
    rosa: Person, server: ModelServer, replies: list[Reply], raised: type[Exception]
) -> None:
    await talks(rosa)
    server.replies.extend(replies)
    about = (rosa.stream, rosa.agent, rosa.thread, f"reflection-{rosa.user}")
    with pytest.raises(raised):
        await reflecting.reflect(Run(rosa.engine, Mind.REFLECTION, *about), last_attempt=False)
    assert await written(rosa) == []
    assert len((await reflects(rosa)).changes) == 1


async def test_an_invented_cause_is_left_out_and_the_event_says_so(rosa: Person, server: ModelServer) -> None:
    invented = Reflected("The user quit because the commute is long.", "")
    server.chat = lambda request: json.dumps(_fields(invented))
    await talks(rosa)
    ran = await reflects(rosa)
    assert (ran.changes, ran.faults) == ([], ["unstated"])
    assert (await reflects(rosa)).faults == []


async def test_an_unsure_memory_in_conflict_is_archived_without_a_model(rosa: Person) -> None:
    old = await rosa.creates("Rosa lives in Graz", confidence=0.3)
    pinned = await rosa.creates("Rosa works at Acme", confidence=0.3, pinned=True)
    sure = await rosa.creates("Rosa has two cats", confidence=0.9)
    for one, text in ((old, "Rosa lives in Linz"), (pinned, "Rosa works at Ikea"), (sure, "Rosa has three cats")):
        newer = await rosa.creates(text)
        link = {"memory_id": newer, "to_id": one, "relation_type": CONTRADICTS, "strength": 0.9}
        await rosa.engine.writes.execute(validated(LinkMemories, {**rosa._who, **link}))
    before = await texts(rosa)
    ran = await reflects(rosa)
    assert before - await texts(rosa) == {"Rosa lives in Graz"}
    assert (ran.model, [one["memory_id"] for one in ran.changes]) == ("rules-1", [old])

    undo = {"user_id": rosa.user, "agent_id": rosa.agent, "of_run": ran.run_id, "at": now()}
    await rosa.engine.writes.rollback(validated(Rollback, undo))
    assert await texts(rosa) == before
    assert (await reflects(rosa)).changes == []


async def test_a_thread_is_due_when_it_came_to_rest_or_has_a_batch(rosa: Person) -> None:
    async def jobs() -> int:
        found = await rosa.engine.jobs.list(kind=THREAD, limit=1000)
        return len([one for one in found if one.stream == rosa.stream.name])

    async def done() -> bool:
        found = await rosa.engine.jobs.list(kind=THREAD, limit=1000)
        return all(one.status is JobStatus.SUCCEEDED for one in found if one.stream == rosa.stream.name)

    await talks(rosa)
    await rosa.engine.settled(60)
    await enqueue_due(rosa.engine, now())
    assert await jobs() == 0
    for _ in range(2):
        await enqueue_due(rosa.engine, now() + timedelta(minutes=6))
        assert await jobs() == 1
    await eventually(done)
    assert len(await written(rosa)) == 2


async def test_a_message_that_asks_for_it_is_reflected_on_without_waiting(rosa: Person) -> None:
    async def jobs() -> list[str]:
        await rosa.engine.settled(60)
        await enqueue_due(rosa.engine, now())
        found = await rosa.engine.jobs.list(kind=THREAD, limit=1000)
        return [one.status for one in found if one.stream == rosa.stream.name]

    await talks(rosa)
    assert await jobs() == []
    await rosa.says("That is settled then.", speaker="", metadata={"memory_write_needed": True})
    beside = Person(rosa.engine, rosa.user, agent=rosa.agent, thread="other")
    await beside.says("Not now", speaker="", metadata={"memory_write_needed": False})
    assert len(await jobs()) == 1

    async def reflected() -> bool:
        return await jobs() == [JobStatus.SUCCEEDED]

    await eventually(reflected)
    assert [type(one.payload) for one in await written(rosa)][:1] == [MindRan]


def test_a_batch_is_due_before_the_thread_rests() -> None:
    row = {"turns": 45}
    assert reflecting._reason(row, quiet=False, batch=20) == "batch 2"
    assert reflecting._reason({"turns": 19}, quiet=False, batch=20) is None
    assert Policy(minds=MindPolicy(batch=10)).as_dict()["minds"]["batch"] == 10


async def test_a_reflection_is_erased_with_its_messages(rosa: Person) -> None:
    [first, _] = await talks(rosa)
    await reflects(rosa)
    await erase(rosa.engine, EraseMessages.model_validate({"user_id": rosa.user, "message_ids": (first,)}))
    assert await rosa.engine.reads.newest(rosa.viewer, 10, await rosa.caught_up()) == []


@pytest.mark.spec("A18")
async def test_a_reflection_follows_the_template_and_a_cause_that_nobody_stated_is_refused(
    rosa: Person, server: ModelServer
) -> None:
    answer = Reflected(
        observation=f"{OBSERVATION} The user quit because the boss is rude."
        " The user is tired because the user sleeps badly.",
        action="The assistant listed three jobs in Lisbon.",
        evidence=("I am tired because I sleep badly", "I quit because of the boss"),
        unresolved=("Which job pays best?",),
        hypothesis="The bad sleep is the reason for quitting.",
        hypothesis_confidence=0.9,
    )
    server.chat = lambda request: json.dumps(_fields(answer))
    await talks(rosa)
    await rosa.says("I am tired because I sleep badly.", speaker="")

    ran = await reflects(rosa)

    [found] = await rosa.engine.reads.newest(rosa.viewer, 10, await rosa.caught_up())
    assert found["text"].splitlines() == [
        f"Observation: {OBSERVATION} The user is tired because the user sleeps badly.",
        "Action: The assistant listed three jobs in Lisbon.",
        'Evidence: "I am tired because I sleep badly"',
        "Unresolved: Which job pays best?",
        "Hypothesis (not stated, low confidence): The bad sleep is the reason for quitting.",
    ]
    assert found["metadata"]["reflection"]["hypothesis"]["confidence"] == 0.3
    assert ran.faults == ["unstated", "unstated"]


@pytest.mark.spec("A17")
async def test_rest_flag_and_batch_each_start_the_slow_brain_on_what_is_new(
    rosa: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rosa.engine, "policy", Policy(minds=MindPolicy(quiet_minutes=5, batch=4)))
    quiet, flagged, busy = (Person(rosa.engine, rosa.user, agent=rosa.agent, thread=name) for name in ("q", "f", "b"))
    unsure = await rosa.creates("Rosa lives in Graz", confidence=0.3)
    newer = await rosa.creates("Rosa lives in Linz")
    link = {"memory_id": newer, "to_id": unsure, "relation_type": CONTRADICTS, "strength": 0.9}
    await rosa.engine.writes.execute(validated(LinkMemories, {**rosa._who, **link}))

    async def reflected(after: timedelta = timedelta()) -> list[tuple[str, int]]:
        """The threads that were reflected on, with how many messages each time."""
        await rosa.engine.settled(60)
        await enqueue_due(rosa.engine, now() + after)
        await eventually(all_done)
        return sorted(
            (one.payload.thread_id, len(one.payload.turn_ids))
            for one in await written(rosa)
            if isinstance(one.payload, MindRan) and one.payload.turn_ids
        )

    async def all_done() -> bool:
        found = await rosa.engine.jobs.list(kind=THREAD, limit=1000)
        return all(one.status is JobStatus.SUCCEEDED for one in found if one.stream == rosa.stream.name)

    for one in (quiet, flagged, busy):
        await talks(one)
    assert await reflected() == []
    await talks(busy)
    assert await reflected() == [("b", 4)]
    await flagged.says("That is settled.", speaker="", metadata={"memory_write_needed": True})
    assert await reflected() == [("b", 4), ("f", 3)]
    assert await reflected(timedelta(minutes=4)) == [("b", 4), ("f", 3)]
    assert await reflected(timedelta(minutes=6)) == [("b", 4), ("f", 3), ("q", 2)]
    await talks(flagged)
    await flagged.says("So is this.", speaker="", metadata={"memory_write_needed": True})
    assert await reflected() == [("b", 4), ("f", 3), ("f", 3), ("q", 2)], "only what is new is read"

    hits = (await rosa.asks("Who quit at Acme?", kinds=["episode"])).hits
    assert hits[0].text.startswith(f"Observation: {OBSERVATION}")
    assert hits[0].similarity is not None, "it is in the vector index"
    assert (await rosa.engine.reads.memory(rosa.viewer, unsure, await rosa.caught_up()))["status"] == "dormant"
