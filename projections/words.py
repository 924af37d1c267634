"""Which texts have which words, and in how many each word is: kept by the projectors, so that no search counts them.

A table of texts has two others. `postings` has a row for each word of each text that may be found, the shortest
text first. `lexicon` counts the texts with each word by category and agent, because a score must not depend on texts
that the viewer may not see; the word "" counts all texts, and their lengths.

Neither has MACs: like the column `search`, they are an index over rows that have one.
"""

from collections.abc import Collection
from dataclasses import dataclass
from functools import cache
from typing import LiteralString

from psycopg.sql import SQL, Composable, Identifier
from sqlalchemy import BigInteger, Column, MetaData, SmallInteger, Table, Text, Uuid
from sqlalchemy.ext.asyncio import AsyncConnection

from mnemolog.projections.former import FormerSchema, added
from mnemolog.projections.owner import OWNER, owner_columns
from mnemolog.projections.raw_sql import keyed, names, one_each, options_of, relation, write
from mnemolog.projections.rows import Key

ALL = ""
"""The word that counts every text."""

KEEPS = "mnemolog_keeps_words"
"""Execution option: False where the words of few searches are wanted, which then count them."""


@dataclass(frozen=True, slots=True)
class Words:
    """The tables of one projection's texts, which have columns `search` and `id`.

    `category` and `agent` are SQL over a row: the only agent that sees it, or "".
    """

    texts: Table
    id: str
    category: str
    agent: str
    postings: Table
    lexicon: Table


def words_of(texts: Table, metadata: MetaData, since: int, *, id_: str, category: str, agent: str) -> Words:
    """Adds the tables to the projection, in this version of it."""
    postings = Table(
        f"{texts.name}_postings",
        metadata,
        *owner_columns(kind_since=0),
        Column("word", Text, primary_key=True),
        # Both small and side by side: a row for each word of each text must not be padded.
        Column("length", SmallInteger, primary_key=True),
        # In the key, so that the index alone answers.
        Column("tf", SmallInteger, primary_key=True),
        Column("id", Uuid, primary_key=True),
        info=added(since),
    )
    lexicon = Table(
        f"{texts.name}_lexicon",
        metadata,
        *owner_columns(kind_since=0),
        Column("word", Text, primary_key=True),
        Column("category", Text, primary_key=True),
        Column("agent_id", Text, primary_key=True),
        Column("texts", BigInteger, nullable=False),
        Column("length", BigInteger, nullable=False),
        info=added(since),
    )
    return Words(texts, id_, category, agent, postings, lexicon)


def remove(connection: AsyncConnection, words: Words, keys: Collection[Key]) -> None:
    """Remove the words of these texts, before their rows change."""
    if keys and (schema := _kept_in(connection, words)):
        write(connection, _removing(words, schema), [keyed(list(words.texts.primary_key.columns), sorted(keys))])


def add(connection: AsyncConnection, words: Words, keys: Collection[Key]) -> None:
    """Add the words of these texts, after their rows changed."""
    if keys and (schema := _kept_in(connection, words)):
        write(connection, _adding(words, schema), [keyed(list(words.texts.primary_key.columns), sorted(keys))])


def _kept_in(connection: AsyncConnection, words: Words) -> str | None:
    """None for a previous version, which has no words, and where `KEEPS` is off."""
    options = options_of(connection)
    schema = options.get("schema_translate_map", {}).get(words.texts.schema, words.texts.schema)
    return str(schema) if options.get(KEEPS, True) and not isinstance(schema, FormerSchema) else None


_COUNT_KEY = (*OWNER, "word", "category", "agent_id")


