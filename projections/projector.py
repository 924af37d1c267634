"""A projector: folds events into the rows of one read model; and the store that holds rows and progress together."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from sqlalchemy import MetaData
from sqlalchemy.ext.asyncio import AsyncConnection

from mnemolog.events.envelope import Recorded, StreamId


class Projector(Protocol):
    """Folds events into Postgres tables. Deterministic: the same events leave the same rows.

    A change of its tables or its rules is a new `version`, which is rebuilt from the log beside the old one.
    """

    @property
    def name(self) -> str: ...
    @property
    def version(self) -> int: ...
    @property
    def variant(self) -> str:
        """What else its rows depend on, such as an embedding model: another variant has tables of its own."""
        ...

    @property
    def tables(self) -> MetaData: ...

    async def apply(self, connection: AsyncConnection, events: Sequence[Recorded]) -> None:
        """Apply events, each stream's in its order. Runs in the transaction that also saves the progress."""
        ...


class Session(Protocol):
    """One transaction over some streams of a projection."""

    @property
    def progress(self) -> Mapping[StreamId, int]:
        """The last seq applied of each stream that was asked for; one that stopped at a poisoned event is missing."""
        ...

    async def apply(self, events: Sequence[Recorded]) -> None:
        """Write the rows and the progress of these events."""
        ...


class Store(Protocol):
    """Where a projection keeps its rows and its progress, in one transaction: so each event is applied exactly once."""

    @property
    def name(self) -> str: ...

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

    async def all_progress(self) -> Mapping[StreamId, int]:
        """The last seq applied of every stream."""
        ...

    async def stop(self, stream: StreamId, seq: int, reason: str) -> None:
        """Set a stream aside at a poisoned event, until an operator retries it."""
        ...

    async def stopped(self) -> Mapping[StreamId, str]:
        """The streams that were set aside, each with its seq and reason."""
        ...

    async def resume(self) -> None:
        """Try again what was set aside."""
        ...
