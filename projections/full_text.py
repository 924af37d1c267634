"""Full-text search: which texts have the words of a question, scored by BM25."""

from collections.abc import Hashable, Iterable, Mapping
from typing import Any, NamedTuple, Protocol
from uuid import UUID

from sqlalchemy import (
    ARRAY,
    BigInteger,
    ColumnElement,
    CompoundSelect,
    Select,
    Text,
    Uuid,
    any_,
    cast,
    func,
    literal_column,
    null,
    select,
    true,
    union_all,
)
from sqlalchemy.ext.asyncio import AsyncConnection

from mnemolog.domain.relevance import K1, B, Collection, Document
from mnemolog.domain.text import search_terms
from mnemolog.domain.viewer import Viewer
from mnemolog.projections.asking import ask, given

# Stems without stop words, made by the migrations: the domain drops its own.
CONFIGURATION: ColumnElement[str] = literal_column("'mnemolog.words'::regconfig")


class Searchable(Hashable, Protocol):
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
    if not (terms := search_terms(query)):
        return Matches({}, Collection())
    rows = await ask(connection, viewer, _matches, candidates, **_told(terms), limit=limit)
    scores, words, texts, length = dict[UUID, float](), dict[str, int](), 0, 1.0
    for id_, score, lexeme, having, n, average in rows:
        if id_ is not None:
            scores[id_] = float(score)
        else:
            words[lexeme], texts, length = having, n, float(average)
    ordered = sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))
    return Matches(dict(ordered), Collection.of(texts, length, words))


async def documents(
    connection: AsyncConnection, candidates: Searchable, viewer: Viewer, query: str, ids: Iterable[UUID]
) -> dict[UUID, Document]:
    """Those of the candidates with these ids, each with its words of the query."""
    rows = await ask(connection, viewer, _documents, candidates, **_told(search_terms(query)), ids=list(ids))
    return {id_: Document(length, dict(words or ())) for id_, length, words in rows}


def _told(terms: tuple[str, ...]) -> dict[str, str]:
    return {"any": " | ".join(terms), "terms": " ".join(terms)}


def _matches(viewer: Viewer, candidates: Searchable) -> CompoundSelect[Any]:
    """Up to `limit` ids with their scores, then each word of the query with the number of texts that have it."""
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
        .where(document.c.search.op("@@")(func.to_tsquery(CONFIGURATION, given("any", Text()))), _wanted(word.c.lexeme))
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
        .limit(given("limit", BigInteger()))
        .subquery()
    )
    return union_all(
        select(best.c.id, best.c.score, null().label("lexeme"), null().label("df"), null().label("n"), null()),
        select(null(), null(), having.c.lexeme, having.c.df, collection.c.n, collection.c.length).join(
            collection, true()
        ),
    )


def _documents(viewer: Viewer, candidates: Searchable) -> Select[Any]:
    document = candidates.documents(viewer).subquery()
    word = func.unnest(document.c.search).table_valued("lexeme", "positions", "weights").render_derived()
    pairs = func.array_agg(func.jsonb_build_array(word.c.lexeme, func.cardinality(word.c.positions)))
    counted = select(pairs).where(_wanted(word.c.lexeme)).scalar_subquery()
    among = document.c.id == any_(given("ids", ARRAY(Uuid())))
    return select(document.c.id, func.length(document.c.search), counted).where(among)


def _wanted(lexeme: ColumnElement[str]) -> ColumnElement[bool]:
    words = func.tsvector_to_array(func.to_tsvector(CONFIGURATION, given("terms", Text())))
    return lexeme == any_(cast(select(words).scalar_subquery(), ARRAY(Text)))
