"""Full-text search: which texts have the words of a question, scored by BM25."""

from collections.abc import Hashable, Iterable, Mapping
from typing import Any, NamedTuple, Protocol
from uuid import UUID

from sqlalchemy import (
    ARRAY,
    CTE,
    BigInteger,
    Column,
    ColumnElement,
    CompoundSelect,
    Computed,
    Double,
    Integer,
    Select,
    Text,
    Uuid,
    any_,
    case,
    cast,
    false,
    func,
    literal,
    literal_column,
    null,
    select,
    true,
    union_all,
)
from sqlalchemy.dialects.postgresql import TSVECTOR
from sqlalchemy.ext.asyncio import AsyncConnection

from mnemolog.domain.asked import AnswerKind, answer_kind
from mnemolog.domain.relevance import K1, B, Collection, Document
from mnemolog.domain.text import search_terms
from mnemolog.domain.viewer import Viewer
from mnemolog.projections.asking import ask, given
from mnemolog.projections.seal import mac_column
from mnemolog.projections.visibility import owned
from mnemolog.projections.words import ALL, Words

# Stems without stop words, made by the migrations: the domain drops its own.
CONFIGURATION: ColumnElement[str] = literal_column("'mnemolog.words'::regconfig")


def searchable() -> tuple[Column[Any], ...]:
    """The last columns of a table of texts: what is searched of a text, the row's MAC, and the terms that are found."""
    terms = func.to_tsvector(CONFIGURATION, literal_column("document"))
    return (
        Column("document", Text, nullable=False),
        mac_column(),
        Column("search", TSVECTOR, Computed(terms, persisted=True)),
    )


class Searchable(Hashable, Protocol):
    """Which texts a search may find: a value, such as `Candidates` of memories and messages."""

    @property
    def words(self) -> tuple[Words, ...]:
        """The words that are kept of all candidates; without any, they are counted for each search."""
        ...

    def documents(self, viewer: Viewer) -> Select[Any] | CompoundSelect[Any]:
        """Of those that the viewer sees, each `id` with the terms that a full-text search finds it by, as `search`."""
        ...


class Dated(Searchable, Protocol):
    """Texts of which it is known when they were said: `documents` also has that, as `at`."""


FIRST = 200
"""How many of the best are looked at before what is not a candidate is left out."""
BUDGET = 50_000
"""The rarest words of a query are looked up in all their texts, up to so many in all."""
CAP = 500
"""Of every other word so many texts are looked at, the shortest first: its weight is small."""


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
    if candidates.words and (known := await _by_kept(connection, candidates, viewer, terms, limit)):
        return known
    rows = await ask(connection, viewer, _matches, candidates, **_told(terms), limit=limit)
    scores, words, texts, length = dict[UUID, float](), dict[str, int](), 0, 1.0
    for id_, score, lexeme, having, n, average in rows:
        if id_ is not None:
            scores[id_] = float(score)
        else:
            words[lexeme], texts, length = having, n, float(average)
    ordered = sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))
    return Matches(dict(ordered), Collection.of(texts, length, words))


async def _by_kept(
    connection: AsyncConnection, candidates: Searchable, viewer: Viewer, terms: tuple[str, ...], limit: int
) -> Matches | None:
    """The best by the words that the projectors keep, without counting any.

    None if they are not kept yet, or if the filters leave too few of those that were looked at.
    """
    first = max(FIRST, 4 * limit)
    rows = await ask(connection, viewer, _kept, candidates, terms=" ".join(terms), limit=limit, first=first)
    scores = {id_: float(score) for id_, _, score, _, _, _ in rows if id_ is not None}
    having = {word: int(texts) for _, word, _, texts, _, _ in rows if word is not None}
    kept = [(texts, length) for id_, word, _, texts, length, there in rows if there and id_ is None and word is None]
    looked_at = next(texts for id_, word, _, texts, _, there in rows if there is None and id_ is None and word is None)
    if any(texts is None for texts, _ in kept) or (len(scores) < limit and looked_at == first):
        return None
    texts = sum(int(count) for count, _ in kept)
    ordered = sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))
    return Matches(dict(ordered), Collection.of(texts, sum(int(one) for _, one in kept) / max(texts, 1), having))


