"""Batches of items that arrive one by one."""

import asyncio
from collections.abc import Sequence
from typing import Generic, TypeVar

T = TypeVar("T")

COLLECT_SECONDS = 0.002
LONGEST_SECONDS = 0.05


class Batcher(Generic[T]):
    """A bounded queue that is emptied in batches. `put` waits while it is full, which slows the sender down.

    `longest` is the maximum number of seconds that a batch waits for more items.
    """

    def __init__(self, size: int, limit: int, longest: float = LONGEST_SECONDS) -> None:
        self._size, self._longest = size, longest
        self._queue: asyncio.Queue[T] = asyncio.Queue(limit)

    async def put(self, item: T) -> None:
        await self._queue.put(item)

    def offer(self, item: T) -> bool:
        """Put without waiting; returns whether there was room."""
        if self._queue.full():
            return False
        self._queue.put_nowait(item)
        return True

    async def take(self) -> Sequence[T]:
        """At least one item, after a short wait for more: the more are waiting already, the longer it waits.

        A single item is returned after two milliseconds; under load, a few large batches cost much less than many small
        ones.
        """
        batch = [await self._queue.get()]
        await asyncio.sleep(min(self._longest, COLLECT_SECONDS * (1 + self._queue.qsize())))
        while len(batch) < self._size and not self._queue.empty():
            batch.append(self._queue.get_nowait())
        return batch
