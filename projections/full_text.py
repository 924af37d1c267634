"""Full-text search: which texts have the words of a question, scored by BM25."""

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol
from uuid import UUID

from sqlalchemy import ColumnElement, CompoundSelect, Select, any_, func, literal_column, null, select, true, union_all
from sqlalchemy.ext.asyncio import AsyncConnection

from mnemolog.domain.relevance import K1, B, Collection, Document
from mnemolog.domain.text import search_terms
from mnemolog.domain.viewer import Viewer

# Stems without stop words, made by the migrations: the domain drops its own.
CONFIGURATION: ColumnElement[str] = literal_column("'mnemolog.words'::regconfig")


class Searchable(Protocol):
    """Which texts a search may find: a value, such as `Candidates` of memories and messages."""

    def documents(self, viewer: Viewer) -> Select[Any] | CompoundSelect[Any]:
        """Of those that the viewer sees, each `id` with the terms that a full-text search finds it by, as `search`."""
        ...


class Matches(NamedTuple):
    """The BM25 scores of the best, and the statistics that they rest on."""

    scores: Mapping[UUID, float]
    collection: Collection


async def search(
    connection: AsyncConnection, candidates: Searchable, viewer: Viewer, query: str, limit: int
) -> Matches:
    """The best of the candidates with any word of the query, by BM25 over all candidates."""
    terms = search_terms(query)
    if not terms:
        return Matches({}, Collection())
    wanted = func.to_tsquery(CONFIGURATION, " | ".join(terms))
    document = candidates.documents(viewer).subquery()
    among = select(func.count().label("n"), func.avg(func.length(document.c.search)).label("length"))
    # Computed once, even by a cached plan that was made for users with few memories.
    collection = among.cte("collection").prefix_with("MATERIALIZED")
    word = func.unnest(document.c.search).table_valued("lexeme", "positions", "weights").render_derived()
    matches = (
        select(
            document.c.id,
            word.c.lexeme,
            func.cardinality(word.c.positions).label("tf"),
            func.length(document.c.search).label("length"),
        )
        .select_from(document)
        .join(word, true())
        .where(document.c.search.op("@@")(wanted), word.c.lexeme == any_(_lexemes(terms)))
        .cte("matches")
        .prefix_with("MATERIALIZED")
    )
    having = select(matches.c.lexeme, func.count().label("df")).group_by(matches.c.lexeme).cte("having")
    idf = func.ln(1 + (collection.c.n - having.c.df + 0.5) / (having.c.df + 0.5))
    norm = K1 * (1 - B + B * matches.c.length / collection.c.length)
    score = func.sum(idf * matches.c.tf * (K1 + 1) / (matches.c.tf + norm)).label("score")
    best = (
        select(matches.c.id, score)
        .select_from(matches)
        .join(having, having.c.lexeme == matches.c.lexeme)
        .join(collection, true())
        .group_by(matches.c.id)
        .order_by(score.desc(), matches.c.id)
        .limit(limit)
        .subquery()
    )
    statement = union_all(
        select(best.c.id, best.c.score, null().label("lexeme"), null().label("df"), null().label("n"), null()),
        select(null(), null(), having.c.lexeme, having.c.df, collection.c.n, collection.c.length).join(
            collection, true()
        ),
    )
    scores, words, texts, length = dict[UUID, float](), dict[str, int](), 0, 1.0
    for row in await connection.execute(statement):
        if row[0] is not None:
            scores[row[0]] = float(row[1])
        else:
            words[row[2]], texts, length = row[3], row[4], float(row[5])
    ordered = sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))
    return Matches(dict(ordered), Collection.of(texts, length, words))


async def documents(
    connection: AsyncConnection, candidates: Searchable, viewer: Viewer, query: str
) -> dict[UUID, Document]:
    """The candidates, each with its words of the query."""
    document = candidates.documents(viewer).subquery()
    word = func.unnest(document.c.search).table_valued("lexeme", "positions", "weights").render_derived()
    pairs = func.array_agg(func.jsonb_build_array(word.c.lexeme, func.cardinality(word.c.positions)))
    counted = select(pairs).where(word.c.lexeme == any_(_lexemes(search_terms(query)))).scalar_subquery()
    statement = select(document.c.id, func.length(document.c.search), counted)
    return {row[0]: Document(row[1], dict(row[2] or ())) for row in await connection.execute(statement)}


def _lexemes(terms: tuple[str, ...]) -> ColumnElement[Any]:
    return func.tsvector_to_array(func.to_tsvector(CONFIGURATION, " ".join(terms)))
