"""SQL that fills the index, from what a client sends or from the embeddings that are there already."""

from collections.abc import Collection, Sequence
from enum import Enum, auto
from functools import cache
from typing import Any
from uuid import UUID

from pgvector.sqlalchemy import HALFVEC
from psycopg.sql import SQL, Composable, Identifier, Literal
from sqlalchemy import (
    ARRAY,
    REAL,
    BigInteger,
    Column,
    ColumnElement,
    Delete,
    Double,
    MetaData,
    Select,
    Table,
    Text,
    Uuid,
    and_,
    any_,
    cast,
    delete,
    func,
    literal_column,
    select,
)

from mnemolog.adapters.pgvector.large import Part
from mnemolog.adapters.pgvector.tables import embeddings, vectors
from mnemolog.domain.viewer import Viewer
from mnemolog.projections.asking import given
from mnemolog.projections.full_text import Searchable
from mnemolog.projections.owner import OWNER, indexed
from mnemolog.projections.raw_sql import names, one_each, relation
from mnemolog.projections.visibility import owned

Columns = Sequence[Column[Any]]

KEY: Columns = (*indexed(embeddings), embeddings.c.subject_id)
HASHED: Columns = tuple(embeddings.primary_key.columns)
FOUND: Columns = (*HASHED, embeddings.c.embedding_mac, embeddings.c.seq)
ROW: Columns = (*FOUND, embeddings.c.embedding)

RETURNING_KEYS = SQL("RETURNING {}").format(names(KEY)).as_bytes()
"""To append to `indexing`: the keys of the rows for which there was an embedding."""


class Kept(Enum):
    """What a write to the index does to the table of kept embeddings."""

    NOTHING = auto()
    REPLACED = auto()  # Adds the replaced ones.
    MOVED = auto()  # Adds the replaced ones, and removes the indexed ones.
    NEW = auto()  # Adds the indexed ones: the table of a previous version does not identify a vector's text.


@cache
def finding(live: str) -> bytes:
    """For each text, the embedding's MAC (NULL if there is none yet) and the digest it covers."""
    statement = SQL("""
        SELECT {}, coalesce(live.embedding_mac, nullif(kept.embedding_mac, '')),
            sha256(halfvec_send(coalesce(live.embedding, kept.embedding)))
        FROM {}
    """)
    return statement.format(names(KEY, "wanted"), _sources(live, HASHED)).as_bytes()


def _sources(live: str, sent: Columns) -> Composable:
    """The input as `wanted`, with the embedding of the same text from the `live` index or the kept ones."""
    statement = SQL("""
        {} LEFT JOIN LATERAL (SELECT embedding, embedding_mac FROM {} WHERE {} OFFSET 0) AS live ON true
        LEFT JOIN LATERAL (
            SELECT embedding, embedding_mac FROM mnemolog.embeddings WHERE live.embedding IS NULL AND {} OFFSET 0
        ) AS kept ON true
        WHERE live.embedding IS NOT NULL OR kept.embedding IS NOT NULL
    """)
    same = SQL("({}) = ({})").format(names(HASHED), names(HASHED, "wanted"))
    return statement.format(relation(sent, "wanted"), Identifier(live, vectors.name), same, same)


@cache
def indexing(shape: Table, schema: str, live: str | None, kept: Kept) -> bytes:
    """Insert the rows, replacing their subjects' previous ones; embeddings come from `live` or from the client."""
    if live is None:
        source = SQL("SELECT * FROM {}").format(relation(ROW, "wanted"))
    else:
        found = SQL("SELECT wanted.*, coalesce(live.embedding, kept.embedding) AS embedding FROM {}")
        source = found.format(_sources(live, FOUND))
    place, replaced = Identifier(schema, shape.name), [one for one in shape.columns if not one.primary_key]
    statement = SQL("""
        WITH wanted AS MATERIALIZED ({}){}
        INSERT INTO {} ({}) SELECT {} FROM wanted ON CONFLICT ({}) DO UPDATE SET {}
    """)
    return statement.format(
        source,
        SQL("").join(SQL(", ") + one for one in _keeping(place, kept)),
        place,
        names(shape.columns),
        SQL(", ").join(Identifier(one.key) for one in shape.columns),
        names(shape.primary_key.columns),
        SQL(", ").join(SQL("{0} = excluded.{0}").format(Identifier(one.name)) for one in replaced),
    ).as_bytes()


