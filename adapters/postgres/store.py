"""The store of a Postgres projection: a schema per projection and version, with rows and progress (design §5)."""

import logging
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import cache
from typing import Any, TypeVar

import psycopg
from psycopg.sql import SQL, Identifier, Literal
from sqlalchemy import ColumnElement, Table, delete, func, select, text, update
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine
from sqlalchemy.schema import CreateSchema, DropSchema

from mnemolog.adapters.postgres import lagging
from mnemolog.adapters.postgres.claims import Beside, claim, claim_and_ask, nothing, save
from mnemolog.adapters.postgres.confinement import confine
from mnemolog.adapters.postgres.former import Former, candidates, former_of, reached_in, set_aside, show
from mnemolog.adapters.postgres.locks import advisory_lock
from mnemolog.adapters.postgres.progress import (
    GOING,
    SELF,
    add_seal,
    is_stopped,
    progress_table,
    sealed_stop,
    skipped_table,
)
from mnemolog.adapters.postgres.sqlalchemy import connected, sqlstate
from mnemolog.domain.errors import ProjectionPoisoned, ServerFailed, TamperedRow
from mnemolog.events.envelope import Recorded, StreamId
from mnemolog.events.log import EventLog
from mnemolog.projections.applying import TableWriter
from mnemolog.projections.former import FormerSchema
from mnemolog.projections.kinds import Need
from mnemolog.projections.owner import of_owner
from mnemolog.projections.projector import Lag, Projector, Skipped, Stop, reached_by
from mnemolog.projections.raw_sql import fetch_all, live_key
from mnemolog.projections.rows import any_of, fetch, stored, upsert
from mnemolog.projections.seal import seal_of

T = TypeVar("T")

SHADOW = "shadow"
# Events. While this model's vectors lack more than this, compared with another model's, the other's are read.
FAR_BEHIND = 1000
_SELECT_NOTHING = text("SELECT")
NOT_CONFIGURED = "no such model is configured; until the present ones are made, memories are found by their words"

_logger = logging.getLogger("mnemolog.projections")


class PostgresSession(TableWriter):
    """One projection's part of a transaction; other workers wait for its streams. Progress is saved at the end."""

    def __init__(
        self,
        store: "PostgresStore",
        connection: AsyncConnection,
        progress: Mapping[StreamId, int],
        projector: Projector | None = None,
    ) -> None:
        super().__init__(projector or store.projector, connection)
        self._store, self._progress = store, progress
        self.reached: dict[StreamId, int] = {}
        self._was_reset = False

    @property
    def progress(self) -> Mapping[StreamId, int]:
        return self._progress

    async def apply(self, events: Sequence[Recorded], reached: Mapping[StreamId, int] | None = None) -> None:
        await super().apply(events)
        if self._was_reset and not events:
            # A long stream is reapplied in one transaction, and Postgres ends one that is idle for ten seconds.
            await self._connection.execute(_SELECT_NOTHING)
        self.reached.update(reached_by(events) if reached is None else reached)

    async def reset(self, stream: StreamId) -> Collection[int]:
        await self._store.forget(self._connection, stream)
        self.reached[stream], self._was_reset = 0, True
        return {skipped["seq"] for skipped in await self._store.skips(self._connection, _of(skipped_table, [stream]))}

    async def move(self, stream: StreamId, seq: int) -> None:
        self.reached[stream] = seq


