"""Helpers for Postgres statements shared by the log and the projections."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from psycopg.sql import SQL

Values = Sequence[Any] | Mapping[str, Any]
Statement = bytes | SQL
Question = tuple[Statement, Values]
Rows = list[tuple[Any, ...]]
Ask = Callable[[Statement, Values], Awaitable[Rows]]
