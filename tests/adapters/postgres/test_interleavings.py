"""Random interleavings of handlers on one database: no update lost, no key doubled, no gap, one order (X01, X14, D04).

Hypothesis draws commands and the order in which their steps run. Each handler has a log of its own, as each engine
has, and stops before every read and every append until the schedule lets it go on: so a schedule is one interleaving,
and a failing one is shrunk and can be run again.
"""

import asyncio
import os
import time
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import cast
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mnemolog.adapters import keys
from mnemolog.adapters.engine.engine import Engine, new_id, now
from mnemolog.adapters.postgres.log import PostgresLog
from mnemolog.adapters.postgres.pool import Pool
from mnemolog.adapters.postgres.roots import Roots, open_roots
from mnemolog.commands.handler import Handler
from mnemolog.commands.memories import (
    MEMORIES,
    CreateMemory,
    MemoryCommand,
    MergeMemories,
    RestoreMemory,
    SoftDeleteMemory,
    UpdateMemory,
)
from mnemolog.commands.turns import TURNS, RecordTurn
from mnemolog.domain.errors import MnemologError
from mnemolog.events.codec import Codec
from mnemolog.events.conversation import TurnRecorded
from mnemolog.events.envelope import Receipt, Recorded, StreamId
from mnemolog.events.graph import EntityObserved
from mnemolog.events.log import NOTHING_IGNORED, Append, EventLog, Ignored, Outcome
from mnemolog.events.memory import MemoryCreated
from tests.faults.checker import Acknowledged, Verdict, judge
from tests.testkit.clock import START
from tests.testkit.examples import examples

HANDLERS = 3
ALL_AT_ONCE = HANDLERS
SECONDS = 60.0
MEMORY_IDS = [UUID(int=number) for number in range(1, 4)]
_streams = count(1)


class Steps:
    """Lets one waiting handler go on at a time, or all of them at once, as the schedule says."""

    def __init__(self, schedule: Sequence[int]) -> None:
        self._schedule = list(schedule)
        self._waiting: dict[int, asyncio.Future[None]] = {}
        self._running = set(range(HANDLERS))

    async def pause(self, handler: int) -> None:
        """Called before each step; returns when it is this handler's turn."""
        self._waiting[handler] = turn = asyncio.get_running_loop().create_future()
        self.end(handler)
        await turn

    def end(self, handler: int) -> None:
        """The handler does nothing more for now: whoever waits may go on."""
        self._running.discard(handler)
        if not self._running and self._waiting:
            for chosen in self._choice():
                self._running.add(chosen)
                self._waiting.pop(chosen).set_result(None)

    def _choice(self) -> Collection[int]:
        waiting = sorted(self._waiting)
        drawn = self._schedule.pop(0) if self._schedule else 0
        return waiting if drawn == ALL_AT_ONCE else [waiting[drawn % len(waiting)]]


class SteppedLog:
    """What a handler needs of a real log, step by step. Without `guarded`, appends go out without their guards."""

    def __init__(self, log: PostgresLog, steps: Steps, handler: int, *, guarded: bool) -> None:
        self._log, self._steps, self._handler, self._guarded = log, steps, handler, guarded

    async def read(
        self,
        stream: StreamId,
        *,
        tags: Collection[str] = (),
        unread: bool = False,
        known: Collection[int] = (),
        ignored: Ignored = NOTHING_IGNORED,
    ) -> Sequence[Recorded]:
        await self._steps.pause(self._handler)
        return await self._log.read(stream, tags=tags, unread=unread, known=known, ignored=ignored)

    async def append(self, appends: Sequence[Append]) -> Sequence[Outcome]:
        await self._steps.pause(self._handler)
        return await self._log.append([one if self._guarded else replace(one, guard=None) for one in appends])

    def done(self) -> None:
        self._steps.end(self._handler)

    async def receipt(self, stream: StreamId, idempotency_key: str, fingerprint: bytes) -> Receipt | None:
        return await self._log.receipt(stream, idempotency_key, fingerprint)


