"""pgvector: vector search in the database of the read models."""

from mnemolog.adapters.pgvector.index import PgVectorIndex

__all__ = ["PgVectorIndex"]
