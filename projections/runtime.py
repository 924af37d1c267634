"""The runtime of one projection: takes deliveries, heals gaps from the log, and sets a poisoned stream aside."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from datetime import UTC, datetime

from mnemolog.domain.errors import (
    Conflict,
    EngineError,
    ModelMissing,
    ModelOutputInvalid,
    ModelRequestRefused,
    ServerFailed,
    Tampered,
    TamperedEvent,
)
from mnemolog.events.envelope import Recorded, StoredEvent, StreamId
from mnemolog.events.erasure import UserErased
from mnemolog.events.log import EventLog
from mnemolog.projections.applying import Step, apply, decoded
from mnemolog.projections.preparing import Lacking, prepared
from mnemolog.projections.projector import Lag, Session, Skipped, Stop, Store
from mnemolog.projections.rule import Delivered, Unread, by_stream, outstanding, seq_of
from mnemolog.projections.strategy import FAIL, Strategy

_logger = logging.getLogger("mnemolog.projections")

BATCH = 500


# Called with the projection, the stream and the row; no row if all of them came from a log that no longer exists.
Healed = Callable[[str, StreamId, Tampered | None], Awaitable[None]]


# Raises TamperedEvent if the log of some streams reads differently from how it was written, although its chain fits.
Readable = Callable[[Sequence[StreamId]], Awaitable[None]]


async def unchecked(streams: Sequence[StreamId]) -> None:
    """Keys are not checked."""


MODEL_FAULTS = (ServerFailed, ModelMissing, ModelRequestRefused, ModelOutputInvalid)


async def unrecorded(projection: str, stream: StreamId, damage: Tampered | None) -> None:
    """Incidents are not recorded."""


class Projection:
    """Exactly once: rows and progress are saved in one transaction of the store.

    `log_errors` is what the log raises if it cannot be reached. Neither these, nor what the store calls transient, nor
    a fault of the embedding model or its server (MODEL_FAULTS) is ever taken for a poisoned event. If the log itself
    is damaged, the stream stops before the damage, whatever the strategy: none of it is applied or skipped.
    """

    def __init__(
        self,
        store: Store,
        log: EventLog,
        log_errors: tuple[type[Exception], ...] = (),
        strategy: Strategy = FAIL,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.store, self._log = store, log
        # Notified of rows that this projection did not write, after healing, and of a stream that is ahead of its log.
        self.healed: Healed = unrecorded
        # Called before rows are deleted, which may hold the last copy of a text whose key was removed.
        self.readable: Readable = unchecked
        self.transient: tuple[type[Exception], ...] = (*store.transient, *log_errors, *MODEL_FAULTS)
        # Errors that are not the fault of the event being applied: of servers, the engine, or the log around it.
        self._elsewhere: tuple[type[Exception], ...] = (*self.transient, EngineError, TamperedEvent)
        self._strategy, self._now = strategy, now

    @property
    def name(self) -> str:
        return self.store.name

    async def deliver(self, events: Sequence[Delivered], share: int | None = None) -> Sequence[Unread]:
        """Apply what JetStream delivered, in any order and any number of times.

        Of a gap, at most `share` events if given; returns what is left, and must be delivered again.

        If the store or the log cannot be reached, one of the `transient` errors is raised, and the delivery must be
        repeated. An event that cannot be applied stops its stream in this projection only, or is skipped, as the
        strategy says.
        """
        streams = by_stream(events)
        try:
            while left := await self._apply(streams, share or BATCH):
                if share:
                    return left
        except self.transient:
            raise
        except Exception:  # noqa: BLE001  A projector may raise anything: find the stream and continue with the others.
            for stream, delivered in streams.items():
                await self._apply_alone(stream, max(map(seq_of, delivered)))
        return ()

    async def catch_up(
        self,
        progressed: Callable[[int], None] = lambda count: None,
        until: Mapping[StreamId, int] | None = None,
        wanted: Callable[[StreamId], bool] = lambda stream: True,
    ) -> int:
        """Read from the log what this projection lacks, up to `until` if given; returns the number of events."""
        total = 0
        gathered: list[StoredEvent] = []
        damaged: dict[StreamId, int] = {}
        async for batch in self._lacking(until, wanted, damaged):
            gathered += batch
            if len(gathered) >= BATCH:
                total += await self._delivered(gathered, progressed)
                gathered = []
        total += await self._delivered(gathered, progressed)
        for stream, end in damaged.items():
            await self._apply_alone(stream, end)
        return total

    async def _lacking(
        self,
        until: Mapping[StreamId, int] | None,
        wanted: Callable[[StreamId], bool],
        damaged: dict[StreamId, int],
    ) -> AsyncIterator[Sequence[StoredEvent]]:
        """Batches of one stream after another; a stream with a damaged log is recorded and skipped."""
        async for lagging in self.lagging():
            for one in lagging:
                if not wanted(one.stream):
                    continue
                if one.ahead:
                    await self.turn_back(one)
                    continue
                end = one.head if until is None else min(one.head, until.get(one.stream, 0))
                try:
                    async for batch in self._log.scan(one.stream, after=one.progress, until=end, batch=BATCH):
                        yield batch
                except TamperedEvent:
                    damaged[one.stream] = end

    async def _delivered(self, events: Sequence[StoredEvent], progressed: Callable[[int], None]) -> int:
        if events:
            await self.deliver(events)
            progressed(len(events))
        return len(events)

    async def read(self, stream: StreamId, after: int, until: int) -> Sequence[StoredEvent]:
        """A stream's events with after < seq <= until, from the log; TamperedEvent if it is damaged."""
        return [event async for batch in self._log.scan(stream, after=after, until=until) for event in batch]

    async def read_on(self, stream: StreamId, after: int, until: int) -> int:
        """Apply a stream's events with after < seq <= until from the log, until it stops; returns their number."""
        total = 0
        try:
            async for batch in self._log.scan(stream, after=after, until=until, batch=BATCH):
                await self.deliver(batch)
                total += len(batch)
                if len(batch) == BATCH and await self.store.progress(stream) < batch[-1].header.seq:
                    break
        except TamperedEvent:
            await self._apply_alone(stream, until)
        return total

    async def turn_back(self, lag: Lag) -> None:
        """Reapply a stream whose log holds less than was applied, if an operator accepted that; otherwise it stops."""
        try:
            progress = await self.store.progress(lag.stream)
            if progress <= await self._log.head(lag.stream):
                return  # It was appended in the meantime.
            await self.heal(lag.stream)
        except TamperedEvent as damage:
            await self._stop_at(lag.stream, damage)
            return
        _logger.error("%s was at %d of %s, the log at %d", self.name, lag.progress, lag.stream, lag.head)
        await self.healed(self.name, lag.stream, None)

    def lagging(self) -> AsyncIterator[Sequence[Lag]]:
        """The streams that this projection lacks events of, in batches; without stopped ones."""
        return self.store.lagging(self._log)

    async def behind(self) -> Mapping[StreamId, Lag]:
        """The streams whose head is above this projection's progress; without stopped ones."""
        return {one.stream: one async for lagging in self.lagging() for one in lagging}

    async def lag(self) -> int:
        """How many events the projection is behind the log."""
        return sum([one.events async for lagging in self.lagging() for one in lagging])

    async def lags(self) -> bool:
        """Whether it lacks any event; cheaper than `lag`."""
        return await self.store.lags(self._log)

    async def heal(self, stream: StreamId, until: int | None = None) -> int:
        """Delete the rows of a stream and reapply its events, in one transaction; returns their number.

        All events, or those up to seq `until`. Readers see the old rows until the new ones are complete. What an
        operator skipped stays skipped. TamperedEvent, with nothing deleted, if the log is damaged or lacks keys.
        """
        await self.readable([stream])

        async def step() -> int:
            async with self.store.session([stream]) as session:
                return await self._reapply(session, stream, until)

        return await prepared(step)

    async def forget(self, erasure: Recorded) -> None:
        """Remove what an erasure destroyed, even if this projection has not reached it (stopped, paused or late).

        Its progress stays: what it had applied is reapplied, without the erased text. If a user is erased, all rows are
        deleted, and the progress moves to the erasure, since nothing before it counts any more. A stop is forgotten: it
        recurs on retry.
        """
        stream = erasure.stream

        async def step() -> None:
            async with self.store.session([stream]) as session:
                if isinstance(erasure.payload, UserErased):
                    await session.reset(stream)
                    await session.apply([erasure])
                else:
                    await self._reapply(session, stream, await self.store.progress(stream))

        try:
            await prepared(step)
        except Exception as error:  # noqa: BLE001  The text is removed in any case; rows are rebuilt.
            _logger.error("%s: %s cannot be reapplied: %s", self.name, stream, _reason(error))
            async with self.store.session([stream]) as session:
                await session.reset(stream)

    async def _reapply(self, session: Session, stream: StreamId, until: int | None = None) -> int:
        total, lacking = 0, Lacking()
        skipped = await session.reset(stream)
        async for batch in self._log.scan(stream, until=until, batch=BATCH):
            await lacking.noted(self._replay(session, batch, skipped))
            total += len(batch)
        lacking.require_none()
        return total

    async def _replay(self, session: Session, batch: Sequence[StoredEvent], skipped: Collection[int]) -> None:
        kept = [event for event in batch if event.header.seq not in skipped]
        if kept:
            await self._tell(session, kept)
        if batch[-1].header.seq in skipped:
            await session.move(batch[-1].header.stream, batch[-1].header.seq)

    async def retry(self, stream: StreamId) -> Stop | None:
        """Continue a stream that stopped; returns its new stop, or None if it reached its head."""
        await self.store.resume([stream])
        await self._go_on(stream)
        return (await self.store.stopped()).get(stream)

    async def skip(self, stream: StreamId, by: str) -> Skipped:
        """Skip the event at which a stream stopped, and continue after it; Conflict if it has not stopped."""
        stop = (await self.store.stopped()).get(stream)
        if stop is None:
            raise Conflict(f"{self.name} is not stopped in {stream}", field="stream", fix="there is nothing to skip")
        [found] = await self.read(stream, stop.seq - 1, stop.seq)
        skipped = self._passed_over(found, stop.reason, by)
        if not await self.store.skip(skipped):
            raise Conflict(
                f"{self.name} has continued in {stream} in the meantime", field="stream", fix="check its status again"
            )
        await self._go_on(stream)
        return skipped

    async def _go_on(self, stream: StreamId) -> None:
        await self.read_on(stream, await self.store.progress(stream), await self._log.head(stream))

    def _passed_over(self, event: StoredEvent, reason: str, by: str) -> Skipped:
        header = event.header
        return Skipped(header.stream, header.seq, header.event_id, header.type, reason, self._now(), by)

    async def _apply(self, streams: Mapping[StreamId, Sequence[Delivered]], most: int = BATCH) -> Sequence[Unread]:
        """One step, of at most `most` events of a gap, to bound memory; returns what is left of the delivery."""

        async def step() -> Sequence[Unread]:
            async with self.store.session(sorted(streams)) as session:
                steps = [await self._wanted(session, stream, streams, most) for stream in session.progress]
                wanted = [event for events, _ in steps for event in events]
                if wanted:
                    await self._tell(session, wanted)
            return [left for _, left in steps if left]

        return await prepared(step)

    async def _tell(self, session: Session, events: Sequence[StoredEvent]) -> None:
        """Apply the events that the projection reads, decoded as far as it reads them."""
        await apply([Step(self.store, session, events)], await decoded(self._log.decode, [self.store], events))

    async def _wanted(
        self, session: Session, stream: StreamId, streams: Mapping[StreamId, Sequence[Delivered]], most: int
    ) -> tuple[Sequence[StoredEvent], Unread | None]:
        progress, delivered = session.progress[stream], streams[stream]
        found = outstanding(progress, delivered)
        if found is not None:
            return found, None
        last = max(map(seq_of, delivered))
        _logger.info("%s: %s has a gap after seq %d, reading to %d", self.name, stream, progress, last)
        async for batch in self._log.scan(stream, after=progress, until=last, batch=most):
            reached = batch[-1].header.seq
            return batch, Unread(stream, reached, last) if reached < last else None
        return [], None

    async def _apply_alone(self, stream: StreamId, last: int) -> None:
        """Apply event by event, so that the stream stops at exactly the one that cannot be applied."""
        progress = await self.store.progress(stream)
        try:
            async for batch in self._log.scan(stream, after=progress, until=last, batch=BATCH):
                for event in batch:
                    if not await self._applied(stream, event):
                        return
        except TamperedEvent as damage:
            await self._stop_at(stream, damage)

    async def _stop_at(self, stream: StreamId, damage: TamperedEvent) -> None:
        at = max(damage.seq, await self.store.progress(stream) + 1)
        _logger.error("%s stopped %s at seq %d: %s", self.name, stream, at, damage.message)
        await self.store.stop(stream, at, _reason(damage))

    async def _applied(self, stream: StreamId, event: StoredEvent) -> bool:
        """Whether the stream may continue: the event was applied or skipped."""
        try:
            fault = await self._tried(stream, event)
            for pause in self._strategy.pauses:
                if fault is not None:
                    await asyncio.sleep(pause)
                    fault = await self._tried(stream, event)
        except self.transient:
            raise
        except EngineError as error:
            # For example a key that another engine rotated. No event is at fault: the stream lags and is retried.
            _logger.error("%s cannot go on in %s: %s", self.name, stream, error)
            return False
        return fault is None or await self._set_aside(stream, event, fault)

    async def _tried(self, stream: StreamId, event: StoredEvent) -> str | None:
        """Why the event cannot be applied; None if it was. Rows that somebody changed are healed on the way."""
        try:
            await self._apply({stream: [event]})
        except self._elsewhere:
            raise
        except Tampered as error:
            return await self._healed(stream, error)
        except Exception as error:  # noqa: BLE001  An error of a projector concerns this stream only.
            return _reason(error)
        return None

    async def _healed(self, stream: StreamId, error: Tampered) -> str | None:
        _logger.error("%s: %s, healing the stream from the log", self.name, error.message)
        try:
            await self.heal(stream)
        except self._elsewhere:
            raise
        except Exception as fault:  # noqa: BLE001  As above: then the stream stops here.
            return _reason(fault)
        await self.healed(self.name, stream, error)
        return None

    async def _set_aside(self, stream: StreamId, event: StoredEvent, reason: str) -> bool:
        seq = event.header.seq
        if self._strategy.skips:
            _logger.error("%s skips %s at seq %d: %s", self.name, stream, seq, reason)
            await self.store.skip(self._passed_over(event, reason, by=f"strategy {self._strategy.on_poison}"))
            return True
        _logger.error("%s stopped %s at seq %d: %s", self.name, stream, seq, reason)
        await self.store.stop(stream, seq, reason)
        return False


def _reason(error: Exception) -> str:
    """Only the first line: the rest of a database error quotes the row, and with it what somebody said."""
    return f"{type(error).__name__}: {error}".split("\n")[0]
