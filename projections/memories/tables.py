"""The tables of the memories projection."""

from sqlalchemy import BigInteger, Boolean, Column, DateTime, Double, Index, MetaData, Table, Text, Uuid, func
from sqlalchemy.dialects.postgresql import ARRAY

from mnemolog.domain.contradiction import CONTRADICTS
from mnemolog.domain.origin import Origin
from mnemolog.domain.scope import Scope
from mnemolog.projections.former import added
from mnemolog.projections.full_text import searchable
from mnemolog.projections.owner import OWNER, indexed, owner_columns
from mnemolog.projections.seal import JsonText, mac_column
from mnemolog.projections.words import words_of

NAME = "memories"
VERSION = 10
READABLE_FROM = 3
metadata = MetaData(schema=NAME)

memories = Table(
    "memories",
    metadata,
    *owner_columns(kind_since=4),
    Column("memory_id", Uuid, primary_key=True),
    Column("kind", Text, nullable=False),
    Column("scope", Text, nullable=False),
    Column("agent_id", Text),
    Column("text", Text, nullable=False),
    Column("category", Text, nullable=False),
    Column("importance", Double, nullable=False),
    Column("confidence", Double, nullable=False),
    Column("pinned", Boolean, nullable=False),
    Column("metadata", JsonText, nullable=False, info=added(5, reads="{}")),
    Column("experience", JsonText, info=added(8)),
    Column("status", Text, nullable=False),
    Column("merged_into", Uuid),
    Column("purge_at", DateTime(timezone=True)),
    Column("role", Text),
    Column("run_id", Text),
    Column("actor_id", Text, nullable=False),
    Column("thread_id", Text, nullable=False),
    Column("source_turn_ids", ARRAY(Text), nullable=False),
    Column("entity_ids", ARRAY(Uuid), nullable=False),
    Column("type", Text),
    Column("entity_type", Text),
    Column("fact_type", Text),
    Column("source", Text, nullable=False),
    Column("origin", Text, nullable=False, info=added(7, reads=Origin.USER.value)),
    Column("memory_key", Text, nullable=False),
    Column("entity_refs", ARRAY(Text), nullable=False),
    Column("entity_label", Text, nullable=False),
    Column("topics", ARRAY(Text), nullable=False),
    Column("observations", BigInteger, nullable=False),
    Column("last_accessed", DateTime(timezone=True), nullable=False),
    Column("reactivation_count", BigInteger, nullable=False),
    Column("recalls", BigInteger, nullable=False),
    Column("fresh", Boolean, nullable=False),
    Column("session_count", BigInteger, nullable=False),
    Column("deleted_cause", Text),
    Column("forgotten_at", DateTime(timezone=True)),
    Column("forget_reason", Text, nullable=False, info=added(4, reads="")),
    Column("occurred_at", DateTime(timezone=True), nullable=False),
    Column("created_at", DateTime(timezone=True), nullable=False),
    Column("updated_at", DateTime(timezone=True), nullable=False),
    Column("seq", BigInteger, nullable=False),
    *searchable(),
    Index("memories_seq", *OWNER, "seq"),
)
column = memories.c
Index("memories_key", *indexed(memories), column.memory_key, postgresql_where=column.memory_key != "")
Index(
    "memories_refs",
    column.entity_refs,
    postgresql_using="gin",
    postgresql_where=func.cardinality(column.entity_refs) > 0,
)
Index(
    "memories_entities",
    column.entity_ids,
    postgresql_using="gin",
    postgresql_where=func.cardinality(column.entity_ids) > 0,
)
Index("memories_pinned", *indexed(memories), postgresql_where=column.pinned)
Index("memories_purge", column.purge_at, postgresql_where=column.purge_at.is_not(None))

words = words_of(
    memories,
    metadata,
    since=9,
    id_="memory_id",
    category="found.category",
    agent=f"CASE WHEN found.scope = '{Scope.GLOBAL}' THEN '' ELSE coalesce(found.agent_id, '') END",
)

links = Table(
    "links",
    metadata,
    *owner_columns(kind_since=4),
    Column("from_id", Uuid, primary_key=True),
    Column("to_id", Uuid, primary_key=True),
    Column("relation_type", Text, nullable=False),
    Column("strength", Double, nullable=False),
    Column("created_at", DateTime(timezone=True), nullable=False),
    mac_column(),
    Index("links_to", *OWNER, "to_id"),
)
Index("links_contradicting", *indexed(links), postgresql_where=links.c.relation_type == CONTRADICTS)
