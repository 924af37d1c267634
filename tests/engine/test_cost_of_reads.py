"""What a search and a context cost, counted: rows whose MAC is checked, and statements."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from sqlalchemy import Table

from mnemolog.adapters.engine.engine import Engine
from mnemolog.projections.seal import RowSeal
from tests.engine.person import Person

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
