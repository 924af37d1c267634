"""The tasks of an engine end, however they take a cancellation."""

import asyncio
from contextlib import AsyncExitStack

from mnemolog.adapters.engine.tasks import run


def test_a_task_that_loses_a_cancellation_holds_up_no_end_of_a_program() -> None:
    """As a driver may that is in the middle of a query; `asyncio.run` cancels every task once."""
    lost: list[int] = []
    started = asyncio.Event()

    async def lose() -> None:
        started.set()
        while len(lost) < 2:
            try:
                await asyncio.sleep(3600)
            except asyncio.CancelledError:
                lost.append(len(lost))

    async def main() -> None:
        await run(AsyncExitStack(), [lose])
        await started.wait()

    asyncio.run(main())

    assert lost == [0, 1]


async def test_an_engine_ends_with_all_its_tasks_however_many_cancellations_they_lose() -> None:
    """One that ran on found its servers stopped, tried again for ever, and held up the end of the program."""
    lost, started, ended = 0, asyncio.Event(), asyncio.Event()

    async def lose() -> None:
        nonlocal lost
        started.set()
        try:
            while lost < 3:
                try:
                    await asyncio.sleep(3600)
                except asyncio.CancelledError:
                    lost += 1
        finally:
            ended.set()

    async with AsyncExitStack() as stack:
        await run(stack, [lose])
        await started.wait()

    assert (lost, ended.is_set()) == (3, True)
