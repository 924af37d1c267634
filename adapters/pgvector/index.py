"""The vector index on pgvector: one row per memory, next to the rows that filters use."""

from collections.abc import Collection, Mapping, Sequence
from functools import cache
from uuid import UUID

from psycopg.sql import SQL, Identifier
from sqlalchemy import MetaData, Table, any_, delete, func, select, true, tuple_
from sqlalchemy.ext.asyncio import AsyncConnection

from mnemolog.adapters.pgvector.tables import embeddings, metadata, vectors
from mnemolog.domain.viewer import Viewer
from mnemolog.projections.former import as_written
from mnemolog.projections.memories.filters import Candidates
from mnemolog.projections.memories.tables import memories
from mnemolog.projections.owner import Owner, indexed
from mnemolog.projections.raw_sql import fetch_all, keyed, names, one_each, relation, schema_of, write
from mnemolog.projections.rows import Key
from mnemolog.projections.vectors.embedder import Vectors
from mnemolog.projections.vectors.index import KEEPS, Point
from mnemolog.projections.visibility import owned


class PgVectorIndex:
    """Implements `mnemolog.projections.vectors.index.VectorIndex`. Exactly once: it writes in the caller's transaction.

    Search is exact: of the viewer's vectors those that the filters leave, then their distances.
    """

    tables: MetaData = metadata

    async def put(self, connection: AsyncConnection, model: str, points: Sequence[Point]) -> None:
        rows = ((*one.key, model, one.content_hash, one.vector.tolist(), one.seq) for one in points)
        write(connection, _KEEPING, [keyed(list(embeddings.columns), sorted(rows))])
        write(connection, *_copying(connection, model, {one.key: one.content_hash for one in points}))
        if not _keeps(connection):
            write(connection, _UNKEEPING, [keyed(_KEY, sorted(one.key for one in points))])

    async def put_kept(self, connection: AsyncConnection, model: str, wanted: Mapping[Key, bytes]) -> Collection[Key]:
        """No client ever sees these vectors: they go from table to table."""
        return set(await fetch_all(connection, *_copying(connection, model, wanted))) if wanted else set()

    async def remove(self, connection: AsyncConnection, memory_keys: Collection[Key]) -> None:
        for table in (vectors, embeddings) if memory_keys else ():
            key = (*indexed(table), table.c.memory_id)
            await connection.execute(delete(table).where(tuple_(*key).in_(sorted(memory_keys))))

    async def forget(self, connection: AsyncConnection, owner: Owner, before: int) -> None:
        for table, which in ((vectors, true()), (embeddings, embeddings.c.seq < before)):
            of_owner = tuple_(*indexed(table)) == tuple_(*owner)
            await connection.execute(delete(table).where(of_owner & which))

    async def search(
        self,
        connection: AsyncConnection,
        viewer: Viewer,
        candidates: Candidates,
        model: str,
        vector: Vectors,
        limit: int,
    ) -> Mapping[UUID, float]:
        """The ids go to the vectors as an array: a join of the two tables turns quadratic without statistics."""
        distance = vectors.c.embedding.cosine_distance(vector)
        wanted = func.array(select(memories.c.memory_id).where(*candidates.conditions(viewer)).scalar_subquery())
        statement = (
            select(vectors.c.memory_id, (1 - distance).label("score"))
            .where(owned(vectors, viewer), vectors.c.model == model)
            .where(vectors.c.memory_id == any_(wanted))
            .order_by(distance, vectors.c.memory_id)
            .limit(limit)
        )
        return {row[0]: float(row[1]) for row in await connection.execute(statement)}


_KEY = (*indexed(embeddings), embeddings.c.memory_id)
_HASHED = (*_KEY, embeddings.c.content_hash)
_KEEPING = (
    SQL("INSERT INTO mnemolog.embeddings ({}) SELECT * FROM {} ON CONFLICT DO NOTHING")
    .format(names(embeddings.columns), relation(list(embeddings.columns), "fresh"))
    .as_bytes()
)
# What this transaction added, and nothing that another one did.
_UNKEEPING = (
    SQL("DELETE FROM mnemolog.embeddings AS kept USING {} WHERE ({}) = ({}) AND kept.xmin = pg_current_xact_id()::xid")
    .format(relation(_KEY, "added"), names(_KEY, "kept"), names(_KEY, "added"))
    .as_bytes()
)


def _keeps(connection: AsyncConnection) -> bool:
    sync_connection = connection.sync_connection
    assert sync_connection is not None, "the connection is open"
    return bool(sync_connection.get_execution_options().get(KEEPS, True))


def _copying(connection: AsyncConnection, model: str, wanted: Mapping[Key, bytes]) -> tuple[bytes, Sequence[str]]:
    """A statement that takes from the cache what it has of these, and its values."""
    hashed = keyed(_HASHED, sorted((*key, content_hash) for key, content_hash in wanted.items()))
    shape, _ = as_written(connection, vectors)
    return _copied(shape, schema_of(connection, vectors)), [hashed, model]


@cache
def _copied(table: Table, schema: str) -> bytes:
    kept = SQL("SELECT {} FROM mnemolog.embeddings").format(names(table.columns))
    statement = SQL("""
        INSERT INTO {} ({}) SELECT found.* FROM {} CROSS JOIN {} WHERE found.model = %s
        ON CONFLICT ({}) DO UPDATE SET model = excluded.model, embedding = excluded.embedding RETURNING {}
    """)
    place, key = Identifier(schema, table.name), names(table.primary_key.columns)
    found = relation(_HASHED, "wanted"), one_each(kept, _HASHED)
    told = names(vectors.primary_key.columns)
    return statement.format(place, names(table.columns), *found, key, told).as_bytes()
