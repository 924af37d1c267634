"""Collects recalls and writes them in batches: at most one event per user, kind of recall and minute (B §7, C ❺)."""

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from uuid import UUID

from mnemolog.adapters.unreachable import UNREACHABLE
from mnemolog.commands.recalls import RecordRecalls
from mnemolog.domain.errors import MnemologError
from mnemolog.domain.viewer import Viewer
from mnemolog.events.memory import Recall

_logger = logging.getLogger("mnemolog.recalls")

ACTOR = "recall"
MOST_PLACES = 10_000
# A tenant, a user, and how memories were found.
Place = tuple[str, str, Recall]


class Recalls:
    """Collects recalls per user. Those not written when a process dies are lost: they are a sign of use, not facts."""

    def __init__(self, write: Callable[[RecordRecalls], Awaitable[object]], seconds: float) -> None:
        self._write, self._seconds = write, seconds
        self._found: dict[Place, Counter[UUID]] = {}
        self._writing = asyncio.Lock()

    def note(self, viewer: Viewer, weights: Mapping[UUID, int], by: Recall = Recall.QUERY) -> None:
        """Record that these memories were recalled for this viewer, each with the weight of its reactivation."""
        place = (viewer.tenant, viewer.user_id, by)
        if not self._seconds or not weights or (len(self._found) >= MOST_PLACES and place not in self._found):
            return
        self._found.setdefault(place, Counter()).update(weights)

    async def run(self) -> None:
        """Write periodically, until cancelled."""
        while self._seconds:
            await asyncio.sleep(self._seconds)
            await self.flush()

    async def flush(self) -> None:
        """Write what was collected; what cannot be written now is kept for the next time.

        Whatever another call has begun to write is written when this one returns.
        """
        async with self._writing:
            for place in list(self._found):
                counts = self._found.pop(place)
                try:
                    await self._write(_command(*place, counts))
                except (MnemologError, *UNREACHABLE) as error:
                    _logger.warning("recalls wait to be written: %s", type(error).__name__)
                    self._found.setdefault(place, Counter()).update(counts)

    def drop(self) -> None:
        """Drop what was collected, because there is no log any more to write it to."""
        self._found.clear()


def _command(tenant: str, user_id: str, by: Recall, counts: Counter[UUID]) -> RecordRecalls:
    ids = tuple(sorted(counts))
    weights = tuple(counts[id_] for id_ in ids)
    return RecordRecalls(tenant=tenant, user_id=user_id, actor=ACTOR, memory_ids=ids, weights=weights, by=by)
