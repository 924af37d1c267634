"""What is sent to Postgres, for tests that count it."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from psycopg import AsyncCursor


@contextmanager
def statements() -> Iterator[list[str]]:
    """Lists what is sent to Postgres, by whomever."""
    found = list[str]()
    execute = AsyncCursor.execute

    async def listing(self: AsyncCursor[Any], query: Any, *args: Any, **kwargs: Any) -> AsyncCursor[Any]:
        found.append(query.decode() if isinstance(query, bytes) else str(query))
        return await execute(self, query, *args, **kwargs)

    with patch.object(AsyncCursor, "execute", listing):
        yield found
