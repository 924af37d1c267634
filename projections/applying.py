"""Applies events to read models: decode once for all of them, then write each.

Live deliveries, rebuilds, replays as of a moment and verification differ in where their events come from and in which
sessions take them. This step is the same for all.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from sqlalchemy import delete, tuple_
from sqlalchemy.ext.asyncio import AsyncConnection

from mnemolog.events.envelope import Recorded, StoredEvent, StreamId
from mnemolog.events.erasure import UserErased
from mnemolog.projections.kinds import Need
from mnemolog.projections.owner import indexed, owner_of
from mnemolog.projections.projector import Projector, reached_by

Decode = Callable[[Sequence[StoredEvent], Collection[str]], Awaitable[Sequence[Recorded]]]
Decoded = Mapping[tuple[StreamId, int], Recorded]
"""Events by their places: an imported user's have the ids of those that were exported."""


class Reader(Protocol):
    """What knows how much it reads of an event: a store, or the kinds of a projector."""

    def need(self, event_type: str) -> Need: ...


class Writer(Protocol):
    """What takes events: a session of a store, or the tables of a replay."""

    async def apply(self, events: Sequence[Recorded], reached: Mapping[StreamId, int] | None = None) -> None: ...


@dataclass(frozen=True, slots=True)
class Step:
    """The events that a read model takes next, each stream's in its order."""

    reader: Reader
    writer: Writer
    events: Sequence[StoredEvent]


def by_place(events: Iterable[Recorded]) -> Decoded:
    return {(one.stream, one.seq): one for one in events}


async def decoded(decode: Decode, readers: Sequence[Reader], events: Sequence[StoredEvent]) -> Decoded:
    """The events that any of these reads, opened no further than one of them needs."""
    read, shapes = to_read(readers, events)
    return by_place(await decode(read, shapes) if read else ())


async def apply(steps: Iterable[Step], events: Decoded) -> None:
    """Give each the events that it reads, and note how far it came."""
    await side_by_side(step.writer.apply(_read(step, events), reached_by(step.events)) for step in steps if step.events)


def _read(step: Step, events: Decoded) -> list[Recorded]:
    read = {name for name in {one.header.type for one in step.events} if step.reader.need(name)}
    return [events[one.header.stream, one.header.seq] for one in step.events if one.header.type in read]


async def side_by_side(steps: Iterable[Awaitable[None]]) -> None:
    """Steps on one connection: all come to their end, whatever one of them meets; then the first error is raised."""
    for outcome in await asyncio.gather(*steps, return_exceptions=True):
        if outcome is not None:
            raise outcome


def to_read(readers: Sequence[Reader], events: Sequence[StoredEvent]) -> tuple[list[StoredEvent], Collection[str]]:
    """The events that any of these reads, and of their types those whose shape is enough for all of them."""
    types = {event.header.type for event in events}
    need = {one: max(reader.need(one) for reader in readers) for one in types}
    read = [event for event in events if need[event.header.type]]
    return read, {one for one, much in need.items() if much is Need.SHAPE}


class TableWriter:
    """Writes to a projector's tables on one connection. What comes before the erasure of its user leaves nothing there.

    Every table of a projection begins with its owner, so no projector does this on its own (X07).
    """

    def __init__(self, projector: Projector, connection: AsyncConnection) -> None:
        self._projector, self._connection = projector, connection

    async def apply(self, events: Sequence[Recorded], reached: Mapping[StreamId, int] | None = None) -> None:
        erased = {event.stream: event.seq for event in events if isinstance(event.payload, UserErased)}
        owners = sorted(map(owner_of, erased))
        for table in self._projector.tables.sorted_tables if erased else ():
            await self._connection.execute(delete(table).where(tuple_(*indexed(table)).in_(owners)))
        if kept := [event for event in events if event.seq >= erased.get(event.stream, 0)]:
            await self._projector.apply(self._connection, kept)
