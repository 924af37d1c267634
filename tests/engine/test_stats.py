"""Operations are counted by node, op and status over time (B §14)."""

from collections import Counter
from datetime import timedelta, timezone

import pytest

from mnemolog.adapters.engine.engine import Engine, new_id, now
from mnemolog.adapters.erasure.erasing import erase
from mnemolog.commands.erasure import EraseMemory, EraseUser
from mnemolog.commands.recalls import RecordRecalls
from mnemolog.domain.artifact import Refusal
from mnemolog.domain.bands import Band
from mnemolog.domain.errors import InvalidInput, NotFound, NotPermitted
from mnemolog.domain.extraction.windows import Trigger
from mnemolog.domain.memory import Cause
from mnemolog.domain.principal import ALL, Principal, Role
from mnemolog.events.artifacts import ArtifactRefused
from mnemolog.events.envelope import Meta, NewEvent
from mnemolog.events.extraction import MessagesExtracted
from mnemolog.events.generation import Generation
from mnemolog.events.memory import Match, MemoryObserved, MemorySoftDeleted, Observation
from mnemolog.events.serving import ContextServed, Purpose
from mnemolog.projections.operations.counted import Node, Outcome, Over, Period, Wanted
from mnemolog.projections.reads.moment import Moment
from tests.engine.equality import assert_live_equals_replayed
from tests.engine.person import Person
from tests.engine.test_streams import append

TOTAL, CURRENT = Wanted(by=Period.TOTAL), Moment()


async def counted(
    person: Person, wanted: Wanted = TOTAL, moment: Moment = CURRENT
) -> Counter[tuple[str, str, str, str]]:
    rows = await person.engine.reads.operations(person.viewer, wanted, 1000, moment)
    return Counter({(row["node"], row["op"], row["status"], row["subject"]): row["count"] for row in rows})


