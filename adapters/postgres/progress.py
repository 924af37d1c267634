"""The progress of a projection in each stream, its stops with MACs, and skipped events.

Whoever can write to the database could hold a stream back by a stop of his own, and agents would read for ever what
was true then. So a stop counts only under a MAC, which names the projection's schema and the stream (X08).
"""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import BigInteger, Column, Connection, DateTime, LargeBinary, MetaData, Table, Text, Uuid, inspect

from mnemolog.adapters.postgres.ddl import Ddl
from mnemolog.projections.seal import MAC, RowSeal, mac_column

SELF = "progress"
progress_table = Table(
    "progress",
    MetaData(schema=SELF),
    Column("tenant", Text, primary_key=True),
    Column("stream", Text, primary_key=True),
    Column("seq", BigInteger, nullable=False),
    Column("stopped_at", BigInteger),
    Column("reason", Text),
    Column(MAC, LargeBinary),
)
skipped_table = Table(
    "skipped",
    progress_table.metadata,
    Column("tenant", Text, primary_key=True),
    Column("stream", Text, primary_key=True),
    Column("seq", BigInteger, primary_key=True),
    Column("event_id", Uuid, nullable=False),
    Column("type", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("at", DateTime(timezone=True), nullable=False),
    Column("by", Text, nullable=False),
    Column("projection", Text, nullable=False),
    mac_column(),
)
GOING: Mapping[str, None] = {"stopped_at": None, "reason": None, MAC: None}

# The columns that a stop's MAC covers; no such table exists.
_STOP = Table(
    "stop",
    MetaData(schema=SELF),
    *(Column(name, Text) for name in ("schema", "tenant", "stream")),
    Column("stopped_at", BigInteger),
    Column("reason", Text),
)


def sealed_stop(seal: RowSeal, schema: str, tenant: str, stream: str, seq: int, reason: str) -> dict[str, Any]:
    """The progress columns of a stream stopped at an event."""
    values = {"stopped_at": seq, "reason": reason}
    return {**values, MAC: seal.mac(_STOP, {**values, "schema": schema, "tenant": tenant, "stream": stream})}


def is_stopped(seal: RowSeal, schema: str, row: Mapping[str, Any]) -> bool:
    """Whether an engine stopped the stream there. A stop without a valid seal has no effect."""
    if row["stopped_at"] is None or row[MAC] is None:
        return False
    return seal.fits(_STOP, {**row, "schema": schema})


def add_seal(connection: Connection, schema: str) -> None:
    """Add the seal's column to a progress table created by an older version."""
    names = {column["name"] for column in inspect(connection).get_columns(progress_table.name, schema)}
    if MAC not in names:
        connection.execute(Ddl("ALTER TABLE {} ADD COLUMN IF NOT EXISTS mac bytea", (schema, progress_table.name)))
