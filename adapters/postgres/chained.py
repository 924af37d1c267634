"""Reads rows of the log as events and verifies the keyed chain (X08).

An event is appended once, at one place of one stream, behind one other: only those bytes fit its link, and only behind
that other's. So each row is checked as it is read, whoever reads it and whatever for, and costs one HMAC.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from typing import Any, Protocol

from mnemolog.adapters.fairness import let_others_run
from mnemolog.adapters.postgres.pool import Connection, Pool, repeated
from mnemolog.adapters.postgres.queries import query
from mnemolog.domain.errors import TamperedEvent
from mnemolog.events.chain import START, ChainReader, gone, link, unfit
from mnemolog.events.envelope import Header, StoredEvent, StreamId

END = 2**62

# Called with every refusal, before it is raised.
Refused = Callable[[TamperedEvent], Awaitable[None]]


class LatestHeads(Protocol):
    """Known heads from outside the database."""

    async def learn(self, streams: Collection[StreamId]) -> None:
        """Ask for what other processes know about these streams, if this one may know less."""
        ...

    def seq(self, stream: StreamId) -> int:
        """The last known seq of the stream; 0 if nothing is known about it."""
        ...


class NoHeads:
    """Implements `LatestHeads` without any knowledge."""

    async def learn(self, streams: Collection[StreamId]) -> None:
        return

    def seq(self, stream: StreamId) -> int:
        return 0


async def unrecorded(damage: TamperedEvent) -> None:
    """Incidents are not recorded."""


class ChainedRows:
    """Events by range, tag or id. TamperedEvent, after a call of `refused`, if the log is damaged."""

    def __init__(
        self, pool: Pool, chain_key: bytes, known: LatestHeads | None = None, refused: Refused = unrecorded
    ) -> None:
        self._pool, self._key, self._refused = pool, chain_key, refused
        self._known = known or NoHeads()

    async def scan(
        self, stream: StreamId, after: int, until: int | None, batch: int
    ) -> AsyncIterator[Sequence[StoredEvent]]:
        """A range in batches, all but the last full; sound events before the damage come first.

        A range that ends before the stream's head, or before its last known seq, is damaged there.
        """
        last = END if until is None else until
        chain = ChainReader(self._key, stream) if after <= 0 else None
        reached, head = max(after, 0), 0
        while reached < last:
            # A range that begins in the middle includes the previous row: the first link is verified against it.
            ahead = 0 if chain else 1
            place = {"tenant": stream.tenant, "stream": stream.name, "after": reached - ahead, "until": last}
            rows = await self._rows("read_stream", **place, batch=batch + ahead)
            events = [stored(row, stream) for row in rows]
            if chain is None:
                if not events or events[0].header.seq != reached:
                    if reached <= head:
                        await self._refuse(gone(stream, reached))
                    if reached > (head := await self._head(stream)):
                        return
                    continue  # It may have been appended since this read.
                chain = ChainReader(self._key, stream, reached, events.pop(0).link)
            sound, damage = chain.take(events)
            if sound:
                yield sound
                reached = chain.seq
            if damage:
                await self._refuse(damage)
            if len(events) < batch and reached < last:
                if reached < head and not sound:  # Everything up to the head must be readable.
                    await self._refuse(gone(stream, reached + 1))
                if reached >= head and reached >= (head := await self._head(stream)):
                    return

    async def some(self, connection: Connection, name: str, **values: Any) -> list[StoredEvent]:
        """Events found by a query, each row with the previous link as `previous`."""
        rows = await fetch(connection, name, **values)
        found = []
        for done, row in enumerate(rows):
            await let_others_run(done)
            event = stored(row)
            if damage := single_damage(self._key, event, row["previous"]):
                await self._refuse(damage)
            found.append(event)
        return found

    async def head(self, stream: StreamId) -> int:
        """The last seq; TamperedEvent if the stream is known to have been longer."""
        await self._known.learn([stream])
        known = self._known.seq(stream)  # Read first, so that concurrent appends do not look like a loss.
        rows = await self._rows("read_head", tenant=stream.tenant, stream=stream.name)
        seq = int(rows[0]["seq"]) if rows else 0
        if seq < known:
            await self._refuse(gone(stream, seq + 1))
        return seq

    async def _head(self, stream: StreamId) -> int:
        """The seq that the stream must reach: its head, or the last known one."""
        await self._known.learn([stream])
        rows = await self._rows("read_head", tenant=stream.tenant, stream=stream.name)
        return max(int(rows[0]["seq"]) if rows else 0, self._known.seq(stream))

    async def _refuse(self, damage: TamperedEvent) -> None:
        await self._refused(damage)
        raise damage

    async def _rows(self, name: str, **values: Any) -> list[dict[str, Any]]:
        return await repeated(self._pool, lambda connection: fetch(connection, name, **values))


def single_damage(key: bytes, event: StoredEvent, previous: bytes | None) -> TamperedEvent | None:
    """What is wrong with one event, given the previous link; None if nothing is."""
    header = event.header
    before = START if header.seq == 1 else previous
    if before is None:
        return gone(header.stream, header.seq - 1)
    return None if link(key, bytes(before), header, event.data) == event.link else unfit(header)


async def fetch(connection: Connection, name: str, **values: Any) -> list[dict[str, Any]]:
    cursor = await connection.execute(query(name), values, binary=True)
    return await cursor.fetchall()


def stored(row: Mapping[str, Any], stream: StreamId | None = None) -> StoredEvent:
    """A row of mnemolog.events; pass `stream` if it is known."""
    header = Header(
        stream or StreamId(row["tenant"], row["stream"]),
        row["seq"],
        row["event_id"],
        row["type"],
        row["version"],
        tuple(row["tags"]),
        row["meta"],
        row["occurred_at"],
        row["recorded_at"],
    )
    return StoredEvent(header, bytes(row["data"]), bytes(row["link"]))
