"""The runtime of one projection: takes deliveries, heals gaps from the log, and sets a poisoned stream aside."""

import logging
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from itertools import groupby

from mnemolog.events.envelope import StoredEvent, StreamId
from mnemolog.events.log import EventLog
from mnemolog.projections.projector import Session, Store
from mnemolog.projections.rule import outstanding

_logger = logging.getLogger("mnemolog.projections")

BATCH = 500


class Projection:
    """Exactly once: rows and progress are saved in one transaction of the store.

    `log_errors` is what the log raises when it cannot be reached.
    """

    def __init__(self, store: Store, log: EventLog, log_errors: tuple[type[Exception], ...] = ()) -> None:
        self.store, self._log = store, log
        self.transient = (*store.transient, *log_errors)

    @property
    def name(self) -> str:
        return self.store.name

    async def deliver(self, events: Sequence[StoredEvent]) -> None:
        """Apply what JetStream brought, in any order and any number of times.

        A store or log that cannot be reached raises one of the `transient` errors, and the delivery is to be repeated.
        An event that cannot be applied stops its stream in this projection only.
        """
        streams = _by_stream(events)
        try:
            while not await self._apply(streams):
                pass
        except self.transient:
            raise
        except Exception:  # noqa: BLE001  Whatever a projector raises: find the stream and go on with the others.
            for stream, delivered in streams.items():
                await self._apply_alone(stream, max(event.header.seq for event in delivered))

    async def catch_up(
        self, progressed: Callable[[int], None] = lambda count: None, until: Mapping[StreamId, int] | None = None
    ) -> int:
        """Read from the log what this projection lacks, up to `until` where given; how many events that were."""
        total = 0
        gathered: list[StoredEvent] = []
        async for batch in self._lacking(until):
            gathered += batch
            if len(gathered) >= BATCH:
                total += await self._delivered(gathered, progressed)
                gathered = []
        return total + await self._delivered(gathered, progressed)

    async def _lacking(self, until: Mapping[StreamId, int] | None) -> AsyncIterator[Sequence[StoredEvent]]:
        for stream, (after, head) in (await self.behind()).items():
            end = head if until is None else min(head, until.get(stream, 0))
            async for batch in self._log.scan(stream, after=after, until=end, batch=BATCH):
                yield batch

    async def _delivered(self, events: Sequence[StoredEvent], progressed: Callable[[int], None]) -> int:
        if events:
            await self.deliver(events)
            progressed(len(events))
        return len(events)

    async def behind(self) -> Mapping[StreamId, tuple[int, int]]:
        """The streams whose head is above this projection's progress, with both; not those that were set aside."""
        known = await self.store.all_progress()
        stopped = await self.store.stopped()
        return {
            head.stream: (known.get(head.stream, 0), head.seq)
            async for heads in self._log.heads()
            for head in heads
            if head.seq > known.get(head.stream, 0) and head.stream not in stopped
        }

    async def read_on(self, stream: StreamId, after: int, until: int) -> int:
        """Apply a stream's events with after < seq <= until from the log; how many they were."""
        total = 0
        async for batch in self._log.scan(stream, after=after, until=until, batch=BATCH):
            await self.deliver(batch)
            total += len(batch)
        return total

    async def lag(self) -> int:
        """How many events the projection is behind the log."""
        return sum(head - progress for progress, head in (await self.behind()).values())

    async def _apply(self, streams: Mapping[StreamId, Sequence[StoredEvent]]) -> bool:
        """One step; whether it reached the end of what was delivered. A long gap takes several, to bound the memory."""
        async with self.store.session(sorted(streams)) as session:
            steps = [await self._wanted(session, stream, streams) for stream in session.progress]
            wanted = [event for events, _ in steps for event in events]
            if wanted:
                await session.apply(await self._log.decode(wanted))
        return all(ended for _, ended in steps)

    async def _wanted(
        self, session: Session, stream: StreamId, streams: Mapping[StreamId, Sequence[StoredEvent]]
    ) -> tuple[Sequence[StoredEvent], bool]:
        progress, delivered = session.progress[stream], streams[stream]
        found = outstanding(progress, delivered)
        if found is not None:
            return found, True
        last = max(event.header.seq for event in delivered)
        _logger.info("%s: %s has a gap after seq %d, reading to %d", self.name, stream, progress, last)
        async for batch in self._log.scan(stream, after=progress, until=last, batch=BATCH):
            return batch, batch[-1].header.seq == last
        return [], True

    async def _apply_alone(self, stream: StreamId, last: int) -> None:
        """Event by event, so that the stream stops at the one that cannot be applied and nowhere before it."""
        progress = await self.store.progress(stream)
        async for batch in self._log.scan(stream, after=progress, until=last, batch=BATCH):
            for event in batch:
                if not await self._applied(stream, event):
                    return

    async def _applied(self, stream: StreamId, event: StoredEvent) -> bool:
        try:
            await self._apply({stream: [event]})
        except self.transient:
            raise
        except Exception as error:  # noqa: BLE001  Whatever a projector raises stops this stream alone.
            # The first line alone: what follows in a database's error quotes the row, and with it what somebody said.
            reason = f"{type(error).__name__}: {error}".split("\n")[0]
            _logger.error("%s stopped %s at seq %d: %s", self.name, stream, event.header.seq, reason)
            await self.store.stop(stream, event.header.seq, reason)
            return False
        return True



def _by_stream(events: Sequence[StoredEvent]) -> Mapping[StreamId, Sequence[StoredEvent]]:
    ordered = sorted(events, key=lambda event: event.header.stream)
    return {stream: list(group) for stream, group in groupby(ordered, key=lambda event: event.header.stream)}
