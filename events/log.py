"""The EventLog protocol: append under a guard, read by stream and tags, scan in batches (design §3)."""

from collections.abc import AsyncIterator, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol
from uuid import UUID

from mnemolog.domain.errors import MnemologError
from mnemolog.events.envelope import NewEvent, Receipt, Recorded, StoredEvent, StreamId


@dataclass(frozen=True, slots=True)
class Guard:
    """Append only if no event of the stream after seq `after` carries one of these tags."""

    tags: frozenset[str]
    after: int


@dataclass(frozen=True, slots=True)
class Append:
    """One atomic write to one stream.

    A retry with the same idempotency key gets the first receipt; `fingerprint` tells a retry from another request
    that uses the key by mistake. A request that changes nothing leaves `existing`, the receipt of what it found, under
    its key: so that a retry changes nothing either, whatever came between (X14).
    """

    stream: StreamId
    events: tuple[NewEvent, ...]
    guard: Guard | None = None
    idempotency_key: str | None = None
    fingerprint: bytes = b""
    existing: Receipt | None = None


Outcome = Receipt | MnemologError


@dataclass(frozen=True, slots=True)
class Head:
    """The last event of a stream."""

    stream: StreamId
    seq: int


class EventLog(Protocol):
    """The truth. Appends are durable when they return; reads see every append that returned before them."""

    async def append(self, appends: Sequence[Append]) -> Sequence[Outcome]:
        """Write a group in one transaction, each under its own guard: one that is refused does not harm its neighbours.

        An outcome that is an error (ConcurrencyConflict, IdempotencyConflict) is returned in its place, not raised.
        """
        ...

    async def receipt(self, stream: StreamId, idempotency_key: str, fingerprint: bytes) -> Receipt | None:
        """The receipt of an earlier append with this key; IdempotencyConflict when that was another request."""
        ...

    async def read(
        self,
        stream: StreamId,
        *,
        after: int = 0,
        until: int | None = None,
        tags: Collection[str] = (),
        unread: bool = False,
    ) -> Sequence[Recorded]:
        """The events of a stream with after < seq <= until, and of these only such as carry one of `tags`, if given.

        With `unread` an event that cannot be decoded comes as `Unread`; else LogError.
        """
        ...

    async def head(self, stream: StreamId) -> int:
        """The last seq of a stream; 0 when it has no events."""
        ...

    async def find(self, stream: StreamId, event_id: UUID) -> Recorded | None:
        """One event of a stream by its id."""
        ...

    async def seq_at(self, stream: StreamId, at: datetime) -> int:
        """The last seq of a stream that was recorded at or before `at`; 0 when there is none."""
        ...

    def scan(
        self, stream: StreamId, *, after: int = 0, until: int | None = None, batch: int = 1000
    ) -> AsyncIterator[Sequence[StoredEvent]]:
        """A stream with after < seq <= until as stored rows, in batches, with memory bounded by one batch.

        All but the last are full.
        """
        ...

    async def decode(
        self, stored: Sequence[StoredEvent], shapes: Collection[str] = (), *, unread: bool = False
    ) -> Sequence[Recorded]:
        """Stored rows as their types read today, with the keys that exist now; `unread` as for `read`.

        Of the types in `shapes` the open fields alone: what is sealed stays so and reads as its default, whether its
        key still exists or not (`erased` tells of none).
        """
        ...

    def heads(self, share: int = 0, of: int = 1) -> AsyncIterator[Sequence[Head]]:
        """The heads of all streams, in batches; or of one of `of` shares, each stream in one of them."""
        ...
