"""The EventLog protocol: append under a guard, read by stream and tags, scan in batches (design §3)."""

from collections.abc import AsyncIterator, Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol
from uuid import UUID

from mnemolog.domain.errors import MnemologError
from mnemolog.events.envelope import NewEvent, Receipt, Recorded, StoredEvent, StreamId
from mnemolog.events.event import Event


@dataclass(frozen=True, slots=True)
class Guard:
    """Append only if no event of the stream carries one of `tags` after seq `after`, or one of `unwritten` at all."""

    tags: frozenset[str]
    after: int
    unwritten: frozenset[str] = frozenset()

    @property
    def all_tags(self) -> frozenset[str]:
        return self.tags | self.unwritten

    def places(self) -> Iterator[tuple[str, int]]:
        """Each tag, with the seq after which no event may carry it."""
        yield from ((tag, self.after) for tag in self.tags)
        yield from ((tag, 0) for tag in self.unwritten)


@dataclass(frozen=True, slots=True)
class Append:
    """One atomic write to one stream.

    A retry with the same idempotency key returns the original receipt; `fingerprint` distinguishes a retry from a
    different request with the same key. A request that changes nothing stores `existing`, the receipt of what it found,
    under its key, so a later retry changes nothing either (X14).
    """

    stream: StreamId
    events: tuple[NewEvent, ...]
    guard: Guard | None = None
    idempotency_key: str | None = None
    fingerprint: bytes = b""
    existing: Receipt | None = None


Outcome = Receipt | MnemologError


@dataclass(frozen=True, slots=True)
class Ignored:
    """Events of these `types`; with `between`, not those that carry two of the tags that are asked for."""

    types: frozenset[str] = frozenset()
    between: bool = False


NOTHING_IGNORED = Ignored()


@dataclass(frozen=True, slots=True)
class Head:
    """The last event of a stream."""

    stream: StreamId
    seq: int


class EventLog(Protocol):
    """The source of truth. Appends are durable when they return; reads see every append that returned before them."""

    async def append(self, appends: Sequence[Append]) -> Sequence[Outcome]:
        """Write a group in one transaction, each under its own guard: a refused one does not affect the others.

        Errors (ConcurrencyConflict, IdempotencyConflict) are returned as outcomes, not raised.
        """
        ...

    async def receipt(self, stream: StreamId, idempotency_key: str, fingerprint: bytes) -> Receipt | None:
        """The receipt of an earlier append with this key; IdempotencyConflict if that was a different request."""
        ...

    async def read(
        self,
        stream: StreamId,
        *,
        after: int = 0,
        until: int | None = None,
        tags: Collection[str] = (),
        unread: bool = False,
        known: Collection[int] = (),
        ignored: Ignored = NOTHING_IGNORED,
    ) -> Sequence[Recorded]:
        """The events of a stream with after < seq <= until and, if given, with one of `tags`.

        Those at the seqs `known`, which the caller has read, are left out, and those `ignored` except the last event,
        so that its seq is known; both need `tags`.
        With `unread` an event that cannot be decoded is returned as `Unread`; otherwise LogError is raised.
        """
        ...

    async def head(self, stream: StreamId) -> int:
        """The last seq of a stream; 0 if it has no events."""
        ...

    async def find(self, stream: StreamId, event_id: UUID) -> Recorded | None: ...

    async def seq_at(self, stream: StreamId, at: datetime) -> int:
        """The last seq of a stream recorded at or before `at`; 0 if there is none."""
        ...

    def scan(
        self, stream: StreamId, *, after: int = 0, until: int | None = None, batch: int = 1000
    ) -> AsyncIterator[Sequence[StoredEvent]]:
        """The stored rows of a stream with after < seq <= until, in batches; memory is bounded by one batch.

        All but the last are full.
        """
        ...

    async def decode(
        self, stored: Sequence[StoredEvent], shapes: Collection[str] = (), *, unread: bool = False
    ) -> Sequence[Recorded]:
        """Decodes stored rows to their current version, with the keys that exist now; `unread` as for `read`.

        For the types in `shapes`, only the open fields are decoded; sealed fields get their defaults, whether or not
        their key exists, and `erased` is not set.
        """
        ...

    def heads(self, share: int = 0, of: int = 1) -> AsyncIterator[Sequence[Head]]:
        """The heads of all streams, in batches; or those of one of `of` shares, which partition the streams."""
        ...


async def event_of(log: EventLog, receipt: Receipt, place: int = 0) -> Event:
    """One of the events of a write, which is read only if it was written before."""
    if receipt.written:
        return receipt.written[place]
    found = await log.find(receipt.stream, receipt.event_ids[place])
    assert found, "events are never removed"
    return found.payload
