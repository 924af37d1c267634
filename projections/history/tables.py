"""The table of the history projection (B §8)."""

from sqlalchemy import BigInteger, Column, DateTime, Index, MetaData, Table, Text, Uuid
from sqlalchemy.dialects.postgresql import JSONB

from mnemolog.projections.owner import indexed, owner_columns
from mnemolog.projections.seal import mac_column

NAME = "history"
VERSION = 4
READABLE_FROM = 3
metadata = MetaData(schema=NAME)

history = Table(
    "history",
    metadata,
    *owner_columns(kind_since=4),
    Column("id", Uuid, primary_key=True),
    Column("subject", Text, nullable=False),
    Column("subject_id", Text, nullable=False),
    Column("memory_id", Uuid),
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
    "history_subject",
    *indexed(history),
    history.c.subject_id,
    history.c.seq.desc(),
)