@dataclass(frozen=True, slots=True)
class Asked:
    """A command of some handler; `key` is its idempotency key."""

    command: MemoryCommand | RecordTurn
    key: str | None = None


@dataclass(slots=True)
class Run:
    """What handlers were told, and what the log holds."""

    stream: StreamId
    told: list[tuple[Asked, Receipt]] = field(default_factory=list)
    refused: Counter[str] = field(default_factory=Counter)
    recorded: Sequence[Recorded] = ()

    def verdict(self) -> Verdict:
        at = time.monotonic()  # All at one moment: what overlaps may stand in any order.
        return judge({self.stream: self.recorded}, [Acknowledged("", receipt, at, at) for _, receipt in self.told])


@dataclass(frozen=True, slots=True)
class Database:
    """Logs on the Postgres of the tests' engine, with its roots."""

    pool: Pool
    roots: Roots = field(repr=False)

    def log(self) -> PostgresLog:
        return PostgresLog(self.pool, Codec(), self.roots, now)


@pytest.fixture(scope="session")
async def database(engine: Engine, pool: Pool) -> Database:
    master_key = keys.from_file(engine.settings.directory / "master.key")
    return Database(pool, await open_roots(pool, master_key, os.urandom))


async def interleaved(
    database: Database, plans: Sequence[Sequence[Asked]], schedule: Sequence[int], *, guarded: bool = True
) -> Run:
    """Each plan by a handler of its own, on a new stream with three memories, in the order of the schedule."""
    run = Run(StreamId.of_user(f"interleaved-{next(_streams)}"))
    logs = [database.log() for _ in range(HANDLERS)]
    for memory_id in MEMORY_IDS:
        create = CreateMemory(user_id=run.stream.owner, memory_id=memory_id, text=f"memory {memory_id.int}")
        await Handler(logs[0], now, new_id).handle(MEMORIES, create)
    steps = Steps(schedule)
    async with asyncio.timeout(SECONDS):
        await asyncio.gather(
            *(
                _carry_out(SteppedLog(log, steps, number, guarded=guarded), plan, run)
                for number, (log, plan) in enumerate(zip(logs, plans, strict=True))
            )
        )
    run.recorded = await logs[0].read(run.stream)
    return run


async def _carry_out(log: SteppedLog, plan: Sequence[Asked], run: Run) -> None:
    handler = Handler(cast(EventLog, log), now, new_id)
    for asked in plan:
        command = asked.command.model_copy(update={"user_id": run.stream.owner})
        try:
            if isinstance(command, RecordTurn):
                receipt = await handler.handle(TURNS, command)
            else:
                receipt = await handler.handle(MEMORIES, command, idempotency_key=asked.key)
        except MnemologError as error:
            run.refused[error.code] += 1
        else:
            run.told.append((asked, receipt))
    log.done()


def turn(turn_id: str, speaker: str = "Ana") -> Asked:
    said = {"user_id": "-", "turn_id": turn_id, "speaker": speaker, "text": "hello", "occurred_at": START}
    return Asked(RecordTurn.model_validate({**said, "entity_id": new_id()}))


def update(memory_id: UUID, **fields: object) -> Asked:
    return Asked(UpdateMemory.model_validate({"user_id": "-", "memory_id": memory_id, **fields}))


def merge(survivor: UUID, absorbed: UUID) -> Asked:
    return Asked(MergeMemories(user_id="-", memory_id=survivor, absorbed_ids=(absorbed,)))


def delete(memory_id: UUID) -> Asked:
    return Asked(SoftDeleteMemory(user_id="-", memory_id=memory_id, at=START))


def restore(memory_id: UUID) -> Asked:
    return Asked(RestoreMemory(user_id="-", memory_id=memory_id))


def create(key: str) -> Asked:
    return Asked(CreateMemory(user_id="-", memory_id=new_id(), text=f"keyed {key}"), key)


