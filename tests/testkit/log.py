"""An event log in memory: the EventLog protocol without a server, for tests of deciders, handlers and projections."""

from collections.abc import AsyncIterator, Collection, Sequence
from datetime import datetime
from uuid import UUID
from zlib import crc32

from mnemolog.domain.errors import ConcurrencyConflict, IdempotencyConflict, LogError
from mnemolog.events.chain import START as CHAIN_START
from mnemolog.events.codec import Codec
from mnemolog.events.envelope import Receipt, Recorded, StoredEvent, StreamId
from mnemolog.events.log import NOTHING_IGNORED, Append, Head, Ignored, Outcome
from tests.testkit.events import stored

END = 2**62


class MemoryLog:
    """Implements `mnemolog.events.log.EventLog`. `streams` may be filled by a test, `scanned` counts its scans."""

    def __init__(self) -> None:
        self.codec = Codec()
        self.streams: dict[StreamId, list[StoredEvent]] = {}
        self.scanned = 0
        self._receipts: dict[tuple[StreamId, str], tuple[bytes, Receipt]] = {}

    async def append(self, appends: Sequence[Append]) -> Sequence[Outcome]:
        return [self._append(append) for append in appends]

    async def receipt(self, stream: StreamId, idempotency_key: str, fingerprint: bytes) -> Receipt | None:
        if (stream, idempotency_key) not in self._receipts:
            return None
        known, receipt = self._receipts[stream, idempotency_key]
        if known != fingerprint:
            raise IdempotencyConflict(field="idempotency_key")
        return Receipt(stream, receipt.event_ids, receipt.first_seq, receipt.last_seq, already=True)

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
        found = [event for event in self._between(stream, after, until) if event.header.seq not in known]
        wanted = [event for event in found if not tags or not set(tags).isdisjoint(event.header.tags)]
        several = {event.header.seq for event in wanted if ignored.between and len({*tags} & {*event.header.tags}) > 1}
        kept = several | {event.header.seq for event in wanted[-1:]}
        read = [event for event in wanted if event.header.type not in ignored.types or event.header.seq in kept]
        return [self._decoded(event, (), unread=unread) for event in read]

    async def head(self, stream: StreamId) -> int:
        return len(self.streams.get(stream, ()))

    async def find(self, stream: StreamId, event_id: UUID) -> Recorded | None:
        found = [event for event in self.streams.get(stream, ()) if event.header.event_id == event_id]
        return self.codec.decode(found[0]) if found else None

    async def seq_at(self, stream: StreamId, at: datetime) -> int:
        return max((e.header.seq for e in self.streams.get(stream, ()) if e.header.recorded_at <= at), default=0)

    async def scan(
        self, stream: StreamId, *, after: int = 0, until: int | None = None, batch: int = 1000
    ) -> AsyncIterator[Sequence[StoredEvent]]:
        self.scanned += 1
        found = self._between(stream, after, until)
        for first in range(0, len(found), batch):
            yield found[first : first + batch]

    async def decode(
        self, stored: Sequence[StoredEvent], shapes: Collection[str] = (), *, unread: bool = False
    ) -> Sequence[Recorded]:
        return [self._decoded(event, shapes, unread=unread) for event in stored]

    def _decoded(self, event: StoredEvent, shapes: Collection[str], *, unread: bool) -> Recorded:
        try:
            return self.codec.decode(event, body=self.codec.body(event, shapes))
        except LogError:
            if unread:
                return self.codec.unread(event)
            raise

    async def heads(self, share: int = 0, of: int = 1) -> AsyncIterator[Sequence[Head]]:
        mine = [stream for stream in sorted(self.streams) if crc32(str(stream).encode()) % of == share]
        if mine:
            yield [Head(stream, len(self.streams[stream])) for stream in mine]

    def _between(self, stream: StreamId, after: int, until: int | None) -> list[StoredEvent]:
        last = END if until is None else until
        return [event for event in self.streams.get(stream, []) if after < event.header.seq <= last]

    def _append(self, append: Append) -> Outcome:
        events = self.streams.setdefault(append.stream, [])
        guard = append.guard
        in_the_way = [
            event.header.seq
            for event in events
            if guard and any(event.header.seq > after and tag in event.header.tags for tag, after in guard.places())
        ]
        if guard and in_the_way:
            return ConcurrencyConflict(str(append.stream), guard.after, in_the_way[-1])
        first_seq = len(events) + 1
        for event in append.events:
            previous = events[-1].link if events else CHAIN_START
            events.append(stored(event, len(events) + 1, append.stream, previous=previous))
        receipt = Receipt(append.stream, tuple(event.event_id for event in append.events), first_seq, len(events))
        if append.idempotency_key:
            self._receipts[append.stream, append.idempotency_key] = (append.fingerprint, receipt)
        return receipt
