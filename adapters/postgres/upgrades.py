"""The progress of building a new version of a projection while readers use the previous one."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import (
    BigInteger,
    Column,
    DateTime,
    MetaData,
    Row,
    Table,
    Text,
    delete,
    func,
    insert,
    inspect,
    select,
    update,
)
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from mnemolog.adapters.postgres import lagging
from mnemolog.adapters.postgres.progress import progress_table
from mnemolog.adapters.postgres.sqlalchemy import is_gone
from mnemolog.adapters.postgres.store import PostgresStore

# In the shadow's schema, and dropped with it.
_UPGRADE = Table(
    "upgrade",
    MetaData(schema="upgrade"),
    Column("began_at", DateTime(timezone=True), nullable=False),
    Column("began_with", BigInteger, nullable=False),
    Column("fault", Text, nullable=False),
)


@dataclass(frozen=True, slots=True)
class Upgrade:
    """`former` is what readers see. `part` of the events are applied, in [0, 1]; `fault`: why it stopped."""

    former: str
    version: str
    part: float
    seconds_left: float | None
    fault: str = ""

    def __str__(self) -> str:
        left = "" if self.seconds_left is None else f", {self.seconds_left:,.0f} s left"
        how = f"failed: {self.fault}" if self.fault else f"{100 * self.part:.0f} %{left}"
        return f"{self.former} -> {self.version}, {how}"


async def begin(shadow: PostgresStore, at: datetime) -> None:
    """Record when the build began or resumed, and with how many events."""
    table = _UPGRADE.to_metadata(MetaData(), schema=shadow.schema)
    async with shadow.engine.begin() as connection:
        await connection.run_sync(table.create, checkfirst=True)
        await connection.execute(delete(table))
        row = {"began_at": at, "began_with": await _reached(connection), "fault": ""}
        await connection.execute(insert(table).values(row))


async def fail(shadow: PostgresStore, fault: str) -> None:
    """Record why it stopped."""
    table = _UPGRADE.to_metadata(MetaData(), schema=shadow.schema)
    async with shadow.engine.begin() as connection:
        if await connection.run_sync(lambda sync: inspect(sync).has_table(table.name, table.schema)):
            await connection.execute(update(table).values(fault=fault))


async def upgrade_of(
    live: PostgresStore, shadow: PostgresStore, beside_log: AsyncEngine, now: datetime
) -> Upgrade | None:
    """The upgrade in progress for a projection; None if readers see the current version."""
    former = await live.look()
    if former is None:
        return None
    present = f"v{live.version} {live.projector.variant}".strip()
    try:
        began, reached = await _looked(shadow)
    except DBAPIError as error:
        if not is_gone(error):
            raise
        # Not begun, or swapped at this moment.
        return Upgrade(former.shown, present, 0.0, None) if await live.look() else None
    size = await lagging.size(beside_log)
    seconds, done = (now - began.began_at).total_seconds(), reached - began.began_with
    left = (size - reached) * seconds / done if done > 0 else None
    return Upgrade(former.shown, present, min(1.0, reached / size) if size else 1.0, left, began.fault)


async def _looked(shadow: PostgresStore) -> tuple[Row[tuple[datetime, int, str]], int]:
    """What was recorded, and how many events are applied: separate statements, so that no swap waits for both."""
    table = _UPGRADE.to_metadata(MetaData(), schema=shadow.schema)
    alone = shadow.engine.execution_options(isolation_level="AUTOCOMMIT")
    async with alone.connect() as connection:
        return (await connection.execute(select(table))).one(), await _reached(connection)


async def _reached(connection: AsyncConnection) -> int:
    return int((await connection.execute(select(func.coalesce(func.sum(progress_table.c.seq), 0)))).scalar_one())
