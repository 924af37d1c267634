"""Verification finds nothing while writers, erasures and rebuilds go on: it compares what differs once more (X08)."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.erasure.erasing import erase
from mnemolog.adapters.verify.damage import Damage
from mnemolog.commands.erasure import EraseMemory
from tests.engine.person import Person

pytestmark = pytest.mark.spec("X08")


ROUNDS = 3
# Without it four loops take the processor from the verification that they are to disturb, and write it ever more to do.
PAUSE_SECONDS = 0.02


async def writes_and_erases(ana: Person) -> None:
    memory_id = await ana.creates("Ana is allergic to penicillin", category="profile")
    await ana.updates(memory_id, text="Ana is allergic to nothing")
    await erase(ana.engine, EraseMemory(user_id=ana.user, memory_id=memory_id))


@asynccontextmanager
async def again_and_again(*steps: Callable[[], Awaitable[object]]) -> AsyncIterator[list[int]]:
    """Each step in a task of its own, until the end; how often each was done."""
    done = [0] * len(steps)

    async def repeated(number: int, step: Callable[[], Awaitable[object]]) -> None:
        while not ended.is_set():
            await step()
            done[number] += 1
            await asyncio.sleep(PAUSE_SECONDS)

    ended = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        for number, step in enumerate(steps):
            group.create_task(repeated(number, step))
        try:
            yield done
        finally:
            ended.set()


async def test_nothing_is_found_while_memories_are_erased_and_projections_rebuilt(
    victim: Engine, ana: Person, bob: Person
) -> None:
    found: list[Damage] = []
    async with again_and_again(
        lambda: writes_and_erases(ana),
        lambda: bob.creates("Bob drinks tea"),
        lambda: victim.projections.rebuild("memories"),
        lambda: victim.projections.rebuild("history"),
    ) as done:
        for number in range(ROUNDS):
            report = await victim.verifier.verify([ana.stream, bob.stream, None][number % 3])
            found += [one for one in report.damages if one.stream in (ana.stream, bob.stream)]

    assert found == []
    assert min(done) > 0
