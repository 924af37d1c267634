"""An engine of their own for tests that damage it, and a user whose story was told."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from mnemolog.adapters.engine.engine import Engine, open_engine
from mnemolog.events.envelope import StreamId
from tests.engine.person import Person
from tests.engine.story import tell
from tests.tamper.attacker import Attacker, attacking
from tests.testkit.settings import settings_in


@pytest.fixture(scope="module")
async def victim(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Engine]:
    """An engine for one file: what is damaged in it concerns no other, and its whole log is that of these tests."""
    async with open_engine(settings_in(tmp_path_factory.mktemp("victim"))) as opened:
        yield opened


@pytest.fixture
async def ana(victim: Engine, user: str) -> Person:
    """Somebody with a story behind her, all of it projected."""
    person = Person(victim, user)
    await tell(person)
    await victim.settled(60)
    return person


@pytest.fixture
async def bob(victim: Engine, user: str) -> Person:
    """Somebody else, with a story of his own."""
    person = Person(victim, f"{user}-bob")
    await tell(person)
    await victim.settled(60)
    return person


@pytest.fixture
async def mallory(victim: Engine, user: str) -> AsyncIterator[Attacker]:
    async with attacking(victim, StreamId.of_user(user)) as attacker:
        yield attacker
        await forget(victim, user, attacker)


async def forget(victim: Engine, user: str, mallory: Attacker) -> None:
    """Leave nothing of the user, not even what projections were still applying: they would never be settled again."""
    await Person(victim, f"witness-of-{user}").creates("What was written before this is applied before it")
    async with asyncio.timeout(60):
        while True:
            await mallory.leaves_no_trace()
            await forget_in_redis(victim, user)
            if not await victim.outbox.size() and await victim.projections.settled():
                return
            await asyncio.sleep(0.05)


async def forget_in_redis(victim: Engine, user: str) -> None:
    """Working memory adds up what it applied: without the events, it would never be settled again."""
    working = victim.projections.working
    for stream in await working.all_progress():
        if stream.owner == user or stream.owner.startswith(f"{user}-"):
            async with working.session([stream]) as session:
                await session.reset(stream)