class PostgresStore:
    """Implements `mnemolog.projections.projector.Store`. A `slot` other than "" is a shadow beside the live one.

    `former` is the version that the schema shows until the current one is built; while there is one, each session
    checks again, because another process may have built it. `others` write to the tables of other variants.
    `beside_log` is given if the log is in another database.
    """

    transient: tuple[type[Exception], ...] = (
        OperationalError,
        InterfaceError,
        PoolTimeout,
        psycopg.OperationalError,
        psycopg.InterfaceError,
        OSError,
    )

    def __init__(
        self,
        engine: AsyncEngine,
        projector: Projector,
        slot: str = "",
        writing: AsyncEngine | None = None,
        others: Sequence[Projector] = (),
        beside_log: AsyncEngine | None = None,
    ) -> None:
        self.projector, self.name, self.version = projector, projector.name, projector.version
        self.projectors = {one.variant: one for one in (projector, *others)}
        self.slot, self.variants = slot, 1 + len(others)
        self.former: Former | None = None
        parts = [part for part in ("mnemolog", projector.name, f"v{projector.version}", projector.variant) if part]
        self.schema = "_".join([*parts, slot] if slot else parts)
        self.split, self.beside_log = beside_log is not None, beside_log or engine
        self.schemas = {projector.name: self.schema, live_key(projector.name): "_".join(parts), SELF: self.schema}
        self.engine = engine.execution_options(schema_translate_map=self.schemas)
        self.writing = (writing or engine).execution_options(schema_translate_map=self.schemas)

    def need(self, event_type: str) -> Need:
        return self.projector.kinds.need(event_type)

    async def create(self) -> None:
        """Create the schema and its tables if missing, or views of a previous version, if there is one."""
        async with self.engine.begin() as connection:
            await connection.execute(advisory_lock(f"create {self.schema}"))
            if not self.slot:
                await self._show_former(connection)
            self.former = await former_of(connection, self.projector, self.schema)
            if self.former is None:
                await self._create_tables(connection)

    async def recreate(self) -> None:
        """Recreate dropped tables; they are filled from the beginning of the log."""
        async with self.engine.begin() as connection:
            await connection.execute(advisory_lock(f"create {self.schema}"))
            if not await self.is_whole(connection):
                await self._create_tables(connection)

    async def is_whole(self, connection: AsyncConnection) -> bool:
        """Whether everything that readers and projectors need exists."""
        return not await absent(connection, self.tables)

    @property
    def tables(self) -> Collection[str]:
        """What readers and projectors need, with the schema."""
        tables = (*self.projector.tables.sorted_tables, *progress_table.metadata.sorted_tables)
        return [f"{self.schema}.{one.name}" for one in tables]

    async def look(self) -> Former | None:
        """The previous version that is shown now, if any. Once there was none, the database is not asked again."""
        if self.former:
            async with self.engine.connect() as connection:
                self.former = await former_of(connection, self.projector, self.schema)
        return self.former

    async def _show_former(self, connection: AsyncConnection) -> None:
        """Show one unless the current version exists and is not far behind, as after using another model."""
        there = await self.is_whole(connection)
        if there and (await former_of(connection, self.projector, self.schema) or self.variants == 1):
            return
        own = await reached_in(connection, self.schema) if there else -FAR_BEHIND
        for one in await candidates(connection, self.projector, {self.schema}):
            if await reached_in(connection, one.schema) <= own + FAR_BEHIND:
                return
            if one.variant not in self.projectors:
                _logger.warning("%s of %s cannot be read: %s", self.name, one.shown, NOT_CONFIGURED)
                continue
            if there:
                await set_aside(connection, self.schema, f"{self.schema}_{SHADOW}")
            if await show(connection, self.projector, one, self.schema):
                return
            _logger.warning("%s is built from the log: %s is not as it should be", self.name, one.schema)
            return

    async def _create_tables(self, connection: AsyncConnection) -> None:
        if not await self.is_whole(connection):  # Its progress is not valid without the missing tables.
            await connection.execute(DropSchema(self.schema, cascade=True, if_exists=True))
        await connection.execute(CreateSchema(self.schema, if_not_exists=True))
        await connection.run_sync(self.projector.tables.create_all)
        await confine(connection, self.schema, [table.name for table in self.projector.tables.sorted_tables])
        await connection.run_sync(progress_table.metadata.create_all)
        await connection.run_sync(add_seal, self.schema)

    async def drop(self) -> None:
        """Delete everything that this projection holds; the log can rebuild it."""
        async with self.engine.begin() as connection:
            await connection.execute(DropSchema(self.schema, cascade=True, if_exists=True))

    @asynccontextmanager
    async def session(self, streams: Sequence[StreamId]) -> AsyncIterator[PostgresSession]:
        async with sessions([self], streams, nothing) as ([session], _):
            yield session

    async def skips(self, connection: AsyncConnection, which: ColumnElement[bool]) -> Sequence[Mapping[str, Any]]:
        """Records of skipped events; TamperedRow if one of them was not written by this store."""
        found = await fetch(connection, skipped_table, select(*stored(skipped_table)).where(which))
        if any(row["projection"] != self.name for row in found):
            raise TamperedRow(self.name, skipped_table.name, {"projection": "of another"})
        return found

    async def forget(self, connection: AsyncConnection, stream: StreamId) -> None:
        """Delete every row of a stream, and reset its progress."""
        for table in self.projector.tables.sorted_tables:
            await connection.execute(delete(table).where(of_owner(table, stream)))
        start = {"seq": 0, **GOING}
        await connection.execute(update(progress_table).where(_of(progress_table, [stream])).values(start))

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
        return await lagging.missing(self.engine, self.beside_log, self.schema) != 0

    async def lagging(self, log: EventLog) -> AsyncIterator[Sequence[Lag]]:
        find = lagging.lagging_apart if self.split else lagging.lagging
        async for batch in find(self.engine, self.beside_log, self.schema):
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
        async with self.engine.begin() as connection:  # Operators' decisions are synced to disk, unlike rows.
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


