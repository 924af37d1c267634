"""Waits of reads: until projections show a write, or for an error that says why they do not (X10)."""

import asyncio
import time
from collections.abc import Mapping, Sequence

from sqlalchemy.ext.asyncio import AsyncEngine

from mnemolog.adapters.postgres.pauses import paused
from mnemolog.domain.errors import MnemologError, ProjectionPaused, ProjectionPoisoned, ReadTimeout
from mnemolog.events.envelope import Position, StreamId
from mnemolog.events.log import EventLog
from mnemolog.projections.projector import Store

POLL_SECONDS = 0.002
SLOWEST_POLL_SECONDS = 0.05


class Waits:
    """`deadline` in seconds holds for waits that name none."""

    def __init__(self, stores: Mapping[str, Store], log: EventLog, engine: AsyncEngine, deadline: float) -> None:
        self._stores, self._log, self._engine, self._deadline = stores, log, engine, deadline

    async def held_up(self, position: Position) -> Mapping[str, MnemologError]:
        """Wait until all projections show the write; why not, for those that do not within the deadline."""
        names = list(self._stores)
        waits = [self._why_not(position, name) for name in names]
        found = zip(names, await asyncio.gather(*waits), strict=True)
        return {name: error for name, error in found if error}

    async def _why_not(self, position: Position, name: str) -> MnemologError | None:
        try:
            await self.until(position, [name])
        except (ReadTimeout, ProjectionPoisoned) as error:
            return error
        return None

    async def until(self, position: Position, names: Sequence[str], deadline: float | None = None) -> None:
        """Return once all of these projections show the write; ReadTimeout when `deadline` seconds are over.

        ProjectionPaused and ProjectionPoisoned, both at once, when one of them does not move at all.
        """
        until = time.monotonic() + (deadline or self._deadline)
        for name in names:
            pause = POLL_SECONDS
            while (progress := await self._stores[name].progress(position.stream)) < position.seq:
                if pause == SLOWEST_POLL_SECONDS:  # Nearly every wait is over before; only a long one asks why.
                    await self._require_running(name, position.stream)
                if time.monotonic() > until:
                    raise await self._late(name, progress, position)
                await asyncio.sleep(pause)
                pause = min(2 * pause, SLOWEST_POLL_SECONDS)

    async def _late(self, name: str, progress: int, position: Position) -> ReadTimeout:
        if position.seq > (head := await self._log.head(position.stream)):
            return ReadTimeout(
                f"{position.stream} ends at seq {head}: nobody wrote {position.seq} there in time",
                field="after",
                fix="pass the token of a receipt",
            )
        return ReadTimeout(
            f"{name} is at seq {progress} of {position.stream}, not yet at {position.seq}",
            field="projection",
            fix="read again later, or with a longer deadline",
        )

    async def _require_running(self, name: str, stream: StreamId) -> None:
        if pause := (await paused(self._engine)).get(name):
            raise ProjectionPaused(
                f"{name} was paused by {pause.by} at {pause.at:%Y-%m-%d %H:%M:%SZ}",
                field="projection",
                fix=f"run `mnemolog projections resume {name}`",
            )
        stop = (await self._stores[name].stopped()).get(stream)
        if stop:
            raise ProjectionPoisoned(
                f"{name} stopped in {stream}: it cannot apply the event at seq {stop.seq}"
                + (f" ({stop.reason})" if stop.reason else ""),
                field="projection",
                fix=f"see `mnemolog projections status`, then run `mnemolog projections retry {name}`",
            )
