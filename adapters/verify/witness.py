"""Compares anchors and JetStream's copies of events with the log."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from mnemolog.adapters.postgres.pool import Connection, Pool
from mnemolog.adapters.verify.anchor import Anchor
from mnemolog.adapters.verify.damage import Damage, DamageKind, Part, Report
from mnemolog.adapters.verify.log_check import fetch
from mnemolog.events.chain import START, link
from mnemolog.events.envelope import StoredEvent, StreamId


@dataclass(frozen=True, slots=True)
class Sighting:
    """An event that was in the log at `at`: its position and link, and the event itself if a copy was kept."""

    stream: StreamId
    seq: int
    link: bytes
    at: datetime
    source: str
    event: StoredEvent | None = None


@dataclass(slots=True)
class Lost:
    """What the log lacks of one stream, or has otherwise (`forked`)."""

    first: Sighting
    last_seq: int
    forked: bool = False
    links: dict[int, bytes] = field(default_factory=dict)


class Witnesses:
    """`see` sightings in batches; `conclude` reports what the log no longer has.

    For events that do not match the chain, it records where else each was seen (`places`), and which links are genuine.
    """

    def __init__(self, pool: Pool, chain_key: bytes, report: Report, unfit: Collection[StoredEvent]) -> None:
        self._pool, self._key, self._report = pool, chain_key, report
        self._lost: dict[StreamId, Lost] = {}
        self._accepted: dict[StreamId, datetime] = {}
        self._unfit_ids = {event.header.event_id for event in unfit}
        self._unfit_places = {(event.header.stream, event.header.seq) for event in unfit}
        self.places: dict[str, tuple[StreamId, int]] = {}
        self.genuine: set[tuple[StreamId, int]] = set()

    def accept(self, anchor: Anchor) -> None:
        """An operator continued from these heads: earlier sightings of their streams do not count."""
        for head in anchor.heads:
            self._accepted[head.stream] = max(anchor.at, self._accepted.get(head.stream, anchor.at))

    async def see(self, sightings: Sequence[Sighting]) -> None:
        counted = [one for one in sightings if one.stream not in self._accepted or one.at > self._accepted[one.stream]]
        if not counted:
            return
        async with self._pool.connection() as connection:
            rows_at = await _rows_at(connection, [(one.stream, one.seq) for one in counted])
            for one in counted:
                await self._compare(connection, one, rows_at[one.stream, one.seq])

    async def conclude(self) -> None:
        """A stream that lost its end while others continued was truncated; otherwise the database is an older one."""
        if not self._lost:
            return
        async with self._pool.connection() as connection:
            [row] = await fetch(connection, "newest_record")
        for lost in self._lost.values():
            self._report.add(_damage(lost, row["at"]))

    async def _compare(self, connection: Connection, one: Sighting, row: Mapping[str, Any]) -> None:
        if one.event and one.event.header.event_id in self._unfit_ids:
            self.places[str(one.event.header.event_id)] = (one.stream, one.seq)
        if row["link"] is not None and bytes(row["link"]) == one.link:
            if (one.stream, one.seq) in self._unfit_places:
                self.genuine.add((one.stream, one.seq))
        elif row["link"] is not None and self._report.log_damaged(one.stream):
            return  # The chain has more details.
        elif row["link"] is not None or one.seq > row["head"]:  # The chain found a gap before the head.
            await self._lose(connection, one, forked=row["link"] is not None)

    async def _lose(self, connection: Connection, one: Sighting, *, forked: bool) -> None:
        lost = self._lost.get(one.stream)
        if one.event and not await self._chained(connection, one, lost):
            detail = "a copy of it was delivered, but no engine appended it: it was forged, and taken away since"
            event_id = str(one.event.header.event_id)
            self._report.add(Damage(Part.EVENT, DamageKind.FORGED, one.stream, detail, one.seq, event_id))
            return
        if lost is None:
            lost = self._lost[one.stream] = Lost(one, one.seq)
        lost.links[one.seq] = one.link
        lost.forked = lost.forked or forked
        lost.last_seq = max(lost.last_seq, one.seq)
        lost.first = min(lost.first, one, key=lambda sighting: sighting.seq)

    async def _chained(self, connection: Connection, one: Sighting, lost: Lost | None) -> bool:
        """Whether the copy matches the chain: the database may have been tampered with when it was published."""
        assert one.event is not None
        if not one.event.data:  # It was too large for a message.
            return True
        if lost and one.seq - 1 in lost.links:
            previous = lost.links[one.seq - 1]
        elif one.seq == 1:
            previous = START
        else:
            before = await _rows_at(connection, [(one.stream, one.seq - 1)])
            previous = bytes(before[one.stream, one.seq - 1]["link"] or b"")
        return link(self._key, previous, one.event.header, one.event.data) == one.link


async def _rows_at(
    connection: Connection, places: Sequence[tuple[StreamId, int]]
) -> Mapping[tuple[StreamId, int], Mapping[str, Any]]:
    columns = {
        "tenants": [stream.tenant for stream, _ in places],
        "streams": [stream.name for stream, _ in places],
        "seqs": [seq for _, seq in places],
    }
    rows = await fetch(connection, "links_at", **columns)
    return {(StreamId(row["tenant"], row["stream"]), row["seq"]): row for row in rows}


def _damage(lost: Lost, newest: datetime | None) -> Damage:
    first = lost.first
    event_id = str(first.event.header.event_id) if first.event else ""
    seen = f"{first.source} saw events up to {lost.last_seq}"
    if lost.forked:
        detail = f"{seen}; other events stand in their place: the log went on from an older copy"
        return Damage(Part.EVENT, DamageKind.ROLLED_BACK, first.stream, detail, first.seq, event_id)
    if newest is not None and newest > first.at:
        detail = f"{seen}; they are gone, while other streams went on"
        return Damage(Part.EVENT, DamageKind.TAIL_CUT, first.stream, detail, first.seq, event_id)
    detail = f"{seen}; nothing in the database is younger: it is an older copy"
    return Damage(Part.EVENT, DamageKind.ROLLED_BACK, first.stream, detail, first.seq, event_id)
