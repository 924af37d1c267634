"""The tables of the profile projection (B §10, D §What Persists Where)."""

from sqlalchemy import BigInteger, Boolean, Column, DateTime, Double, Index, MetaData, Table, Text, Uuid
from sqlalchemy.dialects.postgresql import ARRAY

from mnemolog.domain.origin import Origin
from mnemolog.projections.former import added
from mnemolog.projections.owner import OWNER, owner_columns
from mnemolog.projections.seal import mac_column

NAME = "profile"
VERSION = 5
READABLE_FROM = 1
metadata = MetaData(schema=NAME)

profile_fields = Table(
    "profile_fields",
    metadata,
    *owner_columns(kind_since=2),
    Column("field", Text, primary_key=True),
    Column("held", ARRAY(Text), nullable=False),
    Column("patch_id", Uuid),
    Column("source", Text, nullable=False),
    Column("origin", Text, nullable=False, info=added(3, reads=Origin.USER.value)),
    Column("source_turn_ids", ARRAY(Text), nullable=False),
    Column("thread_id", Text, info=added(4)),
    Column("actor_id", Text, nullable=False),
    Column("updated_at", DateTime(timezone=True), nullable=False),
    Column("seq", BigInteger, nullable=False),
    mac_column(),
)

consent = Table(
    "consent",
    metadata,
    *owner_columns(kind_since=2),
    Column("patch_id", Uuid, primary_key=True),
    Column("field", Text, nullable=False),
    Column("value", Text, nullable=False),
    Column("sensitive", Boolean, nullable=False),
    Column("signals", BigInteger, nullable=False),
    Column("confidence", Double, nullable=False),
    Column("source", Text, nullable=False),
    Column("origin", Text, nullable=False, info=added(3, reads=Origin.USER.value)),
    Column("source_turn_ids", ARRAY(Text), nullable=False),
    Column("proposed_by", ARRAY(Text), nullable=False),
    Column("status", Text, nullable=False),
    Column("decided_by", Text),
    Column("decided_at", DateTime(timezone=True)),
    Column("proposed_at", DateTime(timezone=True), nullable=False),
    Column("expires_at", DateTime(timezone=True), nullable=False),
    Column("seq", BigInteger, nullable=False),
    mac_column(),
    Index("consent_waiting", "status", "expires_at"),
    Index("consent_field", *OWNER, "field"),
)

todos = Table(
    "todos",
    metadata,
    *owner_columns(kind_since=2),
    Column("todo_id", Uuid, primary_key=True),
    Column("agent_id", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("text", Text, nullable=False),
    Column("status", Text, nullable=False),
    Column("due", DateTime(timezone=True)),
    Column("source_turn_ids", ARRAY(Text), nullable=False),
    Column("thread_id", Text, info=added(4)),
    Column("created_at", DateTime(timezone=True), nullable=False),
    Column("updated_at", DateTime(timezone=True), nullable=False),
    Column("seq", BigInteger, nullable=False),
    mac_column(),
    Index("todos_agent", *OWNER, "agent_id", "status"),
)

seeds = Table(
    "seeds",
    metadata,
    *owner_columns(kind_since=2),
    Column("seed", Uuid, primary_key=True),
    Column("source", Text, nullable=False),
    Column("fields", ARRAY(Text), nullable=False),
    Column("memories", BigInteger, nullable=False),
    Column("facts", BigInteger, nullable=False),
    Column("actor_id", Text, nullable=False),
    Column("seeded_at", DateTime(timezone=True), nullable=False),
    Column("seq", BigInteger, nullable=False),
    mac_column(),
)
