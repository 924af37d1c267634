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
    """Folds events into Postgres tables. Deterministic: the same events produce the same rows.

    A change of its tables or rules needs a new `version`, which is rebuilt from the log beside the old one. Every table
    begins with the columns of `owner.owner_columns`, so that the rows of one stream can be found and deleted.
    """

    @property
    def name(self) -> str: ...
    @property
    def version(self) -> int: ...
    @property
    def readable_from(self) -> int:
        """The oldest version whose tables can be read like the current ones (`former.added`) until these are built."""
        ...

    @property
    def variant(self) -> str:
        """What else its rows depend on, such as an embedding model: each variant has its own tables."""
        ...

    @property
    def kinds(self) -> Kinds:
        """The event types it folds. It needs no others, except the erasure of a user."""
        ...

    @property
    def tables(self) -> MetaData: ...

    async def apply(self, connection: AsyncConnection, events: Sequence[Recorded]) -> None:
        """Apply events, in order within each stream, in the transaction that also saves the progress."""
        ...


def reached_by(events: Iterable[Recorded | StoredEvent]) -> Mapping[StreamId, int]:
    """The last seq of each stream in these events, which are in order within each stream."""
    return {event.header.stream: event.header.seq for event in events}


@dataclass(frozen=True, slots=True)
class Lag:
    """A stream whose head differs from a projection's progress. If it is `ahead`, the log was rolled back."""

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
    """The event at which a stream stopped, and why it cannot be applied."""

    seq: int
    reason: str

    def __str__(self) -> str:
        return f"seq {self.seq}: {self.reason}"


@dataclass(frozen=True, slots=True)
class Skipped:
    """An event that a projection skipped on request: its rows are as if it had not happened."""

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
        """The last seq applied of each requested stream; streams that stopped at a poisoned event are missing."""
        ...

    async def apply(self, events: Sequence[Recorded], reached: Mapping[StreamId, int] | None = None) -> None:
        """Write the rows of these events, and the progress: their last seqs, or `reached`, which may be further."""
        ...

    async def reset(self, stream: StreamId) -> Collection[int]:
        """Delete the rows, the progress and the stop of a stream; returns its skipped seqs, which stay skipped."""
        ...

    async def move(self, stream: StreamId, seq: int) -> None:
        """Save progress without rows."""
        ...


class Store(Protocol):
    """Keeps the rows and progress of a projection in one transaction, so each event is applied exactly once."""

    @property
    def name(self) -> str: ...
    @property
    def version(self) -> int: ...

    def need(self, event_type: str) -> Need:
        """How much of events of this type is decoded and applied; for NOTHING only the progress is saved."""
        ...

    @property
    def transient(self) -> tuple[type[Exception], ...]:
        """What the store raises if it cannot be reached; any other error means that an event cannot be applied."""
        ...

    def session(self, streams: Sequence[StreamId]) -> AbstractAsyncContextManager[Session]:
        """Locks these streams against other workers, and commits at the end or rolls back on an error."""
        ...

    async def progress(self, stream: StreamId) -> int:
        """The last seq of the stream that readers see; 0 if none was applied."""
        ...

    async def progress_of(self, streams: Sequence[StreamId]) -> Mapping[StreamId, int]: ...

    async def all_progress(self) -> Mapping[StreamId, int]:
        """The last seq applied of every stream."""
        ...

    async def lags(self, log: EventLog) -> bool:
        """Whether `lagging` would find any stream, at a lower cost."""
        ...

    def lagging(self, log: EventLog) -> AsyncIterator[Sequence[Lag]]:
        """The streams whose progress differs from their head, in batches; without stopped ones."""
        ...

    async def stop(self, stream: StreamId, seq: int, reason: str) -> None:
        """Stop a stream at a poisoned event, until an operator retries or skips it."""
        ...

    async def stopped(self) -> Mapping[StreamId, Stop]: ...

    async def resume(self, streams: Collection[StreamId] | None = None) -> None:
        """Try these streams, or all that have stopped, again."""
        ...

    async def skip(self, event: Skipped) -> bool:
        """Skip the next event of its stream, and record that; False if another event is next."""
        ...

    async def skipped(self, limit: int = 100) -> Sequence[Skipped]:
        """The skipped events, latest first."""
        ...

    async def count_skipped(self) -> int:
        """How many events were skipped."""
        ...
