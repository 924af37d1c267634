"""The tables of the changes projection (B §1)."""

from sqlalchemy import BigInteger, Column, DateTime, Index, MetaData, Table, Text, Uuid
from sqlalchemy.dialects.postgresql import JSONB

from mnemolog.projections.owner import indexed, owner_columns
from mnemolog.projections.seal import mac_column

NAME = "changes"
VERSION = 3
READABLE_FROM = 2
metadata = MetaData(schema=NAME)

thread_revision = Table(
    "thread_revision",
    metadata,
    *owner_columns(kind_since=3),
    Column("thread_id", Text, primary_key=True),
    Column("rev", BigInteger, nullable=False),
    mac_column(),
)

change_log = Table(
    "change_log",
    metadata,
    *owner_columns(kind_since=3),
    Column("id", Uuid, primary_key=True),
    Column("thread_id", Text, nullable=False),
    Column("rev", BigInteger, nullable=False),
    Column("seq", BigInteger, nullable=False),
    Column("memory_id", Uuid, nullable=False),
    Column("event", Text, nullable=False),
    Column("meta", JSONB, nullable=False),
    Column("ts", DateTime(timezone=True), nullable=False),
    mac_column(),
)
Index(
    "change_log_rev",
    *indexed(change_log),
    change_log.c.thread_id,
    change_log.c.rev.desc(),
    unique=True,
)
