"""What is asked of Postgres, and how: the shapes that the log and the projections have in common."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from psycopg.sql import SQL

Values = Sequence[Any] | Mapping[str, Any]
Statement = bytes | SQL
Question = tuple[Statement, Values]
Rows = list[tuple[Any, ...]]
Ask = Callable[[Statement, Values], Awaitable[Rows]]
