"""Model calls outside of transactions, because a model may be slow or not answer (design §6).

A projector that finds that it lacks something raises Unprepared. Whoever began the transaction runs the step under
`prepared`: it rolls back, has the model asked, and runs the step again, which then finds what was `made`.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextvars import ContextVar
from typing import Any, TypeVar

T = TypeVar("T")
Made = Mapping[Any, Any]
Make = Callable[[], Awaitable[Made]]

_made: ContextVar[Made | None] = ContextVar("made", default=None)


class Unprepared(Exception):
    """Something is missing that `make` creates. The keys identify it."""

    def __init__(self, make: Make) -> None:
        super().__init__("made outside of the transaction")
        self.make = make


def made() -> Made:
    """What was created for the current step."""
    return _made.get() or {}


async def prepared(step: Callable[[], Awaitable[T]]) -> T:
    """The result of a step that opens and closes its own transaction; it is run again with what it lacked."""
    found: dict[Any, Any] = {}
    token = _made.set(found)
    try:
        while True:
            try:
                return await step()
            except Unprepared as lacking:
                make = lacking.make
            found.update(await make())
    finally:
        _made.reset(token)


class Lacking:
    """Collects what the steps of one transaction lack, so that all of it is created before the next attempt."""

    def __init__(self) -> None:
        self._makes: list[Make] = []

    async def noted(self, step: Awaitable[None]) -> None:
        """Run a step. If it lacks something, continue: the transaction will not be committed."""
        try:
            await step
        except Unprepared as lacking:
            self._makes.append(lacking.make)

    def require_none(self) -> None:
        """Raise Unprepared if a step lacked anything."""
        if self._makes:
            raise Unprepared(lambda: _all(self._makes))


async def _all(makes: Sequence[Make]) -> Made:
    return {key: one for make in makes for key, one in (await make()).items()}
