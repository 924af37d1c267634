"""Who waits for a write takes nothing from others: one question a projection serves all waits (X10)."""

import asyncio
from collections.abc import Mapping, Sequence
from itertools import count

import pytest
from sqlalchemy.pool import QueuePool

from mnemolog.adapters.deadline import read_within
from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.reads.waiting import SLOWEST_POLL_SECONDS, Waits
from mnemolog.domain.errors import ProjectionPoisoned, ReadTimeout
from mnemolog.events.envelope import Position, StreamId
from mnemolog.projections.reads.moment import Moment
from mnemolog.projections.reads.reading import MEMORIES
from tests.engine.person import Person
from tests.testkit.events import STREAM, created, rows
from tests.testkit.log import MemoryLog
from tests.testkit.store import MemoryStore

WAITS = 300


class Counting(MemoryStore):
    """Counts the questions for progress, and how many are asked at once."""

    def __init__(self) -> None:
        super().__init__()
        self.questions = self.asking = self.most = 0

    async def progress_of(self, streams: Sequence[StreamId]) -> Mapping[StreamId, int]:
        self.questions, self.asking = self.questions + 1, self.asking + 1
        self.most = max(self.most, self.asking)
        await asyncio.sleep(0)
        self.asking -= 1
        return {stream: self._progress.get(stream, 0) for stream in streams}


class Written(MemoryLog):
    """A log that holds ten events of whomever it is asked about."""

    async def head(self, stream: StreamId) -> int:
        return 10


async def waiting(waits: Waits, count: int, deadline: float) -> list[asyncio.Task[None]]:
    streams = [StreamId.of_user(f"user-{number}") for number in range(count)]
    return [asyncio.create_task(waits.until(Position(one, 9), ["memories"], deadline)) for one in streams]


async def test_three_hundred_waits_share_one_query_at_a_time(engine: Engine) -> None:
    store = Counting()
    waits = Waits({"memories": store}, MemoryLog(), engine.projections.live, 5, 5)
    tasks = await waiting(waits, WAITS, 10 * SLOWEST_POLL_SECONDS)

    ended = await asyncio.gather(*tasks, return_exceptions=True)

    assert [type(one) for one in ended] == [ReadTimeout] * WAITS
    assert store.most == 1
    # Each for itself, they would ask some thousand times.
    assert store.questions < WAITS


async def test_a_wait_of_no_time_at_all_asks_once(engine: Engine) -> None:
    store = Counting()
    waits = Waits({"memories": store}, Written(), engine.projections.live, 5, 5)
    store._progress[STREAM] = 3
    await waits.until(Position(STREAM, 3), ["memories"], 1e-9)
    with pytest.raises(ReadTimeout):
        await waits.until(Position(STREAM, 4), ["memories"], 1e-9)


@pytest.mark.spec("X10")
async def test_without_a_deadline_it_lasts_while_the_projections_advance(engine: Engine) -> None:
    store = Counting()
    waits = Waits({"memories": store}, Written(), engine.projections.live, 0.2, 60)

    async def apply(up_to: int) -> None:
        for seq in range(1, up_to + 1):
            await asyncio.sleep(0.1)
            store._progress[STREAM] = seq

    applying = asyncio.create_task(apply(9))
    await read_within(0.4, waits.until(Position(STREAM, 9), ["memories"]))
    await applying
    with pytest.raises(ReadTimeout, match="is at seq 9 "):
        await waits.until(Position(STREAM, 10), ["memories"])


@pytest.mark.spec("X10")
async def test_without_a_deadline_it_lasts_while_the_projections_apply_what_others_wrote(
    engine: Engine, user: str
) -> None:
    waits = Waits(engine.projections.stores, Written(), engine.projections.live, 1.5, 60)
    other = Person(engine, user)

    async def writing() -> None:
        while True:
            await other.says("Good morning!")
            await asyncio.sleep(0.05)

    chat = asyncio.create_task(writing())
    wait = asyncio.create_task(waits.until(Position(StreamId.of_user(f"{user}-behind"), 10), [MEMORIES]))
    await asyncio.sleep(1.3)
    chat.cancel()
    await asyncio.sleep(0.7)
    assert not wait.done()
    with pytest.raises(ReadTimeout, match="is at seq 0 "):
        await wait
    await engine.settled(60)


