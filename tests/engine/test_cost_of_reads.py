"""What a search and a context cost, counted: rows whose MAC is checked, and statements."""

import asyncio
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import product
from random import Random
from typing import Any
from unittest.mock import patch

import pytest
from sqlalchemy import Table

from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.postgres.pipelining import PipeliningConnection, pipelining
from mnemolog.adapters.postgres.sqlalchemy import connected
from mnemolog.adapters.postgres.statements import Question, Rows
from mnemolog.projections.requests import ContextRequest
from mnemolog.projections.seal import RowSeal
from tests.engine.person import Person
from tests.engine.teller import Teller

ALIKE = 24
PEOPLE = ("Ana", "Boris", "Chen", "Dara", "Emil", "Fatima", "Goran", "Hana", "Ines", "Jonas")
VERBS = ("paints", "repairs", "sold", "found", "borrows")
THINGS = ("violin", "bicycle", "cabin", "telescope", "garden", "kayak", "camera", "carpet", "stove", "atlas")


@contextmanager
def rows_checked() -> Iterator[Counter[str]]:
    """Counts the rows whose MAC is checked, by table."""
    found = Counter[str]()
    fits = RowSeal.fits

    def counting(self: RowSeal, table: Table, row: Any) -> bool:
        found[table.name] += 1
        return fits(self, table, row)

    with patch.object(RowSeal, "fits", counting):
        yield found


@contextmanager
def round_trips() -> Iterator[list[list[str]]]:
    """Lists the statements that are asked of the driver together."""
    found = list[list[str]]()
    ask_all = PipeliningConnection.ask_all

    async def listing(self: PipeliningConnection, questions: Sequence[Question]) -> list[Rows]:
        if _COUNTED.get() is found:
            found.append([statement.decode() for statement, _ in questions if isinstance(statement, bytes)])
        return await ask_all(self, questions)

    token = _COUNTED.set(found)
    with patch.object(PipeliningConnection, "ask_all", listing):
        yield found
    _COUNTED.reset(token)


# Of the task that counts and those that it begins: jobs of other users read meanwhile.
_COUNTED: ContextVar[list[list[str]] | None] = ContextVar("_COUNTED", default=None)


@contextmanager
def rows_read() -> Iterator[list[int]]:
    """Counts the rows that the driver is asked for, by statement."""
    found = list[int]()
    ask_all = PipeliningConnection.ask_all

    async def counting(self: PipeliningConnection, questions: Sequence[Question]) -> list[Rows]:
        answers = await ask_all(self, questions)
        found.extend(map(len, answers))
        return answers

    with patch.object(PipeliningConnection, "ask_all", counting):
        yield found


async def test_facts_and_when_they_held_are_read_in_one_statement(engine: Engine, user: str) -> None:
    ana = Teller(engine, user)
    for thing in ("tea", "coffee", "cocoa"):
        await ana.tells("Ana", "drinks", thing)

    await ana.asks("What does Ana drink?")  # Waits until the facts are shown.

    with round_trips() as trips:
        answer = await ana.asks("What does Ana drink?")

    asked = [one for trip in trips for one in trip]
    assert answer.hits[0].kind == "relation"
    assert any(".periods" in one for one in asked)
    alone = [one for one in asked if "relations" in one and ".periods" not in one and "count(" not in one]
    assert alone == []


async def test_a_question_about_somebody_else_reads_few_facts_about_the_user(engine: Engine, user: str) -> None:
    ana = Teller(engine, user)
    for number in range(60):
        await ana.tells("me", "counted_to", str(number), literal=True)
    await ana.tells("Boris", "drinks", "tea")
    await ana.tells("Boris", "lives_in", "Riga")
    await ana.asks("What does Boris drink?")

    with rows_read() as rows:
        answer = await ana.asks("What does Boris drink?")

    assert answer.hits[0].kind == "relation"
    assert "tea" in answer.hits[0].text
    assert max(rows) < 20


