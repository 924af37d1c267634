"""The event log in Postgres: the EventLog protocol over queries.sql."""

import copy
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any
from uuid import UUID

from mnemolog.adapters import telemetry
from mnemolog.adapters.deadline import append_within
from mnemolog.adapters.encryption import ALGORITHM, Keyring
from mnemolog.adapters.fairness import let_others_run
from mnemolog.adapters.postgres.append import Appender
from mnemolog.adapters.postgres.chained import END, ChainedRows, LatestHeads, Refused, fetch, unrecorded
from mnemolog.adapters.postgres.keys import StreamKeys, ask_keys, destroyed, find_keys
from mnemolog.adapters.postgres.pool import Connection, Pool, repeated
from mnemolog.adapters.postgres.receipts import receipt_of
from mnemolog.adapters.postgres.roots import Roots
from mnemolog.adapters.postgres.statements import Ask
from mnemolog.adapters.postgres.tail import LogSecrets
from mnemolog.adapters.postgres.writing import Also, GroupWriter, nothing
from mnemolog.domain.errors import LogError, TamperedEvent, Unstorable
from mnemolog.events.codec import Body, Codec, PlainCipher
from mnemolog.events.envelope import NewEvent, Receipt, Recorded, StoredEvent, StreamId
from mnemolog.events.event import BLIND
from mnemolog.events.log import NOTHING_IGNORED, Append, Head, Ignored, Outcome
from mnemolog.events.registry import SHREDDING

BATCH = 1000

_Place = tuple[StreamId, int]
_Find = Callable[[Collection[tuple[StreamId, str]]], Awaitable[Mapping[StreamId, StreamKeys]]]


async def _unchecked(streams: Collection[StreamId]) -> None:
    """Text without a key is assumed to be erased."""


