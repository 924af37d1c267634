"""Callers that are cancelled: whoever and whenever, every other command is written exactly once (X14)."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemolog.commands.handler import Handler
from mnemolog.commands.memories import MEMORIES, CreateMemory, UpdateMemory
from mnemolog.events.envelope import Receipt, Recorded, StreamId
from mnemolog.events.log import Append, Outcome
from mnemolog.events.memory import MemoryUpdated
from tests.testkit.clock import START, Clock, ids
from tests.testkit.log import MemoryLog

ANA, MEMORY = StreamId.of_user("ana"), UUID(int=1)
LONGEST = 6


class SlowLog(MemoryLog):
    """A log whose steps take as many turns of the event loop as were drawn; an append goes on without its caller."""

    def __init__(self, pauses: Sequence[int]) -> None:
        super().__init__()
        self._pauses = list(pauses)
        self._writing: set[asyncio.Task[Sequence[Outcome]]] = set()

    async def read(self, *args: Any, **kwargs: Any) -> Sequence[Recorded]:
        await self._pause()
        found = await super().read(*args, **kwargs)
        await self._pause()
        return found

    async def append(self, appends: Sequence[Append]) -> Sequence[Outcome]:
        task = asyncio.create_task(self._append_slowly(appends))
        self._writing.add(task)
        return await asyncio.shield(task)

    async def _append_slowly(self, appends: Sequence[Append]) -> Sequence[Outcome]:
        await self._pause()
        outcomes = await super().append(appends)
        await self._pause()
        return outcomes

    async def settled(self) -> None:
        await asyncio.gather(*self._writing)

    async def _pause(self) -> None:
        for _ in range(self._pauses.pop() if self._pauses else 1):
            await asyncio.sleep(0)


@dataclass(frozen=True, slots=True)
class Caller:
    """Updates one memory, each by a text of its own; `cancelled_at` a turn of the event loop, or never."""

    way: str
    begins_at: int
    cancelled_at: int | None

    async def call(self, run: Handler, texts: Sequence[str]) -> Sequence[Outcome]:
        commands = [UpdateMemory(user_id="ana", memory_id=MEMORY, text=text) for text in texts]
        if self.way == "several":
            return await run.handle_all(MEMORIES, ANA, [(command, START) for command in commands])
        key = texts[0] if self.way == "keyed" else None
        return [await run.handle(MEMORIES, commands[0], idempotency_key=key)]

    def texts(self, number: int) -> Sequence[str]:
        return [f"{number}.{one}" for one in range(2 if self.way == "several" else 1)]


turns = st.integers(0, 40)
callers = st.builds(
    Caller, st.sampled_from(["plain", "plain", "plain", "keyed", "several"]), st.integers(0, 10), st.none() | turns
)


@pytest.mark.spec("X14")
@settings(deadline=None)
@given(st.lists(callers, min_size=2, max_size=9), st.lists(st.integers(0, LONGEST), max_size=40))
async def test_whoever_is_cancelled_and_whenever_the_others_are_written_once(
    callers: list[Caller], pauses: list[int]
) -> None:
    log = SlowLog(pauses)
    run = Handler(log, Clock(), ids())
    await run.handle(MEMORIES, CreateMemory(user_id="ana", memory_id=MEMORY, text="at first"))

    outcomes = await _carried_out(run, callers)
    await log.settled()

    written = Counter([one.payload.text for one in await log.read(ANA) if isinstance(one.payload, MemoryUpdated)])
    for number, (caller, outcome) in enumerate(zip(callers, outcomes, strict=True)):
        counts = [written[text] for text in caller.texts(number)]
        if isinstance(outcome, asyncio.CancelledError):
            assert max(counts) <= 1
        else:
            assert not isinstance(outcome, BaseException)
            assert all(isinstance(one, Receipt) for one in outcome)
            assert set(counts) == {1}


async def _carried_out(run: Handler, callers: Sequence[Caller]) -> Sequence[Sequence[Outcome] | BaseException]:
    """Each begins, and is cancelled, at its turn of the event loop."""
    tasks: dict[int, asyncio.Task[Sequence[Outcome]]] = {}
    for turn in range(max([*(one.begins_at for one in callers), *(one.cancelled_at or 0 for one in callers)]) + 1):
        for number, caller in enumerate(callers):
            if caller.begins_at == turn:
                tasks[number] = asyncio.create_task(caller.call(run, caller.texts(number)))
            if caller.cancelled_at == turn and number in tasks:
                tasks[number].cancel()
        await asyncio.sleep(0)
    async with asyncio.timeout(60):
        return await asyncio.gather(*(tasks[number] for number in range(len(callers))), return_exceptions=True)