def _keeping(place: Identifier, kept: Kept) -> Sequence[Composable]:
    """The steps of `indexing` on the table of kept embeddings."""
    add = SQL("kept AS (INSERT INTO mnemolog.embeddings ({}) {} ON CONFLICT DO NOTHING)")
    if kept is Kept.NOTHING:
        return []
    if kept is Kept.NEW:
        return [add.format(names(ROW), SQL("SELECT {} FROM wanted").format(names(ROW)))]
    old = SQL("SELECT {}, wanted.seq, found.embedding FROM wanted CROSS JOIN {} WHERE ({}) <> ({})").format(
        names([*HASHED, embeddings.c.embedding_mac], "found"),
        one_each(SQL("SELECT * FROM {}").format(place), KEY),
        names(HASHED[len(KEY) :], "found"),
        names(HASHED[len(KEY) :], "wanted"),
    )
    steps = [add.format(names(ROW), old)]
    if kept is Kept.MOVED:
        there = one_each(SQL("SELECT ctid FROM mnemolog.embeddings"), HASHED)
        moved = SQL("ARRAY(SELECT found.ctid FROM wanted CROSS JOIN {})").format(there)
        steps.append(SQL("moved AS (DELETE FROM mnemolog.embeddings WHERE ctid = ANY({}))").format(moved))
    return steps


def nearest(viewer: Viewer, candidates: Searchable, part: Part | None = None, wanted: int | None = None) -> Select[Any]:
    """Of the `first` nearest that the viewer owns, up to `limit`: the candidates, then others.

    Each with its similarity, whether it is a candidate, and how many were looked at. With a `part`, its index tells
    which are nearest, and `wanted` is how many are looked at: both are part of the statement, because the plan of
    prepared statements is made without their values.
    """
    distance, first_ones = _distance(part), given("first", BigInteger())
    nearest_ones = (
        select(vectors.c.subject_id, distance.label("distance"))
        .where(owned(vectors, viewer), vectors.c.model == given("model", Text()), *_of_part(part))
        .order_by(distance)
        .limit(first_ones if wanted is None else literal_column(str(int(wanted))))
    )
    first = nearest_ones.cte("first").prefix_with("MATERIALIZED")
    document = candidates.documents(viewer).subquery()
    known = func.array(select(first.c.subject_id).scalar_subquery())
    able = func.array(select(document.c.id).where(document.c.id == any_(known)).scalar_subquery())
    is_candidate = first.c.subject_id == any_(able)
    return (
        select(first.c.subject_id, 1 - first.c.distance, is_candidate, func.count().over())
        .order_by(is_candidate.desc(), first.c.distance, first.c.subject_id)
        .limit(given("limit", BigInteger()))
    )


def among(viewer: Viewer, candidates: Searchable, narrowed: bool) -> Select[Any]:
    """The `limit` nearest candidates, or with `narrowed` of those in `only`, each with its similarity.

    The ids are sent as an array: without statistics, a join of the two tables becomes quadratic.
    """
    distance, document = _distance(), candidates.documents(viewer).subquery()
    ids = select(document.c.id)
    if narrowed:
        ids = ids.where(document.c.id == any_(given("only", ARRAY(Uuid))))
    return (
        select(vectors.c.subject_id, 1 - distance)
        .where(owned(vectors, viewer), vectors.c.model == given("model", Text()))
        .where(vectors.c.subject_id == any_(func.array(ids.scalar_subquery())))
        .order_by(distance, vectors.c.subject_id)
        .limit(given("limit", BigInteger()))
    )


def vectors_of(viewer: Viewer, ids: Collection[UUID]) -> Select[Any]:
    own = owned(vectors, viewer), vectors.c.subject_id.in_(sorted(ids))
    return select(vectors.c.subject_id, cast(vectors.c.embedding, ARRAY(REAL))).where(*own)


def _distance(part: Part | None = None) -> ColumnElement[Any]:
    kind = HALFVEC(part.dimensions if part else None)
    # As a subquery: a plan that is kept would parse the vector again for each row.
    wanted = select(cast(given("vector", Text()), kind)).scalar_subquery()
    embedding: ColumnElement[Any] = cast(vectors.c.embedding, kind) if part else vectors.c.embedding
    distance: ColumnElement[Any] = embedding.op("<=>", return_type=Double())(wanted)
    return distance


def _of_part(part: Part | None) -> Sequence[ColumnElement[bool]]:
    """The conditions of the part's index, word for word."""
    if part is None:
        return []
    said = zip((*OWNER, "model"), (*part.owner, part.model), strict=True)
    conditions = [vectors.c[name] == literal_column(Literal(value).as_string(), Text) for name, value in said]
    return [*conditions, func.vector_dims(vectors.c.embedding) == literal_column(str(int(part.dimensions)))]


@cache
def duplicates(live: str) -> Delete:
    """Delete kept embeddings of texts that the live index has."""
    indexed_ones = vectors.to_metadata(MetaData(), schema=live)
    return delete(embeddings).where(and_(*(embeddings.c[one.name] == indexed_ones.c[one.name] for one in HASHED)))