# As `create` leaves them: readers are confined, and stops have a seal.
_MADE = text("""
SELECT wanted FROM unnest(CAST(:tables AS text[])) AS wanted JOIN pg_class AS made ON made.oid = to_regclass(wanted)
WHERE relkind = 'r' AND (relrowsecurity OR wanted ~ :beside) AND (wanted !~ :beside OR EXISTS (
    SELECT FROM pg_attribute WHERE attrelid = made.oid AND attname = 'mac'
))
""")


async def created(connection: AsyncConnection, stores: Sequence[PostgresStore]) -> Collection[PostgresStore]:
    """The stores, of those with one variant, that have tables of their own to which `create` would add nothing."""
    beside = "[.](" + "|".join(one.name for one in progress_table.metadata.sorted_tables) + ")$"
    wanted = {"tables": [table for store in stores for table in store.tables], "beside": beside}
    made = set((await connection.execute(_MADE, wanted)).scalars())
    return [store for store in stores if store.variants == 1 and made.issuperset(store.tables)]


_ABSENT = text("SELECT wanted FROM unnest(CAST(:tables AS text[])) AS wanted WHERE to_regclass(wanted) IS NULL")


async def absent(connection: AsyncConnection, tables: Collection[str]) -> Collection[str]:
    """Those of the tables that do not exist."""
    return list((await connection.execute(_ABSENT, {"tables": list(tables)})).scalars())


@asynccontextmanager
async def sessions(
    stores: Sequence[PostgresStore], streams: Sequence[StreamId], beside: Beside[T]
) -> AsyncIterator[tuple[list[PostgresSession], T]]:
    """One transaction for several projections of one database: all of their rows and progress, or nothing.

    Includes what `beside` asked in the same round trip, once the streams were locked.
    """
    schemas = {name: schema for store in stores for name, schema in store.schemas.items()}
    async with stores[0].writing.begin() as connection:
        await connection.execution_options(schema_translate_map=schemas)
        held, told = await claim_and_ask(connection, [store.schema for store in stores], streams, beside)
        opened = [
            await _opened(store, connection, progress, schemas) for store, progress in zip(stores, held, strict=True)
        ]
        try:
            yield opened, told
            await save(connection, {store.schema: one.reached for store, one in zip(stores, opened, strict=True)})
        except DBAPIError as error:
            raise _judged(error, stores) from error


