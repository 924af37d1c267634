"""The words that projectors keep: as many as there are, gone with their texts, and found as if they were counted."""

import asyncio
from collections import Counter
from collections.abc import Mapping
from typing import Any
from unittest.mock import AsyncMock, PropertyMock, patch

import pytest
from sqlalchemy import ColumnElement, func, literal, select, true
from sqlalchemy.ext.asyncio import AsyncConnection

from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.erasure.erasing import erase
from mnemolog.commands.erasure import EraseMemory, EraseThread
from mnemolog.domain.category import PROCEDURAL
from mnemolog.domain.memory import VISIBLE
from mnemolog.domain.message import CATEGORY
from mnemolog.projections import full_text, sections
from mnemolog.projections.conversation.tables import messages
from mnemolog.projections.conversation.tables import words as message_words
from mnemolog.projections.memories.filters import Candidates
from mnemolog.projections.memories.tables import words as memory_words
from mnemolog.projections.reads.moment import Moment
from mnemolog.projections.visibility import owned
from mnemolog.projections.words import ALL, Words
from tests.engine.person import Person


async def kept(connection: AsyncConnection, ana: Person, words: Words) -> tuple[Counter[Any], Mapping[Any, Any]]:
    posting, count = words.postings, words.lexicon
    postings = select(posting.c.id, posting.c.word, posting.c.tf, posting.c.length).where(owned(posting, ana.viewer))
    counts = select(count.c.word, count.c.category, count.c.agent_id, count.c.texts, count.c.length)
    found = {tuple(row[:3]): tuple(row[3:]) for row in await connection.execute(counts.where(owned(count, ana.viewer)))}
    return Counter(map(tuple, await connection.execute(postings))), found


async def counted(connection: AsyncConnection, ana: Person, words: Words) -> tuple[Counter[Any], Mapping[Any, Any]]:
    """The same, from the texts themselves."""
    column = words.texts.c
    word = func.unnest(column.search).table_valued("lexeme", "positions", "weights").render_derived()
    is_message = words is message_words
    partition: list[ColumnElement[Any]] = (
        [literal(CATEGORY), literal("")] if is_message else [column.category, func.coalesce(column.agent_id, "")]
    )
    scope = [] if is_message else [column.scope]
    said = (
        select(
            column[words.id],
            *partition,
            func.length(column.search),
            word.c.lexeme,
            func.cardinality(word.c.positions),
            *scope,
        )
        .select_from(words.texts.outerjoin(word, true()))
        .where(owned(words.texts, ana.viewer), column.status.in_(sorted(VISIBLE)), column.text != "")
    )
    if is_message:
        said = said.where(~messages.c.remembered)
    postings, texts = Counter[Any](), dict[Any, list[int]]()
    seen = set()
    for id_, category, agent, length, lexeme, tf, *scoped in await connection.execute(said):
        whose = "" if scoped == ["global"] else agent
        for one in [*([lexeme] if lexeme else []), *([ALL] if id_ not in seen else [])]:
            total = texts.setdefault((one, category, whose), [0, 0])
            total[0] += 1
            total[1] += length if one == ALL else 0
        seen.add(id_)
        if lexeme:
            postings[id_, lexeme, tf, length] += 1
    return postings, {key: tuple(total) for key, total in texts.items()}


@pytest.mark.parametrize("words", [memory_words, message_words], ids=["memories", "messages"])
async def test_the_words_are_those_of_the_texts_that_are_found(engine: Engine, user: str, words: Words) -> None:
    ana, coach = Person(engine, user), Person(engine, user, agent="coach")
    first = await ana.creates("Tea in Lisbon, tea in Porto", category="personal")
    second = await ana.creates("I moved to Lisbon")
    third = await coach.creates("Ana is late for tea", scope="agent")
    fourth = await ana.creates("A dog", category="goals")
    for text in ("The tea is cold", "Is it?", "The dog sleeps"):
        await ana.says(text, turn_id=f"{user} {text}")
    await coach.says("Another thread", turn_id=f"{user} other")
    await ana.updates(first, text="Coffee in Porto")
    await ana.updates(second, category="personal")
    await coach.deletes(third)
    await ana.deletes(fourth)
    await ana.restores(fourth)
    await ana.deletes_message(f"{user} Is it?")
    await engine.settled(60)

    async with engine.projections.live.connect() as connection:
        assert await kept(connection, ana, words) == await counted(connection, ana, words)
        before = await kept(connection, ana, words)

    rebuilt = await engine.projections.rebuild("memories" if words is memory_words else "conversation")
    assert rebuilt.equal
    async with engine.projections.live.connect() as connection:
        assert await kept(connection, ana, words) == before


