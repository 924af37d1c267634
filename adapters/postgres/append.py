"""One group of appends in one transaction: lock the heads, check keys and guards, chain, insert."""

import hmac
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from hashlib import sha256
from typing import Any

from psycopg.types.json import Jsonb

from mnemolog.adapters.postgres.pool import Connection
from mnemolog.adapters.postgres.queries import query
from mnemolog.domain.errors import ConcurrencyConflict, IdempotencyConflict
from mnemolog.events.chain import link
from mnemolog.events.codec import Codec
from mnemolog.events.envelope import Header, NewEvent, Receipt, StoredEvent, StreamId
from mnemolog.events.log import Append, Outcome


@dataclass(slots=True)
class Tail:
    """The growing end of a stream while its head is locked."""

    stream: StreamId
    seq: int
    link: bytes
    recorded_at: datetime | None
    added: list[StoredEvent] = field(default_factory=list)


class GroupAppend:
    """`run` writes, inside the caller's transaction; then `outcomes` says what became of each append."""

    def __init__(
        self,
        codec: Codec,
        chain_key: bytes,
        fingerprint_key: bytes,
        appends: Sequence[Append],
        now: Callable[[], datetime],
    ) -> None:
        self._codec, self._chain_key, self._clock = codec, chain_key, now
        self._appends = appends
        self._fingerprints = [hmac.digest(fingerprint_key, one.fingerprint, sha256) for one in appends]
        self._outcomes: dict[int, Outcome] = {}
        self._tails: dict[StreamId, Tail] = {}
        self._receipts: list[dict[str, Any]] = []
        self._written: dict[tuple[StreamId, str], int] = {}

    def outcomes(self) -> Sequence[Outcome]:
        return [self._outcomes[position] for position in range(len(self._appends))]

    async def run(self, connection: Connection) -> None:
        await self._lock(connection)
        self._now = self._clock()
        await self._find_earlier(connection)
        conflicts = await self._find_conflicts(connection)
        for position, append in enumerate(self._appends):
            if position not in self._outcomes:
                self._outcomes[position] = self._add(position, append, conflicts.get(position))
        await self._insert(connection)

    async def _lock(self, connection: Connection) -> None:
        streams = sorted({append.stream for append in self._appends})
        names = {"tenants": [one.tenant for one in streams], "streams": [one.name for one in streams]}
        async with connection.pipeline():
            await connection.execute(query("begin_streams"), names)
            cursor = await connection.execute(query("lock_heads"), names)
        for row in await cursor.fetchall():
            stream = StreamId(row["tenant"], row["stream"])
            recorded_at = row["recorded_at"] if row["seq"] else None
            self._tails[stream] = Tail(stream, row["seq"], bytes(row["link"]), recorded_at)

    async def _find_earlier(self, connection: Connection) -> None:
        keyed: dict[tuple[str, str, str], list[int]] = {}
        for position, append in enumerate(self._appends):
            if append.idempotency_key:
                key = (append.stream.tenant, append.stream.name, append.idempotency_key)
                keyed.setdefault(key, []).append(position)
        if not keyed:
            return
        tenants, streams, keys = (list(column) for column in zip(*keyed, strict=True))
        values = {"tenants": tenants, "streams": streams, "keys": keys}
        cursor = await connection.execute(query("find_receipts"), values)
        for row in await cursor.fetchall():
            for position in keyed[row["tenant"], row["stream"], row["idempotency_key"]]:
                try:
                    self._outcomes[position] = receipt_of(row, self._fingerprints[position])
                except IdempotencyConflict as conflict:
                    self._outcomes[position] = conflict

    async def _find_conflicts(self, connection: Connection) -> Mapping[int, int]:
        guards = [
            (position, append.stream.tenant, append.stream.name, tag, append.guard.after)
            for position, append in enumerate(self._appends)
            if append.guard and position not in self._outcomes
            for tag in sorted(append.guard.tags)
        ]
        if not guards:
            return {}
        names = ("positions", "tenants", "streams", "tags", "afters")
        columns = dict(zip(names, (list(column) for column in zip(*guards, strict=True)), strict=True))
        cursor = await connection.execute(query("find_conflicts"), columns)
        return {row["position"]: row["seq"] for row in await cursor.fetchall()}

    def _add(self, position: int, append: Append, conflict: int | None) -> Outcome:
        key = append.idempotency_key
        if key and (append.stream, key) in self._written:
            return self._repeated(self._written[append.stream, key], position, key)
        tail = self._tails[append.stream]
        actual = conflict or self._conflict_in_group(append, tail)
        if actual and append.guard:
            return ConcurrencyConflict(str(append.stream), append.guard.after, actual)
        receipt = append.standing or self._chained(tail, append)
        if key:
            self._written[append.stream, key] = position
            self._receipts.append(self._receipt_row(position, key, receipt))
        return receipt

    def _repeated(self, first: int, position: int, key: str) -> Outcome:
        outcome = self._outcomes[first]
        if self._fingerprints[first] != self._fingerprints[position]:
            return _key_used(key)
        return replace(outcome, already=True) if isinstance(outcome, Receipt) else outcome

    def _conflict_in_group(self, append: Append, tail: Tail) -> int | None:
        tags = append.guard.tags if append.guard else frozenset()
        return next((e.header.seq for e in tail.added if not tags.isdisjoint(e.header.tags)), None)

    def _chained(self, tail: Tail, append: Append) -> Receipt:
        first_seq = tail.seq + 1
        for event in append.events:
            self._chain(tail, event)
        return Receipt(append.stream, tuple(event.event_id for event in append.events), first_seq, tail.seq)

    def _chain(self, tail: Tail, event: NewEvent) -> None:
        # A stream's record time never runs backwards, even where the clock does.
        recorded_at = max(tail.recorded_at or self._now, self._now)
        header = Header(
            tail.stream,
            tail.seq + 1,
            event.event_id,
            event.payload.type_name(),
            event.payload.version,
            tuple(sorted(event.tags)),
            event.meta.as_dict(),
            event.occurred_at,
            recorded_at,
        )
        data = self._codec.encode(tail.stream, event)
        tail.link = link(self._chain_key, tail.link, header, data)
        tail.seq, tail.recorded_at = header.seq, recorded_at
        tail.added.append(StoredEvent(header, data, tail.link))

    def _receipt_row(self, position: int, key: str, receipt: Receipt) -> dict[str, Any]:
        return {
            "tenant": receipt.stream.tenant,
            "stream": receipt.stream.name,
            "key": key,
            "fingerprint": self._fingerprints[position],
            "first_seq": receipt.first_seq,
            "last_seq": receipt.last_seq,
        }

    async def _insert(self, connection: Connection) -> None:
        tails = [tail for tail in self._tails.values() if tail.added]
        async with connection.pipeline():
            if tails:
                await self._insert_events(connection, tails)
            for row in self._receipts:
                await connection.execute(query("insert_receipt"), row)

    async def _insert_events(self, connection: Connection, tails: Sequence[Tail]) -> None:
        added = [event for tail in tails for event in tail.added]
        async with connection.cursor() as cursor:
            await cursor.executemany(query("insert_event"), [_event_row(event) for event in added])
        await connection.execute(query("insert_tags"), _tag_columns(added))
        await connection.execute(query("insert_outbox"), _outbox_columns(tails))
        await connection.execute(query("update_heads"), _head_columns(tails))


