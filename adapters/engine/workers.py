"""The workers of the projections: a queue each, and a slow sweep that finds what no message announced."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial

from mnemolog.adapters.batching import Batcher
from mnemolog.events.envelope import StoredEvent, StreamId
from mnemolog.projections.runtime import Projection

_logger = logging.getLogger("mnemolog.workers")

QUEUE = 2000
BATCH = 500
RETRY_SECONDS = 0.5
SWEEP_SECONDS = 2.0

Behind = Mapping[StreamId, tuple[int, int]]


class ProjectionWorker:
    """Runs one projection, so that a slow or stopped one holds no other up."""

    def __init__(self, projection: Projection) -> None:
        self.projection = projection
        self._batches: Batcher[StoredEvent] = Batcher(BATCH, QUEUE)

    def offer(self, event: StoredEvent) -> None:
        """Take an event, unless the queue is full: then the sweep reads it from the log, and no other worker waits."""
        self._batches.offer(event)

    async def run(self) -> None:
        """Catch up with the log, then apply what arrives, until cancelled."""
        await self._persist(self._start)
        while True:
            batch = await self._batches.take()
            await self._persist(partial(self.projection.deliver, batch))

    async def sweep(self) -> None:
        """Read from the log for streams that lag and do not move: their messages were lost."""
        before: Behind = {}
        while True:
            await asyncio.sleep(SWEEP_SECONDS)
            try:
                before = await self._swept(before)
            except Exception as error:  # noqa: BLE001  Whatever it was: the next sweep sees it again.
                _logger.warning("%s: sweep put off: %s", self.projection.name, type(error).__name__)

    async def _swept(self, before: Behind) -> Behind:
        behind = await self.projection.behind()
        for stream, (progress, head) in behind.items():
            if stream in before and before[stream][0] == progress:
                await self.projection.read_on(stream, progress, head)
        return behind

    async def _start(self) -> None:
        await self.projection.store.resume()
        await self.projection.catch_up()

    async def _persist(self, step: Callable[[], Awaitable[None]]) -> None:
        """Repeat a step until the store takes it; an event that cannot be applied was set aside before."""
        while True:
            try:
                await step()
                return
            except Exception as error:  # noqa: BLE001  A worker that ended would leave its projection behind for good.
                _logger.warning("%s: %s, trying again", self.projection.name, type(error).__name__)
                await asyncio.sleep(RETRY_SECONDS)


class Workers:
    """All projections of this process."""

    def __init__(self, projections: Sequence[Projection]) -> None:
        self._workers = [ProjectionWorker(projection) for projection in projections]

    async def deliver(self, event: StoredEvent) -> None:
        for worker in self._workers:
            worker.offer(event)
        await asyncio.sleep(0)

    def steps(self) -> Sequence[Callable[[], Awaitable[None]]]:
        """What runs until it is cancelled, each in a task of its own."""
        return [step for worker in self._workers for step in (worker.run, worker.sweep)]
