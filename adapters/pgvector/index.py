"""The vector index on pgvector: one row per subject, next to the rows that filters use."""

import hmac
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from hashlib import sha256
from operator import attrgetter
from typing import Any
from uuid import UUID

import numpy as np
from pgvector import HalfVector
from sqlalchemy import Column, LargeBinary, MetaData, Table, delete, func, select, true, tuple_
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from mnemolog.adapters.pgvector import statements
from mnemolog.adapters.pgvector.large import LARGE, LargeOwners, Part
from mnemolog.adapters.pgvector.tables import embeddings, metadata, vectors
from mnemolog.domain.viewer import Viewer
from mnemolog.projections.asking import ask
from mnemolog.projections.former import as_written
from mnemolog.projections.full_text import Searchable
from mnemolog.projections.owner import Owner, indexed, owner_of
from mnemolog.projections.raw_sql import fetch_all, keyed, live_schema, options_of, plain_names, schema_of, write
from mnemolog.projections.rows import Key, any_of
from mnemolog.projections.seal import MAC, RowSeal, seal_of
from mnemolog.projections.vectors.embedder import Vectors
from mnemolog.projections.vectors.index import KEEPS, Point, Text
from mnemolog.projections.vectors.projector import NAME
from mnemolog.projections.visibility import viewed


class PgVectorIndex:
    """Implements `mnemolog.projections.vectors.index.VectorIndex`. Exactly once: it writes in the caller's transaction.

    Search is exact, but approximate among the vectors of a large owner. Numbers have half precision. An embedding
    stands once, in the live index or among the replaced ones; a shadow is filled from both.
    """

    tables: MetaData = metadata

    def __init__(self, large: int = LARGE) -> None:
        self._owners = LargeOwners(large)

    async def put(self, connection: AsyncConnection, model: str, points: Sequence[Point]) -> None:
        seal = seal_of(connection)
        rows = []
        for one in sorted(points, key=attrgetter("key")):
            vector = HalfVector(one.vector)
            mac = _mac(seal, one.key, model, one.content_hash, sha256(vector.to_binary()).digest())
            rows.append((*one.key, model, one.content_hash, mac, one.seq, vector.to_list()))
        write(connection, _indexing(connection, sent=True), [keyed(statements.ROW, rows)])

    async def put_kept(self, connection: AsyncConnection, model: str, wanted: Sequence[Text]) -> Collection[Key]:
        """Vectors go from table to table, never through a client. A tampered one is not copied.

        Into tables that are not sealed, those of a replay, they go in one statement.
        """
        if not wanted:
            return ()
        seal = seal_of(connection)
        if not seal.seals:
            rows = [(*one.key, model, one.content_hash, b"", one.seq) for one in wanted]
            copying = _indexing(connection, sent=False) + statements.RETURNING_KEYS
            return set(await fetch_all(connection, copying, [keyed(statements.FOUND, rows)]))
        texts = {one.key: one for one in wanted}
        hashed = keyed(statements.HASHED, ((*one.key, model, one.content_hash) for one in wanted))
        rows = []
        finding = statements.finding(live_schema(connection, NAME))
        for *place, mac, digest in sorted(await fetch_all(connection, finding, [hashed])):
            key = tuple(place)
            expected = _mac(seal, key, model, texts[key].content_hash, digest)
            if mac is None or hmac.compare_digest(mac, expected):
                rows.append((*key, model, texts[key].content_hash, expected, texts[key].seq))
        if rows:
            write(connection, _indexing(connection, sent=False), [keyed(statements.FOUND, rows)])
        return {row[: len(statements.KEY)] for row in rows}

    async def remove(self, connection: AsyncConnection, keys: Collection[Key]) -> None:
        for table in (vectors, embeddings) if keys else ():
            gone = any_of((*indexed(table), table.c.subject_id), keys)
            await connection.execute(delete(table).where(gone))

    async def forget(self, connection: AsyncConnection, owner: Owner, before: int) -> None:
        for table, which in ((vectors, true()), (embeddings, embeddings.c.seq < before)):
            of_owner = tuple_(*indexed(table)) == tuple_(*owner)
            await connection.execute(delete(table).where(of_owner & which))

    async def held_outside(self, owner: Owner) -> None:
        """Nothing: all of it is in Postgres."""

    async def settle(self, connection: AsyncConnection, *, rebuilt: bool) -> None:
        await connection.execute(statements.duplicates(live_schema(connection, NAME)))
        await connection.commit()

    async def is_settled(self, engine: AsyncEngine) -> bool:
        return True

    async def maintain(self, connection: AsyncConnection) -> int:
        return len(await self._owners.maintain(connection))

    async def vectors_of(
        self, connection: AsyncConnection, viewer: Viewer, ids: Collection[UUID]
    ) -> Mapping[UUID, Vectors]:
        rows = await connection.execute(statements.vectors_of(viewer, ids)) if ids else ()
        return {id_: np.asarray(vector, dtype=np.float32) for id_, vector in rows}

    async def dimensions(self, connection: AsyncConnection, model: str) -> int | None:
        wanted = select(func.vector_dims(vectors.c.embedding)).where(vectors.c.model == model).limit(1)
        return (await connection.execute(wanted)).scalar()

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
        """Of all that the viewer owns, the nearest first: mostly, enough of these are candidates."""
        told = {"model": model, "vector": _text(vector.astype(np.float32).tobytes()), "limit": limit}
        first = max(FIRST, 4 * limit)
        part = Part(owner_of(viewed(viewer)), model, len(vector))
        if only is None and await self._owners.has(connection, part):
            for wanted in (first, WIDER * first):
                found = await ask(connection, viewer, statements.nearest, candidates, part, wanted, **told)
                near = _candidates(found)
                if len(near) == limit:
                    return near
        elif only is None:
            found = await ask(connection, viewer, statements.nearest, candidates, **told, first=first)
            near = _candidates(found)
            if len(near) == limit or not found or found[0][-1] < first:
                return near
        narrowed = {} if only is None else {"only": list(only)}
        rows = await ask(connection, viewer, statements.among, candidates, only is not None, **told, **narrowed)
        return {id_: float(score) for id_, score in rows}


