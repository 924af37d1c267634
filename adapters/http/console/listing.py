"""Lists: whole ones from the pages of an operation, and pages of a whole one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from mnemolog.adapters.http.console.visit import Visit
from mnemolog.adapters.operations.operation import Operation
from mnemolog.domain.errors import InvalidInput

T = TypeVar("T")
MOST_A_READ, MOST_READS = 1000, 20


@dataclass(frozen=True, slots=True)
class Part(Generic[T]):
    """Some items of a list: page `number`, from 1."""

    items: Sequence[T]
    number: int
    pages: int
    total: int


async def every(visit: Visit, operation: Operation[Any, Any], **fields: Any) -> Sequence[Any]:
    """The items of all pages; of a very long list, the first 20,000."""
    items, cursor = list[Any](), None
    for _ in range(MOST_READS):
        page = await visit.ask(operation, limit=MOST_A_READ, cursor=cursor, **fields)
        items += page.items
        cursor = page.next_cursor
        if cursor is None:
            break
    return items


def part_of(items: Sequence[T], query: Mapping[str, str], size: int, name: str = "page") -> Part[T]:
    """The page that the query names."""
    text = query.get(name) or "1"
    if not text.isdecimal() or not 0 < int(text) < MOST_A_READ * MOST_READS:
        raise InvalidInput("is not the number of a page", field=name, fix="give 1, 2, ...")
    number = int(text)
    pages = max(1, -(-len(items) // size))
    return Part(items[(number - 1) * size : number * size], number, pages, len(items))
