"""A long decision lets others run in between."""

import asyncio
from uuid import uuid4

from mnemolog.commands.handler import Handler
from mnemolog.commands.rollback import Rollback, touched
from mnemolog.commands.steps import AT_ONCE, Steps, in_one_go, in_steps
from mnemolog.commands.undo import ROLLBACKS
from mnemolog.events.log import Append
from tests.testkit.clock import START
from tests.testkit.events import created, new
from tests.testkit.log import MemoryLog


class Other:
    """A task that counts how often it runs until it is cancelled."""

    def __init__(self) -> None:
        self.ran = 0

    async def run(self) -> None:
        while True:
            self.ran += 1
            await asyncio.sleep(0)


def counting(steps: int) -> Steps[int]:
    for _ in range(steps):
        yield
    return steps


async def test_others_run_after_every_few_steps() -> None:
    other = Other()
    task = asyncio.create_task(other.run())

    assert await in_steps(counting(10 * AT_ONCE)) == in_one_go(counting(10 * AT_ONCE)) == 10 * AT_ONCE

    assert other.ran >= 10
    task.cancel()


async def test_others_run_while_a_rollback_is_folded_checked_and_planned() -> None:
    log, other, many = MemoryLog(), Other(), 5 * AT_ONCE
    run = [new(created(uuid4())) for _ in range(many)]
    ids = tuple(event.event_id for event in run)
    command = Rollback(user_id="ana", of_run="r1", event_ids=ids, touched=touched(run), at=START)
    await log.append([Append(command.stream(), tuple(run))])
    handler = Handler(log, lambda: START, uuid4)
    task = asyncio.create_task(other.run())

    receipt = await handler.handle(ROLLBACKS.decider, command)

    assert len(receipt.event_ids) == many
    assert other.ran >= 3 * many // AT_ONCE
    task.cancel()
