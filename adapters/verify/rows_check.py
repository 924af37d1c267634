"""Rows of projections against a replay of their streams into temporary tables, at the projection's own progress."""

from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from sqlalchemy import BigInteger, Column, MetaData, Select, Table, Text, and_, exists, select
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from mnemolog.adapters.engine.as_of import TEMPORARY
from mnemolog.adapters.postgres.store import PostgresStore, progress_table, skipped_table
from mnemolog.adapters.verify.damage import Damage, Kind, Part, Report
from mnemolog.adapters.verify.row_comparison import RowComparison, among
from mnemolog.domain.errors import MnemologError
from mnemolog.events.envelope import StoredEvent, StreamId
from mnemolog.events.log import EventLog, Head
from mnemolog.projections import forgetting
from mnemolog.projections.seal import key_of, seal_of

EVENTS_AT_ONCE = 5000
STREAMS_AT_ONCE = 200
BATCH = 1000

_log = MetaData(schema="mnemolog")
_heads, _events = (
    Table(name, _log, Column("tenant", Text), Column("stream", Text), Column("seq", BigInteger))
    for name in ("heads", "events")
)


class RowsCheck:
    """`run` compares all streams, or one; a stream whose log is damaged is left out."""

    def __init__(
        self,
        engine: AsyncEngine,
        log: EventLog,
        stores: Sequence[PostgresStore],
        report: Report,
        progressed: Callable[[int], None],
    ) -> None:
        self._engine, self._log, self._stores = engine, log, stores
        self._report, self._progressed = report, progressed
        self._comparisons = [RowComparison(store, report) for store in stores]

    async def run(self, only: StreamId | None = None) -> None:
        async with self._replaying() as connection:
            if only:
                await self._compare(connection, [Head(only, await self._log.head(only))])
            else:
                async for some in _gathered(self._log):
                    await self._compare(connection, some)
                await self._strangers(connection)
            await self._ahead(connection, only)

    @asynccontextmanager
    async def _replaying(self) -> AsyncIterator[AsyncConnection]:
        """A connection with temporary tables of every projection. They end with it: it does not go back to the pool."""
        names = {store.projector.name: TEMPORARY for store in self._stores}
        engine = self._engine.execution_options(schema_translate_map=names, isolation_level="REPEATABLE READ")
        async with engine.connect() as connection:
            try:
                for store in self._stores:
                    await connection.run_sync(store.projector.tables.create_all, checkfirst=False)
                await connection.commit()
                yield connection
            finally:
                await connection.invalidate()

    async def _compare(self, connection: AsyncConnection, some: Sequence[Head]) -> None:
        sound = [head for head in some if not self._report.log_damaged(head.stream)]
        try:
            await self._replay_and_compare(connection, sound)
        except MnemologError as error:
            await connection.rollback()
            if len(sound) > 1:  # Find out which of them it is.
                for head in sound:
                    await self._compare(connection, [head])
                return
            detail = f"its events cannot be replayed: {error.message}"
            self._report.add(Damage(Part.EVENT, Kind.CHANGED, sound[0].stream, detail))
        self._progressed(sum(head.seq for head in some))

    async def _replay_and_compare(self, connection: AsyncConnection, some: Sequence[Head]) -> None:
        streams = [head.stream for head in some]
        async with connection.begin() as transaction:
            progress = {store.name: await _progress(connection, store, streams) for store in self._stores}
            skipped = {store.name: await self._skipped(connection, store, streams) for store in self._stores}
            async for events in self._bundled(streams, progress):
                await self._apply(connection, events, progress, skipped)
            for comparison in self._comparisons:
                await comparison.compare(connection, streams)
            await transaction.rollback()

    async def _bundled(
        self, streams: Sequence[StreamId], progress: Mapping[str, Mapping[StreamId, int]]
    ) -> AsyncIterator[Sequence[StoredEvent]]:
        """The events that any projection has applied, of several streams at once: each step costs round trips."""
        bundle: list[StoredEvent] = []
        for stream in streams:
            reached = max(seqs.get(stream, 0) for seqs in progress.values())
            async for batch in self._log.scan(stream, until=reached, batch=BATCH):
                bundle += batch
                if len(bundle) >= BATCH:
                    yield bundle
                    bundle = []
        if bundle:
            yield bundle

    async def _apply(
        self,
        connection: AsyncConnection,
        batch: Sequence[StoredEvent],
        progress: Mapping[str, Mapping[StreamId, int]],
        skipped: Mapping[str, Collection[tuple[StreamId, int]]],
    ) -> None:
        events = await self._log.decode(batch)
        for store in self._stores:
            reached, left_out = progress[store.name], skipped[store.name]
            wanted = [
                one for one in events if one.seq <= reached.get(one.stream, 0) and (one.stream, one.seq) not in left_out
            ]
            if wanted:
                await forgetting.apply(store.projector, connection, wanted)

    async def _skipped(
        self, connection: AsyncConnection, store: PostgresStore, streams: Sequence[StreamId]
    ) -> Collection[tuple[StreamId, int]]:
        """What operators skipped; a forged word of theirs hides nothing."""
        table, seal = _live(skipped_table, store), seal_of(connection)
        found: set[tuple[StreamId, int]] = set()
        rows = await connection.execute(select(table).where(among(table, streams, "stream")))
        for row in map(dict, rows.mappings()):
            stream = StreamId(row["tenant"], row["stream"])
            if row["projection"] == store.name and seal.fits(skipped_table, row):
                found.add((stream, row["seq"]))
            else:
                detail, key = "no operator skipped this event", key_of(table, row)
                where = (row["seq"], str(row["event_id"]), store.name, skipped_table.name, key)
                self._report.add(Damage(Part.ROW, Kind.FORGED, stream, detail, *where))
        return found

    async def _strangers(self, connection: AsyncConnection) -> None:
        """Rows of users that the log does not know."""
        async with connection.begin():
            for comparison in self._comparisons:
                await comparison.compare_strangers(connection, _heads)

    async def _ahead(self, connection: AsyncConnection, only: StreamId | None) -> None:
        """A progress beyond the head would make the projection pass over what is appended next."""
        async with connection.begin():
            for store in self._stores:
                for row in await connection.execute(_ahead(_live(progress_table, store), only)):
                    detail = f"{store.name} says that it applied {row.seq}, which the log does not have"
                    key = {"tenant": row.tenant, "stream": row.stream}
                    stream = StreamId(row.tenant, row.stream)
                    self._report.add(
                        Damage(Part.ROW, Kind.CHANGED, stream, detail, row.seq, "", store.name, "progress", key)
                    )


