"""The method of the Python API that watches changes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import TYPE_CHECKING

from mnemolog.asking import Asking
from mnemolog.deferred import Deferred

if TYPE_CHECKING:
    from mnemolog.adapters.operations import watching
    from mnemolog.adapters.operations.watching import WatchedChange
else:
    watching = Deferred("mnemolog.adapters.operations.watching")


class WatchVerbs(Asking):
    """A part of `Verbs`."""

    async def watch(
        self,
        *,
        since: int | None = None,
        wait: float | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
    ) -> AsyncIterator[WatchedChange]:
        """Watch the changes of a user, oldest first, as they happen: ids and no texts.

        Starts after the seq `since`, by default now; ends after `wait` seconds without a change, by default never. Each
        change comes at least once; to go on later, pass the `seq` of the last one as `since`.

        Example:
            for change in memory.watch(user_id="ana", since=0, wait=0):
                print(change.seq, change.subject, change.event)
        """
        async with aclosing(self._watch(self._request(watching.Watch, locals()))) as changes:
            async for change in changes:
                yield change
