"""Redis is killed in the middle of turns, or emptied: working memory is whole again after it (A §3)."""

import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from redis.asyncio import Redis
from redis.exceptions import RedisError

from mnemolog.adapters.engine.engine import Engine, now, open_engine
from mnemolog.adapters.maintenance.summarizing import summarize
from mnemolog.commands.attention import SetAffect, SetFocus
from mnemolog.events.conversation import TurnRecorded
from tests.engine.equality import assert_live_equals_replayed
from tests.engine.teller import Teller
from tests.testkit.eventually import eventually
from tests.testkit.settings import settings_in

pytestmark = pytest.mark.faults

TURNS = 40


@pytest.fixture(params=[False, True], ids=["redis-without-a-file", "redis-with-its-file"])
async def engine(tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[Engine]:
    async with open_engine(settings_in(tmp_path, durable=request.param)) as opened:
        yield opened


async def speaks_of_marta(engine: Engine) -> Teller:
    """A chat with everything that its session can have but a summary."""
    ana = Teller(engine, "ana", agent="deanna", thread="tg:987")
    await ana.knows_of("Marta")
    await engine.settled(60)
    chat = {"user_id": "ana", "agent_id": "deanna", "thread_id": "tg:987"}
    mood = {"label": "stressed", "confidence": 0.9, "markers": ("short answers",), "interaction_mode": "calm"}
    await engine.writes.handle(SetAffect.model_validate({**chat, **mood, "at": now()}))
    focus = {"topic_focus": "family", "mode": "reflective", "pending_questions": ("Which Marta?",)}
    await engine.writes.handle(SetFocus.model_validate({**chat, **focus, "at": now()}))
    return ana


async def is_whole(ana: Teller) -> None:
    """The session and the affect have all that was said and set, and equal those that are rebuilt from the log."""
    engine = ana.engine
    await engine.settled(60)
    session = await engine.reads.session(ana.viewer, ana.thread, await ana.caught_up())
    mood = await engine.reads.affect(ana.viewer, ana.thread, now(), await ana.caught_up())
    [marta] = await engine.reads.entities(ana.viewer, await ana.caught_up())
    assert (session.msg_count, len(session.turns)) == (TURNS, 20)
    assert session.turns[-1] == {"role": "user", "text": f"Marta and I spoke of topic {TURNS - 1}"}
    assert session.summary
    assert (
        session.scratch.items()
        >= {
            "topic_focus": "family",
            "mode": "reflective",
            "pending_questions": ["Which Marta?"],
        }.items()
    )
    assert session.active_entity_ids == mood["active_entity_ids"] == [str(marta["entity_id"])]
    assert (mood["affect"]["label"], mood["interaction_mode"]) == ("stressed", "calm")
    assert mood["affect"]["confidence"] == pytest.approx(0.9 * 0.95 ** (TURNS // 3))
    await assert_live_equals_replayed(engine, ana.stream)


@pytest.mark.spec("A04", "A05")
@pytest.mark.spec_part("X09", "X14")
async def test_turns_go_on_without_redis_and_their_session_is_whole_after_it(engine: Engine) -> None:
    ana = await speaks_of_marta(engine)
    assert engine.servers
    for number in range(TURNS):
        if number == TURNS // 2:
            os.kill(engine.servers.pids["redis"], signal.SIGKILL)
        await ana.says(f"Marta and I spoke of topic {number}", speaker="")
    await engine.settled(60)
    await summarize(engine, ana.stream, ana.agent, ana.thread)

    await is_whole(ana)
    turns = [one for one in await engine.log.read(ana.stream) if isinstance(one.payload, TurnRecorded)]
    assert len(turns) == TURNS


@pytest.mark.spec("A04")
async def test_a_redis_that_was_emptied_is_filled_from_the_log(engine: Engine) -> None:
    ana = await speaks_of_marta(engine)
    for number in range(TURNS):
        await ana.says(f"Marta and I spoke of topic {number}", speaker="")
    await engine.settled(60)
    await summarize(engine, ana.stream, ana.agent, ana.thread)
    await is_whole(ana)
    before = await engine.projections.working.blobs()

    async with Redis.from_url(engine.endpoints.redis_url) as redis:
        await redis.flushall()

    async def filled() -> bool:
        try:
            return await engine.projections.working.blobs() == before
        except RedisError:
            return False

    assert len(before) == 2
    await eventually(filled)
    await is_whole(ana)
