"""Lets the messages of a pause be read at once, instead of with the next sweep."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress

from mnemolog.adapters.maintenance.extracting import SWEEP
from mnemolog.adapters.services import Services
from mnemolog.events.conversation import TurnRecorded
from mnemolog.events.envelope import StoredEvent

_logger = logging.getLogger("mnemolog.jobs")

# While more is appended, the sweeps that recur are enough: a job for each message of each thread would cost too much.
QUIET_SECONDS = 1.0
AT_MOST_EVERY_SECONDS = 3.0
# A sweep finds the threads in a projection.
CAUGHT_UP_SECONDS, POLL_SECONDS = 5.0, 0.1


class Prompter:
    """Enqueues a sweep over the threads once nothing was appended for a second."""

    def __init__(self, enqueue: Callable[[], Awaitable[object]], caught_up: Callable[[], Awaitable[bool]]) -> None:
        self._enqueue, self._caught_up, self._appended = enqueue, caught_up, asyncio.Event()

    def take(self, events: Sequence[StoredEvent]) -> None:
        """Call after each commit of this process."""
        if any(event.header.type == TurnRecorded.__name__ for event in events):
            self.notice()

    def notice(self) -> None:
        """Call when something was appended."""
        self._appended.set()

    async def run(self) -> None:
        """Enqueue sweeps until cancelled."""
        while True:
            await self._appended.wait()
            while self._appended.is_set():
                self._appended.clear()
                await asyncio.sleep(QUIET_SECONDS)
            try:
                await self._wait_for_projections()
                await self._enqueue()
            except Exception as error:  # noqa: BLE001  Any error: the next sweep reads what was said.
                _logger.warning("a sweep was not enqueued: %r", error)
            await asyncio.sleep(AT_MOST_EVERY_SECONDS - QUIET_SECONDS)

    async def _wait_for_projections(self) -> None:
        """Until they have caught up, but not long."""
        with suppress(TimeoutError):
            async with asyncio.timeout(CAUGHT_UP_SECONDS):
                while True:  # Polls, because another process may do the work.
                    if await self._caught_up():
                        return
                    await asyncio.sleep(POLL_SECONDS)


def prompter_of(engine: Services) -> Prompter:
    return Prompter(lambda: engine.jobs.enqueue(SWEEP, {}), engine.projections.settled)
