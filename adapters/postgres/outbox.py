"""The outbox: appended events that are not on JetStream yet. One relay at a time reads it.

Ids of rows are not the order of commits: a long transaction may show a low id late. Nothing here remembers how far it
read, so such a row is simply found the next time. Two appends to one stream never overlap (its head is locked), so
within a stream the ids are in order.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from mnemolog.adapters.postgres.chained import stored
from mnemolog.adapters.postgres.lease import RELAY, Lease, lead, lease_session
from mnemolog.adapters.postgres.pool import Pool
from mnemolog.adapters.postgres.queries import query
from mnemolog.domain.errors import TamperedEvent
from mnemolog.events.chain import START, ChainReader, gone
from mnemolog.events.envelope import StoredEvent, StreamId


@dataclass(frozen=True, slots=True)
class Pending:
    """An outbox row, or a part of a long one: the events of a stream from `first` to `last`."""

    id: int
    stream: StreamId
    first: int
    last: int
    ends: bool = True

    def parts(self, size: int) -> Iterator["Pending"]:
        """The row in parts of at most `size` events; the last part `ends` it."""
        for first in range(self.first, self.last + 1, size):
            last = min(first + size - 1, self.last)
            yield Pending(self.id, self.stream, first, last, ends=last == self.last)


@dataclass(frozen=True, slots=True)
class Ranges:
    """The events of some ranges that match the chain, in order within each stream.

    And by row id, what is wrong with a range from some event on.
    """

    events: Sequence[StoredEvent]
    damaged: Mapping[int, TamperedEvent] = field(default_factory=dict)


class RelaySession:
    """A relay's queries to Postgres. Changes by a leader go through the session that holds its lease.

    Events are read through the pool: if a process hangs during a large read, its session would be busy, not idle.
    """

    def __init__(self, lease: Lease, pool: Pool, chain_key: bytes) -> None:
        self.lease, self._pool, self._key = lease, pool, chain_key

    async def lead(self) -> bool:
        """Take the lease if no other session holds it."""
        return await self.lease.take(RELAY)

    async def pending(self, batch: int) -> Sequence[Pending]:
        """The oldest undelivered rows."""
        rows = await (await self.lease.execute("pending", {"batch": batch})).fetchall()
        return [
            Pending(row["id"], StreamId(row["tenant"], row["stream"]), row["first_seq"], row["last_seq"])
            for row in rows
        ]

    async def events(self, ranges: Sequence[Pending]) -> Ranges:
        """Their events, verified against the chain: anything inserted later is not delivered."""
        wanted = {
            "tenants": [one.stream.tenant for one in ranges],
            "streams": [one.stream.name for one in ranges],
            "firsts": [one.first for one in ranges],
            "lasts": [one.last for one in ranges],
        }
        async with self._pool.connection() as connection:
            rows = await (await connection.execute(query("pending_events"), wanted)).fetchall()
        by_place = {place: list(found) for place, found in groupby(rows, key=lambda row: row["place"])}
        events: list[StoredEvent] = []
        damaged: dict[int, TamperedEvent] = {}
        for place, one in enumerate(ranges, 1):
            sound, damage = self._checked(one, by_place.get(place, []))
            events += sound
            if damage:
                damaged[one.id] = damage
        return Ranges(events, damaged)

    def _checked(
        self, one: Pending, rows: Sequence[Mapping[str, Any]]
    ) -> tuple[Sequence[StoredEvent], TamperedEvent | None]:
        before = START if one.first == 1 else rows[0]["previous"] if rows else None
        if before is None:
            return [], gone(one.stream, one.first - 1 if rows else one.first)
        chain = ChainReader(self._key, one.stream, one.first - 1, bytes(before))
        sound, damage = chain.take([stored(row, one.stream) for row in rows])
        if damage is None and chain.seq < one.last:
            damage = gone(one.stream, chain.seq + 1)
        return sound, damage

    async def delivered(self, ids: Sequence[int]) -> None:
        await self.lease.execute("delivered", {"ids": list(ids)})


class Outbox:
    def __init__(self, pool: Pool, postgres_dsn: str, chain_key: bytes) -> None:
        self._pool, self._dsn, self._key = pool, postgres_dsn, chain_key

    @asynccontextmanager
    async def session(self) -> AsyncIterator[RelaySession]:
        """A session that leads, once it may."""
        async with lease_session(self._dsn) as lease:
            yield RelaySession(lease, self._pool, self._key)

    async def lead(self, work: Callable[[RelaySession], Awaitable[None]]) -> None:
        """Run the relay's work whenever no other one leads, until cancelled."""
        await lead(self._dsn, RELAY, lambda lease: work(RelaySession(lease, self._pool, self._key)))

    async def size(self, until: int | None = None) -> int:
        """How many appends wait for delivery, of all or of those until this one."""
        async with self._pool.connection() as connection:
            row = await (await connection.execute(query("outbox_size"), {"until": until})).fetchone()
            return int(row["count"]) if row else 0

    async def last(self) -> int:
        """The id of the last append that waits for delivery; 0 if none does."""
        async with self._pool.connection() as connection:
            row = await (await connection.execute(query("outbox_last"))).fetchone()
            return int(row["last"]) if row else 0
