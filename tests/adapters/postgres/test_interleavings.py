"""Random interleavings of handlers on one database: no update lost, no key doubled, no gap, one order (X01, X14, D04).

Hypothesis draws commands and the order in which their steps run. Each handler has a log of its own, as each engine
has, and stops before every read and every append until the schedule lets it go on: so a schedule is one interleaving,
and a failing one is shrunk and can be run again.
"""

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mnemolog.adapters.engine.engine import new_id, now
from mnemolog.adapters.postgres.log import PostgresLog
from mnemolog.adapters.postgres.pool import Pool
from mnemolog.commands.decider import Command
from mnemolog.commands.handler import Handler
from mnemolog.commands.memories import MEMORIES, CreateMemory, MemoryCommand, MergeMemories, SoftDeleteMemory, UpdateMemory
from mnemolog.commands.turns import TURNS, RecordTurn
from mnemolog.domain.errors import MnemologError
from mnemolog.events.codec import Codec
from mnemolog.events.conversation import EntityObserved, TurnRecorded
from mnemolog.events.envelope import Receipt, Recorded, StreamId
from mnemolog.events.log import Append, Guard, Outcome
from tests.faults.checker import Acknowledged, judge
from tests.testkit.roots import roots

HANDLERS = 3
SECONDS = 20.0
_streams = count(1)


class Steps:
    """Lets one waiting handler go on at a time, in the order that is drawn."""

    def __init__(self, schedule: Sequence[int]) -> None:
        self._schedule = list(schedule)
        self._waiting: dict[int, asyncio.Future[None]] = {}
        self._running: set[int] = set()
        self.began = 0

    async def pause(self, handler: int) -> None:
        """Called before a step; returns when it is this handler's turn."""
        self._waiting[handler] = asyncio.get_running_loop().create_future()
        self._running.discard(handler)
        self._next()
        await self._waiting[handler]

    def start(self, handlers: Collection[int]) -> None:
        self._running = set(handlers)

    def end(self, handler: int) -> None:
        self._running.discard(handler)
        self._next()

    def _next(self) -> None:
        if self._running or not self._waiting:
            return
        choice = self._schedule.pop(0) if self._schedule else 0
        chosen = sorted(self._waiting)[choice % len(self._waiting)]
        self._running.add(chosen)
        self._waiting.pop(chosen).set_result(None)


class SteppedLog(PostgresLog):
    """A real log whose reads and appends wait for their turn. Without `guarded`, guards are left out."""

    def __init__(self, pool: Pool, steps: Steps, handler: int, *, guarded: bool) -> None:
        super().__init__(pool, Codec(), roots(), now)
        self._steps, self._handler, self._guarded = steps, handler, guarded

    async def read(self, stream: StreamId, **which: Any) -> Sequence[Recorded]:
        await self._steps.pause(self._handler)
        return await super().read(stream, **which)

    async def append(self, appends: Sequence[Append], deadline: float | None = None) -> Sequence[Outcome]:
        await self._steps.pause(self._handler)
        if not self._guarded:
            appends = [_unguarded(append) for append in appends]
        return await super().append(appends, deadline)


def _unguarded(append: Append) -> Append:
    return Append(append.stream, append.events, Guard(frozenset(), 0), append.idempotency_key, append.fingerprint)