async def test_words_of_what_was_erased_are_gone(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    memory = await ana.creates("my PIN is zanzibarquux")
    await ana.creates("my garden")
    await ana.says("the word is zanzibarquux", turn_id=f"{user} secret")
    await erase(engine, EraseMemory(user_id=user, memory_id=memory))
    await erase(engine, EraseThread(user_id=user, thread_id=ana.thread))
    await engine.settled(60)

    async with engine.projections.live.connect() as connection:
        for words in (memory_words, message_words):
            for table in (words.postings, words.lexicon):
                found = select(table.c.word).where(owned(table, ana.viewer)).distinct()
                assert "zanzibarquux" not in set((await connection.execute(found)).scalars())


async def test_a_search_finds_what_it_would_find_by_counting(engine: Engine, user: str) -> None:
    ana, coach = Person(engine, user), Person(engine, user, agent="coach")
    noted = [f"Tea number {n} {'with milk' * (n % 3)} and {'lemon ' * (n % 5)}" for n in range(40)]
    said = [f"I drank tea {'and coffee ' * (n % 4)} on day {n}" for n in range(40)]
    await asyncio.gather(*map(ana.creates, noted), *map(ana.says, said))
    await coach.creates("coffee, tea and lemon", scope="agent")
    await engine.settled(60)

    for person in (ana, coach):
        for question in ("tea", "tea with lemon", "coffee on day 7", "milk", "who knows?"):
            async with engine.projections.live.connect() as connection:
                among = Candidates(messages=True)
                by_kept = await full_text.search(connection, among, person.viewer, question, 200)
                with patch.object(Candidates, "words", PropertyMock(return_value=())):
                    by_count = await full_text.search(connection, among, person.viewer, question, 200)
            assert by_kept.scores == pytest.approx(by_count.scores)
            assert list(by_kept.scores) == list(by_count.scores)
            assert by_kept.collection.idf == pytest.approx(by_count.collection.idf)
            if by_count.scores:
                assert by_kept.collection.length == pytest.approx(by_count.collection.length)


async def test_a_replay_keeps_no_words_and_finds_the_same(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    for n in range(12):
        await ana.creates(f"Tea number {n} {'with milk' * (n % 3)}")
        await ana.says(f"I drank tea {'and coffee ' * (n % 4)} on day {n}", turn_id=f"{user} {n}")
    now = await ana.caught_up()
    head = await engine.log.head(ana.stream)

    for question in ("tea", "tea with milk", "coffee on day 7"):
        assert await ana.finds(question, Moment(as_of=head)) == await ana.finds(question, now)
    names = ("memories", "conversation")
    async with engine.reads.replays.at(ana.stream, head, names) as connection:
        for words in (memory_words, message_words):
            for table in (words.postings, words.lexicon):
                assert not (await connection.execute(select(table.c.word).limit(1))).all()


async def test_a_score_tells_nothing_of_what_another_agent_keeps_to_itself(engine: Engine, user: str) -> None:
    ana, coach = Person(engine, user), Person(engine, user, agent="coach")
    await ana.creates("tea in the morning")
    await ana.creates("a walk in the evening")
    moment = await ana.caught_up()
    before = [(hit.text, hit.text_rank) for hit in (await ana.asks("tea", moment)).hits]
    for n in range(5):
        await coach.creates(f"tea is secret number {n}", scope="agent")
    after = [(hit.text, hit.text_rank) for hit in (await ana.asks("tea")).hits]
    assert after == before


async def test_a_common_word_does_not_hide_what_a_filter_leaves(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    wanted = await ana.creates("tea, after many other words that make the text long", pinned=True)
    for n in range(12):
        await ana.creates(f"tea {n}")
    with patch.object(full_text, "BUDGET", 5), patch.object(full_text, "CAP", 10), patch.object(full_text, "FIRST", 3):
        answer = await ana.asks("tea", filters={"pinned": True}, top_k=1)
    assert [hit.id for hit in answer.hits] == [str(wanted)]


@pytest.mark.parametrize("within", [None, frozenset({"personal", "note", CATEGORY}), frozenset({"goals", PROCEDURAL})])
async def test_the_categories_of_a_context_are_those_of_what_is_shown(
    engine: Engine, user: str, within: frozenset[str] | None
) -> None:
    ana, coach = Person(engine, user), Person(engine, user, agent="coach")
    await ana.creates("Tea in Lisbon", category="personal")
    await coach.creates("Ana is late for tea", category="note", scope="agent")
    await ana.creates("1. Boil the water", category=PROCEDURAL)
    hidden = await ana.creates("A dog", category="goals")
    await ana.says("The tea is cold")
    await ana.deletes(hidden)
    await engine.settled(60)
    for viewer in (ana.viewer.within(within), coach.viewer.within(within)):
        async with engine.projections.live.connect() as connection:
            found = await sections._categories(connection, viewer)
            with patch.object(full_text, "categories", AsyncMock(return_value=None)):
                scanned = await sections._categories(connection, viewer)

        assert found == scanned
        assert "goals" not in found
        assert ("note" in found) == (viewer.agent_id == "coach" and PROCEDURAL not in (within or ()))
