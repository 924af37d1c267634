"""As of: replay one user's events up to a moment, into temporary tables or a session, for the same readers (X02)."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime

from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from mnemolog.domain import identity
from mnemolog.domain.session import Session
from mnemolog.events.envelope import Recorded, StreamId
from mnemolog.events.log import EventLog
from mnemolog.projections import forgetting
from mnemolog.projections.projector import Projector
from mnemolog.projections.working.projector import Place, fold

TEMPORARY = "pg_temp"


@asynccontextmanager
async def replayed(
    engine: AsyncEngine, log: EventLog, projectors: Sequence[Projector], stream: StreamId, point: datetime | int
) -> AsyncIterator[AsyncConnection]:
    """A connection on which the projections stand as they stood at `point`: a time, or a seq of the stream.

    No model is asked: embeddings come from the cache. The tables end with the transaction, and nobody else sees them.
    """
    until = await seq_of(log, stream, point)
    names = {projector.name: TEMPORARY for projector in projectors}
    async with engine.execution_options(schema_translate_map=names).connect() as connection:
        for projector in projectors:
            await connection.run_sync(projector.tables.create_all, checkfirst=False)
        async for events in _decoded(log, stream, until):
            for projector in projectors:
                await forgetting.apply(projector, connection, events)
        yield connection
        await connection.rollback()


async def session_at(log: EventLog, place: Place, point: datetime | int) -> Session | None:
    """The session of a place as it stood at `point`; None when there was none or it had ended."""
    session: Session | None = None
    last = datetime.min.replace(tzinfo=UTC)
    async for events in _decoded(log, place.stream, await seq_of(log, place.stream, point)):
        after = fold({place: session} if session else {}, events)
        if place in after:
            session = kept[0] if (kept := after[place]) else None
        last = events[-1].recorded_at
    now = point if isinstance(point, datetime) else last
    return None if session is None or session.expired(now) else session


async def seq_of(log: EventLog, stream: StreamId, point: datetime | int) -> int:
    """The last event of a stream at a moment."""
    return await log.seq_at(stream, identity.aware(point, "as_of")) if isinstance(point, datetime) else point


async def _decoded(log: EventLog, stream: StreamId, until: int) -> AsyncIterator[Sequence[Recorded]]:
    async for batch in log.scan(stream, until=until):
        yield await log.decode(batch)
