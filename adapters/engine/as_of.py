"""As of: replay one user's events up to a moment into temporary tables, for the same readers (X02)."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import datetime

from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from mnemolog.events.envelope import StreamId
from mnemolog.events.log import EventLog
from mnemolog.projections.projector import Projector

TEMPORARY = "pg_temp"


@asynccontextmanager
async def replayed(
    engine: AsyncEngine, log: EventLog, projectors: Sequence[Projector], stream: StreamId, point: datetime | int
) -> AsyncIterator[AsyncConnection]:
    """A connection on which the projections stand as they stood at `point`: a time, or a seq of the stream.

    No model is asked: embeddings come from the cache. The tables end with the transaction, and nobody else sees them.
    """
    until = await log.seq_at(stream, point) if isinstance(point, datetime) else point
    names = {projector.name: TEMPORARY for projector in projectors}
    async with engine.execution_options(schema_translate_map=names).connect() as connection:
        for projector in projectors:
            await connection.run_sync(projector.tables.create_all, checkfirst=False)
        async for batch in log.scan(stream, until=until):
            events = [log.decode(stored) for stored in batch]
            for projector in projectors:
                await projector.apply(connection, events)
        yield connection
        await connection.rollback()
