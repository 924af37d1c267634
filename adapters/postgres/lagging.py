"""The lag of a projection: heads of the log compared with its progress."""

from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import datetime
from functools import cache

from psycopg.sql import SQL, Identifier
from sqlalchemy import (
    BigInteger,
    Column,
    DateTime,
    MetaData,
    RowMapping,
    Table,
    Text,
    and_,
    exists,
    func,
    literal,
    select,
    true,
    tuple_,
)
from sqlalchemy.ext.asyncio import AsyncEngine

from mnemolog.adapters.postgres.progress import is_stopped, progress_table
from mnemolog.adapters.postgres.sqlalchemy import alone
from mnemolog.events.envelope import Position, StreamId
from mnemolog.projections.projector import Lag
from mnemolog.projections.raw_sql import fetch_all
from mnemolog.projections.rows import among, matches
from mnemolog.projections.seal import OPTION as SEAL

BATCH = 1000

_log = MetaData(schema="mnemolog")
_heads = Table("heads", _log, Column("tenant", Text), Column("stream", Text), Column("seq", BigInteger))
_events = Table(
    "events",
    _log,
    Column("tenant", Text),
    Column("stream", Text),
    Column("seq", BigInteger),
    Column("recorded_at", DateTime(timezone=True)),
)
_SAME = and_(progress_table.c.tenant == _heads.c.tenant, progress_table.c.stream == _heads.c.stream)
# Built once: each projection runs these every two seconds, and more often while it settles.
_APPLIED = select(func.coalesce(func.sum(progress_table.c.seq), 0).label("applied")).subquery("sums")
_ASIDE = select(progress_table).where(progress_table.c.stopped_at.is_not(None)).subquery()
_APPLIED_AND_ASIDE = select(_APPLIED.c.applied, _ASIDE).outerjoin_from(_APPLIED, _ASIDE, true())
_SIZE = select(func.coalesce(func.sum(_heads.c.seq), 0))


async def lagging(engine: AsyncEngine, beside_log: AsyncEngine, schema: str) -> AsyncIterator[Sequence[Lag]]:
    """The streams whose progress is not at their head and that have not stopped, in batches.

    The sums come first: they cost a tenth of the join, and in a quiet log they are equal.
    """
    if not await missing(engine, beside_log, schema):
        return
    last = ("", "")
    while rows := await _batch(engine, last):
        if going := [row for row in rows if not _stopped(engine, schema, row)]:
            yield [Lag(StreamId(row["tenant"], row["stream"]), row["applied"], row["head"]) for row in going]
        last = (rows[-1]["tenant"], rows[-1]["stream"])
    if headless := [row for row in await _headless(engine) if not _stopped(engine, schema, row)]:
        yield [Lag(StreamId(row["tenant"], row["stream"]), row["seq"], 0) for row in headless]


async def lagging_apart(engine: AsyncEngine, beside_log: AsyncEngine, schema: str) -> AsyncIterator[Sequence[Lag]]:
    """Like `lagging`, for heads in another database: no join can span both, so all heads and all progress are read.

    Each progress is read before its head, so that concurrent applying does not make the log look shorter.
    """
    if not await missing(engine, beside_log, schema):
        return
    last = ("", "")
    while names := await _page(beside_log, _heads, last):
        progress = await _rows_of(engine, progress_table, names)
        heads = await _rows_of(beside_log, _heads, names)
        found = {place: (progress.get(place), row["seq"]) for place, row in heads.items()}
        if going := [_lag(place, row, seq) for place, (row, seq) in found.items() if _lags(engine, schema, row, seq)]:
            yield going
        last = names[-1]
    last = ("", "")
    while names := await _page(engine, progress_table, last):
        progress = await _rows_of(engine, progress_table, names)
        heads = await _rows_of(beside_log, _heads, names)
        headless = {place: row for place, row in progress.items() if place not in heads}
        if ahead := [_lag(place, row, 0) for place, row in headless.items() if _lags(engine, schema, row, 0)]:
            yield ahead
        last = names[-1]


async def missing(engine: AsyncEngine, beside_log: AsyncEngine, schema: str) -> int:
    """How many events are not applied, without stopped streams: reads the progress first, then the heads."""
    async with engine.connect() as connection:
        rows = (await connection.execute(_APPLIED_AND_ASIDE)).mappings().all()
    stopped = {
        _place(row): row["seq"] for row in rows if row["stopped_at"] is not None and _stopped(engine, schema, row)
    }
    heads = await _rows_of(beside_log, _heads, list(stopped)) if stopped else {}
    behind = sum(heads[place]["seq"] - seq for place, seq in stopped.items() if place in heads)
    return await size(beside_log) - int(rows[0]["applied"]) - int(behind)


