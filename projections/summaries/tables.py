"""The table of the summaries projection (E §3)."""

from sqlalchemy import BigInteger, Boolean, Column, DateTime, Index, MetaData, Table, Text, Uuid

from mnemolog.projections.former import added
from mnemolog.projections.owner import indexed, owner_columns
from mnemolog.projections.seal import JsonText, mac_column

NAME = "summaries"
VERSION = 2
READABLE_FROM = 1
metadata = MetaData(schema=NAME)

summaries = Table(
    "summaries",
    metadata,
    *owner_columns(kind_since=1),
    Column("summary_id", Uuid, primary_key=True),
    Column("kind", Text, nullable=False),
    Column("agent_id", Text, nullable=False),
    Column("thread_id", Text, nullable=False),
    Column("session_id", Uuid, info=added(2, reads=None)),
    Column("episode_id", Uuid, info=added(2, reads=None)),
    Column("version", BigInteger, nullable=False),
    Column("first_turn_id", Text, nullable=False),
    Column("last_turn_id", Text, nullable=False),
    Column("messages", BigInteger, nullable=False),
    Column("mechanical", Boolean, nullable=False),
    Column("model", Text, nullable=False),
    Column("prompt", Text, nullable=False),
    Column("prompt_version", BigInteger, nullable=False),
    Column("input_tokens", BigInteger, nullable=False),
    Column("output_tokens", BigInteger, nullable=False),
    # Empty once it was erased.
    Column("text", Text, nullable=False),
    Column("summary_json", JsonText, nullable=False),
    Column("created_at", DateTime(timezone=True), nullable=False),
    Column("seq", BigInteger, nullable=False),
    mac_column(),
)
Index("summaries_latest", *indexed(summaries), "agent_id", "thread_id", "kind", "seq")
