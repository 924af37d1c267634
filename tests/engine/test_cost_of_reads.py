"""What a search and a context cost, counted: rows whose MAC is checked, and statements."""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from sqlalchemy import Table

from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.postgres.pipelining import PipeliningConnection
from mnemolog.adapters.postgres.statements import Question, Rows
from mnemolog.projections.seal import RowSeal
from tests.engine.person import Person
from tests.engine.teller import Teller

ALIKE = 24


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
def statements_asked() -> Iterator[list[str]]:
    """Lists the statements that are asked of the driver."""
    found = list[str]()
    ask_all = PipeliningConnection.ask_all

    async def listing(self: PipeliningConnection, questions: Sequence[Question]) -> list[Rows]:
        found.extend(bytes(statement).decode() for statement, _ in questions if isinstance(statement, bytes))
        return await ask_all(self, questions)

    with patch.object(PipeliningConnection, "ask_all", listing):
        yield found


async def test_facts_and_when_they_held_are_read_in_one_statement(engine: Engine, user: str) -> None:
    ana = Teller(engine, user)
    for thing in ("tea", "coffee", "cocoa"):
        await ana.tells("Ana", "drinks", thing)

    await ana.asks("What does Ana drink?")  # Waits until the facts are shown.

    with statements_asked() as asked:
        answer = await ana.asks("What does Ana drink?")

    assert answer.hits[0].kind == "relation"
    assert any(".periods" in one for one in asked)
    alone = [one for one in asked if "relations" in one and ".periods" not in one and "count(" not in one]
    assert alone == []


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
