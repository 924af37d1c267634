"""Jobs by the clock: one process of all on a database leads them, by a lease as the relay does."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from mnemolog.adapters.postgres.lease import SCHEDULES, Lease, lead

_logger = logging.getLogger("mnemolog.schedules")

LOOK_SECONDS = 5.0
FIVE_MINUTES = 300.0
HOUR = 3600.0


@dataclass(frozen=True, slots=True)
class Job:
    """Something that is done again and again, `every` so many seconds."""

    name: str
    every: float
    run: Callable[[], Awaitable[object]]


class Schedules:
    """A job that fails is reported and done again at its next time. Whether it is done twice is its own care."""

    def __init__(self, postgres_dsn: str, jobs: Sequence[Job]) -> None:
        self._dsn, self._jobs = postgres_dsn, jobs

    async def run(self) -> None:
        """Lead when nobody else does, until cancelled. A leader that loses its lease stops in the middle of a job."""
        await lead(self._dsn, SCHEDULES, self._lead)

    async def _lead(self, lease: Lease) -> None:
        clock = asyncio.get_running_loop().time
        due = {job.name: clock() for job in self._jobs}
        while True:
            for job in self._jobs:
                if due[job.name] <= clock():
                    lease.require()
                    await _done(job)
                    due[job.name] = clock() + job.every
            await asyncio.sleep(LOOK_SECONDS)


async def _done(job: Job) -> None:
    try:
        await job.run()
    except Exception as error:  # noqa: BLE001  The other jobs have their time too.
        _logger.warning("%s failed: %s, again in %.0f s", job.name, type(error).__name__, job.every)
