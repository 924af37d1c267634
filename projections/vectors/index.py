"""The port of the vector index: an index over texts, never the truth (A §5).

Beside pgvector another index may stand behind it; `tests/projections/test_vector_index.py` says what all of them owe.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple, Protocol
from uuid import UUID

from sqlalchemy import MetaData
from sqlalchemy.ext.asyncio import AsyncConnection

from mnemolog.domain.viewer import Viewer
from mnemolog.projections.memories.filters import Candidates
from mnemolog.projections.owner import Owner
from mnemolog.projections.rows import Key
from mnemolog.projections.vectors.embedder import Vectors

# The execution option of a connection whose embeddings are not kept: an erasure may have swept them already.
KEEPS = "mnemolog_keeps_embeddings"


class Text(NamedTuple):
    """A subject's text, by its hash. `key` is the owner and the subject's id; `seq` the event that told the text."""

    key: Key
    content_hash: bytes
    seq: int


class Point(NamedTuple):
    """A `Text` with its vector."""

    key: Key
    content_hash: bytes
    seq: int
    vector: Vectors


class VectorIndex(Protocol):
    """One vector a subject, such as a memory. The connection says which place is meant, as for any read model: the live
    one, a shadow that a rebuild fills, or a replay's own.

    It also keeps the embeddings of replaced texts by subject, model and hash of the text, so that neither a rebuild nor
    a read as of an earlier moment pays for them twice. Every write may be repeated: what an index does outside of the
    connection's transaction comes before its commit, which saves the progress.
    """

    @property
    def tables(self) -> MetaData:
        """What of it stands in Postgres: made, rebuilt beside, swapped and swept like any projection's tables."""
        ...

    async def put(self, connection: AsyncConnection, model: str, points: Sequence[Point]) -> None:
        """Index these vectors, and keep those that they replace, unless `KEEPS` is off."""
        ...

    async def put_kept(self, connection: AsyncConnection, model: str, wanted: Sequence[Text]) -> Collection[Key]:
        """Index those of these texts whose embedding the live index has, or is kept; whose they were."""
        ...

    async def remove(self, connection: AsyncConnection, keys: Collection[Key]) -> None:
        """Leave nothing of these subjects: neither vectors nor what is kept of any of their texts (X07)."""
        ...

    async def forget(self, connection: AsyncConnection, owner: Owner, before: int) -> None:
        """Leave no vector of this owner, and nothing that is kept of texts from events before this seq."""
        ...

    async def drop_duplicates(self, connection: AsyncConnection) -> None:
        """Keep no embedding that the live index has, as a rebuild or an upgrade leaves some."""
        ...

    async def search(
        self,
        connection: AsyncConnection,
        viewer: Viewer,
        candidates: Candidates,
        model: str,
        vector: Vectors,
        limit: int,
    ) -> Mapping[UUID, float]:
        """The nearest of the candidates that the viewer sees, nearest first, with their cosine similarity in [-1, 1].

        To three digits: an index may hold half-precision numbers.

        The filters come first: it gives `limit` memories wherever so many candidates have a vector of this model.
        """
        ...
