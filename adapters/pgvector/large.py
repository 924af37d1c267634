"""An approximate index (HNSW) for each owner with many vectors; those of all others are searched exactly (ADR 83)."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256

from psycopg.sql import SQL, Composed, Identifier, Literal
from sqlalchemy.ext.asyncio import AsyncConnection

from mnemolog.adapters.pgvector.tables import vectors
from mnemolog.adapters.postgres.pipelining import pipelining
from mnemolog.projections.owner import OWNER, Owner
from mnemolog.projections.raw_sql import driver_of, fetch_all, live_schema, schema_of
from mnemolog.projections.vectors.projector import NAME

LARGE = 5000
"""An owner with so many vectors gets an index, and keeps it until there are half as many."""
LOOK_SECONDS = 30.0
MOST_DIMENSIONS = 4000
"""The most that pgvector indexes in half precision."""
PREFIX = "near_"

# How much an index is looked through: at 200 vectors at first, and at more until there are as many as wanted. The first
# statement loads the extension, which has the second setting since version 0.8.
_LOADED = b"SELECT vector_dims('[1]'::halfvec)"
_LOOKING = b"""
SELECT set_config(name, CASE name WHEN 'hnsw.ef_search' THEN '200' ELSE 'strict_order' END, false)
FROM pg_settings WHERE name IN ('hnsw.ef_search', 'hnsw.iterative_scan')
"""
_PREPARED = "mnemolog looks through approximate indexes"
# Without parallel workers, whose shared memory is often limited in containers.
_BUILDING = (b"SET maintenance_work_mem = '256MB'", b"SET max_parallel_maintenance_workers = 0")
_BUILT = (b"RESET maintenance_work_mem", b"RESET max_parallel_maintenance_workers")
_THERE = b"""
SELECT part.relname, index.indisvalid FROM pg_index AS index JOIN pg_class AS part ON part.oid = index.indexrelid
JOIN pg_namespace AS space ON space.oid = part.relnamespace
WHERE space.nspname = %s AND starts_with(part.relname, %s)
"""


@dataclass(frozen=True, slots=True)
class Part:
    """The vectors of one owner and model, which have one number of dimensions."""

    owner: Owner
    model: str
    dimensions: int

    @property
    def index(self) -> str:
        said = "\n".join([*self.owner, self.model, str(self.dimensions)])
        return PREFIX + sha256(said.encode()).hexdigest()[:24]


class LargeOwners:
    """Which owners have an index, as read from the catalog every half minute.

    Nothing goes wrong by that: a search that takes an owner for small, or expects an index that is gone, is exact.
    """

    def __init__(self, large: int) -> None:
        self._large = large
        self._known: dict[str, tuple[float, frozenset[str]]] = {}

    async def has(self, connection: AsyncConnection, part: Part) -> bool:
        """Whether the part has an index in the tables that this connection reads."""
        schema = live_schema(connection, NAME)
        if schema_of(connection, vectors) != schema:
            return False
        looked, names = self._known.get(schema, (float("-inf"), frozenset[str]()))
        if time.monotonic() - looked > LOOK_SECONDS:
            self._known[schema] = (time.monotonic(), names)  # Whoever else searches meanwhile need not look.
            names = frozenset(name for name, valid in (await _there(connection, schema)).items() if valid)
            self._known[schema] = (time.monotonic(), names)
        if part.index not in names:
            return False
        # Once for each connection; in a transaction, which may be rolled back, each time.
        if not connection.info.get(_PREPARED):
            await fetch_all(connection, _LOADED, [])
            await fetch_all(connection, _LOOKING, [])
            connection.info[_PREPARED] = pipelining(connection).autocommit
        return True

    async def maintain(self, connection: AsyncConnection) -> Sequence[str]:
        """Index the owners that became large, and drop the indexes of those that no longer are; returns the new ones.

        Owners are read and written meanwhile. One process at a time may do it; an index that a crash left incomplete
        is dropped. The connection's statements must be transactions of their own.
        """
        schema = live_schema(connection, NAME)
        there = await _there(connection, schema)
        counted = await self._parts(connection, schema, self._large // 2)
        parts = [(one, count) for one, count in counted if one.dimensions <= MOST_DIMENSIONS]
        kept = {one.index for one, _ in parts if there.get(one.index)}
        for name in sorted(there.keys() - kept):
            await _run(connection, SQL("DROP INDEX CONCURRENTLY IF EXISTS {}").format(Identifier(schema, name)))
        new = [one for one, count in parts if count >= self._large and one.index not in kept]
        if new:
            await _run(connection, *_BUILDING)
            for one in new:
                await _run(connection, creation(one, schema))
            await _run(connection, *_BUILT)
        self._known.pop(schema, None)
        return [one.index for one in new]

    async def _parts(self, connection: AsyncConnection, schema: str, least: int) -> Sequence[tuple[Part, int]]:
        """The large owners, each with the model of its vectors and how many there are."""
        owner = SQL(", ").join(map(Identifier, OWNER))
        counting = SQL("""
            SELECT {owner}, one.model, one.dimensions, counted.n
            FROM (SELECT {owner}, count(*) AS n FROM {table} GROUP BY {owner} HAVING count(*) >= %s) AS counted
            CROSS JOIN LATERAL (
                SELECT model, vector_dims(embedding) AS dimensions FROM {table} AS found
                WHERE (found.tenant, found.stream_kind, found.user_id) =
                    (counted.tenant, counted.stream_kind, counted.user_id) LIMIT 1
            ) AS one
        """)
        statement = counting.format(owner=owner, table=Identifier(schema, vectors.name)).as_bytes()
        rows = await fetch_all(connection, statement, [max(1, least)])
        return [(Part((tenant, kind, whose), model, size), n) for tenant, kind, whose, model, size, n in rows]


def creation(part: Part, schema: str) -> Composed:
    """The statement that makes the index of a part. A search that says the same conditions may use it."""
    size, conditions = Literal(part.dimensions), zip((*OWNER, "model"), (*part.owner, part.model), strict=True)
    statement = SQL("""
        CREATE INDEX CONCURRENTLY {} ON {} USING hnsw ((embedding::halfvec({})) halfvec_cosine_ops)
        WHERE {} AND vector_dims(embedding) = {}
    """)
    of_part = SQL(" AND ").join(SQL("{} = {}").format(Identifier(name), Literal(value)) for name, value in conditions)
    return statement.format(Identifier(part.index), Identifier(schema, vectors.name), size, of_part, size)


async def _there(connection: AsyncConnection, schema: str) -> Mapping[str, bool]:
    """The indexes of owners by name, and whether each is complete."""
    return dict(await fetch_all(connection, _THERE, [schema, PREFIX]))


async def _run(connection: AsyncConnection, *statements: Composed | bytes) -> None:
    """Not in a pipeline, in which Postgres builds no index concurrently."""
    for one in statements:
        await driver_of(connection).cursor().execute(one)
