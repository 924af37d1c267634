"""Several projections of one database, as long as nothing goes wrong: one transaction, and each event decoded once.

What a small batch costs is the transaction around it, not its rows. The first thing that is out of the ordinary, a
gap or an error, and each projection goes on alone: so none of them ever holds another up, or is blamed for it.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager

from mnemolog.events.envelope import StoredEvent, StreamId
from mnemolog.events.log import EventLog
from mnemolog.projections.projector import Session
from mnemolog.projections.rule import Delivery, by_stream, outstanding
from mnemolog.projections.runtime import Projection

Sessions = Callable[[Sequence[Projection], Sequence[StreamId]], AbstractAsyncContextManager[Sequence[Session]]]


class Together:
    """`open_sessions` begins one transaction with a session for each projection."""

    def __init__(self, log: EventLog, open_sessions: Sessions) -> None:
        self._log, self._open = log, open_sessions

    async def deliver(self, projections: Sequence[Projection], events: Sequence[Delivery]) -> None:
        """As `Projection.deliver`, for all of them."""
        if len(projections) == 1 or not await self._at_once(projections, events):
            await asyncio.gather(*(projection.deliver(events) for projection in projections))

    async def _at_once(self, projections: Sequence[Projection], events: Sequence[Delivery]) -> bool:
        """Whether that was all; False when nothing was applied."""
        streams = by_stream(events)
        try:
            async with self._open(projections, sorted(streams)) as sessions:
                wanted = [_wanted(session, streams) for session in sessions]
                if any(found is None for found in wanted):
                    return False
                await self._apply(sessions, [found or [] for found in wanted])
        except Exception:  # noqa: BLE001  Whose fault it is, and which event's, shows when each goes alone.
            return False
        return True

    async def _apply(self, sessions: Sequence[Session], wanted: Sequence[Sequence[StoredEvent]]) -> None:
        needed = {event.header.event_id: event for events in wanted for event in events}
        if not needed:
            return
        decoded = {one.event_id: one for one in await self._log.decode(list(needed.values()))}
        async with asyncio.TaskGroup() as side_by_side:
            for session, events in zip(sessions, wanted, strict=True):
                if events:
                    mine = [decoded[event.header.event_id] for event in events]
                    side_by_side.create_task(session.apply(mine))


def _wanted(session: Session, streams: Mapping[StreamId, Sequence[Delivery]]) -> list[StoredEvent] | None:
    """What of a delivery one projection lacks; None when it must be read from the log."""
    found: list[StoredEvent] = []
    for stream, progress in session.progress.items():
        events = outstanding(progress, streams[stream])
        if events is None:
            return None
        found += events
    return found
