"""The tables of the changes projection (B §1)."""

from sqlalchemy import BigInteger, Column, DateTime, Index, MetaData, Table, Text, Uuid
from sqlalchemy.dialects.postgresql import JSONB

from mnemolog.projections.seal import mac_column

NAME = "changes"
metadata = MetaData(schema=NAME)

thread_revision = Table(
    "thread_revision",
    metadata,
    Column("tenant", Text, primary_key=True),
    Column("user_id", Text, primary_key=True),
    Column("thread_id", Text, primary_key=True),
    Column("rev", BigInteger, nullable=False),
    mac_column(),
)

change_log = Table(
    "change_log",
    metadata,
    Column("tenant", Text, primary_key=True),
    Column("user_id", Text, primary_key=True),
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
    change_log.c.tenant,
    change_log.c.user_id,
    change_log.c.thread_id,
    change_log.c.rev.desc(),
    unique=True,
)
