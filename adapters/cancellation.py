"""Cancellations that libraries lose.

On Python 3.11 `asyncio.wait_for` returns a result that comes together with a cancellation, and forgets the latter.
psycopg_pool and nats-py wait that way. Who cancelled would wait for the end of whatever is done next.
"""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def heeded() -> Iterator[None]:
    """Raise CancelledError at the end if this task was cancelled inside, and the code inside went on regardless."""
    task = asyncio.current_task()
    before = task.cancelling() if task else 0
    yield
    if task and task.cancelling() > before:
        raise asyncio.CancelledError