@pytest.mark.spec_part("B14")
async def test_operations_are_counted_by_node_op_and_status(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    tea = await ana.creates("Ana drinks green tea")
    await engine.settled(60)
    await ana.creates("Ana climbs at the weekend", kind="episode")
    await ana.creates("Ana drinks green tea", merge_similar=True)  # Known: nothing new is stored.
    await ana.says("Good morning!")
    await ana.updates(tea, text="Ana drinks white tea")
    await ana.deletes(tea)
    await ana.restores(tea)

    found = await counted(ana)

    assert found["hotpath", "create", "ok", "memory"] == 1
    assert found["episodic", "create", "ok", "memory"] == 1
    assert found["hotpath", "create", "skipped", "memory"] == 1
    assert found["hotpath", "search", "ok", "memory"] == 1  # For the neighbours of what was known.
    assert found["hotpath", "create", "ok", "message"] == 1
    for op in ("update", "delete", "restore"):
        assert found["hotpath", op, "ok", "memory"] == 1
    assert set(await counted(ana, Wanted(status=Outcome.SKIPPED))) == {("hotpath", "create", "skipped", "memory")}
    assert set(await counted(ana, Wanted(node=Node.EPISODIC))) == {("episodic", "create", "ok", "memory")}
    await engine.settled(60)
    await assert_live_equals_replayed(engine, ana.stream)


@pytest.mark.spec("B14")
async def test_what_changed_and_when_is_counted_by_op_and_node_over_time(engine: Engine, user: str) -> None:
    """A search counts what it found, a refused file is an error, and a refused request changes nothing."""
    ana = Person(engine, user)
    # So unlike each other that no link comes of it, however soon the first one is found.
    tea, boats = await ana.creates("Ana drinks green tea"), await ana.creates("Boris paints wooden boats")
    await ana.creates("Ana climbs at the weekend", kind="episode")
    await ana.merges(tea, boats, text="Ana drinks green tea, and Boris paints wooden boats")
    with pytest.raises(NotFound):
        await ana.updates(new_id(), text="Ana drinks milk")
    recalled = RecordRecalls(tenant=ana.stream.tenant, user_id=user, actor="recall", memory_ids=(tea,), weights=(3,))
    await engine.writes.handle(recalled)
    broken = ArtifactRefused(artifact_id=new_id(), reason=Refusal.BROKEN)
    await append(engine, ana.stream, NewEvent(new_id(), broken, Meta("extractor"), now()))
    faded = MemorySoftDeleted(memory_id=tea, purge_at=now(), cause=Cause.TTL)
    await append(engine, ana.stream, NewEvent(new_id(), faded, Meta("retention"), now()))

    expected = {
        ("hotpath", "create", "ok", "memory"): 2,
        ("episodic", "create", "ok", "memory"): 1,
        ("hotpath", "merge", "ok", "memory"): 2,
        ("context", "recall", "ok", "memory"): 3,
        ("worker", "extract", "error", "artifact"): 1,
        ("worker", "expire", "ok", "memory"): 1,
    }
    assert await counted(ana) == expected
    by_hour = await engine.reads.operations(ana.viewer, Wanted(by=Period.HOUR), moment=CURRENT)
    assert sum(row["count"] for row in by_hour) == sum(expected.values())
    assert {row["period"].minute for row in by_hour} == {0}


@pytest.mark.spec("B14")
async def test_messages_are_classified_and_searches_have_the_similarity_of_the_best_neighbour(
    engine: Engine, user: str
) -> None:
    ana = Person(engine, user)
    tea = await ana.creates("Ana drinks tea")
    read = MessagesExtracted(
        agent_id=ana.agent,
        thread_id=ana.thread,
        turn_ids=("t1", "t2"),
        trigger=Trigger.LENGTH,
        generation=Generation(model="m-1"),
        proposals=1,
    )
    observed = MemoryObserved(
        memory_id=tea,
        confidence=0.8,
        importance=0.5,
        cause=Observation.REPEAT,
        match=Match(band=Band.AUTO, similarity=0.9),
    )
    served = ContextServed(
        agent_id=ana.agent, thread_id=ana.thread, purpose=Purpose.ENVELOPE, items=(), tokens=9, searched=True
    )
    for actor, event in (
        ("model-extractor", read),
        ("model-extractor", read.model_copy(update={"proposals": 0, "turn_ids": ("t3",)})),
        ("Ana", observed),
        ("Bot", served),
        ("Bot", served.model_copy(update={"searched": False})),
    ):
        await append(engine, ana.stream, NewEvent(new_id(), event, Meta(actor), now()))

    rows = await engine.reads.operations(ana.viewer, TOTAL, 100, await ana.caught_up())

    told = {(row["node"], row["op"], row["status"], row["subject"]): (row["count"], row["similarity"]) for row in rows}
    assert told == {
        ("hotpath", "create", "ok", "memory"): (1, None),
        ("worker", "classify", "ok", "message"): (2, None),
        ("worker", "classify", "skipped", "message"): (1, None),
        ("hotpath", "create", "skipped", "memory"): (1, 0.9),
        ("hotpath", "search", "ok", "memory"): (1, 0.9),
        ("context", "search", "ok", "context"): (1, None),
        ("context", "search", "skipped", "context"): (1, None),
    }


@pytest.mark.spec_part("B14")
async def test_counts_are_by_hour_and_day_and_between_two_times(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    await ana.creates("Ana drinks tea")
    hour = now().replace(minute=0, second=0, microsecond=0)
    await ana.creates("Ana has a cat")

    by_hour = await engine.reads.operations(ana.viewer, Wanted(by=Period.HOUR, op="create"), moment=CURRENT)
    assert sum(row["count"] for row in by_hour) == 2
    assert {row["period"] for row in by_hour} <= {hour, hour + timedelta(hours=1)}
    by_day = await engine.reads.operations(ana.viewer, Wanted(op="create"))
    assert {row["period"].hour for row in by_day} == {0}
    # Not all operations: the second memory is linked to the first if that is already found as its neighbour.
    assert sum((await counted(ana, Wanted(since=now() - timedelta(hours=1), op="create"))).values()) == 2
    assert not await counted(ana, Wanted(until=hour - timedelta(days=1)))
    assert sum((await counted(ana, TOTAL, Moment(as_of=1))).values()) == 1

    await ana.says("Good morning!")
    listed = await engine.reads.operations(ana.viewer, Wanted(by=Period.HOUR), moment=CURRENT)
    first = await engine.reads.operations(ana.viewer, Wanted(by=Period.HOUR), 1)
    rest = await engine.reads.operations(ana.viewer, Wanted(by=Period.HOUR), cursor=first.next_cursor)
    assert [*first, *rest] == listed


@pytest.mark.spec_part("B14")
@pytest.mark.parametrize("minutes", [330, 345, -210, 60])
async def test_counts_begin_with_the_hour_of_utc_that_contains_a_time_in_any_time_zone(
    minutes: int, engine: Engine, user: str
) -> None:
    ana = Person(engine, user)
    await ana.creates("Ana drinks green tea")
    [event] = await engine.log.read(ana.stream)
    hour = event.recorded_at.replace(minute=0, second=0, microsecond=0)

    for since, expected in ((hour, 1), (hour + timedelta(minutes=59), 1), (hour + timedelta(minutes=60), 0)):
        there = since.astimezone(timezone(timedelta(minutes=minutes)))
        assert sum((await counted(ana, Wanted(since=there, op="create"))).values()) == expected


@pytest.mark.spec_part("B14")
async def test_the_mean_similarity_is_that_of_the_operations_that_looked_for_neighbours(
    engine: Engine, user: str
) -> None:
    ana = Person(engine, user)
    tea = await ana.creates("Ana drinks tea")
    for similarity in (0.9, 0.5, None):
        match = Match(band=Band.AUTO, similarity=similarity)
        observed = MemoryObserved(memory_id=tea, confidence=0.8, importance=0.5, cause=Observation.REPEAT, match=match)
        await append(engine, ana.stream, NewEvent(new_id(), observed, Meta("Ana"), now()))

    rows = await engine.reads.operations(ana.viewer, Wanted(status=Outcome.SKIPPED), moment=CURRENT)

    assert [(row["count"], row["similarity"]) for row in rows] == [(3, 0.7)]


@pytest.mark.spec_part("B14", "A01")
async def test_an_agent_counts_its_own_a_user_all_agents_and_an_admin_the_tenant(engine: Engine, user: str) -> None:
    ana, coach = Person(engine, user, "acme"), Person(engine, user, "acme", agent="coach")
    ben, elsewhere = Person(engine, f"{user}-ben", "acme"), Person(engine, user, f"globex-{user}")
    for person in (ana, coach, ben, elsewhere):
        await person.creates("drinks tea")
    await engine.settled(60)
    create = ("hotpath", "create", "ok", "memory")

    assert (await counted(ana))[create] == 1
    of_user, of_tenant = Wanted(by=Period.TOTAL, over=Over.USER), Wanted(by=Period.TOTAL, over=Over.TENANT)
    assert (await counted(ana, of_user))[create] == 2
    assert (await counted(ana, of_tenant))[create] >= 3
    assert (await counted(elsewhere, of_tenant))[create] == 1
    with pytest.raises(InvalidInput):
        await counted(ana, of_tenant, Moment(as_of=1))

    def bound(agents: str, users: str, role: Role) -> Person:
        principal = Principal("key", "acme", frozenset({agents}), frozenset({users}), frozenset({role}))
        return Person(engine.by(principal), user, "acme", agent="coach")

    assert (await counted(bound("coach", user, Role.READ)))[create] == 1
    assert (await counted(bound(ALL, user, Role.READ), of_user))[create] == 2
    assert (await counted(bound(ALL, ALL, Role.ADMIN), of_tenant))[create] >= 3
    for principal, wanted in (
        (bound("coach", user, Role.READ), of_user),
        (bound(ALL, ALL, Role.READ), of_tenant),
        (bound(ALL, user, Role.ADMIN), of_tenant),
    ):
        with pytest.raises(NotPermitted):
            await counted(principal, wanted)


@pytest.mark.spec_part("B14", "X07")
async def test_an_erasure_is_counted_and_that_of_a_user_takes_the_counts(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    tea = await ana.creates("Ana drinks tea")
    await erase(engine, EraseMemory(user_id=user, memory_id=tea))
    assert (await counted(ana))["hotpath", "erase", "ok", "memory"] == 1
    await engine.settled(60)
    await assert_live_equals_replayed(engine, ana.stream)

    await erase(engine, EraseUser(user_id=user))

    assert not await counted(ana)
