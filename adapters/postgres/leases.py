"""Leases on partitions: which process applies the events of which partition.

All of a process are held by one session, which asks every second who else is there; that is its heartbeat
(adapters/postgres/lease.py). No clock is compared with another, and nothing is left to clean up (docs/decisions/0009).
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection

from mnemolog.adapters.postgres.lease import Lease, lease_session

_logger = logging.getLogger("mnemolog.leases")

Changed = Callable[[frozenset[int]], Awaitable[None]]

LOOK_SECONDS = 1.0
NOBODY = -1


class Leases:
    """A fair share of `count` partitions, as long as this process lives and answers.

    Shared with the processes that keep the same tables, by the names in `kept`: another version of Mnemolog has its
    own, and fills nothing for this one.
    """

    def __init__(self, postgres_dsn: str, count: int, kept: str) -> None:
        self._dsn, self._count, self._kept = postgres_dsn, count, {"kept": kept}

    async def run(self, changed: Changed) -> None:
        """Acquire and release until cancelled; `changed` is called with this process's partitions."""
        while True:
            try:
                async with lease_session(self._dsn) as lease:
                    await lease.execute("join_workers", self._kept)
                    await self._hold(lease, changed)
            except Exception as error:  # noqa: BLE001  Without leases, a process would project nothing.
                _logger.warning("leases: %s, trying again", type(error).__name__)
            await changed(frozenset())
            await asyncio.sleep(LOOK_SECONDS)

    async def _hold(self, lease: Lease, changed: Changed) -> None:
        own: frozenset[int] = frozenset()
        while True:
            rows = await (await lease.execute("look_at_leases", self._kept)).fetchall()
            workers = sorted(row["pid"] for row in rows if row["partition"] == NOBODY)
            in_use = {row["partition"] for row in rows}
            share, rest = divmod(self._count, len(workers))
            wanted = share + (workers.index(lease.pid) < rest)
            free = [one for one in range(self._count) if one not in in_use | own]
            if surplus := sorted(own)[wanted:]:
                own = own.difference(surplus)
                await changed(own)
                await lease.execute("give_partitions", {"partitions": surplus, **self._kept})
            elif taken := await self._take(lease, free[: wanted - len(own)]):
                own |= taken
                await changed(own)
            await asyncio.sleep(LOOK_SECONDS)

    async def _take(self, lease: Lease, free: Collection[int]) -> frozenset[int]:
        if not free:
            return frozenset()
        rows = await (await lease.execute("take_partitions", {"partitions": list(free), **self._kept})).fetchall()
        return frozenset(row["partition"] for row in rows if row["taken"])
