"""Batches of items that arrive one by one."""

import asyncio
from collections.abc import Sequence
from typing import Generic, TypeVar

T = TypeVar("T")

COLLECT_SECONDS = 0.002
LONGEST_SECONDS = 0.05


class Batcher(Generic[T]):
    """A bounded queue that is emptied in batches. `put` waits while it is full, which slows the sender down."""

    def __init__(self, size: int, limit: int) -> None:
        self._size = size
        self._queue: asyncio.Queue[T] = asyncio.Queue(limit)

    async def put(self, item: T) -> None:
        await self._queue.put(item)

    async def take(self) -> Sequence[T]:
        """At least one item, after a short wait for more: the more are waiting already, the longer it waits.

        A single item is returned after two milliseconds; under load, a few large batches cost much less than many small
        ones.
        """
        batch = [await self._queue.get()]
        await asyncio.sleep(min(LONGEST_SECONDS, COLLECT_SECONDS * (1 + self._queue.qsize())))
        while len(batch) < self._size and not self._queue.empty():
            batch.append(self._queue.get_nowait())
        return batch
