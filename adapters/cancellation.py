"""Cancellations that libraries lose, and work that a cancellation must not divide.

On Python 3.11 `asyncio.wait_for` returns a result that comes together with a cancellation, and forgets the latter.
psycopg_pool and nats-py wait that way. Who cancelled would wait for the end of whatever is done next.
"""

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


@contextmanager
def heeded() -> Iterator[None]:
    """Raise CancelledError at the end if this task was cancelled inside, and the code inside went on regardless."""
    task = asyncio.current_task()
    before = task.cancelling() if task else 0
    yield
    if task and task.cancelling() > before:
        raise asyncio.CancelledError


async def set_within(event: asyncio.Event, seconds: float) -> bool:
    """Whether an event is set within so many seconds."""
    try:
        async with asyncio.timeout(seconds):
            return await event.wait()
    except TimeoutError:
        return False


def carried_through(work: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, Coroutine[Any, Any, T]]:
    """Once begun it goes on to its end. If its caller is cancelled meanwhile, that is raised then."""

    @wraps(work)
    async def carried(*args: P.args, **kwargs: P.kwargs) -> T:
        task = asyncio.create_task(work(*args, **kwargs))
        cancelled: asyncio.CancelledError | None = None
        while not task.done():
            try:
                await asyncio.wait([task])
            except asyncio.CancelledError as error:
                cancelled = error
        if cancelled:
            raise cancelled from (None if task.cancelled() else task.exception())
        return task.result()

    return carried