some_memory = st.sampled_from(MEMORY_IDS)
texts = st.integers(0, 99).map(lambda number: f"text {number}")
weights = st.integers(0, 100).map(lambda number: number / 100)
asked = st.one_of(
    st.builds(update, some_memory, text=texts),
    st.builds(update, some_memory, importance=weights),
    st.builds(update, some_memory, pinned=st.booleans()),
    st.lists(some_memory, min_size=2, max_size=2, unique=True).map(lambda two: merge(*two)),
    st.builds(delete, some_memory),
    st.builds(restore, some_memory),
    st.builds(turn, st.sampled_from(["t1", "t2"]), st.sampled_from(["Ana", "Ben"])),
    st.builds(create, st.sampled_from(["k1", "k2"])),
)
plans = st.lists(st.lists(asked, max_size=4), min_size=HANDLERS, max_size=HANDLERS)
schedules = st.lists(st.integers(0, ALL_AT_ONCE), max_size=40)


@pytest.mark.spec("X01", "X14", "D04")
@settings(max_examples=examples(150), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(plans=plans, schedule=schedules)
async def test_no_interleaving_loses_an_update_doubles_a_key_or_leaves_a_gap(
    database: Database, plans: list[list[Asked]], schedule: list[int]
) -> None:
    run = await interleaved(database, plans, schedule)

    assert run.verdict() == Verdict()
    assert doubled_keys(run) == []
    # What is pinned takes no other importance (D03).
    assert set(run.refused) <= {"transition_refused", "not_found", "concurrency_conflict", "invalid_input"}


def doubled_keys(run: Run) -> list[str]:
    """Turn ids, idempotency keys and names of speakers that stand in the log more than once."""
    counts: Counter[str] = Counter()
    for payload in (event.payload for event in run.recorded):
        match payload:
            case TurnRecorded():
                counts[payload.turn_id] += 1
            case EntityObserved():
                counts[payload.name] += 1
            case MemoryCreated() if payload.text.startswith("keyed"):
                counts[payload.text] += 1
    return [key for key, number in counts.items() if number > 1]


ONE = MEMORY_IDS[0]
BOTH_READ_FIRST = [0, 1, 0, 0]
# Two handlers decide on the same state: what each asks for, and what goes wrong where no guard is in the way.
RACES: dict[str, tuple[Asked, Asked]] = {
    "update": (update(ONE, text="new"), update(ONE, importance=0.9)),
    "deletion": (delete(ONE), update(ONE, text="new")),
    "merge": (delete(ONE), merge(MEMORY_IDS[1], ONE)),
    "turn": (turn("t1"), turn("t1")),
    "speaker": (turn("t1", "Ana"), turn("t2", "Ana")),
}


@pytest.mark.spec("X14", "D04")
@pytest.mark.parametrize("guarded", [True, False], ids=["guarded", "unguarded"])
@pytest.mark.parametrize("race", RACES.values(), ids=RACES)
async def test_it_is_the_guard_that_keeps_two_from_deciding_on_the_same_state(
    database: Database, race: tuple[Asked, Asked], guarded: bool
) -> None:
    run = await interleaved(database, [[race[0]], [race[1]], []], BOTH_READ_FIRST, guarded=guarded)

    good = run.verdict() == Verdict() and doubled_keys(run) == []
    assert good is guarded, (run.verdict(), doubled_keys(run))


@pytest.mark.spec("X14", "D04")
async def test_a_key_that_three_use_at_once_is_recorded_once_and_all_get_its_receipt(database: Database) -> None:
    run = await interleaved(database, [[create("k1")]] * HANDLERS, [ALL_AT_ONCE] * 4)

    assert doubled_keys(run) == []
    assert len({receipt.event_ids for _, receipt in run.told}) == 1
    assert sorted(receipt.already for _, receipt in run.told) == [False, True, True]
