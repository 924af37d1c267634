"""The tables of the mem0 projection: what is copied, and where a thread's episodes begin (E §mem0 Integration)."""

from sqlalchemy import BigInteger, Boolean, Column, DateTime, Double, Index, MetaData, Table, Text, Uuid

from mnemolog.projections.owner import indexed, owner_columns
from mnemolog.projections.seal import JsonText, mac_column

NAME = "mem0"
VERSION = 1
metadata = MetaData(schema=NAME)

# Facts and episodes under the ids of their memories, final summaries under those of their episodes.
items = Table(
    "mem0_items",
    metadata,
    *owner_columns(kind_since=1),
    Column("subject_id", Uuid, primary_key=True),
    Column("source", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("scope", Text, nullable=False),
    Column("agent_id", Text),
    # The message that it was extracted from: who said it where, and its place in the stream.
    Column("thread_id", Text),
    Column("said_by", Text),
    Column("turn_seq", BigInteger),
    Column("own_run_id", Text),
    Column("run_id", Text),
    Column("text", Text, nullable=False),
    Column("category", Text, nullable=False),
    Column("importance", Double, nullable=False),
    Column("confidence", Double, nullable=False),
    Column("pinned", Boolean, nullable=False),
    Column("metadata", JsonText, nullable=False),
    Column("origin", Text, nullable=False),
    Column("status", Text, nullable=False),
    Column("mechanical", Boolean, nullable=False),
    Column("shown", Boolean, nullable=False),
    Column("created_at", DateTime(timezone=True), nullable=False),
    mac_column(),
)
Index("mem0_items_threads", *indexed(items), items.c.thread_id)

turns = Table(
    "mem0_turns",
    metadata,
    *owner_columns(kind_since=1),
    Column("turn_id", Text, primary_key=True),
    Column("agent_id", Text, nullable=False),
    Column("thread_id", Text, nullable=False),
    Column("seq", BigInteger, nullable=False),
    mac_column(),
)

episodes = Table(
    "mem0_episodes",
    metadata,
    *owner_columns(kind_since=1),
    Column("episode_id", Uuid, primary_key=True),
    Column("agent_id", Text, nullable=False),
    Column("thread_id", Text, nullable=False),
    Column("first_seq", BigInteger, nullable=False),
    Column("status", Text, nullable=False),
    Column("merged_into", Uuid),
    mac_column(),
)
Index("mem0_episodes_threads", *indexed(episodes), episodes.c.thread_id)