@pytest.mark.spec("X10")
@pytest.mark.parametrize(("deadline", "longest"), [(0.2, 60.0), (None, 0.3)])
async def test_it_ends_at_its_deadline_or_the_longest_one_although_they_advance(
    engine: Engine, deadline: float | None, longest: float
) -> None:
    store = Counting()
    waits = Waits({"memories": store}, Written(), engine.projections.live, 0.1, longest)

    async def apply() -> None:
        for seq in count(-10_000):
            store._progress[STREAM] = seq
            await asyncio.sleep(0.01)

    applying = asyncio.create_task(apply())
    with pytest.raises(ReadTimeout, match="not yet at 10"):
        await waits.until(Position(STREAM, 10), ["memories"], deadline)
    applying.cancel()


async def test_each_wait_ends_with_its_own_write(engine: Engine) -> None:
    store = Counting()
    waits = Waits({"memories": store}, Written(), engine.projections.live, 5, 5)
    tasks = await waiting(waits, 3, 60)
    await asyncio.sleep(0)
    store._progress[StreamId.of_user("user-1")] = 9
    done, pending = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    assert done == {tasks[1]}
    tasks[0].cancel()
    store._progress[StreamId.of_user("user-2")] = 10
    await tasks[2]
    assert [task.cancelled() for task in pending if task.done()].count(True) == 1
    await asyncio.sleep(0.01)
    assert not waits.open


async def test_a_store_failure_reaches_all_waits_and_later_ones_query_again(engine: Engine) -> None:
    store = Counting()
    waits = Waits({"memories": store}, Written(), engine.projections.live, 5, 5)

    async def failing(streams: Sequence[StreamId]) -> Mapping[StreamId, int]:
        raise ConnectionError("gone")

    answer, store.progress_of = store.progress_of, failing  # type: ignore[method-assign]
    ended = await asyncio.gather(*await waiting(waits, 3, 60), return_exceptions=True)
    assert [type(one) for one in ended] == [ConnectionError] * 3
    store.progress_of = answer  # type: ignore[method-assign]
    store._progress = {StreamId.of_user(f"user-{number}"): 9 for number in range(3)}
    await asyncio.gather(*await waiting(waits, 3, 60))


async def test_only_waits_for_a_stopped_stream_fail(engine: Engine) -> None:
    store, log = Counting(), MemoryLog()
    log.streams[STREAM] = rows(STREAM, [created()])
    waits = Waits({"memories": store}, log, engine.projections.live, 5, 5)
    await store.stop(STREAM, 1, "ValueError: made up")
    others = await waiting(waits, 3, 60)
    with pytest.raises(ProjectionPoisoned, match="memories stopped"):
        await waits.until(Position(STREAM, 1), ["memories"], 60)
    assert not any(task.done() for task in others)
    for task in others:
        task.cancel()


async def test_reads_that_wait_in_vain_hold_no_connection(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    await ana.creates("Ana drinks tea")
    await ana.caught_up()
    never = Moment(after=Position(ana.stream, 99), deadline=60)
    tasks = [asyncio.create_task(engine.reads.newest(ana.viewer, 5, never)) for _ in range(WAITS)]
    reading, live = engine.reads._each_statement_alone.pool, engine.projections.live.pool
    assert isinstance(reading, QueuePool)
    assert isinstance(live, QueuePool)
    most = 0
    for _ in range(50):
        await asyncio.sleep(0.005)
        assert not any(task.done() for task in tasks)
        assert reading.checkedout() == 0
        most = max(most, live.checkedout())
    assert len(await engine.reads.newest(ana.viewer, 5)) == 1
    assert most <= 1 + len(engine.projections.running)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def test_an_engine_that_ends_leaves_no_question_behind(engine: Engine) -> None:
    store, asked, answer = Counting(), asyncio.Event(), asyncio.Event()

    async def slow(streams: Sequence[StreamId]) -> Mapping[StreamId, int]:
        asked.set()
        await answer.wait()
        return dict.fromkeys(streams, 0)

    store.progress_of = slow  # type: ignore[method-assign]
    waits = Waits({"memories": store}, MemoryLog(), engine.projections.live, 5, 5)
    [waiter] = await waiting(waits, 1, 60)
    await asked.wait()
    waiter.cancel()

    closing = asyncio.create_task(waits.aclose())
    await asyncio.sleep(0.05)
    assert not closing.done(), "the connection of the question is still out"
    answer.set()
    await closing
