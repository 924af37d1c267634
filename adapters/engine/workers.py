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

    async def put(self, event: StoredEvent) -> None:
        """Waits while the queue is full: back-pressure on JetStream's consumer."""
        await self._batches.put(event)

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
                behind = await self.projection.behind()
                for stream, (progress, head) in behind.items():
                    if stream in before and before[stream][0] == progress:
                        await self.projection.read_on(stream, progress, head)
                before = behind
            except self.projection.transient as error:
                _logger.info("%s: sweep put off: %s", self.projection.name, error)

    async def _start(self) -> None:
        await self.projection.store.resume()
        await self.projection.catch_up()

    async def _persist(self, step: Callable[[], Awaitable[None]]) -> None:
        """Repeat a step until the store answers."""
        while True:
            try:
                await step()
                return
            except self.projection.transient as error:
                _logger.info("%s: %s, trying again", self.projection.name, error)
                await asyncio.sleep(RETRY_SECONDS)


class Workers:
    """All projections of this process."""

    def __init__(self, projections: Sequence[Projection]) -> None:
        self._workers = [ProjectionWorker(projection) for projection in projections]

    async def deliver(self, event: StoredEvent) -> None:
        for worker in self._workers:
            await worker.put(event)

    def steps(self) -> Sequence[Callable[[], Awaitable[None]]]:
        """What runs until it is cancelled, each in a task of its own."""
        return [step for worker in self._workers for step in (worker.run, worker.sweep)]
