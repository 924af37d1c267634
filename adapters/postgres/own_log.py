"""Which log the rows of a database follow from, where the log itself lives in another one."""

from sqlalchemy import Boolean, Column, Connection, MetaData, Table, Text, inspect, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncEngine

from mnemolog.domain.errors import EngineError

# Created by the migrations of projections.
_log_of_projections = Table(
    "log_of_projections",
    MetaData(schema="mnemolog"),
    Column("only_one", Boolean, primary_key=True),
    Column("log_id", Text, nullable=False),
)


async def require_own(engine: AsyncEngine, log_id: str) -> None:
    """EngineError if the rows here belong to another log; a database without a log is claimed for this one."""
    async with engine.begin() as connection:
        row = {"only_one": True, "log_id": log_id}
        await connection.execute(insert(_log_of_projections).values(row).on_conflict_do_nothing())
        kept = (await connection.execute(select(_log_of_projections.c.log_id))).scalar_one()
    _require_same(kept, log_id)


def require_no_other(connection: Connection, log_id: str) -> None:
    """EngineError if the rows here belong to another log; the tables may not be there yet."""
    if inspect(connection).has_table(_log_of_projections.name, _log_of_projections.schema):
        for kept in connection.execute(select(_log_of_projections.c.log_id)).scalars():
            _require_same(kept, log_id)


def _require_same(kept: str, log_id: str) -> None:
    if kept != log_id:
        raise EngineError(
            "the projections in this database follow from another log",
            field="projections_url",
            fix="name the database of this log's projections, or an empty one: they are built there",
        )
