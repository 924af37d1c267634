"""Start and end of a projecting transaction: lock streams against other workers, save the progress.

Straight through psycopg and pipelined, for any number of projections at once: each end is one round trip, and round
trips are what a small batch costs.
"""

from collections.abc import Callable, Collection, Coroutine, Iterable, Mapping, Sequence
from functools import cache
from typing import Any, LiteralString, TypeVar

from psycopg.sql import SQL, Composed, Identifier
from sqlalchemy.ext.asyncio import AsyncConnection

from mnemolog.adapters.postgres.pipelining import PipeliningConnection, pipelining
from mnemolog.adapters.postgres.progress import is_stopped
from mnemolog.adapters.postgres.statements import Ask, Question, Rows, Statement, Values
from mnemolog.events.envelope import StreamId
from mnemolog.projections.raw_sql import as_sqlalchemy_raises
from mnemolog.projections.seal import MAC, seal_of

T = TypeVar("T")
Progress = dict[StreamId, int]
# Asks at most one query, and returns what follows from the answer.
Beside = Callable[[Ask], Coroutine[Any, Any, T]]

# A swap takes this lock exclusively, so that no write goes to tables that were just replaced.
_HOLD_SCHEMAS = b"""
SELECT pg_advisory_xact_lock_shared(hashtextextended('mnemolog ' || held, 0)) FROM unnest(%(schemas)s::text[]) AS held
"""
# In the same order for all workers, so that they cannot deadlock.
_CLAIM: LiteralString = """
{held} AS MATERIALIZED (
    SELECT held.tenant, held.stream, held.seq, held.stopped_at, held.reason, held.mac FROM {progress} AS held
    JOIN unnest(%(tenants)s::text[], %(streams)s::text[]) AS wanted (tenant, stream) USING (tenant, stream)
    ORDER BY held.tenant, held.stream FOR UPDATE OF held
)
"""
_BEGIN: LiteralString = """
INSERT INTO {progress} (tenant, stream, seq)
SELECT tenant, stream, 0 FROM unnest(%(tenants)s::text[], %(streams)s::text[]) AS begun (tenant, stream)
ORDER BY tenant, stream ON CONFLICT DO NOTHING
"""
_SAVE: LiteralString = """
{saved} AS (
    UPDATE {progress} AS held SET seq = reached.seq, stopped_at = NULL, reason = NULL, mac = NULL FROM reached
    WHERE (held.tenant, held.stream) = (reached.tenant, reached.stream) AND reached.place = {place}
)
"""
_REACHED: LiteralString = """
WITH reached AS MATERIALIZED (
    SELECT * FROM unnest(%(places)s::int[], %(tenants)s::text[], %(streams)s::text[], %(seqs)s::bigint[])
    AS reached (place, tenant, stream, seq)
),
{} SELECT
"""


async def claim(
    connection: AsyncConnection, schemas: Sequence[str], streams: Collection[StreamId]
) -> Sequence[Progress]:
    """The progress of these streams in each schema, locked until the transaction ends; without stopped ones."""
    progress, _ = await claim_and_ask(connection, schemas, streams, nothing)
    return progress


async def claim_and_ask(
    connection: AsyncConnection, schemas: Sequence[str], streams: Collection[StreamId], beside: Beside[T]
) -> tuple[Sequence[Progress], T]:
    """Like `claim`, plus what `beside` asks in the same round trip, once the streams are locked."""
    driver = pipelining(connection)
    rows_by_schema, answer = await _claimed(driver, tuple(schemas), streams, beside)
    new = [set(streams).difference(StreamId(*row[:2]) for row in rows) for rows in rows_by_schema]
    if any(new):
        # Release the others first: whoever waits for the new ones may hold some that come earlier in the order.
        await driver.rollback()
        async with driver.pipeline():
            await driver.execute(_HOLD_SCHEMAS, {"schemas": list(schemas)})
            for schema, begun in zip(schemas, new, strict=True):
                await driver.execute(_on(_BEGIN, schema), _names(begun))
        rows_by_schema, answer = await _claimed(driver, tuple(schemas), streams, beside)
    seal = seal_of(connection)
    progress = [
        {StreamId(*row[:2]): row[2] for row in rows if row[3] is None or not is_stopped(seal, schema, _named(row))}
        for schema, rows in zip(schemas, rows_by_schema, strict=True)
    ]
    return progress, answer


async def save(connection: AsyncConnection, reached: Mapping[str, Progress]) -> None:
    """Save the progress of the streams locked by this transaction, by schema, and commit."""
    driver = pipelining(connection)
    rows = [
        (place, stream.tenant, stream.name, seq)
        for place, progress in enumerate(reached.values())
        for stream, seq in progress.items()
    ]
    if rows:
        columns = map(list, zip(*rows, strict=True))
        driver.defer(_save(tuple(reached)), dict(zip(("places", "tenants", "streams", "seqs"), columns, strict=True)))
    with as_sqlalchemy_raises("COMMIT"):
        await driver.commit()


def _named(row: tuple[Any, ...]) -> dict[str, Any]:
    return dict(zip(("tenant", "stream", "seq", "stopped_at", "reason", MAC), row, strict=True))


async def _claimed(
    driver: PipeliningConnection, schemas: tuple[str, ...], streams: Collection[StreamId], beside: Beside[T]
) -> tuple[Sequence[Rows], T]:
    """The rows of each schema, and the answer for `beside`, asked last, so that it sees what was committed before."""
    questions: list[Question] = [(_HOLD_SCHEMAS, {"schemas": list(schemas)}), (_claim(schemas), _names(streams))]
    answers: list[Rows] = []

    async def along(statement: Statement, values: Values) -> Rows:
        *answers[:], found = await driver.ask_all([*questions, (statement, values)])
        return found

    answer = await beside(along)
    _, rows = answers or await driver.ask_all(questions)
    return [[row[1:] for row in rows if row[0] == place] for place in range(len(schemas))], answer


async def nothing(ask: Ask) -> None:
    """A `beside` that asks nothing."""


@cache
def _claim(schemas: tuple[str, ...]) -> bytes:
    """One statement for all schemas."""
    names = [Identifier(f"held_{place}") for place in range(len(schemas))]
    claims = [
        SQL(_CLAIM).format(held=name, progress=Identifier(schema, "progress"))
        for name, schema in zip(names, schemas, strict=True)
    ]
    found = [SQL("SELECT {}, {}.* FROM {}").format(place, name, name) for place, name in enumerate(names)]
    return _short(SQL("WITH {} {}").format(SQL(",").join(claims), SQL(" UNION ALL ").join(found)))


@cache
def _save(schemas: tuple[str, ...]) -> bytes:
    """One statement for all schemas."""
    saves = [
        SQL(_SAVE).format(saved=Identifier(f"saved_{place}"), progress=Identifier(schema, "progress"), place=place)
        for place, schema in enumerate(schemas)
    ]
    return _short(SQL(_REACHED).format(SQL(",").join(saves)))


def _short(statement: Composed) -> bytes:
    """psycopg parses a statement of more than 4,096 bytes each time it is sent. In these, no literal has spaces."""
    return b" ".join(statement.as_bytes().split())


@cache
def _on(statement: LiteralString, schema: str) -> bytes:
    """As bytes, because psycopg caches their conversion; there are few schemas."""
    return SQL(statement).format(progress=Identifier(schema, "progress")).as_bytes()


def _names(streams: Iterable[StreamId]) -> dict[str, list[Any]]:
    ordered = list(streams)
    return {"tenants": [one.tenant for one in ordered], "streams": [one.name for one in ordered]}