async def test_what_needs_nothing_of_another_answer_is_asked_with_it(engine: Engine, user: str) -> None:
    ana = Teller(engine, user)
    await ana.tells("Ana", "drinks", "tea")
    await ana.creates("green tea in a cup")
    await ana.asks("What does Ana drink?")

    with round_trips() as of_search:
        await ana.asks("What does Ana drink?")
    with round_trips() as of_context:
        await engine.reads.context(ana.viewer, ContextRequest(query="What does Ana drink?"))

    first = {
        table: next(n for n, trip in enumerate(of_search) if _name(trip, table)) for table in (".periods", ".pinned")
    }
    assert first[".periods"] < first[".pinned"], "facts are read while memories are still searched"
    assert any(all(_name(trip, one) for one in (".periods", ".summaries", ".pinned")) for trip in of_context)


async def test_a_connection_of_readers_is_not_changed_for_each_read(engine: Engine) -> None:
    async with connected(engine.reads._each_statement_alone) as connection:
        driver = pipelining(connection)
        within = driver.autocommit

    assert (within, driver.autocommit) == (True, True)


def _name(statements: Sequence[str], table: str) -> bool:
    return any(table in one for one in statements)


async def test_a_search_reads_the_strongest_link_of_each_memory_and_few_that_are_related(
    engine: Engine, user: str
) -> None:
    ana = Person(engine, user)
    for number in range(ALIKE):
        await ana.creates(f"green tea in a cup {'and a pot ' * (number % 5)}{'of clay' * (number % 3)}")

    with rows_checked() as checked:
        answer = await ana.asks("green tea in a cup", top_k=5)

    assert len(answer.related) == 2
    assert checked["links"] < 3 * ALIKE


async def test_however_many_memories_contradict_each_other_a_search_takes_as_many_round_trips(
    engine: Engine, user: str
) -> None:
    ana = Person(engine, user)
    for number in range(ALIKE):
        await ana.creates(f"Ana painted {number} violins in Lisbon")
        await ana.creates(f"a violin that Ana painted in Lisbon {'and sold ' * (number % 3)}{'again' * (number % 2)}")
    await ana.asks("What did Ana paint in Lisbon?")

    with round_trips() as trips:
        answer = await ana.asks("What did Ana paint in Lisbon?", top_k=5)

    contradicted = [one for one in answer.hits if one.row.get("contradicts")]
    assert contradicted
    assert answer.related
    reads = [trip for trip in trips if any(".progress" not in one.replace('"', "") for one in trip)]
    # On a busy machine, two tasks that begin together may ask one after the other.
    assert len(reads) <= 7, "how often it looks whether the projections are there depends on how long they take"


@pytest.mark.parametrize(
    "asked",
    [
        pytest.param({"budget_tokens": 512, "threshold": 0.1}, id="bullets", marks=pytest.mark.spec_part("B06")),
        pytest.param({"budget_tokens": 40}, id="recall", marks=pytest.mark.spec_part("B11")),
    ],
)
async def test_three_bullets_among_hundreds_of_memories_take_few_statements_and_few_rows(
    engine: Engine, user: str, asked: dict[str, Any]
) -> None:
    """Neither a statement for each candidate nor every memory. `tests.bench.latency` measures the milliseconds."""
    ana, told = Person(engine, user), [" ".join(words) for words in product(PEOPLE, VERBS, THINGS)]
    Random(1).shuffle(told)
    await asyncio.gather(*(ana.creates(text, category="tasks") for text in told[:300]))
    moment = await ana.caught_up()
    await engine.settled(60)
    await ana.asks("Who repairs a bicycle?", moment, top_k=3, **asked)

    with rows_read() as rows:
        answer = await ana.asks("Who repairs a bicycle?", moment, top_k=3, **asked)

    assert 0 < len(answer.hits) <= 3
    assert len(rows) <= 25
    assert sum(rows) <= 450


@pytest.mark.parametrize("words", ["I am ", "did I ", "who is "])
async def test_a_question_as_long_as_a_book_costs_no_more_than_its_length(
    engine: Engine, user: str, words: str
) -> None:
    """Rules that look for one word anywhere after another took minutes, in which nobody else was answered."""
    ana = Person(engine, user)
    await ana.says("I moved to Lisbon")

    async def cost(times: int) -> float:
        began = time.process_time()
        await ana.finds(words * times)
        await engine.reads.context(ana.viewer, ContextRequest(query=words * times))
        return time.process_time() - began

    await cost(10)
    few, many = await cost(1_500), await cost(15_000)
    assert many < 40 * few, "ten times as long; by the square, a hundred times"
