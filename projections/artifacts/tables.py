"""The tables of the artifacts projection (E §4)."""

from sqlalchemy import BigInteger, Column, DateTime, Double, Index, MetaData, Table, Text, Uuid
from sqlalchemy.dialects.postgresql import ARRAY

from mnemolog.projections.former import added
from mnemolog.projections.full_text import searchable
from mnemolog.projections.owner import OWNER, owner_columns
from mnemolog.projections.seal import JsonText, mac_column

NAME = "artifacts"
VERSION = 4
READABLE_FROM = 1
metadata = MetaData(schema=NAME)

artifacts = Table(
    "artifacts",
    metadata,
    *owner_columns(kind_since=1),
    Column("artifact_id", Uuid, primary_key=True),
    Column("type", Text, nullable=False),
    Column("scope", Text, nullable=False),
    Column("agent_id", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("mime", Text, nullable=False),
    Column("size_bytes", BigInteger, nullable=False),
    Column("sha256", Text, nullable=False),
    Column("url", Text, nullable=False),
    Column("blob", Text, nullable=False),
    Column("status", Text, nullable=False),
    Column("purge_at", DateTime(timezone=True)),
    Column("forgotten_at", DateTime(timezone=True), info=added(2)),
    Column("forget_reason", Text, nullable=False, info=added(2, reads="")),
    Column("extraction", Text, nullable=False),
    Column("refused", Text),
    Column("detail", Text, nullable=False),
    Column("pages", BigInteger),
    Column("skipped", JsonText, nullable=False),
    Column("withdrawn", ARRAY(Uuid), nullable=False),
    Column("source_turn_ids", ARRAY(Text), nullable=False),
    Column("thread_id", Text, nullable=False),
    Column("run_id", Text),
    Column("actor_id", Text, nullable=False),
    Column("occurred_at", DateTime(timezone=True), info=added(4)),
    Column("created_at", DateTime(timezone=True), nullable=False),
    Column("updated_at", DateTime(timezone=True), nullable=False),
    Column("seq", BigInteger, nullable=False),
    mac_column(),
)
Index("artifacts_pending", artifacts.c.created_at, postgresql_where=artifacts.c.extraction == "pending")
Index("artifacts_purge", artifacts.c.purge_at, postgresql_where=artifacts.c.purge_at.is_not(None))

artifact_texts = Table(
    "artifact_texts",
    metadata,
    *owner_columns(kind_since=1),
    Column("text_id", Uuid, primary_key=True),
    Column("artifact_id", Uuid, nullable=False),
    Column("event_id", Uuid, nullable=False),
    Column("text_kind", Text, nullable=False),
    Column("position", BigInteger, nullable=False),
    Column("place", Text, nullable=False),
    Column("text", Text, nullable=False),
    Column("writer", Text, nullable=False),
    Column("confidence", Double),
    Column("created_at", DateTime(timezone=True), nullable=False),
    Column("seq", BigInteger, nullable=False),
    *searchable(),
    Index("artifact_texts_search", "search", postgresql_using="gin"),
    Index("artifact_texts_of", *OWNER, "artifact_id", "text_kind", "position"),
)
