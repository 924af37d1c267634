"""The port of the vector index: an index over texts, never the truth (A §5).

Beside pgvector another index may stand behind it; `tests/projections/test_vector_index.py` says what all of them owe.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple, Protocol
from uuid import UUID

from sqlalchemy import MetaData
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from mnemolog.domain.viewer import Viewer
from mnemolog.projections.full_text import Searchable
from mnemolog.projections.owner import Owner
from mnemolog.projections.rows import Key
from mnemolog.projections.vectors.embedder import Vectors

# The execution option of a connection that does not keep embeddings: an erasure may have swept them already.
KEEPS = "mnemolog_keeps_embeddings"


class Text(NamedTuple):
    """A subject's text, by its hash. `key` is the owner and the subject's id; `seq` the event with the text."""

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
    """One vector per subject, such as a memory. The connection determines the location, as for any read model.

    That is the live index, the shadow of a rebuild, or a replay's own. The index also keeps the embeddings of replaced
    texts by subject, model and hash of the text, so that neither a rebuild nor a read as of an earlier moment computes
    them twice. Every write must be idempotent: whatever an index does outside the connection's transaction comes before
    the commit, which saves the progress.
    """

    @property
    def tables(self) -> MetaData:
        """Its tables in Postgres, which are created, rebuilt, swapped and swept like any projection's."""
        ...

    async def put(self, connection: AsyncConnection, model: str, points: Sequence[Point]) -> None:
        """Index these vectors, and keep those they replace, unless `KEEPS` is off."""
        ...

    async def put_kept(self, connection: AsyncConnection, model: str, wanted: Sequence[Text]) -> Collection[Key]:
        """Index the texts whose embedding is in the live index or kept; returns their keys."""
        ...

    async def remove(self, connection: AsyncConnection, keys: Collection[Key]) -> None:
        """Delete everything of these subjects: vectors, and kept embeddings of any of their texts (X07)."""
        ...

    async def forget(self, connection: AsyncConnection, owner: Owner, before: int) -> None:
        """Delete all vectors of this owner, and kept embeddings of texts from events before this seq."""
        ...

    async def held_outside(self, owner: Owner) -> Sequence[tuple[str, UUID]] | None:
        """The subjects of an owner that it has outside Postgres, each after its place; None if it has nothing there."""
        ...

    async def settle(self, connection: AsyncConnection, *, rebuilt: bool) -> None:
        """Once the tables are there, and after they were `rebuilt`; in transactions of its own.

        Delete kept embeddings that the live index has, which a rebuild or an upgrade may leave. An index outside
        Postgres copies what it lacks.
        """
        ...

    async def is_settled(self, engine: AsyncEngine) -> bool:
        """Whether this process settled it, and it still has what it was given, as far as one question shows.

        It takes a connection only if it must ask.
        """
        ...

    async def maintain(self, connection: AsyncConnection) -> int:
        """Make searches of owners fast that became large; returns how many. It may take minutes.

        On a connection each of whose statements is a transaction of its own, in one process at a time. Reads and
        writes go on meanwhile.
        """
        ...

    async def vectors_of(
        self, connection: AsyncConnection, viewer: Viewer, ids: Collection[UUID]
    ) -> Mapping[UUID, Vectors]:
        """The vectors of these subjects of the viewer, as far as the index has them; numbers of half precision."""
        ...

    async def dimensions(self, connection: AsyncConnection, model: str) -> int | None:
        """How many numbers the vectors of this model have; None if there are none."""
        ...

    async def search(
        self,
        connection: AsyncConnection,
        viewer: Viewer,
        candidates: Searchable,
        model: str,
        vector: Vectors,
        limit: int,
        only: Collection[UUID] | None = None,
    ) -> Mapping[UUID, float]:
        """The nearest of the candidates that the viewer sees, nearest first, with their cosine similarity in [-1, 1].

        `only`: of the subjects with these ids.

        To three digits: an index may hold half-precision numbers.

        The filters come first: it gives `limit` subjects wherever so many candidates have a vector of this model. Of
        an owner with many vectors, a few of the nearest may be missing, and farther ones be there instead.
        """
        ...
