"""A clock and a source of ids that tests set."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import count
from uuid import UUID

from mnemolog.domain.identity import uuid7

START = datetime(2026, 1, 3, 1, 2, 10, tzinfo=UTC)


class Clock:
    """Stands still until it is moved."""

    def __init__(self, at: datetime = START) -> None:
        self.at = at

    def __call__(self) -> datetime:
        return self.at

    def move(self, step: timedelta) -> None:
        self.at += step


def ids(at: datetime = START) -> Callable[[], UUID]:
    """UUIDv7 ids that count up."""
    numbers = count(1)
    return lambda: uuid7(at, next(numbers).to_bytes(10, "big"))
