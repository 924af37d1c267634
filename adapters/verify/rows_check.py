"""Verifies rows of projections by a replay into temporary tables, up to the head of the log."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from sqlalchemy import BigInteger, Column, ColumnElement, MetaData, Select, Table, Text, literal, select, text, tuple_
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from mnemolog.adapters.postgres import pauses
from mnemolog.adapters.postgres.as_of import TEMPORARY, WHILE_FILLING, create_tables, gather_statistics
from mnemolog.adapters.postgres.pool import BY_KEY
from mnemolog.adapters.postgres.progress import progress_table, skipped_table
from mnemolog.adapters.postgres.sqlalchemy import alone, connected
from mnemolog.adapters.postgres.store import PostgresStore
from mnemolog.adapters.verify.damage import Damage, DamageKind, Part, Report, Unverified
from mnemolog.adapters.verify.progress_check import AppliedProgress, applied_progress, live, rows_by_store
from mnemolog.adapters.verify.row_comparison import RowComparison
from mnemolog.adapters.verify.snapshot import snapshot
from mnemolog.domain.errors import MnemologError, TamperedEvent
from mnemolog.events.envelope import StoredEvent, StreamId
from mnemolog.events.log import EventLog, Head
from mnemolog.projections.applying import Step, TableWriter, apply, decoded
from mnemolog.projections.owner import OWNER, Owner, indexed, owner_of, stream_of
from mnemolog.projections.preparing import prepared
from mnemolog.projections.raw_sql import live_key
from mnemolog.projections.rows import among as wanted_among
from mnemolog.projections.rows import matches
from mnemolog.projections.runtime import Projection
from mnemolog.projections.seal import MAC
from mnemolog.projections.vectors.index import KEEPS

_logger = logging.getLogger("mnemolog.verify")

EVENTS_AT_ONCE = 5000
STREAMS_AT_ONCE = 200
BATCH = 1000
# Seconds before differences are compared again, each time in a new snapshot.
PAUSES = (0.0, 0.1, 0.3, 0.6)
UNFIT = (DamageKind.CHANGED, DamageKind.FORGED, DamageKind.COPIED)

_log = MetaData(schema="mnemolog")
_heads, _events = (
    Table(name, _log, Column("tenant", Text), Column("stream", Text), Column("seq", BigInteger))
    for name in ("heads", "events")
)
# Positions looked up in the log at once.
PAGE = 1000

# Whole tables are joined then.
_WHILE_COMPARING = text(
    "SELECT set_config(name, reset_val, true) FROM pg_settings WHERE name = ANY(:names)"
).bindparams(names=list(BY_KEY))

Place = tuple[Any, ...]

_KEPT = "replaying"  # In the `info` of a connection.


@dataclass(slots=True)
class _Kept:
    """Of a connection: the projections that it has temporary tables of, and how many events were replayed into them."""

    tables: set[str] = field(default_factory=set)
    events: int = 0


class RowsCheck:
    """`run` compares all streams, or one; streams with a damaged log are left out.

    A projection that lags is first caught up by its own runtime, as any engine would do; otherwise an attacker who sets
    its progress back would succeed. Differences are compared again before they are reported, because work continues
    meanwhile: an erasure destroys keys that an older snapshot still shows. Only a seal that does not match is proof at
    once. Without `bringing`, each projection is compared at its progress, and nothing is changed.
    """

    def __init__(
        self,
        engine: AsyncEngine,
        beside_log: AsyncEngine,
        log: EventLog,
        running: Mapping[str, Projection],
        report: Report,
        progressed: Callable[[int], None],
        *,
        bringing: bool = True,
    ) -> None:
        self._bringing = bringing
        self._engine, self._beside_log, self._log = engine, beside_log, log
        self._report, self._progressed = report, progressed
        self._stores = [one.store for one in running.values() if isinstance(one.store, PostgresStore)]
        self._running = [running[store.name] for store in self._stores]
        self._comparisons = [RowComparison(store) for store in self._stores]
        tables = [(store.name, table) for store in self._stores for table in store.projector.tables.sorted_tables]
        self._sealed = {(name, table.name) for name, table in tables if MAC in table.columns}
        self._paused: Collection[str] = ()
        self._retried: set[tuple[str, StreamId]] = set()
        self._proven: set[Place] = set()

    async def run(self, only: StreamId | None = None) -> None:
        await self._pauses()
        async with self._replaying() as connection:
            if only:
                await self._compare(connection, await self._head(only))
            else:
                async for some in _gathered(self._log):
                    await self._compare(connection, some)
                # Rows of users that the log does not know.
                async with snapshot(connection, self._stores):
                    for comparison in self._comparisons:
                        await comparison.compare_strangers(connection, self._unknown, self._report)
            await self._ahead(connection, only)

    async def examine(self, heads: Sequence[Head]) -> None:
        """Check only these streams."""
        await self._pauses()
        async with self._replaying() as connection:
            await self._compare(connection, heads)

    async def _head(self, only: StreamId) -> Sequence[Head]:
        try:
            return [Head(only, await self._log.head(only))]
        except TamperedEvent as damage:  # Known to be longer than the log: the witnesses report that.
            if not any(one.part is Part.HEAD and one.stream == only for one in self._report.damages):
                self._report.suspect(only)  # A wrong head says nothing about the events, and can be rewritten.
            _logger.warning("rows of %s are not compared: %s", only, damage.message)
            return []

    async def _pauses(self) -> None:
        self._paused = await pauses.paused(self._beside_log)
        for name in await pauses.forged(self._beside_log):
            detail = "no operator paused this projection"
            self._report.add(
                Damage(Part.ROW, DamageKind.FORGED, None, detail, 0, "", name, pauses.TABLE, {"name": name})
            )

    @asynccontextmanager
    async def _replaying(self) -> AsyncIterator[AsyncConnection]:
        """A connection with temporary tables of every projection, which each snapshot leaves empty.

        To create and drop them takes longer than to check a stream, so the next check uses it again. Rows that were
        rolled back still take up space: after some thousand events, or an error, it is closed.
        """
        names = {live_key(store.name): store.schema for store in self._stores}
        names.update({store.name: TEMPORARY for store in self._stores})
        options: dict[str, Any] = {"schema_translate_map": names, "isolation_level": "REPEATABLE READ", KEEPS: False}
        async with connected(self._engine.execution_options(**options)) as connection:
            kept = connection.info.setdefault(_KEPT, _Kept())
            try:
                lacking = [store for store in self._stores if store.name not in kept.tables]
                await create_tables(connection, [store.projector for store in lacking])
                kept.tables.update(store.name for store in lacking)
                yield connection
            except BaseException:
                await connection.invalidate()
                raise
            if kept.events > EVENTS_AT_ONCE:
                await connection.invalidate()

    async def _compare(self, connection: AsyncConnection, some: Sequence[Head]) -> None:
        heads = {head.stream: head.seq for head in some if not self._report.log_damaged(head.stream)}
        trial = await self._tried(connection, heads)
        rows = trial.rows
        for pause in PAUSES:
            self._keep(one for one in trial.damages if self._is_proof(one))
            if not (doubtful := {one.stream for one in trial.damages if one.stream and not self._is_proof(one)}):
                break
            if self._bringing:
                await self._catch_up(doubtful)
            await asyncio.sleep(pause)
            self._report.unverified += [one for one in trial.unverified if one.stream not in doubtful]
            trial = await self._tried(connection, {stream: heads[stream] for stream in sorted(doubtful)})
        self._keep(trial.damages)
        self._report.unverified += trial.unverified
        self._report.rows += rows
        self._progressed(sum(head.seq for head in some))

    def _is_proof(self, damage: Damage) -> bool:
        """Whether it would look the same at any other moment."""
        place = (damage.projection, damage.table)
        own = damage.table in (progress_table.name, skipped_table.name) or place in self._sealed
        return own and damage.kind in UNFIT

    def _keep(self, damages: Iterable[Damage]) -> None:
        for one in damages:
            place = (one.part, one.stream, one.projection, one.table, *one.key.items())
            if place not in self._proven:
                self._proven.add(place)
                self._report.add(one)

    async def _catch_up(self, streams: Collection[StreamId]) -> None:
        """Also retries a stop: the rows that the event conflicted with may have been forged."""
        for head in [found for stream in sorted(streams) for found in await self._head(stream)]:
            for projection in self._running:
                if projection.name not in self._paused:
                    await self._bring(projection, head.stream, head.seq)

    async def _bring(self, projection: Projection, stream: StreamId, head: int) -> None:
        try:
            if (projection.name, stream) not in self._retried:
                self._retried.add((projection.name, stream))
                await projection.store.resume([stream])
            await projection.read_on(stream, await projection.store.progress(stream), head)
        except projection.transient as error:
            _logger.warning("%s does not come to the head of %s: %s", projection.name, stream, type(error).__name__)

    async def _tried(self, connection: AsyncConnection, heads: Mapping[StreamId, int]) -> Report:
        """The result of one snapshot of these streams; of another one if a vector must be computed first."""
        return await prepared(partial(self._tried_once, connection, heads))

    async def _tried_once(self, connection: AsyncConnection, heads: Mapping[StreamId, int]) -> Report:
        trial = Report()
        try:
            async with snapshot(connection, self._stores):
                await self._replay_and_compare(connection, heads, trial)
            return trial
        except MnemologError as error:
            trial = Report()
            if len(heads) > 1:  # Find out which of them it is.
                for stream, seq in heads.items():
                    trial.take(await self._tried(connection, {stream: seq}))
                return trial
            detail = f"its events cannot be replayed: {error.message}"
            trial.add(Damage(Part.EVENT, DamageKind.CHANGED, next(iter(heads)), detail))
            return trial

    async def _replay_and_compare(
        self, connection: AsyncConnection, heads: Mapping[StreamId, int], trial: Report
    ) -> None:
        streams = list(heads)
        progress = await applied_progress(connection, self._stores, streams, trial)
        await connection.execute(WHILE_FILLING)
        bundles = 0
        async for events in self._bundled(streams, list(progress.values())):
            await self._apply(connection, events, progress)
            bundles += 1
            if bundles > 1 and bundles.bit_count() == 1:  # Each time there are twice as many rows.
                await gather_statistics(connection, [store.projector for store in self._stores])
        await connection.execute(_WHILE_COMPARING)
        for comparison in self._comparisons:
            await comparison.compare(connection, streams, trial)
        for name, one in progress.items():
            for stream, head in heads.items():
                if self._bringing and one.reached.get(stream, 0) < head:
                    self._add_lag(name, one, stream, head, trial)

    def _add_lag(self, name: str, found: AppliedProgress, stream: StreamId, head: int, trial: Report) -> None:
        seq = found.reached.get(stream, 0)
        if name in self._paused:
            trial.unverified.append(Unverified(name, stream, seq, "paused"))
        elif stream in found.stopped and (name, stream) in self._retried:
            trial.unverified.append(Unverified(name, stream, seq, "stopped"))
        else:
            detail, key = f"it stands at {seq}, the log at {head}", {"tenant": stream.tenant, "stream": stream.name}
            trial.add(Damage(Part.ROW, DamageKind.BEHIND, stream, detail, seq, "", name, progress_table.name, key))

    async def _bundled(
        self, streams: Sequence[StreamId], progress: Sequence[AppliedProgress]
    ) -> AsyncIterator[Sequence[StoredEvent]]:
        """The events that any projection has applied, of several streams per step, which saves round trips."""
        bundle: list[StoredEvent] = []
        for stream in streams:
            reached = max(one.reached.get(stream, 0) for one in progress)
            async for batch in self._log.scan(stream, until=reached, batch=BATCH):
                bundle += batch
                if len(bundle) >= BATCH:
                    yield bundle
                    bundle = []
        if bundle:
            yield bundle

    async def _apply(
        self, connection: AsyncConnection, batch: Sequence[StoredEvent], progress: Mapping[str, AppliedProgress]
    ) -> None:
        connection.info[_KEPT].events += len(batch)
        events = await decoded(self._log.decode, self._stores, batch)
        applied = {
            store: [one for one in batch if progress[store.name].applied(one.header.stream, one.header.seq)]
            for store in self._stores
        }
        await apply(
            [Step(store, TableWriter(store.projector, connection), some) for store, some in applied.items()], events
        )

    async def _ahead(self, connection: AsyncConnection, only: StreamId | None) -> None:
        """A progress beyond the head would make the projection skip what is appended next.

        Read before the log, which may be another database.
        """
        present: set[Place] = set()  # Most projections stand at the same events. At most two pages.
        async with snapshot(connection, self._stores), alone(self._beside_log) as log:
            async for name, places in self._positions(connection, only):
                wanted = [place for place in places if place not in present]
                absent = await _absent(log, _events, wanted)
                if len(present) < PAGE:
                    present.update(set(wanted).difference(absent))
                for tenant, stream, seq in absent:
                    detail = f"{name} says that it applied {seq}, which the log does not have"
                    key = {"tenant": tenant, "stream": stream}
                    found = (seq, "", name, progress_table.name, key)
                    self._report.add(Damage(Part.ROW, DamageKind.CHANGED, StreamId(tenant, stream), detail, *found))

    async def _positions(
        self, connection: AsyncConnection, only: StreamId | None
    ) -> AsyncIterator[tuple[str, Sequence[Place]]]:
        """The last events that each projection says that it applied, page by page."""
        if only is not None:
            for name, rows in (await rows_by_store(connection, self._stores, progress_table, [only])).items():
                yield name, [(row["tenant"], row["stream"], row["seq"]) for row in rows if row["seq"] > 0]
            return
        for store in self._stores:
            progress = live(progress_table, store).c
            columns = [progress.tenant, progress.stream, progress.seq]
            async for places in _pages(connection, select(*columns).where(progress.seq > 0), columns):
                yield store.name, places

    async def _unknown(self, connection: AsyncConnection, table: Table) -> list[Owner]:
        """The owners of rows whose stream the log does not know."""
        columns = indexed(table)
        pages = _pages(connection, select(*columns).distinct(), columns)
        found: list[Owner] = []
        async with self._beside_log.connect() as log:
            async for some in pages:
                streams = [stream_of(dict(zip(OWNER, one, strict=True))) for one in some]
                absent = await _absent(log, _heads, [(one.tenant, one.name) for one in streams])
                found += [owner_of(StreamId(*place)) for place in absent]
        return found


async def _pages(
    connection: AsyncConnection, statement: Select[Any], key: Sequence[ColumnElement[Any]]
) -> AsyncIterator[list[Place]]:
    """The rows in the order of the key, page by page."""
    left = statement
    while found := [tuple(row) for row in await connection.execute(left.order_by(*key).limit(PAGE))]:
        yield found
        left = statement.where(tuple_(*key) > tuple_(*map(literal, found[-1])))


async def _absent(log: AsyncConnection, table: Table, places: Sequence[Place]) -> list[Place]:
    """The positions that a table of the log does not have."""
    if not places:
        return []
    columns = list(table.columns)[: len(places[0])]
    wanted = wanted_among(columns, places)
    there = select(*columns).join_from(wanted, table, matches(columns, wanted)).where(table.c.seq > 0)
    found = {tuple(row) for row in await log.execute(there)}
    return [place for place in places if place not in found]


async def _gathered(log: EventLog) -> AsyncIterator[Sequence[Head]]:
    """Heads, grouped into some thousand events."""
    bundle: list[Head] = []
    async for some in log.heads():
        for head in some:
            bundle.append(head)
            if len(bundle) >= STREAMS_AT_ONCE or sum(one.seq for one in bundle) >= EVENTS_AT_ONCE:
                yield bundle
                bundle = []
    if bundle:
        yield bundle
