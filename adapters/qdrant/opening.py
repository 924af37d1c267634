"""Opens the vector index that the settings name."""

from contextlib import AsyncExitStack

from mnemolog.adapters.config import Settings
from mnemolog.adapters.pgvector import PgVectorIndex
from mnemolog.domain.errors import InvalidInput
from mnemolog.projections.vectors.index import VectorIndex


def vector_index(stack: AsyncExitStack, settings: Settings) -> VectorIndex:
    """Qdrant if a URL is set, and Postgres alone otherwise. A server that is down is noticed when it is used."""
    if settings.vectors_url is None:
        return PgVectorIndex()
    try:
        from qdrant_client import AsyncQdrantClient

        from mnemolog.adapters.qdrant.index import QdrantIndex
    except ImportError as error:
        raise InvalidInput(
            "needs the extra qdrant", field="vectors_url", fix="run `pip install 'mnemolog[qdrant]'`"
        ) from error
    client = AsyncQdrantClient(settings.vectors_url, api_key=settings.vectors_api_key, check_compatibility=False)
    stack.push_async_callback(client.close)
    return QdrantIndex(client, settings.vectors_prefix)
