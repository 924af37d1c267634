"""A Postgres projection that can be rebuilt next to itself."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager

from sqlalchemy import Text, column, func, select, table, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine
from sqlalchemy.schema import DropSchema

from mnemolog.adapters.postgres.comparison import differing_rows
from mnemolog.adapters.postgres.confinement import admit
from mnemolog.adapters.postgres.ddl import Ddl
from mnemolog.adapters.postgres.locks import advisory_lock
from mnemolog.adapters.postgres.progress import progress_table
from mnemolog.adapters.postgres.sqlalchemy import in_schema, sqlstate
from mnemolog.adapters.postgres.statistics import gather
from mnemolog.adapters.postgres.store import SHADOW, PostgresStore
from mnemolog.events.envelope import StreamId
from mnemolog.projections.owner import Owner, owner_of

# Together less than `deadlock_timeout`, a second by default, for all tables of a projection.
LOCK_SECONDS = 0.1
LOCK_ATTEMPTS = 100
_TAKEN = frozenset({"55P03", "40P01"})


class RebuildablePostgres:
    """Implements `mnemolog.projections.rebuild.Rebuildable`."""

    def __init__(self, live: PostgresStore) -> None:
        self._live = live
        self._shadow = PostgresStore(
            live.engine, live.projector, SHADOW, live.writing, beside_log=live.beside_log if live.split else None
        )
        self._quiet: AsyncConnection | None = None
        self._compared: Mapping[StreamId, int] = {}
        self._found: Mapping[str, Counter[Owner]] = {}
        self.name = live.name

    @property
    def place(self) -> PostgresStore:
        """The shadow store, existing or not."""
        return self._shadow

    async def shadow(self) -> PostgresStore:
        """The empty store, or the one that a crash left.

        Autovacuum skips it until the swap: it took a tenth of the processor time, and its locks delay the comparison.
        """
        await self._live.recreate()
        await self._shadow.create()
        async with self._shadow.engine.begin() as connection:
            for one in self._tables():
                await connection.execute(Ddl("ALTER TABLE {} SET (autovacuum_enabled = off)", one))
        return self._shadow

    async def compare(self) -> None:
        """Compare on one snapshot of both; a stream that is further in one of them is left for `differences`.

        A previous version is not compared: it has another shape, and may have followed other rules.
        """
        async with self._shadow.engine.begin() as connection:
            await gather(connection, self._shadow.schema, self._shadow.projector.tables.sorted_tables)
        if await self._live.look():
            return
        async with self._live.engine.connect() as connection:
            await connection.execution_options(isolation_level="REPEATABLE READ")
            live, shadow = await self._progress(connection)
            self._compared = {stream: seq for stream, seq in live.items() if shadow.get(stream) == seq}
            self._found = await differing_rows(connection, self._live, self._shadow)

    @asynccontextmanager
    async def quiet(self) -> AsyncIterator[None]:
        async with self._live.engine.begin() as connection:
            await connection.execute(advisory_lock(self._live.schema))
            self._quiet = connection
            try:
                yield
            finally:
                self._quiet = None

    async def differences(self) -> Mapping[str, Counter[Owner]]:
        """The result of `compare`, computed again for streams that moved since."""
        if self._live.former:
            return {}
        live, shadow = await self._progress(self._locked_connection())
        moved = {owner_of(one) for one in {*live, *shadow} if self._compared.get(one) != live.get(one)}
        again = await differing_rows(self._locked_connection(), self._live, self._shadow, moved) if moved else {}
        counts = {
            name: Counter({owner: count for owner, count in found.items() if owner not in moved})
            + again.get(name, Counter())
            for name, found in self._found.items()
        }
        progress = Counter(owner_of(stream) for stream, _ in live.items() ^ shadow.items())
        return {**counts, progress_table.name: progress}

    async def swap(self) -> None:
        """Runs inside the caller's short transaction.

        The old tables are dropped in the same step, which makes every prepared statement resolve its tables again. The
        schema stays, and only its tables change: otherwise, a reader notified first of the dropped tables and later of
        the shadow's new schema name would look for them where they no longer are (ADR 5).
        """
        for one in self._tables():
            await self._locked_connection().execute(Ddl("ALTER TABLE {} RESET (autovacuum_enabled)", one))
        views, tables = [await _relations_of(self._locked_connection(), self._live.schema, kind) for kind in "vr"]
        if views or tables:
            await self._take([*views, *tables])
        for statement, places in (("DROP VIEW {} CASCADE", views), ("DROP TABLE {} CASCADE", tables)):
            if places:
                await self._locked_connection().execute(Ddl(statement, places))
        progress = [(self._shadow.schema, one.name) for one in progress_table.metadata.sorted_tables]
        for one in (*self._tables(), *progress):
            await self._locked_connection().execute(Ddl("ALTER TABLE {} SET SCHEMA {}", one, self._live.schema))
        await self._locked_connection().execute(DropSchema(self._shadow.schema, cascade=True))
        await admit(self._locked_connection(), self._live.schema)

    async def _take(self, places: list[tuple[str, str]]) -> None:
        """Lock all of these or none, in the end without a limit: a reader of one of them soon reads another, and both
        would wait for each other.
        """
        connection = self._locked_connection()
        for seconds in (*[LOCK_SECONDS] * LOCK_ATTEMPTS, 0):
            await connection.execute(text(f"SET LOCAL lock_timeout = '{seconds}s'"))
            try:
                async with connection.begin_nested():
                    await connection.execute(Ddl("LOCK TABLE {} IN ACCESS EXCLUSIVE MODE", places))
                break
            except DBAPIError as error:
                if not (seconds and sqlstate(error) in _TAKEN):
                    raise
            await asyncio.sleep(LOCK_SECONDS)
        await connection.execute(text("SET LOCAL lock_timeout = 0"))

    async def drop_former(self) -> Sequence[str]:
        """Drop the tables of other versions and other embedding models of the projection; returns their schemas."""
        former_one = await self._live.look()
        own = [self._live.schema, self._shadow.schema, *([former_one.schema] if former_one else [])]
        former = await self._drop_all(self._live.engine, but=own)
        if self._live.split:  # Rows from before projections had their own database.
            former += await self._drop_all(self._live.beside_log, but=())
        return former

    async def _drop_all(self, engine: AsyncEngine, but: Collection[str]) -> list[str]:
        name = column("nspname", Text)
        all_of_it = name.regexp_match(f"^mnemolog_{self.name}_v[0-9]+(_|$)") & name.not_in(but)
        async with engine.begin() as connection:
            schemas = table("pg_namespace", name, schema="pg_catalog")
            former = list((await connection.execute(select(name).select_from(schemas).where(all_of_it))).scalars())
            for schema in former:
                await connection.execute(DropSchema(schema, cascade=True, if_exists=True))
        return former

    async def _progress(self, connection: AsyncConnection) -> list[dict[StreamId, int]]:
        """The progress of the live store and of the shadow."""
        tables = [in_schema(progress_table, one.schema) for one in (self._live, self._shadow)]
        rows = [await connection.execute(select(one.c.tenant, one.c.stream, one.c.seq)) for one in tables]
        return [{StreamId(row.tenant, row.stream): row.seq for row in found} for found in rows]

    def _tables(self) -> Sequence[tuple[str, str]]:
        """The shadow's tables, with their schema."""
        return [(self._shadow.schema, one.name) for one in self._shadow.projector.tables.sorted_tables]

    def _locked_connection(self) -> AsyncConnection:
        assert self._quiet is not None, "inside quiet() only"
        return self._quiet


async def _relations_of(connection: AsyncConnection, schema: str, kind: str) -> list[tuple[str, str]]:
    """All tables or views in a schema, by name, including those of an older version of the projection."""
    name = column("relname", Text)
    relations = table("pg_class", name, column("relkind", Text), column("relnamespace", Text), schema="pg_catalog")
    there = (relations.c.relkind == kind) & (relations.c.relnamespace == func.to_regnamespace(schema))
    found = select(name).select_from(relations).where(there).order_by(name)
    return [(schema, one) for one in (await connection.execute(found)).scalars()]