async def _opened(
    store: PostgresStore, connection: AsyncConnection, progress: Mapping[StreamId, int], schemas: dict[str, str]
) -> PostgresSession:
    """A session on what the schema shows now, which no swap changes until the transaction ends.

    What a previous version cannot hold is written to the shadow only.
    """
    if store.former:
        store.former = await former_of(connection, store.projector, store.schema)
    if store.former is None:
        return PostgresSession(store, connection, progress)
    former = store.former
    schemas[store.name] = FormerSchema(store.schema, former.schema, former.version)
    await connection.execution_options(schema_translate_map=schemas)
    held = {stream: seq for stream, seq in progress.items() if former.holds(stream, store.projector)}
    return PostgresSession(store, connection, held, store.projectors[former.variant])


# Class 54, such as an index entry that is too long: an operational error that retrying does not fix.
_OVER_A_LIMIT = "54"
# A replica, or a missing right or table: no event is at fault, and none may be stopped for it.
_UNFIT = frozenset({"25006", "42501", "42P01", "3F000"})


def _judged(error: DBAPIError, stores: Sequence[PostgresStore]) -> Exception:
    """The meaning of an error of a write: a poisoned event, an unusable store, or the error itself."""
    names = ", ".join(store.name for store in stores)
    state = sqlstate(error)
    if state.startswith(_OVER_A_LIMIT):
        return ProjectionPoisoned(f"Postgres refuses a row: {error.orig}", field=names)
    if state in _UNFIT:
        reason = str(error.orig).splitlines()[0]
        setting = "projections_url" if stores[0].split else "postgres_url"
        return ServerFailed(f"Postgres cannot store the rows of {names}: {reason}", field=setting)
    return error


def _of(table: Table, streams: Collection[StreamId]) -> ColumnElement[bool]:
    names = [(stream.tenant, stream.name) for stream in streams]
    return any_of([table.c.tenant, table.c.stream], names)


async def progress_in(
    stores: Sequence[PostgresStore], streams: Sequence[StreamId]
) -> Mapping[str, Mapping[StreamId, int]]:
    """The progress of each of these stores, which share an engine, in each stream, in one query."""
    reached: dict[str, dict[StreamId, int]] = {store.name: dict.fromkeys(streams, 0) for store in stores}
    query = _progress_in(tuple((store.name, store.schema) for store in stores))
    values = [[one.tenant for one in streams], [one.name for one in streams]]
    async with connected(stores[0].engine.execution_options(isolation_level="AUTOCOMMIT")) as connection:
        for name, tenant, stream, seq in await fetch_all(connection, query, values):
            reached[name][StreamId(tenant, stream)] = seq
    return reached


@cache
def _progress_in(stores: tuple[tuple[str, str], ...]) -> bytes:
    """For projections by name and schema; SQLAlchemy would write the statement again for each read."""
    one = SQL("SELECT {}, held.tenant, held.stream, held.seq FROM wanted JOIN {} AS held USING (tenant, stream)")
    wanted = SQL("WITH wanted AS (SELECT * FROM unnest(%s::text[], %s::text[]) AS wanted (tenant, stream)) ")
    tables = ((name, Identifier(schema, progress_table.name)) for name, schema in stores)
    return (wanted + SQL(" UNION ALL ").join(one.format(Literal(name), table) for name, table in tables)).as_bytes()


async def progress_written(stores: Sequence[PostgresStore]) -> Mapping[str, int]:
    """How often the progress of each of these stores was written, in whatever stream, as Postgres counts it.

    The count lags by up to a second.
    """
    counted = text(
        "SELECT schemaname, n_tup_ins + n_tup_upd FROM pg_stat_all_tables"
        " WHERE relname = :progress AND schemaname = ANY(:schemas)"
    )
    about = {"progress": progress_table.name, "schemas": [store.schema for store in stores]}
    async with connected(stores[0].engine.execution_options(isolation_level="AUTOCOMMIT")) as connection:
        counts = {row[0]: row[1] for row in await connection.execute(counted, about)}
    return {store.name: counts.get(store.schema, 0) for store in stores}
