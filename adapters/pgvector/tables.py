"""The table of vectors, and that of embeddings which stand in no index, in the same database."""

from pgvector.sqlalchemy import HALFVEC, VECTOR
from sqlalchemy import BigInteger, Column, LargeBinary, MetaData, Table, Text, Uuid

from mnemolog.projections.former import added, renamed, retyped
from mnemolog.projections.owner import owner_columns
from mnemolog.projections.vectors.projector import NAME

metadata = MetaData(schema=NAME)

vectors = Table(
    "vectors",
    metadata,
    *owner_columns(kind_since=2),
    Column("subject_id", Uuid, primary_key=True, info=renamed(3, was="memory_id")),
    Column("model", Text, nullable=False),
    Column("content_hash", LargeBinary, nullable=False, info=added(3, reads=b"")),
    Column("embedding_mac", LargeBinary, nullable=False, info=added(3, reads=b"")),
    Column("embedding", HALFVEC, nullable=False, info=retyped(3, was=VECTOR(), read=list)),
)

# Created by the migrations. It outlives every version of the projection, but nothing erased. It has the embeddings of
# replaced texts, for reads as of an earlier moment; embeddings in the index are not stored here as well.
embeddings = Table(
    "embeddings",
    MetaData(schema="mnemolog"),
    Column("tenant", Text, primary_key=True),
    Column("stream_kind", Text, primary_key=True),
    Column("user_id", Text, primary_key=True),
    Column("subject_id", Uuid, primary_key=True),
    Column("model", Text, primary_key=True),
    Column("content_hash", LargeBinary, primary_key=True),
    Column("embedding_mac", LargeBinary, nullable=False),  # Empty if written by a version before 3 of the vectors.
    Column("embedding", HALFVEC, nullable=False),
    Column("seq", BigInteger, nullable=False),  # The event that replaced the text, or stated it; 0 if unknown.
)
