"""A group of appends: checks each one and chains their events, for one transaction. No I/O."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from pydantic_core import to_json

from mnemolog.adapters.fairness import let_others_run
from mnemolog.adapters.postgres.chained import LatestHeads, NoHeads, single_damage, stored
from mnemolog.adapters.postgres.keys import StreamKeys, loaded, wanted_keys
from mnemolog.adapters.postgres.lost_keys import LostKeys, missing
from mnemolog.adapters.postgres.receipts import key_used, receipt_of, receipt_row
from mnemolog.adapters.postgres.tail import LogSecrets, Tail
from mnemolog.domain.errors import ConcurrencyConflict, IdempotencyConflict, KeyMissing, TamperedEvent
from mnemolog.events.chain import gone
from mnemolog.events.codec import Codec
from mnemolog.events.envelope import Receipt, StreamId
from mnemolog.events.event import BLIND
from mnemolog.events.log import Append, Outcome

Row = Mapping[str, Any]
Columns = dict[str, list[Any]]
NONE = "[]"
HEAD = "the head of the stream is not what its last event says"


class Group:
    """Either the tails are known, or they are queried under locks; then `decide` chains what may be written.

    With `known` tails every guard is assumed to hold: the database decides, in the query `write`. `doubtful`: the batch
    was sent before and may be written.
    """

    def __init__(
        self,
        codec: Codec,
        secrets: LogSecrets,
        appends: Sequence[Append],
        known: Mapping[StreamId, Tail] | None = None,
        *,
        doubtful: bool = False,
        heads: LatestHeads | None = None,
    ) -> None:
        self._codec, self._secrets, self._appends = codec, secrets, appends
        self._outcomes: dict[int, Outcome] = {}
        self.tails: dict[StreamId, Tail] = dict(known or {})
        self._receipts: list[dict[str, Any]] = []
        self._written: dict[tuple[StreamId, str], int] = {}
        self._asked, self._doubtful, self._heads = known is None, doubtful, heads or NoHeads()
        self.streams = sorted({append.stream for append in appends})
        self._unfit: frozenset[StreamId] = frozenset()
        self._keyless: Sequence[StreamId] = ()
        self.lost = LostKeys(secrets.chain, codec, appends)
        self.blind = any(tag.startswith(BLIND) for append in appends for tag in _guarded(append))

    # Queries

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

    def wanted_keys(self) -> dict[str, str]:
        """Always includes the stream's own key: a tail is cached with everything that its next appends may need."""
        wanted = {(append.stream, scope) for append in self._appends for scope in _scopes(append)}
        return wanted_keys(wanted)

    def guard_columns(self) -> Columns | None:
        """Blind tags can only be queried once the keys are known."""
        guards = [
            (position, append.stream.tenant, append.stream.name, self._keyed(append.stream, tag), after)
            for position, append in enumerate(self._appends)
            if append.guard and position not in self._outcomes
            for tag, after in append.guard.places()
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

    def keyless_columns(self) -> Columns | None:
        """Streams that have events but no key, and need one: only an erasure explains that."""
        needing = {one.stream for one in self._appends if _needs_key(one)}
        self._keyless = [one for one in sorted(needing) if self.tails[one].seq and not self.tails[one].keys.stream_key]
        if not self._keyless:
            return None
        return {"tenants": [one.tenant for one in self._keyless], "streams": [one.name for one in self._keyless]}

    def erased_columns(self, erasures: Iterable[Row]) -> Columns:
        """The last erasure of each: encrypted events before it need no key. A forged erasure does not count."""
        after = dict.fromkeys(self._keyless, 0)
        for row in erasures:
            if not single_damage(self._secrets.chain, event := stored(row), row["previous"]):
                after[event.header.stream] = event.header.seq
        return {
            "tenants": [one.tenant for one in after],
            "streams": [one.name for one in after],
            "afters": list(after.values()),
        }

    # Results

    def take_heads(self, rows: Iterable[Row]) -> Sequence[StreamId]:
        """Takes the locked heads; returns the streams that have none yet."""
        for row in rows:
            stream = StreamId(row["tenant"], row["stream"])
            recorded_at = row["recorded_at"] if row["seq"] else None
            keys = StreamKeys(stream, self._secrets.roots)
            self.tails[stream] = Tail(stream, row["seq"], bytes(row["link"]), recorded_at, keys)
        return [stream for stream in self.streams if stream not in self.tails]

    def take_unfit(self, rows: Iterable[Row]) -> None:
        """Streams whose head differs from their last event: an append there would not match the chain."""
        self._unfit = frozenset(StreamId(row["tenant"], row["stream"]) for row in rows if not row["fits"])

    def take_keys(self, rows: Iterable[Row]) -> None:
        keys = loaded(self._secrets.roots, self.streams, rows, lenient=True)
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
        """Appends that turn out to be written get their receipts as if they had been confirmed the first time."""
        found = {row["event_id"]: row["seq"] for row in rows}
        for position, append in enumerate(self._appends):
            if append.events and append.events[0].event_id in found:
                first_seq = found[append.events[0].event_id]
                ids = tuple(event.event_id for event in append.events)
                self._outcomes[position] = Receipt(append.stream, ids, first_seq, first_seq + len(ids) - 1)

    def take_keyless(self, rows: Iterable[Row]) -> None:
        """Streams that have text that was not erased, but no key: a new key would hide that theirs is gone."""
        lost = {StreamId(row["tenant"], row["stream"]): row for row in rows}
        for position, append in enumerate(self._appends):
            if append.stream in lost and _needs_key(append):
                row = lost[append.stream]
                self._outcomes.setdefault(position, missing(append.stream, "the stream", row))

    def refuse(self, refusals: Mapping[int, KeyMissing]) -> None:
        for position, refusal in refusals.items():
            self._outcomes.setdefault(position, refusal)

    async def decide(self, conflicts: Mapping[int, int], clock: Callable[[], datetime]) -> None:
        """Chain what may be written. `conflicts`: by position, the seq that conflicts with a guard."""
        now = clock()
        for position, append in enumerate(self._appends):
            if position not in self._outcomes:
                self._outcomes[position] = await self._add(position, append, conflicts.get(position), now)

    # Writing

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
        """The parameters of the query `write`, each a JSON array; None if there is nothing to write."""
        tails = list(self.tails.values())
        rows = {
            "heads": [tail.head_row() for tail in tails],
            "guards": list(self._unproven()),
            "events": [row for tail in tails for row in tail.event_rows()],
            "stream_keys": [row for tail in tails for row in tail.stream_key_rows()],
            "data_keys": [self._new_key(row) for tail in tails for row in tail.data_key_rows()],
            "used_keys": [row for tail in tails for row in tail.used_key_rows()],
            "receipts": self._receipts,
        }
        if not (rows["events"] or rows["receipts"]):
            return None
        return {name: to_json(found).decode() if found else NONE for name, found in rows.items()}

    def _new_key(self, row: Row) -> Row:
        """Under locks it is already known whether an event was encrypted with another key of this scope."""
        return {**row, "tag": None} if self._asked else row

    def _unproven(self) -> Iterable[dict[str, Any]]:
        """The guards that the database must check: those on known tails to which others may have appended."""
        if self._asked:
            return
        for append in self._appends:
            base_seq = self.tails[append.stream].base_seq
            for tag, after in append.guard.places() if append.guard else ():
                if after < base_seq:
                    yield {
                        "tenant": append.stream.tenant,
                        "stream": append.stream.name,
                        "tag": self._keyed(append.stream, tag),
                        "after": after,
                    }

    def _keyed(self, stream: StreamId, tag: str) -> str:
        return self.tails[stream].keys.tag(tag) if tag.startswith(BLIND) else tag

    async def _add(self, position: int, append: Append, conflict: int | None, now: datetime) -> Outcome:
        key = append.idempotency_key
        if key and (append.stream, key) in self._written:
            first = self._written[append.stream, key]
            outcome = self._outcomes[first]
            if self._appends[first].fingerprint != append.fingerprint:
                return key_used(key)
            return replace(outcome, already=True) if isinstance(outcome, Receipt) else outcome
        tail = self.tails[append.stream]
        known = self._heads.seq(append.stream) if self._asked else 0
        if tail.base_seq < known:  # Continuing from there would fork its history.
            return gone(append.stream, tail.base_seq + 1)
        if append.stream in self._unfit:
            return TamperedEvent(str(append.stream), tail.base_seq, HEAD)
        actual = conflict or self._conflict_in_group(append, tail)
        if actual and append.guard:
            return ConcurrencyConflict(str(append.stream), append.guard.after, actual)
        receipt = append.existing or await self._chained(tail, append, now)
        if key:
            self._written[append.stream, key] = position
            self._receipts.append(receipt_row(key, receipt, append.fingerprint, self._secrets.fingerprint))
        return receipt

    def _conflict_in_group(self, append: Append, tail: Tail) -> int | None:
        if not tail.added:
            return None
        tags = {self._keyed(append.stream, tag) for tag in _guarded(append)}
        return next((e.header.seq for e in tail.added if not tags.isdisjoint(e.header.tags)), None)

    async def _chained(self, tail: Tail, append: Append, now: datetime) -> Receipt:
        first_seq = tail.seq + 1
        for done, event in enumerate(append.events):
            await let_others_run(done)
            tail.add(event, self._codec, self._secrets, now)
        return Receipt(append.stream, tuple(event.event_id for event in append.events), first_seq, tail.seq)


def _guarded(append: Append) -> frozenset[str]:
    return append.guard.all_tags if append.guard else frozenset()


def _needs_key(append: Append) -> bool:
    tags = _guarded(append).union(*(event.tags for event in append.events))
    return any(tag.startswith(BLIND) for tag in tags) or any(one.payload.personal_fields() for one in append.events)


def _scopes(append: Append) -> Iterable[str]:
    """The scopes whose keys an append needs; "" is the stream's own."""
    yield ""
    for event in append.events:
        if event.payload.personal_fields():
            yield event.payload.key_scope()
