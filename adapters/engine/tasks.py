"""The tasks of an engine: they run until it stops, and failures are reported."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack

from mnemolog.domain.errors import EngineError

_logger = logging.getLogger("mnemolog.engine")

CANCEL_SECONDS = 0.2


async def run(stack: AsyncExitStack, steps: list[Callable[[], Awaitable[None]]]) -> None:
    """Run each step in a task until the engine stops; a failure is reported at once and raised at the end."""
    tasks = [asyncio.create_task(_reported(step)) for step in steps]

    async def stop() -> None:
        await _cancel(tasks)
        failed = [one for one in await asyncio.gather(*tasks, return_exceptions=True) if isinstance(one, Exception)]
        if failed:
            raise EngineError("a part of the engine failed", fix="see the engine's log") from failed[0]

    stack.push_async_callback(stop)


async def _cancel(tasks: Sequence[asyncio.Future[None]]) -> None:
    """Cancel until each has ended: a driver in the middle of a query may turn a cancellation into an error.

    A cancellation of the caller is raised then. Left alone, a task that lost one would run on after the engine.
    """
    pending, cancelled = set(tasks), False
    while pending:
        for task in pending:
            task.cancel()
        try:
            _, pending = await asyncio.wait(pending, timeout=CANCEL_SECONDS)
        except asyncio.CancelledError:
            cancelled = True
    if cancelled:
        raise asyncio.CancelledError


async def _reported(step: Callable[[], Awaitable[None]]) -> None:
    """The step has a task of its own: `asyncio.run`, at the end of a program, cancels every task only once."""
    working = asyncio.ensure_future(step())
    try:
        await asyncio.wait([working])
    finally:
        await _cancel([working])
        if not working.cancelled() and (error := working.exception()):
            _logger.critical("a part of the engine failed", exc_info=error)
            raise error