async def documents(
    connection: AsyncConnection, candidates: Dated, viewer: Viewer, query: str, ids: Iterable[UUID]
) -> dict[UUID, Document]:
    """Those of the candidates with these ids, each with its words of the query."""
    kind, told = answer_kind(query), _told(search_terms(query))
    rows = await ask(connection, viewer, _documents, candidates, kind, **told, ids=list(ids))
    return {
        id_: Document(length, dict(zip(words, counts, strict=True)), at, of_kind)
        for id_, length, words, counts, at, of_kind in rows
    }


async def categories(connection: AsyncConnection, viewer: Viewer, kept: tuple[Words, ...]) -> frozenset[str] | None:
    """The categories of the texts that the viewer sees, without looking at any; None if no words are kept of some."""
    rows = await ask(connection, viewer, _categories, kept)
    if not all(is_kept for _, is_kept in rows):
        return None
    return frozenset(category for category, _ in rows if category is not None)


def _categories(viewer: Viewer, kept: tuple[Words, ...]) -> CompoundSelect[Any]:
    """Each category, and for each table whether its words are kept, or there are no texts."""
    found: list[Select[Any]] = []
    for one in kept:
        column = one.lexicon.c
        counted = select(column.word).where(owned(one.lexicon, viewer), column.word == ALL).exists()
        texts = select(one.texts.c.user_id).where(owned(one.texts, viewer)).exists()
        category: ColumnElement[Any] = cast(null(), Text).label("category")
        is_kept: ColumnElement[Any] = counted | ~texts
        found.append(select(*(category, is_kept)))
        found.append(select(column.category, true()).where(*_seen(viewer, one), column.word == ALL))
    return union_all(*found)


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


def _kept(viewer: Viewer, candidates: Searchable) -> CompoundSelect[Any]:
    """Rows of (id, word, score, texts, length, there), in which one of these is given.

    Up to `limit` ids with their scores; each word, and how many texts have it; for each projection how many texts
    there are and their length, both NULL if they are not kept, and whether it has any rows; how many texts were scored.
    """
    lexemes = func.tsvector_to_array(func.to_tsvector(CONFIGURATION, given("terms", Text())))
    wanted = select(func.unnest(lexemes).column_valued("word").label("word")).cte("wanted").prefix_with("MATERIALIZED")
    words = cast(select(func.array_append(func.array_agg(wanted.c.word), ALL)).scalar_subquery(), ARRAY(Text))
    counted = (
        union_all(*(_counted(viewer, one, words, place) for place, one in enumerate(candidates.words)))
        .cte("counted")
        .prefix_with("MATERIALIZED")
    )
    every = counted.c.word == ALL
    texts, length = (
        select(cast(func.sum(one), Double)).where(every).scalar_subquery()
        for one in (counted.c.texts, counted.c.length)
    )
    average = func.greatest(length / func.greatest(texts, 1.0), 1.0)
    df = func.sum(counted.c.texts)
    upto = func.sum(df).over(order_by=(df, counted.c.word)).label("upto")
    # In double precision, once for each word: for each posting, Postgres' numeric takes longer than all the rest.
    n, total = cast(df, Double), func.greatest(texts, cast(df, Double))
    weight = (func.ln(1 + (total - n + 0.5) / (n + 0.5)) * (K1 + 1)).label("weight")
    slope = (K1 * B / average).label("slope")
    numbers = select(counted.c.word, df.label("df"), upto, weight, slope).where(~every).group_by(counted.c.word)
    having = numbers.cte("having").prefix_with("MATERIALIZED")
    posted = [_posted(viewer, one, having).lateral() for one in candidates.words]
    found = union_all(
        *(select(*one.c, having.c.weight, having.c.slope).select_from(having).join(one, true()) for one in posted)
    ).subquery()
    tf = cast(found.c.tf, Double)
    score = func.sum(found.c.weight * tf / (tf + K1 * (1 - B) + found.c.slope * found.c.length)).label("score")
    scored = (
        select(found.c.id, score)
        .group_by(found.c.id)
        .order_by(score.desc(), found.c.id)
        .limit(given("first", BigInteger()))
        .cte("scored")
        .prefix_with("MATERIALIZED")
    )
    document = candidates.documents(viewer).subquery()
    known = func.array(select(scored.c.id).scalar_subquery())
    able = func.array(select(document.c.id).where(document.c.id == any_(known)).scalar_subquery())
    best = (
        select(scored.c.id, scored.c.score)
        .where(scored.c.id == any_(able))
        .order_by(scored.c.score.desc(), scored.c.id)
        .limit(given("limit", BigInteger()))
        .subquery()
    )
    nothing: ColumnElement[Any] = null()
    return union_all(
        select(
            best.c.id, cast(nothing, Text), best.c.score, cast(nothing, BigInteger), cast(nothing, BigInteger), true()
        ),
        select(nothing, having.c.word, nothing, having.c.df, nothing, nothing),
        *(
            select(
                nothing,
                nothing,
                nothing,
                select(func.sum(counted.c.texts)).where(every, counted.c.place == place).scalar_subquery(),
                select(func.sum(counted.c.length)).where(every, counted.c.place == place).scalar_subquery(),
                select(one.texts.c.user_id).where(owned(one.texts, viewer)).exists(),
            )
            for place, one in enumerate(candidates.words)
        ),
        select(nothing, nothing, nothing, select(func.count()).select_from(scored).scalar_subquery(), nothing, nothing),
    )