FIRST = 200
"""How many of the nearest are looked at before what is not a candidate is left out."""
WIDER = 8
"""How many times more are looked at of a large owner, before its candidates are looked at one by one."""


@lru_cache(maxsize=128)
def _text(vector: bytes) -> str:
    """A vector as Postgres parses it. One search asks for up to four times with the same."""
    return str(np.frombuffer(vector, dtype=np.float32).tolist())


def _candidates(found: Sequence[tuple[Any, ...]]) -> Mapping[UUID, float]:
    return {id_: float(score) for id_, score, is_candidate, _ in found if is_candidate}


# What the MAC of an embedding covers. 128 bits of it are stored.
_SEALED = Table(
    vectors.name,
    MetaData(schema=metadata.schema),
    *(Column(one.name, one.type) for one in statements.HASHED),
    Column("embedding_digest", LargeBinary),
    Column(MAC, LargeBinary),
)
_SEALED_NAMES = plain_names(_SEALED.columns)
_MAC_BYTES = 16


def _mac(seal: RowSeal, key: Key, model: str, content_hash: bytes, digest: bytes) -> bytes:
    row = dict(zip(_SEALED_NAMES, (*key, model, content_hash, digest), strict=False))
    return seal.mac(_SEALED, row)[:_MAC_BYTES]


def _indexing(connection: AsyncConnection, *, sent: bool) -> bytes:
    (shape, schema), live = as_written(connection, vectors), live_schema(connection, NAME)
    if not options_of(connection).get(KEEPS, True):
        kept = statements.Kept.NOTHING
    elif "content_hash" not in shape.columns:
        kept = statements.Kept.NEW
    elif schema_of(connection, vectors) == live:
        kept = statements.Kept.MOVED
    else:
        kept = statements.Kept.REPLACED
    return statements.indexing(shape, schema, None if sent else live, kept)
