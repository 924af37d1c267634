"""The table of the being projection: one row an entry (C15)."""

from sqlalchemy import BigInteger, Boolean, Column, DateTime, Index, MetaData, Table, Text, Uuid
from sqlalchemy.dialects.postgresql import ARRAY

from mnemolog.projections.owner import OWNER, owner_columns
from mnemolog.projections.seal import JsonText, mac_column

NAME = "being"
VERSION = 1
READABLE_FROM = 1
metadata = MetaData(schema=NAME)

entries = Table(
    "entries",
    metadata,
    *owner_columns(kind_since=1),
    Column("entry_id", Uuid, primary_key=True),
    Column("agent_id", Text, nullable=False),
    Column("store", Text, nullable=False),
    Column("key", Text, nullable=False),
    Column("body", JsonText, nullable=False),
    Column("read", Boolean, nullable=False),
    Column("removed", Boolean, nullable=False),
    Column("origin", Text, nullable=False),
    Column("source_turn_ids", ARRAY(Text), nullable=False),
    Column("actor_id", Text, nullable=False),
    Column("run_id", Text),
    Column("created_at", DateTime(timezone=True), nullable=False),
    Column("updated_at", DateTime(timezone=True), nullable=False),
    Column("seq", BigInteger, nullable=False),
    mac_column(),
    Index("entries_store", *OWNER, "agent_id", "store", "created_at"),
)
