"""The patrol, end to end: scenes age by sessions, die, are found while they do, and live again by use (C)."""

import asyncio
from datetime import timedelta
from typing import Any, NamedTuple
from uuid import UUID, uuid4

import pytest

from mnemolog.adapters.engine.engine import Engine, now
from mnemolog.adapters.jobs.job import Job, JobStatus
from mnemolog.adapters.maintenance.patrol import PATROL, Sweep
from mnemolog.adapters.maintenance.patrolling import patrol
from mnemolog.adapters.operations.patrol import RunPatrol, run_patrol
from mnemolog.commands.recalls import RecordRecalls
from mnemolog.domain.errors import NotFound
from mnemolog.domain.identity import MAX_IDENTIFIER
from mnemolog.domain.memory import Status
from mnemolog.domain.patrol import What
from mnemolog.events.envelope import StreamId
from mnemolog.events.fields import validated
from mnemolog.events.memory import Recall
from mnemolog.events.patrol import CycleClosed
from mnemolog.projections.reads.moment import Moment
from tests.engine.equality import assert_live_equals_replayed
from tests.engine.person import Person
from tests.testkit.eventually import eventually

SCENE = {"kind": "scene", "scope": "agent"}
LIGHT = 0.052  # exp(-1 / 30) leaves 0.0503 of it, and exp(-2 / 30) 0.0486.


async def row(mia: Person, memory_id: UUID, moment: Moment | None = None) -> dict[str, Any]:
    return dict(await mia.engine.reads.memory(mia.viewer, memory_id, moment or await mia.caught_up()))


async def counted(mia: Person, *memory_ids: UUID) -> list[tuple[str, int, bool]]:
    rows = [await row(mia, id_) for id_ in memory_ids]
    return [(one["status"], one["session_count"], one["fresh"]) for one in rows]


class Closed(NamedTuple):
    """What the end of a cycle did to scenes."""

    dying: tuple[UUID, ...]
    revived: tuple[UUID, ...]


async def closed(mia: Person) -> Closed:
    done = await patrol(mia.engine, mia.viewer, str(uuid4()))
    changes = [one for step in done.steps for one in step.changes]
    dying, recovered = (
        [one.id for one in changes if one.what is what and one.id] for what in (What.DYING, What.RECOVERED)
    )
    return Closed(tuple(dying), tuple(recovered))


async def recalled(mia: Person, memory_id: UUID) -> None:
    fields = {"memory_ids": (memory_id,), "weights": (1,), "by": Recall.RECALL}
    await mia.engine.writes.handle(RecordRecalls(user_id=mia.user, agent_id=mia.agent, **fields))  # type: ignore[arg-type]


@pytest.mark.spec_part("C01", "C03", "C06", "C08", "X02")
async def test_a_scene_ages_dies_is_still_read_and_lives_again_when_it_is_recalled(engine: Engine, user: str) -> None:
    mia = Person(engine, user, agent="mia")
    light = await mia.creates("Mia spilled the tea", importance=LIGHT, **SCENE)
    heavy = await mia.creates("Mia won the race", importance=0.9, **SCENE)
    pinned = await mia.creates("Mia was named", pinned=True, **SCENE)
    noahs = await Person(engine, user, agent="noah").creates("Noah slept", importance=LIGHT, **SCENE)
    fact = await mia.creates("Mia likes tea", importance=LIGHT)
    born = await counted(mia, light, heavy, fact)

    first = await closed(mia)
    after_first = await counted(mia, light, heavy, pinned, fact)
    before = Moment(as_of=await engine.log.head(mia.stream))
    second = await closed(mia)

    assert born == [("active", 0, True), ("active", 0, True), ("active", 0, False)]
    assert after_first == [("active", 1, True)] * 3 + [("active", 0, False)]
    assert (first.dying, first.revived) == ((), ())
    assert (second.dying, second.revived) == ((light,), ())
    assert await counted(mia, light, heavy, pinned) == [("dying", 2, True), ("active", 2, True), ("active", 2, True)]
    assert (await counted(Person(engine, user, agent="noah"), noahs)) == [("active", 0, True)]
    then = await row(mia, light, before)
    assert (then["status"], then["session_count"]) == ("active", 1)
    assert "Mia spilled the tea" in await mia.finds("spilled tea")
    assert (await row(mia, light))["last_accessed"] < (await engine.log.read(mia.stream))[-1].header.recorded_at

    third = await closed(mia)
    assert (await counted(mia, light), third.dying, third.revived) == ([("dying", 2, True)], (), ())
    await recalled(mia, light)
    assert await counted(mia, light) == [("dying", 0, True)]
    fourth = await closed(mia)

    assert (fourth.dying, fourth.revived) == ((), (light,))
    assert await counted(mia, light, heavy) == [("active", 0, True), ("active", 4, True)]
    cycles = [one for one in await engine.log.read(mia.stream) if isinstance(one.payload, CycleClosed)]
    assert len(cycles) == 4
    await engine.settled(60)
    await assert_live_equals_replayed(engine, StreamId.of_user(user))


@pytest.mark.spec_part("C03", "X03")
async def test_an_undo_brings_a_dying_scene_back_and_it_counts_from_there(engine: Engine, user: str) -> None:
    mia = Person(engine, user, agent="mia")
    light = await mia.creates("Mia dropped a spoon", importance=LIGHT, **SCENE)
    await closed(mia)
    assert (await closed(mia)).dying == (light,)

    await mia.undoes(light)

    assert await counted(mia, light) == [("active", 0, True)]
    assert (await closed(mia)).dying == ()
    assert await counted(mia, light) == [("active", 1, True)]
    await engine.settled(60)
    await assert_live_equals_replayed(engine, StreamId.of_user(user))


