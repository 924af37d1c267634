"""Whether texts that a rebuild reads as erased were erased, or lost their keys (X07)."""

from collections.abc import Awaitable, Callable, Collection, Sequence

from mnemolog.domain.errors import TamperedEvent
from mnemolog.events.envelope import StreamId

RequireKeys = Callable[[Sequence[StreamId]], Awaitable[None]]


class MissingKeyCheck:
    """Called with the streams of events that read as erased; calls `require` once for each.

    `missing` is the last error that it raised.
    """

    def __init__(self, require: RequireKeys) -> None:
        self._require = require
        self._complete = set[StreamId]()
        self.missing: TamperedEvent | None = None

    async def __call__(self, streams: Collection[StreamId]) -> None:
        unchecked = sorted(set(streams) - self._complete)
        if not unchecked:
            return
        try:
            await self._require(unchecked)
        except TamperedEvent as damage:
            self.missing = damage
            raise
        self._complete.update(unchecked)
