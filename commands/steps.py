"""Long decisions, in steps: other tasks run in between, so that no caller waits for the rollback of another.

A thread would not do: states of commands that run at the same time share their dicts (`domain/updated.py`).
"""

import asyncio
from collections.abc import Generator
from typing import TypeVar

T = TypeVar("T")

Steps = Generator[None, None, T]

# Steps, of a tenth to half a millisecond each.
AT_ONCE = 20


async def in_steps(steps: Steps[T]) -> T:
    """The result; other tasks run after every `AT_ONCE` steps."""
    try:
        while True:
            for _ in range(AT_ONCE):
                next(steps)
            await asyncio.sleep(0)
    except StopIteration as end:
        result: T = end.value
        return result


def in_one_go(steps: Steps[T]) -> T:
    """The result, for whoever shares no event loop."""
    try:
        while True:
            next(steps)
    except StopIteration as end:
        result: T = end.value
        return result
