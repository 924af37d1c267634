"""Where a Postgres projection keeps its rows and its progress: a schema per projection and version (design §5)."""

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import psycopg
from sqlalchemy import ColumnElement, Select, Table, delete, func, select, tuple_, update
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine
from sqlalchemy.schema import CreateSchema, DropSchema

from mnemolog.adapters.postgres import lagging
from mnemolog.adapters.postgres.claims import Beside, claim, claim_and_ask, nothing, save
from mnemolog.adapters.postgres.confinement import confine
from mnemolog.adapters.postgres.progress import (
    GOING,
    SELF,
    add_seal,
    is_stopped,
    progress_table,
    sealed_stop,
    skipped_table,
)
from mnemolog.domain.errors import ProjectionPoisoned, ServerFailed, TamperedRow
from mnemolog.events.envelope import Recorded, StreamId
from mnemolog.events.log import EventLog
from mnemolog.projections import forgetting
from mnemolog.projections.kinds import Need
from mnemolog.projections.projector import Lag, Projector, Skipped, Stop, reached_by
from mnemolog.projections.rows import fetch, stored, upsert
from mnemolog.projections.seal import seal_of

T = TypeVar("T")


class PostgresSession:
    """One projection's part of a transaction; other workers wait for its streams. Progress is saved at the end."""

    def __init__(self, store: "PostgresStore", connection: AsyncConnection, progress: Mapping[StreamId, int]) -> None:
        self._store, self._connection, self._progress = store, connection, progress
        self.reached: dict[StreamId, int] = {}

    @property
    def progress(self) -> Mapping[StreamId, int]:
        return self._progress

    async def apply(self, events: Sequence[Recorded], reached: Mapping[StreamId, int] | None = None) -> None:
        if events:
            await forgetting.apply(self._store.projector, self._connection, events)
        self.reached.update(reached_by(events) if reached is None else reached)

    async def reset(self, stream: StreamId) -> Collection[int]:
        await self._store.forget(self._connection, stream)
        self.reached[stream] = 0
        return {skipped["seq"] for skipped in await self._store.skips(self._connection, _of(skipped_table, [stream]))}

    async def move(self, stream: StreamId, seq: int) -> None:
        self.reached[stream] = seq


class PostgresStore:
    """Implements `mnemolog.projections.projector.Store`. A `slot` other than "" is a shadow beside the live one."""

    transient: tuple[type[Exception], ...] = (
        OperationalError,
        InterfaceError,
        PoolTimeout,
        psycopg.OperationalError,
        psycopg.InterfaceError,
        OSError,
    )

    def __init__(
        self, engine: AsyncEngine, projector: Projector, slot: str = "", writing: AsyncEngine | None = None
    ) -> None:
        self.projector, self.name, self.version = projector, projector.name, projector.version
        parts = ("mnemolog", projector.name, f"v{projector.version}", projector.variant, slot)
        self.schema = "_".join(part for part in parts if part)
        self.schemas = {projector.name: self.schema, SELF: self.schema}
        self.engine = engine.execution_options(schema_translate_map=self.schemas)
        self.writing = (writing or engine).execution_options(schema_translate_map=self.schemas)

    def need(self, event_type: str) -> Need:
        return self.projector.kinds.need(event_type)

    async def create(self) -> None:
        """Make the schema and its tables where they are not yet."""
        async with self.engine.begin() as connection:
            await connection.execute(advisory_lock(f"create {self.schema}"))
            await connection.execute(CreateSchema(self.schema, if_not_exists=True))
            await connection.run_sync(self.projector.tables.create_all)
            await confine(connection, self.schema, [table.name for table in self.projector.tables.sorted_tables])
            await connection.run_sync(progress_table.metadata.create_all)
            await connection.run_sync(add_seal, self.schema)

    async def drop(self) -> None:
        """Forget everything that this projection holds; the log can rebuild it."""
        async with self.engine.begin() as connection:
            await connection.execute(DropSchema(self.schema, cascade=True, if_exists=True))

    @asynccontextmanager
    async def session(self, streams: Sequence[StreamId]) -> AsyncIterator[PostgresSession]:
        async with sessions([self], streams, nothing) as ([session], _):
            yield session

    async def skips(self, connection: AsyncConnection, which: ColumnElement[bool]) -> Sequence[Mapping[str, Any]]:
        """Records of skipped events; TamperedRow when one of them is not this store's own."""
        found = await fetch(connection, skipped_table, select(*stored(skipped_table)).where(which))
        if any(row["projection"] != self.name for row in found):
            raise TamperedRow(self.name, skipped_table.name, {"projection": "of another"})
        return found

    async def forget(self, connection: AsyncConnection, stream: StreamId) -> None:
        """Delete every row of a stream, and begin its progress anew."""
        for table in self.projector.tables.sorted_tables:
            await connection.execute(
                delete(table).where(table.c.tenant == stream.tenant, table.c.user_id == stream.owner)
            )
        anew = {"seq": 0, **GOING}
        await connection.execute(update(progress_table).where(_of(progress_table, [stream])).values(anew))

    async def progress(self, stream: StreamId) -> int:
        return (await self.progress_of([stream]))[stream]

    async def progress_of(self, streams: Sequence[StreamId]) -> Mapping[StreamId, int]:
        held = progress_table.c
        wanted = select(held.tenant, held.stream, held.seq).where(_of(progress_table, streams))
        async with self.engine.connect() as connection:
            found = {StreamId(row.tenant, row.stream): row.seq for row in await connection.execute(wanted)}
        return {stream: found.get(stream, 0) for stream in streams}

    async def all_progress(self) -> Mapping[StreamId, int]:
        async with self.engine.connect() as connection:
            rows = await connection.execute(select(progress_table))
            return {StreamId(row.tenant, row.stream): row.seq for row in rows}

    async def lags(self, log: EventLog) -> bool:
        return await lagging.missing(self.engine, self.schema) != 0

    async def lagging(self, log: EventLog) -> AsyncIterator[Sequence[Lag]]:
        """The log stands in the same database: one join finds what lags, and nothing else comes back."""
        async for batch in lagging.lagging(self.engine, self.schema):
            yield batch

    async def stop(self, stream: StreamId, seq: int, reason: str) -> None:
        async with self.engine.begin() as connection:
            await claim(connection, [self.schema], [stream])
            values = sealed_stop(seal_of(connection), self.schema, stream.tenant, stream.name, seq, reason[:2000])
            await connection.execute(update(progress_table).where(_of(progress_table, [stream])).values(values))

    async def stopped(self) -> Mapping[StreamId, Stop]:
        async with self.engine.connect() as connection:
            rows = await connection.execute(select(progress_table).where(progress_table.c.stopped_at.is_not(None)))
            seal = seal_of(connection)
            return {
                StreamId(row["tenant"], row["stream"]): Stop(row["stopped_at"], row["reason"])
                for row in map(dict, rows.mappings())
                if is_stopped(seal, self.schema, row)
            }

    async def resume(self, streams: Collection[StreamId] | None = None) -> None:
        stopped = progress_table.c.stopped_at.is_not(None)
        which = stopped if streams is None else stopped & _of(progress_table, streams)
        async with self.engine.begin() as connection:
            await connection.execute(update(progress_table).where(which).values(GOING))

    async def skip(self, event: Skipped) -> bool:
        stream = event.stream
        row = {"tenant": stream.tenant, "stream": stream.name, "seq": event.seq, "event_id": event.event_id}
        about = {"type": event.type, "reason": event.reason[:2000], "at": event.at, "by": event.by}
        async with self.engine.begin() as connection:  # What an operator said is synced to disk, unlike rows.
            await claim(connection, [self.schema], [stream])
            next_one = _of(progress_table, [stream]) & (progress_table.c.seq == event.seq - 1)
            moved = {"seq": event.seq, **GOING}
            done = await connection.execute(update(progress_table).where(next_one).values(moved))
            if done.rowcount:
                await upsert(connection, skipped_table, [{**row, **about, "projection": self.name}])
            return bool(done.rowcount)

    async def skipped(self, limit: int = 100) -> Sequence[Skipped]:
        latest = select(skipped_table).order_by(skipped_table.c.at.desc(), skipped_table.c.seq.desc()).limit(limit)
        async with self.engine.connect() as connection:
            return [
                Skipped(StreamId(row.tenant, row.stream), row.seq, row.event_id, row.type, row.reason, row.at, row.by)
                for row in await connection.execute(latest)
            ]

    async def count_skipped(self) -> int:
        async with self.engine.connect() as connection:
            return (await connection.execute(select(func.count()).select_from(skipped_table))).scalar_one()


