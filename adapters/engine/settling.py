"""Waiting until everything that was appended is delivered and applied, while others go on appending."""

import asyncio
import time
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Self

from mnemolog.adapters.postgres.outbox import Outbox
from mnemolog.adapters.projecting.projections import Projections
from mnemolog.adapters.unreachable import UNREACHABLE
from mnemolog.events.envelope import StreamId
from mnemolog.projections.projector import Lag, Store

SETTLE_SECONDS = 0.02
SETTLE_SHARE = 0.03
# Until then everything is waited for, which is cheaper to ask for than what there was at the start.
MOVING_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Backlog:
    """What was not delivered at some moment, up to an append of the outbox, and what each projection lacked."""

    append: int
    lags: Mapping[str, Mapping[StreamId, Lag]]

    @classmethod
    async def at_present(cls, outbox: Outbox, projections: Projections) -> Self:
        """What is to be delivered and applied now."""
        return cls(await outbox.last(), await _lags(projections, projections.running))

    async def is_done(self, outbox: Outbox, projections: Projections) -> bool:
        """Whether all of it was delivered and applied since."""
        if await outbox.size(self.append):
            return False
        running = projections.running
        short = [name for name, lags in self.lags.items() if await _is_short(running[name].store, lags)]
        now = await _lags(projections, short)
        return not any(_is_left(self.lags[name], lags) for name, lags in now.items())


async def _is_short(store: Store, lags: Mapping[StreamId, Lag]) -> bool:
    """Whether a stream lacks some of that, unless it has stopped; one statement."""
    progress = await store.progress_of(list(lags)) if lags else {}
    return any(lag.ahead or progress[stream] < lag.head for stream, lag in lags.items())


async def _lags(projections: Projections, names: Collection[str]) -> Mapping[str, Mapping[StreamId, Lag]]:
    """What these projections lack, except for paused projections and stopped streams."""
    paused = await projections.paused() if names else ()
    return {name: await projections.running[name].behind() for name in names if name not in paused}


def _is_left(then: Mapping[StreamId, Lag], now: Mapping[StreamId, Lag]) -> bool:
    """Whether a stream is still behind the head that it had then, or still ahead of its log."""
    both = [(lag, now[stream]) for stream, lag in then.items() if stream in now]
    return any(later.ahead if lag.ahead else later.progress < lag.head for lag, later in both)


async def settled(outbox: Outbox, projections: Projections, deadline: float) -> None:
    """Wait until everything that was appended before is delivered, and applied by every projection.

    Of what others append meanwhile, at most that of the first second is waited for. TimeoutError after `deadline`
    seconds, with what is missing.
    """
    began = time.monotonic()
    backlog: Backlog | None = None
    try:
        async with asyncio.timeout(deadline):
            while True:  # Polls, because another process may do the work.
                passed = time.monotonic() - began
                with suppress(*UNREACHABLE):  # A killed server is being restarted.
                    if backlog is None and passed > MOVING_SECONDS:
                        backlog = await Backlog.at_present(outbox, projections)
                    if await (backlog.is_done(outbox, projections) if backlog else _is_level(outbox, projections)):
                        return
                # Each look takes processor time from what it waits for.
                await asyncio.sleep(max(SETTLE_SECONDS, SETTLE_SHARE * passed))
    except TimeoutError:
        raise TimeoutError(f"not settled within {deadline:g} s: {await _missing(outbox, projections)}") from None


async def _is_level(outbox: Outbox, projections: Projections) -> bool:
    return not await outbox.size() and await projections.settled()


async def _missing(outbox: Outbox, projections: Projections) -> str:
    try:
        undelivered, lag = await outbox.size(), await projections.lag()
    except UNREACHABLE as error:
        return f"a server cannot be reached ({type(error).__name__})"
    behind = [f"{name} ({events})" for name, events in lag.items() if events]
    return f"{undelivered} appends wait for delivery; events behind: {', '.join(behind) or 'none'}"