class PostgresLog:
    """Implements `mnemolog.events.log.EventLog`. `appended` gets the events of each commit, stream by stream.

    The pool's connections need not be tested before use: a query on a dead one is repeated.
    """

    def __init__(
        self,
        pool: Pool,
        codec: Codec,
        roots: Roots,
        now: Callable[[], datetime],
        appended: Callable[[Sequence[StoredEvent]], None] = lambda events: None,
        *,
        deadline: float | None = None,
        known: LatestHeads | None = None,
        refused: Refused = unrecorded,
    ) -> None:
        self.pool, self._codec, self._deadline = pool, codec, deadline
        self._secrets, self._refused = LogSecrets.of(roots), refused
        self._chained = ChainedRows(pool, self._secrets.chain, known, refused)
        self._writer = GroupWriter(pool, codec, self._secrets, now, appended, known)
        self._appender = Appender(self._writer.write)
        self._erased: Callable[[Collection[StreamId]], Awaitable[None]] = _unchecked

    def asking(self, erased: Callable[[Collection[StreamId]], Awaitable[None]]) -> "PostgresLog":
        """The same log, whose `decode` calls `erased` with the streams of events whose text has no key any more."""
        asking = copy.copy(self)
        asking._erased = erased
        return asking

    async def append(self, appends: Sequence[Append], deadline: float | None = None) -> Sequence[Outcome]:
        """Durable when it returns (synchronous_commit is on). Concurrent appends share a transaction.

        `deadline` in seconds, by default that of the settings, or what the write has left of it; after it, Overloaded
        (nothing was written) or AppendTimeout (it may have been). An error is returned as the outcome of its append.
        """
        with telemetry.step("append", streams=len(appends)):
            refused = {place: error for place, one in enumerate(appends) if (error := await self._unstorable(one))}
            taken = [one for place, one in enumerate(appends) if place not in refused]
            within = append_within(self._deadline if deadline is None else deadline)
            outcomes = iter(await self._appender.append(taken, within))
            found = [refused[place] if place in refused else next(outcomes) for place in range(len(appends))]
            for outcome in found:
                if isinstance(outcome, TamperedEvent):
                    await self._refused(outcome)
            return found

    async def append_whole(
        self, stream: StreamId, batches: Iterable[Sequence[NewEvent]], also: Also = nothing
    ) -> Receipt:
        """A whole stream recorded by another log, in one transaction, with its own times (X17).

        Conflict if the stream has events; if `batches` raises MnemologError, nothing is written.
        """
        return await self._writer.write_whole(stream, map(partial(self._readable, stream), batches), also)

    async def receipt(self, stream: StreamId, idempotency_key: str, fingerprint: bytes) -> Receipt | None:
        rows = await self._rows("find_receipts", tenants=[stream.tenant], streams=[stream.name], keys=[idempotency_key])
        return receipt_of(rows[0], fingerprint, self._secrets.fingerprint) if rows else None

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
        if not tags:
            found = [event async for batch in self.scan(stream, after=after, until=until) for event in batch]
            return await self.decode(found, unread=unread)
        place = {**_place(stream), "after": after, "until": END if until is None else until}
        left_out = {"known": list(known), "ignored": list(ignored.types), "between": ignored.between}

        async def read(connection: Connection) -> Sequence[Recorded]:
            keyed = await self._keyed(connection, stream, tags)
            found = await self._chained.some(connection, "read_tagged", **place, tags=keyed, **left_out)
            return await self._decoded(connection, found, unread=unread)

        return await repeated(self.pool, read)

    async def find(self, stream: StreamId, event_id: UUID) -> Recorded | None:
        async def read(connection: Connection) -> Sequence[Recorded]:
            found = await self._chained.some(connection, "find_event", **_place(stream), event_id=event_id)
            return await self._decoded(connection, found)

        found = await repeated(self.pool, read)
        return found[0] if found else None

    async def head(self, stream: StreamId) -> int:
        return await self._chained.head(stream)

    async def seq_at(self, stream: StreamId, at: datetime) -> int:
        """The last seq of a stream recorded at or before `at`: times never decrease along the chain.

        To be sure, this event and the next one are read and verified against the chain.
        """
        [row] = await self._rows("seq_at", **_place(stream), at=at)
        seq = int(row["seq"])
        async for _ in self.scan(stream, after=max(0, seq - 1), until=seq + 1):
            pass
        return seq

    async def scan(
        self, stream: StreamId, *, after: int = 0, until: int | None = None, batch: int = BATCH
    ) -> AsyncIterator[Sequence[StoredEvent]]:
        async for events in self._chained.scan(stream, after, until, batch):
            yield events

    async def decode(
        self, stored: Sequence[StoredEvent], shapes: Collection[str] = (), *, unread: bool = False
    ) -> Sequence[Recorded]:
        decoded = await repeated(self.pool, lambda connection: self._decoded(connection, stored, shapes, unread=unread))
        if erased := {one.stream for one in decoded if one.erased}:
            await self._erased(erased)
        return decoded

    async def decode_beside(
        self, ask: Ask, stored: Sequence[StoredEvent], shapes: Collection[str] = ()
    ) -> Sequence[Recorded]:
        """Like `decode`, in one round trip with the other queries of a transaction on this database."""
        return await self._opened(stored, shapes, partial(ask_keys, ask, self._secrets.roots))

    async def decode_after(
        self, ask: Ask, stored: Sequence[StoredEvent], shapes: Collection[str] = ()
    ) -> Sequence[Recorded]:
        """Like `decode_beside`, for a transaction on another database: called once it holds its locks."""
        if not stored:
            return []
        await ask(b"SELECT", ())
        return await self.decode(stored, shapes)

    async def heads(self, share: int = 0, of: int = 1, batch: int = 1000) -> AsyncIterator[Sequence[Head]]:
        last, part = StreamId("", ""), {"share": share, "of": of, "batch": batch}
        while rows := await self._rows("scan_heads", tenant=last.tenant, stream=last.name, **part):
            yield [Head(StreamId(row["tenant"], row["stream"]), row["seq"]) for row in rows]
            last = StreamId(rows[-1]["tenant"], rows[-1]["stream"])

    async def counts(self) -> Mapping[str, int]:
        """The number of events of each type."""
        return {row["type"]: row["count"] for row in await self._rows("count_events")}

    async def _unstorable(self, append: Append) -> Unstorable | None:
        """What could not be read back is never appended: it could not be repaired later."""
        try:
            for done, event in enumerate(append.events):
                await let_others_run(done)
                self._codec.require_readable(append.stream, event)
        except Unstorable as error:
            return error
        return None

    def _readable(self, stream: StreamId, events: Sequence[NewEvent]) -> Sequence[NewEvent]:
        for event in events:
            self._codec.require_readable(stream, event)
        return events

    async def _decoded(
        self,
        connection: Connection,
        events: Sequence[StoredEvent],
        shapes: Collection[str] = (),
        *,
        unread: bool = False,
    ) -> Sequence[Recorded]:
        find = partial(find_keys, connection, self._secrets.roots, lenient=unread)
        return await self._opened(events, shapes, find, unread=unread)

    async def _opened(
        self, events: Sequence[StoredEvent], shapes: Collection[str], find: _Find, *, unread: bool = False
    ) -> Sequence[Recorded]:
        """With the keys that exist now: what was destroyed meanwhile no longer decrypts, wherever the bytes come from.

        An event that cannot be read, and was erased since, is returned as `Unread`, and does not affect others.
        """
        try:
            return await self._read_with_keys(events, shapes, find, unread=unread)
        except LogError:
            erased = await self._erased_by_header(events)
            if not erased:
                raise
        return await self._read_with_keys(events, shapes, find, erased=erased)

    async def _read_with_keys(
        self,
        events: Sequence[StoredEvent],
        shapes: Collection[str],
        find: _Find,
        *,
        unread: bool = False,
        erased: Collection[_Place] = (),
    ) -> Sequence[Recorded]:
        bodies = list[Body]()
        for done, event in enumerate(events):
            await let_others_run(done)
            bodies.append(self._body(event, shapes, unread=unread or _at(event) in erased))
        for event, body in zip(events, bodies, strict=True):
            if body.sealed and body.sealed.get("alg") == PlainCipher.ALGORITHM and not self._secrets.roots.readable:
                damage = TamperedEvent(str(event.header.stream), event.header.seq, "its text is not encrypted")
                await self._refused(damage)
                raise damage
        sealed = {
            (event.header.stream, body.scope)
            for event, body in zip(events, bodies, strict=True)
            if body.sealed is not None and body.sealed.get("alg") == ALGORITHM
        }
        found = await find(sealed) if sealed else {}
        keys = {(stream, scope): key for stream, own in found.items() for scope, key in own.data_keys.items()}
        keyring = Keyring(keys, self._secrets.roots.random_bytes)
        recorded = list[Recorded]()
        for done, (event, body) in enumerate(zip(events, bodies, strict=True)):
            await let_others_run(done)
            recorded.append(self._recorded(event, keyring, body, unread=unread, erased=erased))
        return recorded

    async def _erased_by_header(self, events: Sequence[StoredEvent]) -> Collection[_Place]:
        """The positions of events whose text was destroyed since, judging by headers and later events."""
        first: dict[StreamId, int] = {}
        for event in events:
            first.setdefault(event.header.stream, event.header.seq)
        columns = {
            "tenants": [one.tenant for one in first],
            "streams": [one.name for one in first],
            "afters": list(first.values()),
        }
        async with self.pool.connection() as connection:
            found = await self._chained.some(connection, "events_of_types", **columns, types=sorted(SHREDDING))
        shreds = [(one.header, self._codec.decode(one).payload.shreds()) for one in found]
        return {
            _at(event)
            for event in events
            if destroyed(
                event.header,
                {
                    scope
                    for header, scopes in shreds
                    if header.stream == event.header.stream and header.seq > event.header.seq
                    for scope in scopes
                },
            )
        }

    def _body(self, event: StoredEvent, shapes: Collection[str], *, unread: bool) -> Body:
        try:
            return self._codec.body(event, shapes)
        except LogError:
            if unread:
                return Body({})
            raise

    def _recorded(
        self, event: StoredEvent, keyring: Keyring, body: Body, *, unread: bool, erased: Collection[_Place]
    ) -> Recorded:
        try:
            return self._codec.decode(event, keyring, body)
        except LogError:
            if _at(event) in erased:
                return replace(self._codec.unread(event), erased=True)
            if unread:
                return self._codec.unread(event)
            raise

    async def _keyed(self, connection: Connection, stream: StreamId, tags: Collection[str]) -> list[str]:
        """Tags as stored in the log. A stream without a key has no blind tags."""
        blind = [tag for tag in tags if tag.startswith(BLIND)]
        if not blind:
            return sorted(tags)
        keys = (await find_keys(connection, self._secrets.roots, [(stream, "")]))[stream]
        plain = set(tags).difference(blind)
        return sorted(plain.union(map(keys.tag, blind)) if keys.stream_key else plain)

    async def _rows(self, name: str, **values: Any) -> list[dict[str, Any]]:
        return await repeated(self.pool, lambda connection: fetch(connection, name, **values))


def _at(event: StoredEvent) -> _Place:
    return event.header.stream, event.header.seq


def _place(stream: StreamId) -> dict[str, Any]:
    return {"tenant": stream.tenant, "stream": stream.name}
