"""What a projection lacks: the heads of the log against its progress, in the database that holds both."""

from collections.abc import AsyncIterator, Sequence
from datetime import datetime

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
from mnemolog.events.envelope import Position, StreamId
from mnemolog.projections.projector import Lag
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


async def lagging(engine: AsyncEngine, schema: str) -> AsyncIterator[Sequence[Lag]]:
    """The streams whose progress is not at their head and that are not stopped, in batches.

    The sums come first: they cost a tenth of the join, and in a quiet log they are equal.
    """
    if not await missing(engine, schema):
        return
    last = ("", "")
    while rows := await _batch(engine, last):
        if going := [row for row in rows if not _stopped(engine, schema, row)]:
            yield [Lag(StreamId(row["tenant"], row["stream"]), row["applied"], row["head"]) for row in going]
        last = (rows[-1]["tenant"], rows[-1]["stream"])
    if headless := [row for row in await _headless(engine) if not _stopped(engine, schema, row)]:
        yield [Lag(StreamId(row["tenant"], row["stream"]), row["seq"], 0) for row in headless]


async def missing(engine: AsyncEngine, schema: str) -> int:
    """How many events are not applied, those of stopped streams left out."""
    heads, applied = (
        select(func.coalesce(func.sum(table.c.seq), 0)).scalar_subquery() for table in (_heads, progress_table)
    )
    aside = (
        select(progress_table, (_heads.c.seq - progress_table.c.seq).label("behind"))
        .join_from(progress_table, _heads, _SAME)
        .where(progress_table.c.stopped_at.is_not(None))
        .subquery()
    )
    both = select(heads - applied).subquery("sums")
    async with engine.connect() as connection:
        found = await connection.execute(select(both.c[0].label("all"), aside).outerjoin_from(both, aside, true()))
        rows = found.mappings().all()
    stopped = [row["behind"] for row in rows if row["tenant"] is not None and _stopped(engine, schema, row)]
    return int(rows[0]["all"] - sum(stopped))


async def size(engine: AsyncEngine) -> int:
    """How many events the log holds."""
    async with engine.connect() as connection:
        return int((await connection.execute(select(func.coalesce(func.sum(_heads.c.seq), 0)))).scalar_one())


async def oldest(engine: AsyncEngine, places: Sequence[Position]) -> datetime | None:
    """When the first of these events was recorded."""
    columns = [_events.c.tenant, _events.c.stream, _events.c.seq]
    wanted = among(columns, [(place.stream.tenant, place.stream.name, place.seq) for place in places])
    async with engine.connect() as connection:
        first = select(func.min(_events.c.recorded_at)).join_from(wanted, _events, matches(columns, wanted))
        found: datetime | None = (await connection.execute(first)).scalar_one()
        return found


async def _batch(engine: AsyncEngine, last: tuple[str, str]) -> Sequence[RowMapping]:
    held = progress_table.c
    applied = func.coalesce(held.seq, 0)
    place = tuple_(_heads.c.tenant, _heads.c.stream)
    seen = (applied.label("applied"), _heads.c.seq.label("head"), held.stopped_at, held.reason, held.mac)
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
    """Progress in streams that the log does not have at all: the first of them."""
    statement = select(progress_table).where(progress_table.c.seq > 0, ~exists().where(_SAME)).limit(BATCH)
    async with engine.connect() as connection:
        return (await connection.execute(statement)).mappings().all()


def _stopped(engine: AsyncEngine, schema: str, row: RowMapping) -> bool:
    return row["stopped_at"] is not None and is_stopped(engine.get_execution_options()[SEAL], schema, dict(row))