def _live(table: Table, store: PostgresStore) -> Table:
    return table.to_metadata(MetaData(), schema=store.schema)


def _ahead(progress: Table, only: StreamId | None) -> Select[Any]:
    same = and_(*(_events.c[name] == progress.c[name] for name in ("tenant", "stream", "seq")))
    statement = select(progress.c.tenant, progress.c.stream, progress.c.seq).where(
        progress.c.seq > 0, ~exists().where(same)
    )
    return statement if only is None else statement.where(among(progress, [only], "stream"))


async def _progress(
    connection: AsyncConnection, store: PostgresStore, streams: Sequence[StreamId]
) -> Mapping[StreamId, int]:
    table = _live(progress_table, store)
    rows = await connection.execute(select(table).where(among(table, streams, "stream")))
    return {StreamId(row.tenant, row.stream): row.seq for row in rows}


async def _gathered(log: EventLog) -> AsyncIterator[Sequence[Head]]:
    """Heads in bundles of some thousand events."""
    bundle: list[Head] = []
    async for some in log.heads():
        for head in some:
            bundle.append(head)
            if len(bundle) >= STREAMS_AT_ONCE or sum(one.seq for one in bundle) >= EVENTS_AT_ONCE:
                yield bundle
                bundle = []
    if bundle:
        yield bundle
