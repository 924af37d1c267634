"""What is sent to Postgres, for tests that count it."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any
from unittest.mock import patch

from psycopg import AsyncCursor

PINGS = {"SELECT", ";"}
_counted = ContextVar("_counted", default=False)


@contextmanager
def statements() -> Iterator[list[str]]:
    """Lists what the caller and its tasks send to Postgres, without tests of idle connections."""
    found = list[str]()
    execute = AsyncCursor.execute

    async def listing(self: AsyncCursor[Any], query: Any, *args: Any, **kwargs: Any) -> AsyncCursor[Any]:
        text = query.decode() if isinstance(query, bytes) else str(query)
        if _counted.get() and text not in PINGS:
            found.append(text)
        return await execute(self, query, *args, **kwargs)

    counted = _counted.set(True)
    try:
        with patch.object(AsyncCursor, "execute", listing):
            yield found
    finally:
        _counted.reset(counted)
