"""A group of appends, judged one by one and chained: what its one transaction asks and what it writes. No I/O."""

import hmac
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

from pydantic_core import to_json

from mnemolog.adapters.encryption import Keyring
from mnemolog.adapters.postgres.keys import StreamKeys, key_columns, loaded
from mnemolog.adapters.postgres.roots import Roots
from mnemolog.domain.errors import ConcurrencyConflict, IdempotencyConflict
from mnemolog.events.chain import link
from mnemolog.events.codec import Codec
from mnemolog.events.envelope import Header, NewEvent, Receipt, StoredEvent, StreamId
from mnemolog.events.event import BLIND
from mnemolog.events.log import Append, Outcome

Row = Mapping[str, Any]
Columns = dict[str, list[Any]]
NONE = "[]"
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(slots=True)
class Tail:
    """The growing end of a stream: where its head stands in the database, and what is chained to that."""

    stream: StreamId
    seq: int
    link: bytes
    recorded_at: datetime | None
    keys: StreamKeys
    base_seq: int = 0
    base_link: bytes = b""
    added: list[StoredEvent] = field(default_factory=list)
    shredded: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.settle()

    def settle(self) -> None:
        """What was added is written."""
        self.base_seq, self.base_link = self.seq, self.link
        self.added.clear()
        self.shredded.clear()
        self.keys.settle()

    def head_row(self) -> dict[str, Any]:
        return {
            "tenant": self.stream.tenant,
            "stream": self.stream.name,
            "seq": self.base_seq,
            "link": self.base_link.hex(),
            "new_seq": self.seq,
            "new_link": self.link.hex(),
            "recorded_at": (self.recorded_at or EPOCH).isoformat(),
        }


@dataclass(frozen=True, slots=True)
class LogSecrets:
    """The keys that a log writes with."""

    roots: Roots
    chain: bytes = field(repr=False)
    fingerprint: bytes = field(repr=False)

    @classmethod
    def of(cls, roots: Roots) -> "LogSecrets":
        return cls(roots, roots.derived("chain"), roots.derived("fingerprint"))


