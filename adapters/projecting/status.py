"""The status of a projection: lag in events and seconds, stopped streams, skips and pauses."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncEngine

from mnemolog.adapters.postgres import lagging
from mnemolog.adapters.postgres.pauses import Pause
from mnemolog.adapters.postgres.upgrades import Upgrade
from mnemolog.domain.errors import TamperedEvent
from mnemolog.events.envelope import Position, StreamId
from mnemolog.events.log import EventLog
from mnemolog.projections.projector import Stop
from mnemolog.projections.runtime import Projection

SHOWN = 100


@dataclass(frozen=True, slots=True)
class StoppedStream:
    """A stopped stream: at which event, of which type, and why. If the log is damaged, no event is shown."""

    stream: str
    seq: int
    event_id: UUID | None
    type: str
    reason: str


@dataclass(frozen=True, slots=True)
class ProjectionStatus:
    """One projection. `lag_seconds` is the age of the oldest unapplied event, without stopped streams.

    `stopped` has at most SHOWN streams; `stopped_streams` counts all. `upgrade`: readers see the version before this
    one until this one is built.
    """

    name: str
    version: int
    lag_events: int
    lag_seconds: float
    stopped_streams: int
    stopped: Sequence[StoppedStream]
    skipped_events: int
    paused: Pause | None
    upgrade: Upgrade | None

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


async def status(
    projection: Projection,
    log: EventLog,
    beside_log: AsyncEngine,
    paused: Mapping[str, Pause],
    upgrading: Mapping[str, Upgrade],
    now: datetime,
    *,
    level: bool,
) -> ProjectionStatus:
    """The status of one projection. Cheap however many streams there are, as long as few of them lag.

    One that is `level` with the log lacks nothing, and no stream stopped.
    """
    store = projection.store
    events, oldest = (0, None) if level else await _behind(projection, beside_log)
    stopped = {} if level else await store.stopped()
    shown = sorted(stopped.items(), key=lambda one: one[0])[:SHOWN]
    return ProjectionStatus(
        store.name,
        store.version,
        events,
        max(0.0, (now - oldest).total_seconds()) if oldest else 0.0,
        len(stopped),
        [await _stopped(log, stream, stop) for stream, stop in shown],
        await store.count_skipped(),
        paused.get(store.name),
        upgrading.get(store.name),
    )


async def _behind(projection: Projection, beside_log: AsyncEngine) -> tuple[int, datetime | None]:
    """How many events are not applied, and when the oldest of them was recorded."""
    events, times = 0, list[datetime]()
    async for batch in projection.lagging():
        events += sum(one.events for one in batch)
        places = [Position(one.stream, one.progress + 1) for one in batch if not one.ahead]
        first = await lagging.oldest(beside_log, places) if places else None
        times += [first] if first else []
    return events, min(times, default=None)


async def _stopped(log: EventLog, stream: StreamId, stop: Stop) -> StoppedStream:
    try:
        found = [event async for batch in log.scan(stream, after=stop.seq - 1, until=stop.seq) for event in batch]
    except TamperedEvent:
        return StoppedStream(str(stream), stop.seq, None, "", stop.reason)
    header = found[0].header
    return StoppedStream(str(stream), stop.seq, header.event_id, header.type, stop.reason)
