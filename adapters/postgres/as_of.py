"""As of: one user's events replayed up to a moment, into temporary tables or a session, for the same readers (X02).

By the projectors themselves and in the batches of a rebuild (ADR 18, ADR 37). No model is asked for a text whose
embedding is kept. The tables are the connection's own: nobody else sees them, and they end with it.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import lru_cache, partial
from typing import Any, TypeVar
from uuid import UUID

from pgvector.sqlalchemy import HALFVEC
from sqlalchemy import LargeBinary, MetaData, Table, text
from sqlalchemy.dialects import postgresql
from sqlalchemy.dialects.postgresql import TSVECTOR
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlalchemy.schema import CreateIndex, CreateTable, ExecutableDDLElement

from mnemolog.adapters.postgres.ddl import Ddl
from mnemolog.adapters.postgres.pool import BY_KEY
from mnemolog.adapters.postgres.sqlalchemy import in_schema
from mnemolog.domain.session import Session
from mnemolog.events.envelope import Recorded, StoredEvent, StreamId
from mnemolog.events.graph import RelationAsserted, RelationErased
from mnemolog.events.log import EventLog
from mnemolog.projections.applying import Decoded, Step, TableWriter, apply, decoded
from mnemolog.projections.graph.tables import NAME as GRAPH
from mnemolog.projections.kinds import Kinds
from mnemolog.projections.preparing import prepared
from mnemolog.projections.projector import Projector
from mnemolog.projections.seal import JsonText, RowSeal
from mnemolog.projections.working.projector import KINDS as OF_SESSIONS
from mnemolog.projections.working.projector import SessionPlace, fold

T = TypeVar("T")

TEMPORARY = "pg_temp"
# Events. Small enough that other work on the loop does not wait long.
PORTION = 1000
# Events decoded at a time, between which Postgres is sent the next statement of the portion before.
PIECE = 64

WHILE_FILLING = text("SELECT " + ", ".join(f"set_config('{name}', '{value}', true)" for name, value in BY_KEY.items()))
_DIALECT = postgresql.dialect()  # type: ignore[no-untyped-call]
# Statistics of words and embeddings take longer than all others.
_NEVER_COMPARED = (TSVECTOR, HALFVEC, LargeBinary, JsonText)
_SMALL_SAMPLE = text("SET LOCAL default_statistics_target = 20")


class NoSeal(RowSeal):
    """For tables that no other session can write to, so that no row can be forged."""

    seals = False

    def __init__(self) -> None:
        super().__init__(b"")

    def mac(self, table: Table, row: Mapping[str, Any]) -> bytes:
        return b""

    def _mac(self, shape: object, values: Sequence[Any]) -> bytes:
        return b""

    def fits(self, table: Table, row: Mapping[str, Any]) -> bool:
        return True

    def knows(self, table: Table, row: Mapping[str, Any]) -> bool:
        return True


async def create_tables(connection: AsyncConnection, projectors: Sequence[Projector]) -> None:
    """Create the temporary tables of these projections, in one round trip."""
    if projectors:
        await connection.exec_driver_sql(";".join(_statements(projector.tables) for projector in projectors))
        await connection.commit()


@lru_cache
def _statements(tables: MetaData) -> str:
    """Compiled once, which takes longer than running them."""
    made: list[str] = []
    for table in tables.sorted_tables:
        temporary = in_schema(table, TEMPORARY)
        indexes = sorted(temporary.indexes, key=lambda one: str(one.name))
        elements: list[ExecutableDDLElement] = [CreateTable(temporary), *map(CreateIndex, indexes)]
        made += [str(element.compile(dialect=_DIALECT)) for element in elements]
    return ";".join(made)


async def fill(
    connection: AsyncConnection, log: EventLog, projectors: Sequence[Projector], stream: StreamId, until: int
) -> None:
    """Fill the tables of these projections up to seq `until`, one transaction per batch of events.

    A batch for which a vector is missing is run again with it: the model takes longer than the rows. After an error the
    tables are unusable. Facts that have been erased since are erased there too (X07): unlike other rows, theirs say
    something without their text.
    """
    await create_tables(connection, projectors)
    writers = [(projector.kinds, TableWriter(projector, connection)) for projector in projectors]

    async def write(batch: Sequence[StoredEvent], events: Decoded) -> None:
        async with connection.begin():
            await connection.execute(WHILE_FILLING)
            await apply([Step(kinds, writer, batch) for kinds, writer in writers], events)

    portions, erased = 0, dict[UUID, Recorded]()
    async for batch, events in _one_ahead(_decoded(log, stream, until, [kinds for kinds, _ in writers])):
        if portions.bit_count() == 1 and portions.bit_length() % 2:  # Each time there are four times as many rows.
            await gather_statistics(connection, projectors)
            await connection.commit()
        await prepared(partial(write, batch, events))
        portions += 1
        _note_erasures(erased, events.values())
    for projector, (_, writer) in zip(projectors, writers, strict=True):
        if erased and projector.name == GRAPH:
            await writer.apply(list(erased.values()))
    await gather_statistics(connection, projectors)
    await connection.commit()


def _note_erasures(erased: dict[UUID, Recorded], events: Iterable[Recorded]) -> None:
    """Add the erasure of each fact whose text has been destroyed, unless the events contain it."""
    for event in events:
        payload = event.payload
        if isinstance(payload, RelationAsserted) and event.erased:
            erased[payload.relation_id] = replace(event, payload=RelationErased(relation_id=payload.relation_id))
        elif isinstance(payload, RelationErased):
            erased.pop(payload.relation_id, None)


async def gather_statistics(connection: AsyncConnection, projectors: Sequence[Projector]) -> None:
    """Without statistics, any index on the user looks as good as the primary key, and every lookup reads all its rows.

    Autovacuum does not see temporary tables.
    """
    if projectors:
        await connection.execute(_SMALL_SAMPLE)  # With what was deferred, which is sent in a pipeline: one by one.
        await connection.exec_driver_sql(";".join(_gathering(projector.tables) for projector in projectors))


@lru_cache
def _gathering(tables: MetaData) -> str:
    made: list[str] = []
    for table in tables.sorted_tables:
        columns = [column.name for column in table.columns if not isinstance(column.type, _NEVER_COMPARED)]
        made.append(str(Ddl("ANALYZE {} ({})", (TEMPORARY, table.name), columns).compile(dialect=_DIALECT)))
    return ";".join(made)


async def session_at(log: EventLog, place: SessionPlace, until: int, at: datetime | None) -> Session | None:
    """The session of a place at seq `until`, or at that time; None if it had ended, was deleted or never began."""
    session: Session | None = None
    last = datetime.min.replace(tzinfo=UTC)
    async for _, events in _decoded(log, place.stream, until, [OF_SESSIONS]):
        after = fold({place: session} if session else {}, list(events.values()))
        if place in after:
            session = kept[0] if (kept := after[place]) else None
    if at is None and until:
        [last_event] = await log.read(place.stream, after=until - 1, until=until)
        last = last_event.recorded_at
    shown = session.shown() if session else None
    return shown.read_at(at or last) if shown else None


async def _one_ahead(batches: AsyncIterator[T]) -> AsyncIterator[T]:
    """Prepare the next batch while Postgres writes the current one."""
    making = asyncio.ensure_future(anext(batches, None))
    try:
        while (batch := await making) is not None:
            making = asyncio.ensure_future(anext(batches, None))
            yield batch
    finally:
        making.cancel()
        await asyncio.wait([making])


async def _decoded(
    log: EventLog, stream: StreamId, until: int, kinds: Sequence[Kinds]
) -> AsyncIterator[tuple[Sequence[StoredEvent], Decoded]]:
    portion: list[StoredEvent] = []
    events: dict[tuple[StreamId, int], Recorded] = {}
    async for piece in log.scan(stream, until=until, batch=PIECE):
        portion += piece
        events.update(await decoded(log.decode, kinds, piece))
        if len(portion) >= PORTION:
            yield portion, events
            portion, events = [], {}
    if portion:
        yield portion, events