class Group:
    """Either the tails are known, or the questions are asked under locks; then `decide` chains what may be written.

    With `known` tails every guard is taken to hold: the database has the last word, by the query `write`.
    `doubtful`: the group was sent before and may be written.
    """

    def __init__(
        self,
        codec: Codec,
        secrets: LogSecrets,
        appends: Sequence[Append],
        known: Mapping[StreamId, Tail] | None = None,
        *,
        doubtful: bool = False,
    ) -> None:
        self._codec, self._secrets, self._appends = codec, secrets, appends
        self._outcomes: dict[int, Outcome] = {}
        self.tails: dict[StreamId, Tail] = dict(known or {})
        self._receipts: list[dict[str, Any]] = []
        self._written: dict[tuple[StreamId, str], int] = {}
        self._asked, self._doubtful = known is None, doubtful
        self.streams = sorted({append.stream for append in appends})
        self.blind = any(tag.startswith(BLIND) for append in appends for tag in _guarded(append))

    # Questions

    def stream_columns(self) -> Columns:
        return {"tenants": [one.tenant for one in self.streams], "streams": [one.name for one in self.streams]}

    def receipt_columns(self) -> Columns | None:
        keyed = [append for append in self._appends if append.idempotency_key]
        if not keyed:
            return None
        return {
            "tenants": [append.stream.tenant for append in keyed],
            "streams": [append.stream.name for append in keyed],
            "keys": [append.idempotency_key for append in keyed],
        }

    def key_columns(self) -> Columns:
        """The stream's own key is always asked for: a tail is remembered with all that its next appends may need."""
        wanted = {(append.stream, scope) for append in self._appends for scope in _scopes(append)}
        return key_columns(sorted(wanted))

    def guard_columns(self) -> Columns | None:
        """Blind tags can be asked for once the keys are there."""
        guards = [
            (position, append.stream.tenant, append.stream.name, self._keyed(append.stream, tag), append.guard.after)
            for position, append in enumerate(self._appends)
            if append.guard
            for tag in append.guard.tags
        ]
        names = ("positions", "tenants", "streams", "tags", "afters")
        return dict(zip(names, map(list, zip(*guards, strict=True)), strict=True)) if guards else None

    def doubtful_columns(self) -> Columns | None:
        doubtful = [append for append in self._appends if self._doubtful and append.events]
        if not doubtful:
            return None
        return {
            "tenants": [append.stream.tenant for append in doubtful],
            "streams": [append.stream.name for append in doubtful],
            "event_ids": [append.events[0].event_id for append in doubtful],
        }

    # Answers

    def take_heads(self, rows: Iterable[Row]) -> Sequence[StreamId]:
        """The heads, locked; returned are the streams that have none yet."""
        for row in rows:
            stream = StreamId(row["tenant"], row["stream"])
            recorded_at = row["recorded_at"] if row["seq"] else None
            keys = StreamKeys(stream, self._secrets.roots)
            self.tails[stream] = Tail(stream, row["seq"], bytes(row["link"]), recorded_at, keys)
        return [stream for stream in self.streams if stream not in self.tails]

    def take_keys(self, rows: Iterable[Row]) -> None:
        keys = loaded(self._secrets.roots, self.streams, rows)
        for stream, tail in self.tails.items():
            tail.keys = keys[stream]

    def take_receipts(self, rows: Iterable[Row]) -> None:
        found = {(StreamId(row["tenant"], row["stream"]), row["idempotency_key"]): row for row in rows}
        for position, append in enumerate(self._appends):
            row = found.get((append.stream, append.idempotency_key or ""))
            if row is not None:
                try:
                    self._outcomes[position] = receipt_of(row, append.fingerprint, self._secrets.fingerprint)
                except IdempotencyConflict as conflict:
                    self._outcomes[position] = conflict

    def take_written(self, rows: Iterable[Row]) -> None:
        """What turns out to be written has its receipt, as if it had been confirmed the first time."""
        found = {row["event_id"]: row["seq"] for row in rows}
        for position, append in enumerate(self._appends):
            if append.events and append.events[0].event_id in found:
                first_seq = found[append.events[0].event_id]
                ids = tuple(event.event_id for event in append.events)
                self._outcomes[position] = Receipt(append.stream, ids, first_seq, first_seq + len(ids) - 1)

    def decide(self, conflicts: Mapping[int, int], clock: Callable[[], datetime]) -> None:
        """Chain what may be written. `conflicts`: by position, the seq that stands in the way of a guard."""
        now = clock()
        for position, append in enumerate(self._appends):
            if position not in self._outcomes:
                self._outcomes[position] = self._add(position, append, conflicts.get(position), now)

    # What is written

    @property
    def outcomes(self) -> Sequence[Outcome]:
        return [self._outcomes[position] for position in range(len(self._appends))]

    def shred_columns(self) -> Columns | None:
        gone = [
            (tail.stream.tenant, tail.stream.name, scope) for tail in self.tails.values() for scope in tail.shredded
        ]
        names = ("tenants", "streams", "scopes")
        return dict(zip(names, map(list, zip(*gone, strict=True)), strict=True)) if gone else None

    def rows(self) -> dict[str, str] | None:
        """The parameters of the query `write`, each a JSON array; None when nothing is to be written."""
        tails = list(self.tails.values())
        rows = {
            "heads": [tail.head_row() for tail in tails],
            "guards": list(self._unproven()),
            "events": [_event_row(event) for tail in tails for event in tail.added],
            "stream_keys": [_placed(tail, tail.keys.new_stream_key) for tail in tails if tail.keys.new_stream_key],
            "data_keys": [_placed(tail, row) for tail in tails for row in tail.keys.new_data_keys.values()],
            "receipts": self._receipts,
        }
        if not (rows["events"] or rows["receipts"]):
            return None
        return {name: to_json(found).decode() if found else NONE for name, found in rows.items()}

    def _unproven(self) -> Iterable[dict[str, Any]]:
        """The guards that the database is still to judge: those of known tails that others may have added to."""
        if self._asked:
            return
        for append in self._appends:
            base_seq = self.tails[append.stream].base_seq
            if append.guard and append.guard.after < base_seq:
                for tag in append.guard.tags:
                    yield {
                        "tenant": append.stream.tenant,
                        "stream": append.stream.name,
                        "tag": self._keyed(append.stream, tag),
                        "after": append.guard.after,
                    }

    def _keyed(self, stream: StreamId, tag: str) -> str:
        return self.tails[stream].keys.tag(tag) if tag.startswith(BLIND) else tag

    def _add(self, position: int, append: Append, conflict: int | None, now: datetime) -> Outcome:
        key = append.idempotency_key
        if key and (append.stream, key) in self._written:
            return self._repeated(self._written[append.stream, key], append, key)
        tail = self.tails[append.stream]
        actual = conflict or self._conflict_in_group(append, tail)
        if actual and append.guard:
            return ConcurrencyConflict(str(append.stream), append.guard.after, actual)
        receipt = append.standing or self._chained(tail, append, now)
        if key:
            self._written[append.stream, key] = position
            self._receipts.append(self._receipt_row(append, key, receipt))
        return receipt

    def _repeated(self, first: int, append: Append, key: str) -> Outcome:
        outcome = self._outcomes[first]
        if self._appends[first].fingerprint != append.fingerprint:
            return _key_used(key)
        return replace(outcome, already=True) if isinstance(outcome, Receipt) else outcome

    def _conflict_in_group(self, append: Append, tail: Tail) -> int | None:
        if not tail.added:
            return None
        tags = {self._keyed(append.stream, tag) for tag in _guarded(append)}
        return next((e.header.seq for e in tail.added if not tags.isdisjoint(e.header.tags)), None)

    def _chained(self, tail: Tail, append: Append, now: datetime) -> Receipt:
        first_seq = tail.seq + 1
        for event in append.events:
            self._chain(tail, event, now)
        return Receipt(append.stream, tuple(event.event_id for event in append.events), first_seq, tail.seq)

    def _chain(self, tail: Tail, event: NewEvent, now: datetime) -> None:
        payload = event.payload
        # A stream's record time never runs backwards, even where the clock does.
        recorded_at = max(tail.recorded_at or now, now)
        header = Header(
            tail.stream,
            tail.seq + 1,
            event.event_id,
            payload.type_name(),
            payload.version,
            tuple(sorted(map(tail.keys.tag, event.tags))),
            event.meta.as_dict(),
            event.occurred_at,
            recorded_at,
        )
        data = self._codec.encode(tail.stream, event, self._cipher(tail, event))
        tail.link = link(self._secrets.chain, tail.link, header, data)
        tail.seq, tail.recorded_at = header.seq, recorded_at
        tail.added.append(StoredEvent(header, data, tail.link))
        for scope in payload.shreds():
            tail.keys.shred(scope)
            tail.shredded.append(scope)

    def _cipher(self, tail: Tail, event: NewEvent) -> Keyring:
        payload, keys = event.payload, {}
        if payload.personal_fields():
            scope = payload.key_scope()
            keys[tail.stream, scope] = tail.keys.sealing(scope)
        return Keyring(keys, self._secrets.roots.random_bytes)

    def _receipt_row(self, append: Append, key: str, receipt: Receipt) -> dict[str, Any]:
        row = {
            "tenant": receipt.stream.tenant,
            "stream": receipt.stream.name,
            "key": key,
            "first_seq": receipt.first_seq,
            "last_seq": receipt.last_seq,
        }
        return {**row, "fingerprint": fingerprinted(self._secrets.fingerprint, row, append.fingerprint).hex()}