def receipt_of(row: Mapping[str, Any], fingerprint: bytes) -> Receipt:
    """The first receipt of a key; IdempotencyConflict when the key was used for another request."""
    if not hmac.compare_digest(bytes(row["fingerprint"]), fingerprint):
        raise _key_used(row["idempotency_key"])
    stream = StreamId(row["tenant"], row["stream"])
    return Receipt(stream, tuple(row["event_ids"]), row["first_seq"], row["last_seq"], already=True)


def _key_used(key: str) -> IdempotencyConflict:
    return IdempotencyConflict(
        f"the key {key!r} was used for another request",
        field="idempotency_key",
        fix="send the same request again, or use a new key",
    )


def _event_row(event: StoredEvent) -> dict[str, Any]:
    header = event.header
    return {
        "tenant": header.stream.tenant,
        "stream": header.stream.name,
        "seq": header.seq,
        "event_id": header.event_id,
        "type": header.type,
        "version": header.version,
        "tags": list(header.tags),
        "meta": Jsonb(header.meta),
        "occurred_at": header.occurred_at,
        "recorded_at": header.recorded_at,
        "data": event.data,
        "link": event.link,
    }


def _tag_columns(added: Sequence[StoredEvent]) -> dict[str, Any]:
    rows = [(e.header.stream.tenant, e.header.stream.name, tag, e.header.seq) for e in added for tag in e.header.tags]
    return dict(zip(("tenants", "streams", "tags", "seqs"), map(list, zip(*rows, strict=True)), strict=True))


def _outbox_columns(tails: Sequence[Tail]) -> dict[str, Any]:
    return {
        "tenants": [tail.stream.tenant for tail in tails],
        "streams": [tail.stream.name for tail in tails],
        "first_seqs": [tail.added[0].header.seq for tail in tails],
        "last_seqs": [tail.seq for tail in tails],
    }


def _head_columns(tails: Sequence[Tail]) -> dict[str, Any]:
    return {
        "tenants": [tail.stream.tenant for tail in tails],
        "streams": [tail.stream.name for tail in tails],
        "seqs": [tail.seq for tail in tails],
        "links": [tail.link for tail in tails],
        "times": [tail.recorded_at for tail in tails],
    }