async def missing_in_each(
    engine: AsyncEngine, beside_log: AsyncEngine, schemas: Mapping[str, str]
) -> Mapping[str, int | None]:
    """Like `missing`, for projections by their names and schemas, in one statement; None if it stopped streams."""
    if not schemas:
        return {}
    async with alone(engine) as connection:
        rows = await fetch_all(connection, _applied(tuple(schemas.items())), ())
    whole = await size(beside_log)
    return {name: None if applied < 0 else whole - applied for name, applied in rows}


@cache
def _applied(schemas: tuple[tuple[str, str], ...]) -> bytes:
    """For projections by name and schema: the sum of what each applied, -1 where a stream is stopped."""
    one = SQL("SELECT {}, CASE WHEN count(stopped_at) = 0 THEN coalesce(sum(seq), 0)::bigint ELSE -1 END FROM {}")
    each = (one.format(name, Identifier(schema, progress_table.name)) for name, schema in schemas)
    return SQL(" UNION ALL ").join(each).as_bytes()


async def size(engine: AsyncEngine) -> int:
    """The number of events in the log."""
    async with alone(engine) as connection:
        return int((await connection.execute(_SIZE)).scalar_one())


async def oldest(engine: AsyncEngine, places: Sequence[Position]) -> datetime | None:
    """When the earliest of these events was recorded."""
    columns = [_events.c.tenant, _events.c.stream, _events.c.seq]
    wanted = among(columns, [(place.stream.tenant, place.stream.name, place.seq) for place in places])
    async with engine.connect() as connection:
        first = select(func.min(_events.c.recorded_at)).join_from(wanted, _events, matches(columns, wanted))
        found: datetime | None = (await connection.execute(first)).scalar_one()
        return found


async def _batch(engine: AsyncEngine, last: tuple[str, str]) -> Sequence[RowMapping]:
    stored = progress_table.c
    applied = func.coalesce(stored.seq, 0)
    place = tuple_(_heads.c.tenant, _heads.c.stream)
    seen = (applied.label("applied"), _heads.c.seq.label("head"), stored.stopped_at, stored.reason, stored.mac)
    statement = (
        select(_heads.c.tenant, _heads.c.stream, *seen)
        .select_from(_heads.outerjoin(progress_table, _SAME))
        .where(_heads.c.seq != applied, place > tuple_(*map(literal, last)))
        .order_by(_heads.c.tenant, _heads.c.stream)
        .limit(BATCH)
    )
    async with engine.connect() as connection:
        return (await connection.execute(statement)).mappings().all()


async def _headless(engine: AsyncEngine) -> Sequence[RowMapping]:
    """The first streams with progress that do not exist in the log."""
    statement = select(progress_table).where(progress_table.c.seq > 0, ~exists().where(_SAME)).limit(BATCH)
    async with engine.connect() as connection:
        return (await connection.execute(statement)).mappings().all()


async def _page(engine: AsyncEngine, table: Table, last: tuple[str, str]) -> Sequence[tuple[str, str]]:
    """The next streams in a table."""
    place = tuple_(table.c.tenant, table.c.stream)
    statement = select(table.c.tenant, table.c.stream).where(place > tuple_(*map(literal, last)))
    ordered = statement.order_by(table.c.tenant, table.c.stream).limit(BATCH)
    async with engine.connect() as connection:
        return [(row[0], row[1]) for row in await connection.execute(ordered)]


async def _rows_of(
    engine: AsyncEngine, table: Table, places: Sequence[tuple[str, str]]
) -> Mapping[tuple[str, str], RowMapping]:
    columns = [table.c.tenant, table.c.stream]
    wanted = among(columns, places)
    statement = select(table).join_from(wanted, table, matches(columns, wanted))
    async with engine.connect() as connection:
        return {_place(row): row for row in (await connection.execute(statement)).mappings()}


def _place(row: RowMapping) -> tuple[str, str]:
    return row["tenant"], row["stream"]


def _lags(engine: AsyncEngine, schema: str, row: RowMapping | None, head: int) -> bool:
    return head != 0 if row is None else row["seq"] != head and not _stopped(engine, schema, row)


def _lag(place: tuple[str, str], row: RowMapping | None, head: int) -> Lag:
    return Lag(StreamId(*place), 0 if row is None else row["seq"], head)


def _stopped(engine: AsyncEngine, schema: str, row: RowMapping) -> bool:
    return row["stopped_at"] is not None and is_stopped(engine.get_execution_options()[SEAL], schema, dict(row))
