"""Several projections of one database share a transaction, as long as nothing goes wrong.

What a small batch costs is the transaction around it, not its rows. The first thing that is out of the ordinary, a
gap or an error, and each projection goes on alone: so none of them ever holds another up, or is blamed for it.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager

from mnemolog.events.envelope import Recorded, StoredEvent, StreamId
from mnemolog.projections.applying import Step, apply, by_place
from mnemolog.projections.preparing import Unprepared, prepared
from mnemolog.projections.projector import Session
from mnemolog.projections.rule import Delivered, Unread, by_stream, outstanding
from mnemolog.projections.runtime import Projection

Opened = tuple[Sequence[Session], Sequence[Recorded]]
Open = Callable[[Sequence[Projection], Sequence[StreamId], Sequence[StoredEvent]], AbstractAsyncContextManager[Opened]]


class SharedTransaction:
    """`open_and_decode` begins one transaction with a session per projection, and decodes a delivery in it.

    It decodes the whole delivery in the round trip that claims its streams; events applied before are decoded for
    nothing.
    """

    def __init__(self, open_and_decode: Open) -> None:
        self._open = open_and_decode

    async def deliver(
        self, projections: Sequence[Projection], events: Sequence[Delivered], share: int | None = None
    ) -> Sequence[Unread]:
        """Like `Projection.deliver`, for all of them."""
        if await prepared(lambda: self._at_once(projections, events)):
            return ()
        return await each_alone(projections, events, share)

    async def _at_once(self, projections: Sequence[Projection], events: Sequence[Delivered]) -> bool:
        """Whether everything was applied; False if nothing was."""
        streams, whole = by_stream(events), [event for event in events if isinstance(event, StoredEvent)]
        try:
            async with self._open(projections, sorted(streams), whole) as (sessions, decoded):
                steps: list[Step] = []
                for projection, session in zip(projections, sessions, strict=True):
                    wanted = _wanted(session, streams)
                    if wanted is None:
                        return False
                    steps.append(Step(projection.store, session, wanted))
                await apply(steps, by_place(decoded))
        except Unprepared:
            raise
        except Exception as error:
            # Connection errors are retried by the caller. For others, running each projection alone shows which one,
            # and which event, is at fault.
            if len(projections) == 1 and isinstance(error, projections[0].transient):
                raise
            return False
        return True


async def each_alone(
    projections: Sequence[Projection], events: Sequence[Delivered], share: int | None = None
) -> Sequence[Unread]:
    """A delivery to each projection in its own transaction; what any of them left."""
    left = await asyncio.gather(*(projection.deliver(events, share) for projection in projections))
    return [one for each in left for one in each]


def _wanted(session: Session, streams: Mapping[StreamId, Sequence[Delivered]]) -> list[StoredEvent] | None:
    """The part of a delivery that one projection lacks; None if it must be read from the log."""
    found: list[StoredEvent] = []
    for stream, progress in session.progress.items():
        events = outstanding(progress, streams[stream])
        if events is None:
            return None
        found += events
    return found
