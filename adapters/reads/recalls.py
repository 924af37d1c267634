"""Collects recalls and writes them in batches: at most one event per user and minute (B §7)."""

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Collection
from uuid import UUID

from mnemolog.adapters.unreachable import UNREACHABLE
from mnemolog.commands.recalls import RecordRecalls
from mnemolog.domain.errors import MnemologError
from mnemolog.domain.viewer import Viewer

_logger = logging.getLogger("mnemolog.recalls")

ACTOR = "recall"
MOST_USERS = 10_000


class Recalls:
    """Counts by user. What was not written yet when a process dies is lost: it is a sign of use, and no truth."""

    def __init__(self, write: Callable[[RecordRecalls], Awaitable[object]], seconds: float) -> None:
        self._write, self._seconds = write, seconds
        self._found: dict[tuple[str, str], Counter[UUID]] = {}

    def note(self, viewer: Viewer, memory_ids: Collection[UUID]) -> None:
        """That these memories were found for this viewer."""
        user = (viewer.tenant, viewer.user_id)
        if not self._seconds or not memory_ids or (len(self._found) >= MOST_USERS and user not in self._found):
            return
        self._found.setdefault(user, Counter()).update(memory_ids)

    async def run(self) -> None:
        """Write every so many seconds, until cancelled."""
        while self._seconds:
            await asyncio.sleep(self._seconds)
            await self.flush()

    async def flush(self) -> None:
        """Write what was gathered; what cannot be written now waits for the next time."""
        for user in list(self._found):
            counts = self._found.pop(user)
            try:
                await self._write(_command(*user, counts))
            except (MnemologError, *UNREACHABLE) as error:
                _logger.warning("recalls wait to be written: %s", type(error).__name__)
                self._found.setdefault(user, Counter()).update(counts)

    def drop(self) -> None:
        """Forget what was gathered, when there is no log to write it to any more."""
        self._found.clear()


def _command(tenant: str, user_id: str, counts: Counter[UUID]) -> RecordRecalls:
    ids = tuple(sorted(counts))
    weights = tuple(counts[id_] for id_ in ids)
    return RecordRecalls(tenant=tenant, user_id=user_id, actor=ACTOR, memory_ids=ids, weights=weights)
