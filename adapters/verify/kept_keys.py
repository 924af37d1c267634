"""What a rebuild asks of each stream that lost texts: whether an event erased them (X07)."""

from collections.abc import Awaitable, Callable, Collection, Sequence

from mnemolog.domain.errors import TamperedEvent
from mnemolog.events.envelope import StreamId

RequireKeys = Callable[[Sequence[StreamId]], Awaitable[None]]


class KeptKeys:
    """Called with the streams of events that read as erased; asks `require` once for each.

    `missing` is the last that it raised.
    """

    def __init__(self, require: RequireKeys) -> None:
        self._require = require
        self._sound = set[StreamId]()
        self.missing: TamperedEvent | None = None

    async def __call__(self, streams: Collection[StreamId]) -> None:
        asked = sorted(set(streams) - self._sound)
        if not asked:
            return
        try:
            await self._require(asked)
        except TamperedEvent as damage:
            self.missing = damage
            raise
        self._sound.update(asked)
