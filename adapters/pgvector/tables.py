"""The table of vectors, and the embedding cache in the same database."""

from pgvector.sqlalchemy import VECTOR
from sqlalchemy import BigInteger, Column, LargeBinary, MetaData, Table, Text, Uuid

from mnemolog.projections.owner import owner_columns
from mnemolog.projections.vectors.projector import NAME

metadata = MetaData(schema=NAME)

vectors = Table(
    "vectors",
    metadata,
    *owner_columns(kind_since=2),
    Column("memory_id", Uuid, primary_key=True),
    Column("model", Text, nullable=False),
    Column("embedding", VECTOR, nullable=False),
)

# Made by the migrations: it outlives every version of the projection, and no memory that is erased.
embeddings = Table(
    "embeddings",
    MetaData(schema="mnemolog"),
    Column("tenant", Text, primary_key=True),
    Column("stream_kind", Text, primary_key=True),
    Column("user_id", Text, primary_key=True),
    Column("memory_id", Uuid, primary_key=True),
    Column("model", Text, primary_key=True),
    Column("content_hash", LargeBinary, primary_key=True),
    Column("embedding", VECTOR, nullable=False),
    Column("seq", BigInteger, nullable=False),  # An event that told the text; 0 where that is not known.
)
