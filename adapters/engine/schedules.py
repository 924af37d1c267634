"""Jobs by the clock: one process of all on a database leads them, by an advisory lock as the relay does."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

import psycopg
from psycopg.conninfo import make_conninfo
from psycopg.rows import dict_row

from mnemolog.adapters.postgres.pool import NOTICE_SILENCE, Connection
from mnemolog.adapters.postgres.queries import query

_logger = logging.getLogger("mnemolog.schedules")

FOLLOW_SECONDS = 5.0
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
        """Lead when nobody else does, until cancelled."""
        while True:
            try:
                async with self._session() as connection:
                    if await _leads(connection):
                        await self._lead(connection)
            except Exception as error:  # noqa: BLE001  Without a leader nothing would fade or be purged.
                _logger.warning("schedules: %s, trying again", type(error).__name__)
            await asyncio.sleep(FOLLOW_SECONDS)

    async def _lead(self, connection: Connection) -> None:
        clock = asyncio.get_running_loop().time
        due = {job.name: clock() for job in self._jobs}
        while True:
            for job in self._jobs:
                if due[job.name] <= clock():
                    await _done(job)
                    due[job.name] = clock() + job.every
            await asyncio.sleep(FOLLOW_SECONDS)
            await connection.execute(query("notice_silence"))  # Whoever lost its session leads no more.

    @asynccontextmanager
    async def _session(self) -> AsyncIterator[Connection]:
        dsn = make_conninfo(self._dsn, **NOTICE_SILENCE)
        connection = await psycopg.AsyncConnection.connect(dsn, row_factory=dict_row, autocommit=True)
        async with connection:
            yield connection


async def _leads(connection: Connection) -> bool:
    row = await (await connection.execute(query("lead_schedules"))).fetchone()
    return bool(row and row["leads"])


async def _done(job: Job) -> None:
    try:
        await job.run()
    except Exception as error:  # noqa: BLE001  The other jobs have their time too.
        _logger.warning("%s failed: %s, again in %.0f s", job.name, type(error).__name__, job.every)