def receipt_of(row: Row, fingerprint: bytes, key: bytes) -> Receipt:
    """The first receipt of an idempotency key; IdempotencyConflict when the key was used for another request."""
    kept = {**row, "key": row["idempotency_key"]}
    if not hmac.compare_digest(bytes(row["fingerprint"]), fingerprinted(key, kept, fingerprint)):
        raise _key_used(row["idempotency_key"])
    stream = StreamId(row["tenant"], row["stream"])
    return Receipt(stream, tuple(row["event_ids"]), row["first_seq"], row["last_seq"], already=True)


def fingerprinted(key: bytes, row: Row, request: bytes) -> bytes:
    """What is kept of a request beside its receipt: tells nothing of it, and fits this receipt alone."""
    fields = json.dumps([row[name] for name in ("tenant", "stream", "key", "first_seq", "last_seq")])
    return hmac.digest(key, f"{len(fields)} {fields}".encode() + request, sha256)


def _key_used(key: str) -> IdempotencyConflict:
    return IdempotencyConflict(
        f"the key {key!r} was used for another request",
        field="idempotency_key",
        fix="send the same request again, or use a new key",
    )


def _guarded(append: Append) -> frozenset[str]:
    return append.guard.tags if append.guard else frozenset()


def _scopes(append: Append) -> Iterable[str]:
    """The scopes whose keys an append needs; "" stands for the stream's own."""
    yield ""
    for event in append.events:
        if event.payload.personal_fields():
            yield event.payload.key_scope()


def _placed(tail: Tail, row: Row | None) -> Row:
    return {"tenant": tail.stream.tenant, "stream": tail.stream.name, **(row or {})}


def _event_row(event: StoredEvent) -> dict[str, Any]:
    header = event.header
    return {
        "tenant": header.stream.tenant,
        "stream": header.stream.name,
        "seq": header.seq,
        "event_id": str(header.event_id),
        "type": header.type,
        "version": header.version,
        "tags": header.tags,
        "meta": header.meta,
        "occurred_at": header.occurred_at.isoformat(),
        "recorded_at": header.recorded_at.isoformat(),
        "data": event.data.decode(),
        "link": event.link.hex(),
    }
