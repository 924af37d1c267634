"""The interfaces of projectors, which fold events into rows, and of stores, which hold rows and progress."""

from collections.abc import AsyncIterator, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol
from uuid import UUID

from sqlalchemy import MetaData
from sqlalchemy.ext.asyncio import AsyncConnection

from mnemolog.events.envelope import Recorded, StoredEvent, StreamId
from mnemolog.events.log import EventLog
from mnemolog.projections.kinds import Kinds, Need


class Projector(Protocol):
    """Folds events into Postgres tables. Deterministic: the same events leave the same rows.

    A change of its tables or its rules is a new `version`, which is rebuilt from the log beside the old one. Every
    table begins with the columns of `owner.owner_columns`, so that what is of one stream can be found and forgotten.
    """

    @property
    def name(self) -> str: ...
    @property
    def version(self) -> int: ...
    @property
    def readable_from(self) -> int:
        """The oldest version whose tables can be read as the present ones (`former.added`) until these are built."""
        ...

    @property
    def variant(self) -> str:
        """What else its rows depend on, such as an embedding model: another variant has tables of its own."""
        ...

    @property
    def kinds(self) -> Kinds:
        """It need not be told of other events, but for a user's erasure."""
        ...

    @property
    def tables(self) -> MetaData: ...

    async def apply(self, connection: AsyncConnection, events: Sequence[Recorded]) -> None:
        """Apply events, each stream's in its order. Runs in the transaction that also saves the progress."""
        ...


def reached_by(events: Iterable[Recorded | StoredEvent]) -> Mapping[StreamId, int]:
    """How far these events, in the order of their streams, take each stream."""
    return {event.header.stream: event.header.seq for event in events}


@dataclass(frozen=True, slots=True)
class Lag:
    """A stream whose head is not at a projection's progress. Of one that is `ahead`, the log was rolled back."""

    stream: StreamId
    progress: int
    head: int

    @property
    def events(self) -> int:
        return abs(self.head - self.progress)

    @property
    def ahead(self) -> bool:
        return self.progress > self.head


@dataclass(frozen=True, slots=True)
class Stop:
    """The event that a stream was set aside at, and why it cannot be applied."""

    seq: int
    reason: str

    def __str__(self) -> str:
        return f"seq {self.seq}: {self.reason}"


@dataclass(frozen=True, slots=True)
class Skipped:
    """An event that a projection was told to pass over: its rows are as if it had not happened."""

    stream: StreamId
    seq: int
    event_id: UUID
    type: str
    reason: str
    at: datetime
    by: str


class Session(Protocol):
    """One transaction over some streams of a projection."""

    @property
    def progress(self) -> Mapping[StreamId, int]:
        """The last seq applied of each stream that was asked for; one that stopped at a poisoned event is missing."""
        ...

    async def apply(self, events: Sequence[Recorded], reached: Mapping[StreamId, int] | None = None) -> None:
        """Write the rows of these events, and the progress: theirs, or what was `reached` with events in between."""
        ...

    async def reset(self, stream: StreamId) -> Collection[int]:
        """Forget the rows, the progress and the stop of a stream; the seqs that were skipped of it, which stay so."""
        ...

    async def move(self, stream: StreamId, seq: int) -> None:
        """Save a progress without rows."""
        ...


class Store(Protocol):
    """Where a projection keeps its rows and its progress, in one transaction: so each event is applied exactly once."""

    @property
    def name(self) -> str: ...
    @property
    def version(self) -> int: ...

    def need(self, event_type: str) -> Need:
        """How much of events of this type is to be decoded and applied; of NOTHING only the progress is kept."""
        ...

    @property
    def transient(self) -> tuple[type[Exception], ...]:
        """What the store raises when it cannot be reached; everything else means that an event cannot be applied."""
        ...

    def session(self, streams: Sequence[StreamId]) -> AbstractAsyncContextManager[Session]:
        """Holds these streams against other workers and commits at the end, or rolls back on an error."""
        ...

    async def progress(self, stream: StreamId) -> int:
        """The last seq of the stream that readers see; 0 when none was applied."""
        ...

    async def progress_of(self, streams: Sequence[StreamId]) -> Mapping[StreamId, int]:
        """`progress` of each of these."""
        ...

    async def all_progress(self) -> Mapping[StreamId, int]:
        """The last seq applied of every stream."""
        ...

    async def lags(self, log: EventLog) -> bool:
        """Whether `lagging` would find any stream; costs less."""
        ...

    def lagging(self, log: EventLog) -> AsyncIterator[Sequence[Lag]]:
        """The streams whose progress is not at their head, in batches; not those that were set aside."""
        ...

    async def stop(self, stream: StreamId, seq: int, reason: str) -> None:
        """Set a stream aside at a poisoned event, until an operator retries or skips it."""
        ...

    async def stopped(self) -> Mapping[StreamId, Stop]:
        """The streams that were set aside."""
        ...

    async def resume(self, streams: Collection[StreamId] | None = None) -> None:
        """Try these streams, or all that were set aside, again."""
        ...

    async def skip(self, event: Skipped) -> bool:
        """Pass over the event that comes next in its stream, and record it; False when another comes next."""
        ...

    async def skipped(self, limit: int = 100) -> Sequence[Skipped]:
        """What was passed over, the latest first."""
        ...

    async def count_skipped(self) -> int:
        """How many events were passed over."""
        ...
