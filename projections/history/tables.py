"""The table of the history projection (B §8)."""

from sqlalchemy import BigInteger, Column, DateTime, Index, MetaData, Table, Text, Uuid
from sqlalchemy.dialects.postgresql import JSONB

from mnemolog.projections.seal import mac_column

NAME = "history"
metadata = MetaData(schema=NAME)

history = Table(
    "history",
    metadata,
    Column("tenant", Text, primary_key=True),
    Column("user_id", Text, primary_key=True),
    Column("id", Uuid, primary_key=True),
    Column("memory_id", Uuid, nullable=False),
    Column("event", Text, nullable=False),
    Column("old_ref", Text),
    Column("new_ref", Text),
    Column("actor", Text),
    Column("meta", JSONB, nullable=False),
    Column("seq", BigInteger, nullable=False),
    Column("ts", DateTime(timezone=True), nullable=False),
    mac_column(),
)
Index(
    "history_memory",
    history.c.tenant,
    history.c.user_id,
    history.c.memory_id,
    history.c.seq.desc(),
)
