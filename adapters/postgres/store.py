"""Where a Postgres projection keeps its rows and its progress: a schema per projection and version (design §5)."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager

from sqlalchemy import (
    BigInteger,
    Column,
    ColumnElement,
    MetaData,
    Select,
    Table,
    Text,
    except_all,
    func,
    select,
    tuple_,
    union_all,
    update,
)
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.exc import InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.schema import CreateSchema, DropSchema, ExecutableDDLElement
from sqlalchemy.sql.compiler import DDLCompiler

from mnemolog.domain.errors import ProjectionPoisoned
from mnemolog.events.envelope import Recorded, StreamId
from mnemolog.projections.projector import Projector

_SELF = "progress"
progress_table = Table(
    "progress",
    MetaData(schema=_SELF),
    Column("tenant", Text, primary_key=True),
    Column("stream", Text, primary_key=True),
    Column("seq", BigInteger, nullable=False),
    Column("stopped_at", BigInteger),
    Column("reason", Text),
)


class PostgresSession:
    """One transaction; other workers wait for its streams."""

    def __init__(self, store: "PostgresStore", connection: AsyncConnection, progress: Mapping[StreamId, int]) -> None:
        self._store, self._connection, self._progress = store, connection, progress

    @property
    def progress(self) -> Mapping[StreamId, int]:
        return self._progress

    async def apply(self, events: Sequence[Recorded]) -> None:
        try:
            await self._store.projector.apply(self._connection, events)
        except OperationalError as error:
            if _over_a_limit(error):
                raise ProjectionPoisoned(f"Postgres refuses a row: {error.orig}", field=self._store.name) from error
            raise
        await self._store.save_progress(self._connection, {event.stream: event.seq for event in events})


class PostgresStore:
    """Implements `mnemolog.projections.projector.Store`. A `slot` other than "" is a shadow beside the live one."""

    transient: tuple[type[Exception], ...] = (OperationalError, InterfaceError, PoolTimeout, OSError)

    def __init__(self, engine: AsyncEngine, projector: Projector, slot: str = "") -> None:
        self.projector, self.name = projector, projector.name
        parts = ("mnemolog", projector.name, f"v{projector.version}", projector.variant, slot)
        self.schema = "_".join(part for part in parts if part)
        self.schemas = {projector.name: self.schema, _SELF: self.schema}
        self.engine = engine.execution_options(schema_translate_map=self.schemas)

    async def create(self) -> None:
        """Make the schema and its tables where they are not yet."""
        async with self.engine.begin() as connection:
            await connection.execute(advisory_lock(f"create {self.schema}"))
            await connection.execute(CreateSchema(self.schema, if_not_exists=True))
            await connection.run_sync(self.projector.tables.create_all)
            await connection.run_sync(progress_table.metadata.create_all)

    async def drop(self) -> None:
        """Forget everything that this projection holds; the log can rebuild it."""
        async with self.engine.begin() as connection:
            await connection.execute(DropSchema(self.schema, cascade=True, if_exists=True))

    @asynccontextmanager
    async def session(self, streams: Sequence[StreamId]) -> AsyncIterator[PostgresSession]:
        async with self.engine.begin() as connection:
            # A swap of schemas takes this lock alone, so that no write goes to tables that were just replaced.
            await connection.execute(advisory_lock(self.schema, shared=True))
            yield PostgresSession(self, connection, await self._claim(connection, streams))

    async def _claim(self, connection: AsyncConnection, streams: Sequence[StreamId]) -> dict[StreamId, int]:
        rows = [{"tenant": stream.tenant, "stream": stream.name, "seq": 0} for stream in sorted(streams)]
        await connection.execute(insert(progress_table).on_conflict_do_nothing(), rows)
        found = await connection.execute(
            select(progress_table)
            .where(_among(streams))
            .order_by(progress_table.c.tenant, progress_table.c.stream)
            .with_for_update()
        )
        return {StreamId(row.tenant, row.stream): row.seq for row in found if row.stopped_at is None}

    async def save_progress(self, connection: AsyncConnection, seqs: Mapping[StreamId, int]) -> None:
        rows = [{"tenant": stream.tenant, "stream": stream.name, "seq": seq} for stream, seq in seqs.items()]
        statement = insert(progress_table)
        await connection.execute(
            statement.on_conflict_do_update(index_elements=["tenant", "stream"], set_={"seq": statement.excluded.seq}),
            rows,
        )

    async def progress(self, stream: StreamId) -> int:
        async with self.engine.connect() as connection:
            found = await connection.execute(select(progress_table.c.seq).where(_among([stream])))
            return found.scalar_one_or_none() or 0

    async def all_progress(self) -> Mapping[StreamId, int]:
        async with self.engine.connect() as connection:
            rows = await connection.execute(select(progress_table))
            return {StreamId(row.tenant, row.stream): row.seq for row in rows}

    async def stop(self, stream: StreamId, seq: int, reason: str) -> None:
        async with self.engine.begin() as connection:
            await self._claim(connection, [stream])
            values = {"stopped_at": seq, "reason": reason[:2000]}
            await connection.execute(update(progress_table).where(_among([stream])).values(values))

    async def stopped(self) -> Mapping[StreamId, str]:
        async with self.engine.connect() as connection:
            rows = await connection.execute(select(progress_table).where(progress_table.c.stopped_at.is_not(None)))
            return {StreamId(row.tenant, row.stream): f"seq {row.stopped_at}: {row.reason}" for row in rows}

    async def resume(self) -> None:
        async with self.engine.begin() as connection:
            await connection.execute(update(progress_table).values(stopped_at=None, reason=None))


def _over_a_limit(error: OperationalError) -> bool:
    """An operational error (class 54, such as an index entry that is too long) that no repetition will cure."""
    return str(getattr(error.orig, "sqlstate", "")).startswith("54")


def advisory_lock(name: str, *, shared: bool = False) -> Select[tuple[None]]:
    """A statement that takes a lock by name until the end of the transaction."""
    take = func.pg_advisory_xact_lock_shared if shared else func.pg_advisory_xact_lock
    return select(take(func.hashtextextended(f"mnemolog {name}", 0)))


def _among(streams: Sequence[StreamId]) -> ColumnElement[bool]:
    names = [(stream.tenant, stream.name) for stream in streams]
    return tuple_(progress_table.c.tenant, progress_table.c.stream).in_(names)


async def swap(shadow: PostgresStore, live: PostgresStore, connection: AsyncConnection) -> None:
    """Put the shadow in the place of the live schema, inside the caller's short transaction.

    The old tables go in the same step: their end makes every prepared statement look its tables up anew.
    """
    await connection.execute(DropSchema(live.schema, cascade=True, if_exists=True))
    await connection.execute(_RenameSchema(shadow.schema, live.schema))


async def differing_rows(connection: AsyncConnection, one: PostgresStore, other: PostgresStore) -> dict[str, int]:
    """By table, how many rows stand in one store and not in the other; 0 everywhere when they are equal."""
    found: dict[str, int] = {}
    for table in (*one.projector.tables.sorted_tables, progress_table):
        left, right = (select(table.to_metadata(MetaData(), schema=store.schema)) for store in (one, other))
        both = (except_all(left, right).subquery(), except_all(right, left).subquery())
        counts = union_all(*(select(func.count()).select_from(rows) for rows in both))
        found[table.name] = sum((await connection.execute(counts)).scalars())
    return found


class _RenameSchema(ExecutableDDLElement):
    def __init__(self, source: str, target: str) -> None:
        self.names = (source, target)


@compiles(_RenameSchema)
def _rename_schema(element: _RenameSchema, compiler: DDLCompiler, **_: object) -> str:
    source, target = map(compiler.preparer.quote, element.names)
    return f"ALTER SCHEMA {source} RENAME TO {target}"
