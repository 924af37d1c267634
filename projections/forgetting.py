"""What an erased user takes along in every Postgres projection: all rows that were his (X07)."""

from collections.abc import Sequence

from sqlalchemy import delete, tuple_
from sqlalchemy.ext.asyncio import AsyncConnection

from mnemolog.events.envelope import Recorded
from mnemolog.events.erasure import UserErased
from mnemolog.projections.owner import indexed, owner_of
from mnemolog.projections.projector import Projector


async def apply(projector: Projector, connection: AsyncConnection, events: Sequence[Recorded]) -> None:
    """Apply events to a projector's tables. What comes before the erasure of its user leaves nothing there.

    Every table of a projection begins with its owner, so no projector does this on its own.
    """
    erased = {event.stream: event.seq for event in events if isinstance(event.payload, UserErased)}
    if not erased:
        await projector.apply(connection, events)
        return
    owners = sorted(map(owner_of, erased))
    for table in projector.tables.sorted_tables:
        await connection.execute(delete(table).where(tuple_(*indexed(table)).in_(owners)))
    await projector.apply(connection, [event for event in events if event.seq >= erased.get(event.stream, 0)])
