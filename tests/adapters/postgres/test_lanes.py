"""Lanes: whoever is cancelled, and whatever befalls a group, every other append is written exactly once (X14)."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemolog.adapters.postgres.append import Appender, Held, Settled
from mnemolog.events.envelope import Receipt, StreamId
from mnemolog.events.log import Append
from tests.testkit.events import created, new


class Fate(Enum):
    WRITTEN = auto()
    HELD = auto()  # Somebody else holds the stream.
    LOST = auto()  # Written, but the connection is lost; and then somebody holds the stream.


class Server:
    """What a group of appends meets, and how many turns of the event loop it takes, as drawn."""

    def __init__(self, fates: Sequence[Fate], pauses: Sequence[int]) -> None:
        self._fates, self._pauses = list(fates), list(pauses)
        self.written: list[Append] = []

    async def write(self, appends: Sequence[Append], wait: bool = True, *, doubtful: bool = False) -> Sequence[Settled]:
        for _ in range(self._pauses.pop() if self._pauses else 1):
            await asyncio.sleep(0)
        return [self._settled(append, wait=wait, doubtful=doubtful) for append in appends]

    def _settled(self, append: Append, *, wait: bool, doubtful: bool) -> Settled:
        receipt = Receipt(append.stream, (append.events[0].event_id,), 1, 1)
        if doubtful and append in self.written:
            return receipt
        fate = Fate.WRITTEN if wait or not self._fates else self._fates.pop()
        if fate is not Fate.HELD:
            self.written.append(append)
        return receipt if fate is Fate.WRITTEN else Held(doubtful or fate is Fate.LOST)


@dataclass(frozen=True, slots=True)
class Caller:
    """Appends to one stream or to several; `cancelled_at` a turn of the event loop, or never."""

    owners: Sequence[str]
    cancelled_at: int | None

    def appends(self) -> Sequence[Append]:
        return [Append(StreamId.of_user(owner), (new(created()),)) for owner in self.owners]


owners = st.lists(st.sampled_from(["ana", "ben", "eva"]), min_size=1, max_size=2)
callers = st.builds(Caller, owners, st.none() | st.integers(0, 20))


@pytest.mark.spec("X14")
@settings(deadline=None)
@given(
    st.lists(callers, min_size=1, max_size=8),
    st.lists(st.sampled_from(Fate), max_size=12),
    st.lists(st.integers(0, 5), max_size=12),
)
async def test_whoever_is_cancelled_and_whatever_is_lost_the_others_are_written_once(
    callers: list[Caller], fates: list[Fate], pauses: list[int]
) -> None:
    server = Server(fates, pauses)
    appender = Appender(server.write)
    appends = [caller.appends() for caller in callers]
    tasks = [asyncio.create_task(appender.append(wanted)) for wanted in appends]
    for turn in range(21):
        for task, caller in zip(tasks, callers, strict=True):
            if caller.cancelled_at == turn:
                task.cancel()
        await asyncio.sleep(0)
    async with asyncio.timeout(60):
        outcomes = await asyncio.gather(*tasks, return_exceptions=True)
        await appender.append([Append(StreamId.of_user(name), (new(created()),)) for name in ("ana", "ben", "eva")])

    counts = Counter(append.events[0].event_id for append in server.written)
    for wanted, outcome in zip(appends, outcomes, strict=True):
        gone = isinstance(outcome, asyncio.CancelledError)
        assert gone or not isinstance(outcome, BaseException)
        assert {counts[append.events[0].event_id] for append in wanted} <= ({0, 1} if gone else {1})
