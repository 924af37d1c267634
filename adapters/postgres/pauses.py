"""Projections that an operator paused: kept beside the log, so that every process and every rebuild finds them so."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Column, DateTime, MetaData, Table, Text, delete, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncEngine

# Made by the migrations.
_paused = Table(
    "paused_projections",
    MetaData(schema="mnemolog"),
    Column("name", Text, primary_key=True),
    Column("at", DateTime(timezone=True), nullable=False),
    Column("by", Text, nullable=False),
)


@dataclass(frozen=True, slots=True)
class Pause:
    """Since when a projection is paused, and by whom."""

    at: datetime
    by: str


async def paused(engine: AsyncEngine) -> Mapping[str, Pause]:
    """The projections that are paused, by name."""
    async with engine.connect() as connection:
        return {row.name: Pause(row.at, row.by) for row in await connection.execute(select(_paused))}


async def pause(engine: AsyncEngine, name: str, what: Pause) -> None:
    """Pause a projection; one that is paused already stays so as it was."""
    row = {"name": name, "at": what.at, "by": what.by}
    async with engine.begin() as connection:
        await connection.execute(insert(_paused).on_conflict_do_nothing(), [row])


async def resume(engine: AsyncEngine, name: str) -> None:
    """Let a projection go on; harmless when it is not paused."""
    async with engine.begin() as connection:
        await connection.execute(delete(_paused).where(_paused.c.name == name))