@asynccontextmanager
async def sessions(
    stores: Sequence[PostgresStore], streams: Sequence[StreamId], beside: Beside[T]
) -> AsyncIterator[tuple[list[PostgresSession], T]]:
    """One transaction for several projections of one database: all of their rows and progress, or nothing.

    And what `beside` asked for in the same round trip, once the streams were held.
    """
    schemas = {name: schema for store in stores for name, schema in store.schemas.items()}
    async with stores[0].writing.begin() as connection:
        await connection.execution_options(schema_translate_map=schemas)
        held, told = await claim_and_ask(connection, [store.schema for store in stores], streams, beside)
        opened = [PostgresSession(store, connection, progress) for store, progress in zip(stores, held, strict=True)]
        try:
            yield opened, told
            await save(connection, {store.schema: one.reached for store, one in zip(stores, opened, strict=True)})
        except DBAPIError as error:
            raise _judged(error, ", ".join(store.name for store in stores)) from error


# Class 54, such as an index entry that is too long: an operational error that no repetition will cure.
_OVER_A_LIMIT = "54"
# A replica, a right or a table that is missing: no event is at fault, and none may be set aside for it.
_UNFIT = frozenset({"25006", "42501", "42P01", "3F000"})


def _judged(error: DBAPIError, names: str) -> Exception:
    """What an error of a row's write means: a poisoned event, a store that will not take anything, or as it is."""
    state = str(getattr(error.orig, "sqlstate", None) or "")
    if state.startswith(_OVER_A_LIMIT):
        return ProjectionPoisoned(f"Postgres refuses a row: {error.orig}", field=names)
    if state in _UNFIT:
        reason = str(error.orig).splitlines()[0]
        return ServerFailed(f"Postgres cannot take the rows of {names}: {reason}", field="postgres_url")
    return error


async def exists(connection: AsyncConnection, schema: str) -> bool:
    """Whether there is a schema of this name."""
    return (await connection.execute(select(func.to_regnamespace(schema).is_not(None)))).scalar_one()


def advisory_lock(name: str, *, shared: bool = False) -> Select[tuple[None]]:
    """A statement that takes a lock by name until the end of the transaction."""
    take = func.pg_advisory_xact_lock_shared if shared else func.pg_advisory_xact_lock
    return select(take(func.hashtextextended(f"mnemolog {name}", 0)))


def _of(table: Table, streams: Collection[StreamId]) -> ColumnElement[bool]:
    names = [(stream.tenant, stream.name) for stream in streams]
    return tuple_(table.c.tenant, table.c.stream).in_(names)
