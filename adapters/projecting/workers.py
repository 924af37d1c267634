"""Projection workers: queues of incoming events, and periodic sweeps that find missed ones."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Collection, Sequence
from functools import partial

from mnemolog.adapters.cancellation import set_within
from mnemolog.adapters.nats.subjects import PARTITIONS, partition_of
from mnemolog.adapters.projecting.queue import Batch, StreamQueue
from mnemolog.domain.errors import TamperedEvent
from mnemolog.events.envelope import Position, StreamId
from mnemolog.projections.projector import Lag
from mnemolog.projections.rule import Delivered, Unread, seq_of, stream_of
from mnemolog.projections.runtime import Projection

_logger = logging.getLogger("mnemolog.workers")

QUEUE = 2000
BATCH = 500
# Events of one stream in a batch, beside others and alone: what comes meanwhile waits for the batch. To embed a text
# takes some milliseconds.
SHARE = 10
ALONE = 25
# Readers soon ask for what was written, so a batch waits less for more events than turns do on their way into the log.
# Under load enough events arrive while the previous batch is applied.
LONGEST_SECONDS = 0.002
# After a batch of at least so many events, a worker rests for as long as the batch took, but at most this long: writers
# wait for their receipts in the same loop, and the next batch is larger, which costs less for each event.
BURST = 4
LONGEST_REST_SECONDS = 0.02
RETRY_SECONDS = 0.5
SWEEP_SECONDS = 2.0
# The pause is fifty times as long as the check before it, which takes longer with many streams; but at most this, or
# ten times the check.
SWEEP_SHARE = 50
LONGEST_PAUSE_SECONDS = 15.0
LEAST_SHARE = 10
# Lagging streams that a sweep remembers; if there are more, it catches up with all of them.
REMEMBERED = 5000
LOOK_SECONDS = 1.0

# Of a gap it applies at most so many events, and returns what is left.
Deliver = Callable[[Sequence[Projection], Sequence[Delivered], int], Awaitable[Sequence[Unread]]]

EVERY_PARTITION = frozenset(range(PARTITIONS))


class Pauses:
    """The pauses between checks, by the shorter of the last two: one that met a stall says nothing about the next."""

    def __init__(self) -> None:
        self._before = 0.0

    def after(self, look: float) -> float:
        """Seconds until the next sweep, given how many seconds the check for lagging streams took."""
        shorter, self._before = min(look, self._before), look
        return max(SWEEP_SECONDS, min(SWEEP_SHARE * shorter, max(LONGEST_PAUSE_SECONDS, LEAST_SHARE * shorter)))


class Sweeper:
    """Keeps one projection caught up with the log, for this process's partitions, unless it is paused."""

    def __init__(self, projection: Projection, own: frozenset[int] = EVERY_PARTITION) -> None:
        self.projection = projection
        self._own, self._retried, self._to_retry = own, frozenset[int](), frozenset[int]()
        self._wake, self._due = asyncio.Event(), False
        self._quiet_until, self._pauses = 0.0, Pauses()
        self._paused = False
        self._told = ""  # Why the last sweep was put off: it is logged once.

    def own(self, partitions: frozenset[int]) -> None:
        """From now on apply the events of these partitions."""
        self._to_retry |= partitions - self._retried
        self._retried |= partitions
        self._own = partitions

    def set_paused(self, paused: bool) -> None:
        """Apply nothing while `paused`; catch up afterwards."""
        if self._paused and not paused:
            self.catch_up()
        self._paused = paused

    def catch_up(self) -> None:
        """Apply missing events at once."""
        self._due = True
        self._wake.set()

    def look(self) -> None:
        """Check for lost events, unless the last check took so long that it is too early."""
        if time.monotonic() >= self._quiet_until:
            self._wake.set()

    async def sweep(self) -> None:
        """Catch up when due; otherwise, when asked to look, read streams that lag without progress, until cancelled."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            due, self._due = self._due, False
            try:
                pause = await (self._caught_up() if due else self._swept())
            except Exception as error:  # noqa: BLE001  Any error: the next look retries.
                reason = f"{type(error).__name__}: {error}".splitlines()[0]
                if reason != self._told:
                    _logger.warning("%s: sweep put off: %s", self.projection.name, reason)
                self._told = reason
                await asyncio.sleep(RETRY_SECONDS)
                if due:
                    self.catch_up()
            else:
                self._told = ""
                self._quiet_until = time.monotonic() + pause if pause > SWEEP_SECONDS else 0.0
            if not self._due:  # Who looked meanwhile looks again.
                self._wake.clear()

    def mine(self, stream: StreamId) -> bool:
        """Whether this process currently applies events of this stream."""
        return not self._paused and partition_of(stream) in self._own

    @property
    def paused(self) -> bool:
        return self._paused

    async def _due_within(self, seconds: float) -> bool:
        try:
            async with asyncio.timeout(seconds):
                while not self._due:
                    self._wake.clear()
                    await self._wake.wait()
        except TimeoutError:
            return False
        self._due = False
        return True

    async def _caught_up(self) -> float:
        """Seconds until the next sweep."""
        retry, self._to_retry = self._to_retry, frozenset()
        if retry:
            # Once in a process's life: it may be a newer version, which can apply what an older one could not.
            stopped = await self.projection.store.stopped()
            await self.projection.store.resume([stream for stream in stopped if partition_of(stream) in retry])
        await self.projection.catch_up(wanted=self.mine)
        return SWEEP_SECONDS

    async def _swept(self) -> float:
        """Seconds until the next sweep: more if this one took longer, few if it found a lost event."""
        began, lagging = time.monotonic(), list[Lag]()
        async for batch in self.projection.lagging():
            lagging += [one for one in batch if self.mine(one.stream)]
            if len(lagging) > REMEMBERED:
                return await self._caught_up()
        pause = self._pauses.after(time.monotonic() - began)
        if not lagging:
            return pause
        # Most of them are under way. Those that have not moved by then are lost.
        if await self._due_within(SWEEP_SECONDS):
            return await self._caught_up()
        progress = await self.projection.store.progress_of([one.stream for one in lagging])
        stuck = [one for one in lagging if progress[one.stream] == one.progress]
        return SWEEP_SECONDS if any([await self._healed(one) for one in stuck]) else pause

    async def _healed(self, lag: Lag) -> bool:
        """Whether a stream was read from the log; False if it was given away or paused meanwhile."""
        if self.mine(lag.stream) and lag.ahead:
            await self.projection.turn_back(lag)
            return True
        return self.mine(lag.stream) and bool(await self.projection.read_on(lag.stream, lag.progress, lag.head))


class ProjectionWorker:
    """Applies deliveries to some projections, so that a slow or stopped one elsewhere delays none of them."""

    def __init__(self, sweepers: Sequence[Sweeper], deliver: Deliver) -> None:
        self._sweepers, self._deliver = sweepers, deliver
        self._queue = StreamQueue(BATCH, SHARE, ALONE, QUEUE, LONGEST_SECONDS)

    @property
    def waiting(self) -> int:
        """How many events its projections lack."""
        return len(self._queue)

    def offer(self, delivery: Delivered) -> None:
        """Take an event, or where to read it in the log once the queue is full: no other worker waits."""
        if not self._queue.offer(delivery):
            self._catch_up()

    async def run(self) -> None:
        """Apply deliveries until cancelled."""
        while True:
            batch = await self._queue.take()
            began = time.monotonic()
            await self._persist(partial(self._apply, batch))
            if len(batch) >= BURST:
                await asyncio.sleep(min(LONGEST_REST_SECONDS, time.monotonic() - began))

    async def _apply(self, batch: Batch) -> None:
        going = [sweeper for sweeper in self._sweepers if not sweeper.paused]
        if not going:
            return
        mine = [one for one in batch.events if going[0].mine(stream_of(one))]
        for one in batch.unread:
            if going[0].mine(one.stream):
                mine += await self._read(going[0].projection, one)
        if mine:
            for left in await self._deliver([sweeper.projection for sweeper in going], mine, ALONE):
                self._queue.put_back(left)

    async def _read(self, projection: Projection, unread: Unread) -> Sequence[Delivered]:
        try:
            return await projection.read(unread.stream, unread.after, unread.until)
        except TamperedEvent:
            self._catch_up()  # Each projection stops its stream before the damage.
            return []

    def _catch_up(self) -> None:
        for sweeper in self._sweepers:
            sweeper.catch_up()

    async def _persist(self, step: Callable[[], Awaitable[None]]) -> None:
        """Repeat a step until the store accepts it; an event that cannot be applied has stopped its stream before."""
        told = ""
        while True:
            try:
                await step()
                return
            except Exception as error:  # noqa: BLE001  Its projections would stop for good without the worker.
                names = ", ".join(sweeper.projection.name for sweeper in self._sweepers)
                if (reason := type(error).__name__) != told:
                    _logger.warning("%s: %s, trying again", names, reason)
                told = reason
                await asyncio.sleep(RETRY_SECONDS)


class Workers:
    """All projections of this process, with groups together.

    `paused` returns those that an operator paused, `behind` those that may lack events: one look for all of them.
    """

    def __init__(
        self,
        groups: Sequence[Sequence[Projection]],
        deliver: Deliver,
        paused: Callable[[], Awaitable[Collection[str]]],
        behind: Callable[[], Awaitable[Collection[str]]],
    ) -> None:
        grouped = [[Sweeper(projection, frozenset()) for projection in group] for group in groups]
        self._workers = [ProjectionWorker(sweepers, deliver) for sweepers in grouped]
        self._sweepers = [sweeper for sweepers in grouped for sweeper in sweepers]
        self._paused, self._behind = paused, behind
        self._own, self._gained = frozenset[int](), asyncio.Event()
        self._delivered: dict[StreamId, int] = {}

    def deliver(self, delivery: Delivered) -> None:
        """Pass it to every worker, once: what this process appends arrives both directly and from NATS."""
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
        """Whether the workers got this event, or a later one of its stream, and need no copy.

        If they fail to apply it, they notice the gap at the stream's next event or the next sweep.
        """
        return place.seq <= self._delivered.get(place.stream, 0)

    def waiting(self) -> int:
        """How many events wait for the projections that are furthest behind."""
        return max(worker.waiting for worker in self._workers)

    def own(self, partitions: frozenset[int]) -> None:
        """Set the partitions that this process applies from now on; new ones are caught up."""
        for sweeper in self._sweepers:
            sweeper.own(partitions)
        if partitions - self._own:
            self._gained.set()
        self._own = partitions

    async def watch(self, losses: Callable[[], int]) -> None:
        """Follow pauses, and catch up whenever `losses` grew, since messages may be lost. Until cancelled."""
        known = losses()
        while True:
            try:
                paused = await self._paused()
                for sweeper in self._sweepers:
                    sweeper.set_paused(sweeper.projection.name in paused)
            except Exception as error:  # noqa: BLE001  Unchanged until the store answers again.
                _logger.warning("what is paused cannot be read: %s", type(error).__name__)
            if losses() != known:
                known = losses()
                for sweeper in self._sweepers:
                    sweeper.catch_up()
            await asyncio.sleep(LOOK_SECONDS)

    async def look(self) -> None:
        """Have each projection that is behind checked for lost events, again and again until cancelled.

        When partitions were gained, those that are behind catch up. If each looked for itself, an engine would begin
        with a connection for each of them.
        """
        pause, pauses = SWEEP_SECONDS, Pauses()
        while True:
            if gained := await set_within(self._gained, pause):
                self._gained.clear()
            began = time.monotonic()
            try:
                behind = await self._behind()
            except Exception as error:  # noqa: BLE001  A dropped table of one: each looks for itself.
                _logger.warning("what is behind cannot be read: %s", type(error).__name__)
                behind = [sweeper.projection.name for sweeper in self._sweepers]
            pause = pauses.after(time.monotonic() - began)
            for sweeper in self._sweepers:
                if sweeper.projection.name in behind:
                    if gained:
                        sweeper.catch_up()
                    else:
                        sweeper.look()

    def steps(self) -> Sequence[Callable[[], Awaitable[None]]]:
        """Coroutines that run until cancelled, each in its own task."""
        return [self.look, *(worker.run for worker in self._workers), *(sweeper.sweep for sweeper in self._sweepers)]