def _counted(viewer: Viewer, kept: Words, words: ColumnElement[Any], place: int) -> Select[Any]:
    """How many texts that the viewer sees have each of these words."""
    column = kept.lexicon.c
    counted = select(literal(place).label("place"), column.word, column.texts, column.length)
    return counted.where(*_seen(viewer, kept), column.word == any_(words))


def _seen(viewer: Viewer, kept: Words) -> list[ColumnElement[bool]]:
    """What is counted of the texts that the viewer sees."""
    column = kept.lexicon.c
    seen = [owned(kept.lexicon, viewer), column.agent_id.in_(["", viewer.agent_id])]
    if viewer.categories is not None:
        seen.append(column.category == any_(literal(sorted(viewer.categories), ARRAY(Text))))
    return seen


def _posted(viewer: Viewer, kept: Words, having: CTE) -> Select[Any]:
    column = kept.postings.c
    most = case((having.c.upto <= BUDGET, None), else_=CAP)  # LIMIT NULL is none.
    mine = [owned(kept.postings, viewer), column.word == having.c.word]
    return (
        select(column.id, cast(column.length, Double).label("length"), column.tf)
        .where(*mine)
        .order_by(column.length)
        .limit(most)
    )


def _documents(viewer: Viewer, candidates: Dated, kind: AnswerKind | None) -> Select[Any]:
    """The texts `ids`, each with its length, the words of the query that it has, and how often.

    Then when it was said, and whether it tells what is of this kind.
    """
    document = candidates.documents(viewer).subquery()
    word = func.unnest(document.c.search).table_valued("lexeme", "positions", "weights").render_derived()
    counted = (
        select(
            func.coalesce(func.array_agg(word.c.lexeme), cast([], ARRAY(Text))).label("words"),
            func.coalesce(func.array_agg(func.cardinality(word.c.positions)), cast([], ARRAY(Integer))).label("counts"),
        )
        .where(_wanted(word.c.lexeme))
        .lateral("counted")
    )
    among = document.c.id == any_(given("ids", ARRAY(Uuid())))
    of_kind = (
        false() if kind is None else document.c.search.op("@@")(func.to_tsquery(CONFIGURATION, literal(str(kind))))
    )
    shown = (document.c.id, func.length(document.c.search), counted.c.words, counted.c.counts, document.c.at, of_kind)
    return select(*shown).join(counted, true()).where(among)


def _wanted(lexeme: ColumnElement[str]) -> ColumnElement[bool]:
    words = func.tsvector_to_array(func.to_tsvector(CONFIGURATION, given("terms", Text())))
    return lexeme == any_(cast(select(words).scalar_subquery(), ARRAY(Text)))
