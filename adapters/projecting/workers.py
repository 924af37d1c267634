"""Projection workers: queues of incoming events, and periodic sweeps that find missed ones."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Collection, Sequence
from functools import partial

from mnemolog.adapters.batching import Batcher
from mnemolog.adapters.nats.subjects import PARTITIONS, partition_of
from mnemolog.events.envelope import Position, StreamId
from mnemolog.projections.projector import Lag
from mnemolog.projections.rule import Delivered, seq_of, stream_of
from mnemolog.projections.runtime import Projection

_logger = logging.getLogger("mnemolog.workers")

QUEUE = 2000
BATCH = 500
# What somebody wrote is soon looked for: a batch waits less for more than turns do on their way into the log. Under
# load enough gathers while the batch before it is applied.
LONGEST_SECONDS = 0.002
RETRY_SECONDS = 0.5
SWEEP_SECONDS = 2.0
# The pause is fifty times as long as the look before it, which takes its time with many streams; but no longer than
# this, or ten times the look: one that took long may have met a stall of the machine, and says nothing of the next one.
SWEEP_SHARE = 50
LONGEST_PAUSE_SECONDS = 15.0
LEAST_SHARE = 10
# Lagging streams that a sweep remembers; when there are more, it reads all of them on.
REMEMBERED = 5000
LOOK_SECONDS = 0.5

Deliver = Callable[[Sequence[Projection], Sequence[Delivered]], Awaitable[None]]

EVERY_PARTITION = frozenset(range(PARTITIONS))


def pause_after(look: float) -> float:
    """Seconds until the next sweep, by how many seconds it took to look for lagging streams."""
    return max(SWEEP_SECONDS, min(SWEEP_SHARE * look, max(LONGEST_PAUSE_SECONDS, LEAST_SHARE * look)))


class Sweeper:
    """Keeps one projection caught up with the log, of this process's own partitions and while it is not paused."""

    def __init__(self, projection: Projection, own: frozenset[int] = EVERY_PARTITION) -> None:
        self.projection = projection
        self._own, self._retried, self._to_retry = own, frozenset[int](), frozenset[int]()
        self._due = asyncio.Event()
        self._paused = False

    def own(self, partitions: frozenset[int]) -> None:
        """From now on apply the events of these partitions; those that came to it are caught up with."""
        if partitions - self._own:
            self._due.set()
        self._to_retry |= partitions - self._retried
        self._retried |= partitions
        self._own = partitions

    def set_paused(self, paused: bool) -> None:
        """Apply nothing while `paused`; afterwards catch up."""
        if self._paused and not paused:
            self._due.set()
        self._paused = paused

    def catch_up(self) -> None:
        """Look for what is missing at once, and not with the next sweep."""
        self._due.set()

    async def sweep(self) -> None:
        """Catch up when it is due; else read from the log for streams that lag and do not move, until cancelled."""
        pause = SWEEP_SECONDS
        while True:
            due = await self._due_within(pause)
            try:
                pause = await (self._caught_up() if due else self._swept())
            except Exception as error:  # noqa: BLE001  Whatever it was: the next sweep sees it again.
                _logger.warning("%s: sweep put off: %s", self.projection.name, type(error).__name__)
                await asyncio.sleep(RETRY_SECONDS)
                pause = SWEEP_SECONDS
                if due:
                    self._due.set()

    def mine(self, stream: StreamId) -> bool:
        """Whether the projection takes events of this stream here and now."""
        return not self._paused and partition_of(stream) in self._own

    @property
    def paused(self) -> bool:
        return self._paused

    async def _due_within(self, seconds: float) -> bool:
        try:
            async with asyncio.timeout(seconds):
                await self._due.wait()
        except TimeoutError:
            return False
        self._due.clear()
        return True

    async def _caught_up(self) -> float:
        """Seconds until the next sweep."""
        retry, self._to_retry = self._to_retry, frozenset()
        if retry:
            # Once in a process's life: it may be a newer Mnemolog, which can apply what an older one could not.
            stopped = await self.projection.store.stopped()
            await self.projection.store.resume([stream for stream in stopped if partition_of(stream) in retry])
        await self.projection.catch_up(wanted=self.mine)
        return SWEEP_SECONDS

    async def _swept(self) -> float:
        """Seconds until the next sweep: the more, the longer this one looked; few when it found something lost."""
        began, lagging = time.monotonic(), list[Lag]()
        async for batch in self.projection.lagging():
            lagging += [one for one in batch if self.mine(one.stream)]
            if len(lagging) > REMEMBERED:
                return await self._caught_up()
        pause = pause_after(time.monotonic() - began)
        if not lagging:
            return pause
        # Most of them are under way. What has not moved by then is lost.
        if await self._due_within(SWEEP_SECONDS):
            return await self._caught_up()
        progress = await self.projection.store.progress_of([one.stream for one in lagging])
        stuck = [one for one in lagging if progress[one.stream] == one.progress]
        return SWEEP_SECONDS if any([await self._healed(one) for one in stuck]) else pause

    async def _healed(self, lag: Lag) -> bool:
        """Whether a stream was read from the log; not if it was given away or paused meanwhile."""
        if self.mine(lag.stream) and lag.ahead:
            await self.projection.turn_back(lag)
            return True
        return self.mine(lag.stream) and bool(await self.projection.read_on(lag.stream, lag.progress, lag.head))


