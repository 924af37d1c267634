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
"""Events by stream and seq, because imported events have the same ids as the exported ones."""


class Reader(Protocol):
    """Declares how much of an event it reads: a store, or the event types of a projector."""

    def need(self, event_type: str) -> Need: ...


class Writer(Protocol):
    """Receives events: a session of a store, or the tables of a replay."""

    async def apply(self, events: Sequence[Recorded], reached: Mapping[StreamId, int] | None = None) -> None: ...


@dataclass(frozen=True, slots=True)
class Step:
    """The next events for one read model, in order within each stream."""

    reader: Reader
    writer: Writer
    events: Sequence[StoredEvent]


def by_place(events: Iterable[Recorded]) -> Decoded:
    return {(one.stream, one.seq): one for one in events}


async def decoded(decode: Decode, readers: Sequence[Reader], events: Sequence[StoredEvent]) -> Decoded:
    """Decode the events that any of these readers needs, only as far as one of them needs."""
    read, shapes = to_read(readers, events)
    return by_place(await decode(read, shapes) if read else ())


async def apply(steps: Iterable[Step], events: Decoded) -> None:
    """Give each reader the events that it needs, and save its progress."""
    await side_by_side(step.writer.apply(_read(step, events), reached_by(step.events)) for step in steps if step.events)


def _read(step: Step, events: Decoded) -> list[Recorded]:
    read = {name for name in {one.header.type for one in step.events} if step.reader.need(name)}
    return [events[one.header.stream, one.header.seq] for one in step.events if one.header.type in read]


async def side_by_side(steps: Iterable[Awaitable[None]]) -> None:
    """Run the steps concurrently on one connection. All of them finish; then the first error, if any, is raised."""
    for outcome in await asyncio.gather(*steps, return_exceptions=True):
        if outcome is not None:
            raise outcome


def to_read(readers: Sequence[Reader], events: Sequence[StoredEvent]) -> tuple[list[StoredEvent], Collection[str]]:
    """The events that any of these readers needs, and the event types whose encrypted fields none of them needs."""
    types = {event.header.type for event in events}
    need = {one: max(reader.need(one) for reader in readers) for one in types}
    read = [event for event in events if need[event.header.type]]
    return read, {one for one, much in need.items() if much is Need.SHAPE}


class TableWriter:
    """Writes to a projector's tables on one connection. Events before the erasure of their user leave no rows.

    Every table of a projection begins with its owner, so projectors need no code for this (X07).
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