@pytest.mark.spec_part("C03")
async def test_a_pin_and_a_heavier_weight_let_a_dying_scene_live(engine: Engine, user: str) -> None:
    mia = Person(engine, user, agent="mia")
    held, heavier = [await mia.creates(text, importance=LIGHT, **SCENE) for text in ("Mia hid", "Mia ran")]
    await closed(mia)
    await closed(mia)

    await mia.updates(held, pinned=True)
    await mia.updates(heavier, importance=0.5)
    revived = (await closed(mia)).revived

    assert revived == (heavier,)
    assert await counted(mia, held, heavier) == [("active", 1, True), ("active", 0, True)]


@pytest.mark.spec_part("C06")
async def test_a_session_that_ended_gets_one_patrol_and_silence_gets_none(engine: Engine, user: str) -> None:
    mia, sweep = Person(engine, user, agent="mia"), Sweep(engine)
    scene = await mia.creates("Mia read a letter", **SCENE)

    async def passes(minutes: int, by: Sweep = sweep) -> int:
        await engine.settled(60)
        before = {one.job_id for one in await jobs_of(mia)}
        await by.enqueue(now() + timedelta(minutes=minutes))
        after = {one.job_id for one in await jobs_of(mia)}
        await eventually(lambda: _ended(mia))
        return len(after - before)

    silent = await passes(60)
    await mia.says("good morning")
    in_session, ended, again = await passes(29), await passes(31), await passes(62)
    another = await passes(31, Sweep(engine))
    await Person(engine, user, agent="noah").says("good night")
    of_another = await passes(31)
    await mia.says("good evening")
    next_session = await passes(31)

    assert (silent, in_session, ended, again, another, of_another, next_session) == (0, 0, 1, 0, 0, 0, 1)
    assert await counted(mia, scene) == [("active", 2, True)]
    cycles = [one for one in await engine.log.read(mia.stream) if isinstance(one.payload, CycleClosed)]
    assert [one.meta.actor for one in cycles] == ["patrol", "patrol"]
    assert len({one.meta.run_id for one in cycles}) == 2


@pytest.mark.spec_part("C05")
async def test_a_being_with_notes_alone_gets_a_patrol_too(engine: Engine, user: str) -> None:
    mia = Person(engine, user, agent="mia")
    note = {"type": "scene", "text": '{"action": "Mia won", "actors": ["Mia"], "when": ["2026-01-03"]}'}
    await engine.writes.put_entry({"user_id": user, "agent_id": "mia", "store": "note", "body": note})
    await mia.says("well done")
    await engine.settled(60)

    await Sweep(engine).enqueue(now() + timedelta(minutes=31))
    await eventually(lambda: _ended(mia))

    assert [one["text"] for one in await engine.reads.newest(mia.viewer, 9, await mia.caught_up())] == [
        "2026-01-03 — Mia won"
    ]


async def jobs_of(mia: Person) -> list[Job]:
    return [one for one in await mia.engine.jobs.list(kind=PATROL) if one.stream == mia.stream.name]


async def _ended(mia: Person) -> bool:
    return all(one.status is JobStatus.SUCCEEDED for one in await jobs_of(mia))


async def test_who_has_no_scenes_has_no_cycle(engine: Engine, user: str) -> None:
    mia = Person(engine, user, agent="mia")
    await mia.creates("Mia likes tea")

    with pytest.raises(NotFound) as refused:
        await closed(mia)

    assert refused.value.field == "agent_id"
    assert not [one for one in await engine.log.read(mia.stream) if isinstance(one.payload, CycleClosed)]


async def test_many_scenes_turn_in_one_append(engine: Engine, user: str) -> None:
    mia = Person(engine, user, agent="mia")
    seen = [f"Mia saw bird {number}" for number in range(60)]
    scenes = await asyncio.gather(*(mia.creates(text, importance=0.01, **SCENE) for text in seen))

    done = await closed(mia)

    assert set(done.dying) == set(scenes)
    assert set(await counted(mia, *scenes)) == {(Status.DYING, 1, True)}
    await engine.settled(60)
    await assert_live_equals_replayed(engine, StreamId.of_user(user))


async def test_an_agent_and_a_run_with_the_longest_ids_have_a_cycle(engine: Engine, user: str) -> None:
    mia = Person(engine, user, agent="m" * MAX_IDENTIFIER)
    scene = await mia.creates("Mia knitted", **SCENE)

    for _ in range(2):  # The same run closes its cycle once.
        await patrol(engine, mia.viewer, "r" * MAX_IDENTIFIER)

    assert await counted(mia, scene) == [("active", 1, True)]


async def test_a_patrol_that_is_asked_for_again_with_its_key_ages_no_scene_twice(engine: Engine, user: str) -> None:
    mia, other = Person(engine, user, agent="mia"), Person(engine, user, agent="other")
    scene = await mia.creates("Mia knitted", **SCENE)
    await other.creates("Another knitted", **SCENE)

    runs = []
    for agent in (mia.agent, mia.agent, other.agent):
        asked = {"user_id": user, "agent_id": agent, "idempotency_key": "tonight"}
        runs.append((await run_patrol.run(engine, validated(RunPatrol, asked))).run_id)

    assert runs[0] == runs[1] != runs[2]
    assert await counted(mia, scene) == [("active", 1, True)]