class ProjectionWorker:
    """Applies what arrives to some projections, so that a slow or stopped one elsewhere holds none of them up."""

    def __init__(self, sweepers: Sequence[Sweeper], deliver: Deliver) -> None:
        self._sweepers, self._deliver = sweepers, deliver
        self._batches: Batcher[Delivered] = Batcher(BATCH, QUEUE, LONGEST_SECONDS)

    def offer(self, delivery: Delivered) -> None:
        """Take an event, unless the queue is full: then it is read from the log, and no other worker waits."""
        if not self._batches.offer(delivery):
            for sweeper in self._sweepers:
                sweeper.catch_up()

    async def run(self) -> None:
        """Apply what arrives, until cancelled."""
        while True:
            batch = await self._batches.take()
            await self._persist(partial(self._apply, batch))

    async def _apply(self, batch: Sequence[Delivered]) -> None:
        going = [sweeper for sweeper in self._sweepers if not sweeper.paused]
        mine = [one for one in batch if going and going[0].mine(stream_of(one))]
        if mine:
            await self._deliver([sweeper.projection for sweeper in going], mine)

    async def _persist(self, step: Callable[[], Awaitable[None]]) -> None:
        """Repeat a step until the store takes it; an event that cannot be applied was set aside before."""
        while True:
            try:
                await step()
                return
            except Exception as error:  # noqa: BLE001  A worker that ended would leave its projections behind for good.
                names = ", ".join(sweeper.projection.name for sweeper in self._sweepers)
                _logger.warning("%s: %s, trying again", names, type(error).__name__)
                await asyncio.sleep(RETRY_SECONDS)


class Workers:
    """All projections of this process, those of a group together. `paused` tells which an operator paused."""

    def __init__(
        self,
        groups: Sequence[Sequence[Projection]],
        deliver: Deliver,
        paused: Callable[[], Awaitable[Collection[str]]],
    ) -> None:
        grouped = [[Sweeper(projection, frozenset()) for projection in group] for group in groups]
        self._workers = [ProjectionWorker(sweepers, deliver) for sweepers in grouped]
        self._sweepers = [sweeper for sweepers in grouped for sweeper in sweepers]
        self._paused = paused
        self._delivered: dict[StreamId, int] = {}

    def deliver(self, delivery: Delivered) -> None:
        """Hand it to every worker, unless it was: what this process appends comes to it at once and from NATS."""
        place = Position(stream_of(delivery), seq_of(delivery))
        if self.delivered(place):
            return
        self._delivered.pop(place.stream, None)
        self._delivered[place.stream] = place.seq
        if len(self._delivered) > REMEMBERED:
            del self._delivered[next(iter(self._delivered))]
        for worker in self._workers:
            worker.offer(delivery)

    def delivered(self, place: Position) -> bool:
        """Whether the workers were handed this event, or a later one of its stream: then they need it no more.

        If they fail on it after all, they find it missing: at the stream's next event, or at the next sweep.
        """
        return place.seq <= self._delivered.get(place.stream, 0)

    def own(self, partitions: frozenset[int]) -> None:
        """Which partitions this process applies from now on."""
        for sweeper in self._sweepers:
            sweeper.own(partitions)

    async def watch(self, losses: Callable[[], int]) -> None:
        """Follow what operators say, and catch up whenever `losses` grew: messages may be gone. Until cancelled."""
        known = losses()
        while True:
            try:
                paused = await self._paused()
                for sweeper in self._sweepers:
                    sweeper.set_paused(sweeper.projection.name in paused)
            except Exception as error:  # noqa: BLE001  As it was, until the store answers again.
                _logger.warning("what is paused cannot be read: %s", type(error).__name__)
            if losses() != known:
                known = losses()
                for sweeper in self._sweepers:
                    sweeper.catch_up()
            await asyncio.sleep(LOOK_SECONDS)

    def steps(self) -> Sequence[Callable[[], Awaitable[None]]]:
        """What runs until it is cancelled, each in a task of its own."""
        return [*(worker.run for worker in self._workers), *(sweeper.sweep for sweeper in self._sweepers)]
