"""Working memory on a Redis Cluster: each user's keys are on one node, and all of it outlives a node (X11)."""

from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest
from redis.asyncio import Redis

from mnemolog.adapters.engine.engine import Engine, open_engine
from mnemolog.adapters.erasure.erasing import erase
from mnemolog.adapters.erasure.prove import prove
from mnemolog.adapters.erasure.target import ProofSubject
from mnemolog.commands.erasure import EraseUser
from mnemolog.projections.projector import Stop
from tests.engine.equality import assert_live_equals_rebuilt, assert_live_equals_replayed
from tests.engine.person import Person
from tests.engine.teller import Teller
from tests.testkit.redis_cluster import Node, redis_cluster
from tests.testkit.settings import settings_in

pytestmark = [pytest.mark.faults, pytest.mark.spec_part("X11")]

PRIMARIES = 3
PEOPLE = [f"person-{number}" for number in range(12)]


@pytest.fixture
async def nodes(tmp_path: Path) -> AsyncIterator[Sequence[Node]]:
    """Three primaries, and a replica of the first."""
    async with redis_cluster(tmp_path / "redis", PRIMARIES, replicas=1) as opened:
        yield opened


@pytest.fixture
async def engine(tmp_path: Path, nodes: Sequence[Node]) -> AsyncIterator[Engine]:
    async with open_engine(settings_in(tmp_path / "engine", redis_url=nodes[0].url)) as opened:
        yield opened


async def talk(engine: Engine, turns: int, first: int = 0) -> Sequence[Person]:
    people = [Teller(engine, user, agent="deanna", thread="tg:987") for user in PEOPLE]
    for number in range(first, first + turns):
        for person in people:
            await person.says(f"{person.user} spoke of topic {number}")
    await engine.settled(60)
    return people


async def keys_on(node: Node) -> set[str]:
    async with Redis.from_url(node.url, decode_responses=True) as redis:
        return {str(key) for key in await redis.keys("*")}


async def assert_heard(people: Sequence[Person], turns: int) -> None:
    for person in people:
        session = await person.engine.reads.session(person.viewer, person.thread, await person.caught_up())
        assert session.msg_count == turns
        assert session.turns[-1]["text"] == f"{person.user} spoke of topic {turns - 1}"


async def test_sessions_are_spread_over_the_nodes_and_each_is_beside_its_progress(
    engine: Engine, nodes: Sequence[Node]
) -> None:
    people = await talk(engine, 3)

    await assert_heard(people, 3)
    held = [await keys_on(node) for node in nodes[:PRIMARIES]]
    assert all(any("sess:" in key for key in keys) for keys in held)
    for key in (key for keys in held for key in keys):
        slot = key.partition("}")[0] + "}"
        assert slot.startswith("{w")
        assert sum(any(one.startswith(slot) for one in keys) for keys in held) == 1


async def test_working_memory_is_rebuilt_forgotten_erased_and_stopped_as_on_one_node(engine: Engine) -> None:
    people = await talk(engine, 2)
    ana, boris, *_ = people
    working = engine.projections.working
    await assert_live_equals_rebuilt(engine, working.name)
    assert len(await working.keys()) == len(await working.blobs()) == len(PEOPLE)

    await erase(engine, EraseUser(user_id=ana.user))
    await engine.settled(60)
    assert await working.keys_of(ana.stream) == []
    assert (await prove(engine, ProofSubject(ana.stream), "person-0 spoke")).holds
    await assert_heard(people[1:], 2)

    head = await engine.log.head(boris.stream)
    await working.stop(boris.stream, head, "a test")
    assert await working.stopped() == {boris.stream: Stop(head, "a test")}
    await working.resume()
    assert await working.stopped() == {}
    await assert_live_equals_replayed(engine, ana.stream, boris.stream)


async def test_a_killed_node_is_replaced_and_no_turn_is_missing_afterwards(
    engine: Engine, nodes: Sequence[Node]
) -> None:
    await talk(engine, 3)

    nodes[0].process.kill()
    nodes[0].process.wait()
    people = await talk(engine, 3, first=3)

    await assert_heard(people, 6)
    await assert_live_equals_replayed(engine, *(person.stream for person in people))
