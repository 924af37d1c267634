"""Paused projections, stored with the log so that every process and rebuild sees them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Column, DateTime, MetaData, Table, Text, delete, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncEngine

from mnemolog.adapters.postgres.sqlalchemy import alone
from mnemolog.projections.seal import MAC, mac_column, seal_of

TABLE = "paused_projections"
# Created by the migrations.
_paused = Table(
    TABLE,
    MetaData(schema="mnemolog"),
    Column("name", Text, primary_key=True),
    Column("at", DateTime(timezone=True), nullable=False),
    Column("by", Text, nullable=False),
    mac_column(),
)


@dataclass(frozen=True, slots=True)
class Pause:
    """Since when a projection is paused, and by whom."""

    at: datetime
    by: str


async def paused(engine: AsyncEngine) -> Mapping[str, Pause]:
    """The projections that an operator paused, by name. A row without a valid seal pauses nothing (X08)."""
    return {row["name"]: Pause(row["at"], row["by"]) for row, genuine in await _rows(engine) if genuine}


async def forged(engine: AsyncEngine) -> Sequence[str]:
    return [row["name"] for row, genuine in await _rows(engine) if not genuine]


async def forget_forged(engine: AsyncEngine) -> None:
    names = await forged(engine)
    async with engine.begin() as connection:
        await connection.execute(delete(_paused).where(_paused.c.name.in_(names)))


async def pause(engine: AsyncEngine, name: str, what: Pause) -> None:
    """Pause a projection; if it is paused already, nothing changes."""
    await forget_forged(engine)
    row = {"name": name, "at": what.at, "by": what.by}
    async with engine.begin() as connection:
        mac = seal_of(connection).mac(_paused, row)
        await connection.execute(insert(_paused).on_conflict_do_nothing(), [{**row, MAC: mac}])


async def resume(engine: AsyncEngine, name: str) -> None:
    """Resume a projection; has no effect if it is not paused."""
    async with engine.begin() as connection:
        await connection.execute(delete(_paused).where(_paused.c.name == name))


async def _rows(engine: AsyncEngine) -> Sequence[tuple[dict[str, Any], bool]]:
    """Every row, and whether an engine wrote it."""
    async with alone(engine) as connection:
        seal = seal_of(connection)
        rows = map(dict, (await connection.execute(select(_paused))).mappings())
        return [(row, seal.fits(_paused, row)) for row in rows]