@cache
def _removing(words: Words, schema: str) -> bytes:
    statement = SQL("""
        WITH {texts}, {counted}, unposted AS (
            DELETE FROM {postings} AS posting USING said WHERE {same_posting}
        ), ended AS (
            DELETE FROM {lexicon} AS known USING counted WHERE {same_word} AND known.texts <= counted.texts
        )
        UPDATE {lexicon} AS known SET texts = known.texts - counted.texts, length = known.length - counted.length
        FROM counted WHERE {same_word} AND known.texts > counted.texts
    """)
    return statement.format(
        texts=_texts(words, schema),
        counted=_counted("said", "true"),
        postings=Identifier(schema, words.postings.name),
        lexicon=Identifier(schema, words.lexicon.name),
        same_posting=_same("posting", "said", (*OWNER, "word", "length", "id")),
        same_word=_same("known", "counted", _COUNT_KEY),
    ).as_bytes()


@cache
def _adding(words: Words, schema: str) -> bytes:
    """What stands already counts already: rows that somebody deleted by SQL come back without their words.

    Joined by text, not by word: without hash joins, thousands of words would be compared with each other.
    """
    statement = SQL("""
        WITH {texts}, posted AS (
            INSERT INTO {postings} ({owner}, word, length, tf, id) SELECT {owner}, word, length, tf, id FROM said
            ON CONFLICT DO NOTHING RETURNING {owner}, word, id
        ), by_text AS MATERIALIZED (
            SELECT {owner}, id, array_agg(word) AS words FROM posted GROUP BY {owner}, id
        ), fresh AS MATERIALIZED (
            SELECT {owner}, category, agent_id, id, unnest(words) AS word FROM texts JOIN by_text USING ({owner}, id)
        ), {counted}
        INSERT INTO {lexicon} AS known ({key}, texts, length) SELECT {key}, texts, length FROM counted
        ON CONFLICT ({key}) DO UPDATE
        SET texts = known.texts + excluded.texts, length = known.length + excluded.length
    """)
    return statement.format(
        texts=_texts(words, schema),
        counted=_counted("fresh", "length = 0 OR id IN (SELECT id FROM fresh)"),
        postings=Identifier(schema, words.postings.name),
        lexicon=Identifier(schema, words.lexicon.name),
        owner=SQL(", ").join(map(Identifier, OWNER)),
        key=SQL(", ").join(map(Identifier, _COUNT_KEY)),
    ).as_bytes()


def _texts(words: Words, schema: str) -> Composable:
    """`texts`, and `said`: each word of each text."""
    key = list(words.texts.primary_key.columns)
    statement = SQL("""
        texts AS MATERIALIZED (
            SELECT {owner}, found.{id} AS id, {category} AS category, {agent} AS agent_id, found.search,
                length(found.search) AS length
            FROM {wanted} CROSS JOIN {found}
        ), said AS MATERIALIZED (
            SELECT {names}, category, agent_id, id, least(length, 32767)::smallint AS length, one.lexeme AS word,
                cardinality(one.positions)::smallint AS tf
            FROM texts CROSS JOIN unnest(texts.search) AS one
        )
    """)
    return statement.format(
        owner=names([words.texts.columns[name] for name in OWNER], "found"),
        names=SQL(", ").join(map(Identifier, OWNER)),
        id=Identifier(words.id),
        category=SQL(words.category),
        agent=SQL(words.agent),
        wanted=relation(key, "wanted"),
        found=one_each(SQL("SELECT * FROM {}").format(Identifier(schema, words.texts.name)), key),
    )


def _counted(said: LiteralString, which: LiteralString) -> Composable:
    """How many texts have each word, by category and agent; `which` texts are counted as a whole."""
    statement = SQL("""
        counted AS MATERIALIZED (
            SELECT {names}, word, category, agent_id, count(*) AS texts, 0 AS length FROM {said}
            GROUP BY {names}, word, category, agent_id
            UNION ALL
            SELECT {names}, '', category, agent_id, count(*), sum(length) FROM texts WHERE {which}
            GROUP BY {names}, category, agent_id
        )
    """)
    return statement.format(names=SQL(", ").join(map(Identifier, OWNER)), said=SQL(said), which=SQL(which))


def _same(one: str, other: str, columns: Collection[str]) -> Composable:
    return SQL(" AND ").join(
        SQL("{} = {}").format(Identifier(one, column), Identifier(other, column)) for column in columns
    )
