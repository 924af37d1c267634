"""The tables of the knowledge projection (A §2.4)."""

from sqlalchemy import BigInteger, Column, DateTime, Double, Index, MetaData, Table, Text, Uuid

from mnemolog.projections.former import added
from mnemolog.projections.full_text import searchable
from mnemolog.projections.owner import OWNER, owner_columns
from mnemolog.projections.seal import mac_column

NAME = "knowledge"
VERSION = 3
READABLE_FROM = 1
metadata = MetaData(schema=NAME)

documents = Table(
    "documents",
    metadata,
    *owner_columns(kind_since=1),
    Column("document_id", Uuid, primary_key=True),
    Column("source", Text, nullable=False),
    Column("title", Text, nullable=False),
    Column("domain", Text, nullable=False),
    Column("mime", Text, nullable=False),
    Column("sha256", Text, nullable=False),
    Column("size_bytes", BigInteger, nullable=False),
    Column("reader", Text, nullable=False),
    Column("chunks", BigInteger, nullable=False),
    Column("status", Text, nullable=False),
    Column("purge_at", DateTime(timezone=True)),
    Column("forgotten_at", DateTime(timezone=True), info=added(2)),
    Column("forget_reason", Text, nullable=False, info=added(2, reads="")),
    Column("actor_id", Text, nullable=False),
    Column("run_id", Text),
    Column("created_at", DateTime(timezone=True), nullable=False),
    Column("updated_at", DateTime(timezone=True), nullable=False),
    Column("seq", BigInteger, nullable=False),
    mac_column(),
)
Index("documents_purge", documents.c.purge_at, postgresql_where=documents.c.purge_at.is_not(None))

# A chunk that is no longer in its document has no rank. An undo of the change puts it back.
chunks = Table(
    "chunks",
    metadata,
    *owner_columns(kind_since=1),
    Column("chunk_id", Uuid, primary_key=True),
    Column("document_id", Uuid, nullable=False),
    Column("rank", Double),
    Column("place", Text, nullable=False),
    Column("text", Text, nullable=False),
    Column("actor_id", Text, nullable=False),
    Column("created_at", DateTime(timezone=True), nullable=False),
    Column("seq", BigInteger, nullable=False),
    *searchable(),
    Index("chunks_search", "search", postgresql_using="gin"),
    Index("chunks_of", *OWNER, "document_id", "rank"),
)
