"""Consistency tokens: a read that is given one sees that write, or says which projection is late (X10)."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any
from uuid import UUID

import pytest

from mnemolog.adapters.engine.engine import Engine, now, open_engine
from mnemolog.adapters.operations.memories import ContextRead, context
from mnemolog.adapters.postgres.pauses import Pause
from mnemolog.adapters.reads.waiting import Waits
from mnemolog.domain.errors import InvalidInput, ProjectionPaused, ProjectionPoisoned, ReadTimeout
from mnemolog.events.envelope import Position, Receipt, StreamId
from mnemolog.events.fields import validated
from mnemolog.projections.reads.moment import Moment
from tests.engine.person import Person
from tests.testkit.events import STREAM, created, rows
from tests.testkit.log import MemoryLog
from tests.testkit.store import MemoryStore

Read = Callable[[Person, UUID, Moment], Awaitable[Any]]
NOBODY = UUID("01942b6e-7c00-7000-8000-000000000000")

READS: dict[str, Read] = {
    "query": lambda ana, id_, moment: ana.asks("tea", moment),
    "memory": lambda ana, id_, moment: ana.engine.reads.memory(ana.viewer, id_, moment),
    "newest": lambda ana, id_, moment: ana.engine.reads.newest(ana.viewer, 10, moment),
    "history": lambda ana, id_, moment: ana.engine.reads.history(ana.viewer, id_, 100, moment),
    "changes": lambda ana, id_, moment: ana.changes(0, moment),
    "entities": lambda ana, id_, moment: ana.engine.reads.entities(ana.viewer, moment),
    "session": lambda ana, id_, moment: ana.engine.reads.session(ana.viewer, ana.thread, moment),
}
every_read = pytest.mark.parametrize("read", READS.values(), ids=READS)


def seen(receipt: Receipt) -> Moment:
    return Moment(after=Position.of_token(receipt.token))


# How many of the turns so far a read shows; one memory of its own is all that `memory` and `history` can show.
SHOWN: dict[str, Callable[[Any], int]] = {
    "query": lambda answer: len(answer.hits),
    "newest": len,
    "changes": lambda changes: len(changes.entries),
    "entities": len,
    "session": lambda session: session.msg_count,
}


@pytest.mark.spec("X10")
@pytest.mark.parametrize("name", READS)
async def test_a_read_sees_the_write_whose_token_it_is_given(engine: Engine, user: str, name: str) -> None:
    ana = Person(engine, user)
    for number in range(1, 9):
        newest = await ana.remembers(f"tea number {number}", speaker=f"Ana {number}")

        answer = await READS[name](ana, newest, await ana.caught_up())

        assert name not in SHOWN or SHOWN[name](answer) == number


@pytest.mark.spec("X10")
@every_read
async def test_a_write_that_never_happens_is_awaited_until_the_deadline(engine: Engine, user: str, read: Read) -> None:
    ana = Person(engine, user)
    memory_id = await ana.remembers("I drink tea")
    began = time.monotonic()

    with pytest.raises(ReadTimeout, match=r"ends at seq 3: there was no 99 in time") as late:
        await read(ana, memory_id, Moment(after=Position(ana.stream, 99), deadline=0.2))

    assert 0.2 <= time.monotonic() - began < engine.settings.read_deadline
    assert late.value.field == "after"


LOG_READS: dict[str, Callable[[Person, Moment], Awaitable[Any]]] = {
    "served": lambda ana, moment: ana.engine.reads.served(ana.viewer, None, moment),
    "field history": lambda ana, moment: ana.engine.reads.field_history(ana.viewer, "city", moment=moment),
    "todo history": lambda ana, moment: ana.engine.reads.todo_history(ana.viewer, NOBODY, moment=moment),
    "entry history": lambda ana, moment: ana.engine.reads.entry_history(ana.viewer, NOBODY, moment=moment),
}


@pytest.mark.spec("X10")
@pytest.mark.parametrize("read", LOG_READS.values(), ids=LOG_READS)
async def test_a_read_of_the_log_awaits_a_write_that_never_happens_until_the_deadline(
    engine: Engine, user: str, read: Callable[[Person, Moment], Awaitable[Any]]
) -> None:
    ana = Person(engine, user)
    await ana.remembers("I drink tea")
    began = time.monotonic()

    with pytest.raises(ReadTimeout, match=r"ends at seq 3: there was no 99 in time") as late:
        await read(ana, Moment(after=Position(ana.stream, 99), deadline=0.2))

    assert 0.2 <= time.monotonic() - began < engine.settings.read_deadline
    assert late.value.field == "after"


@pytest.mark.spec("X10")
async def test_a_read_of_the_log_returns_once_the_write_is_in_it(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    await ana.creates("Ana drinks tea")
    next_ = Moment(after=Position(ana.stream, await engine.log.head(ana.stream) + 1), deadline=60)
    read = asyncio.create_task(engine.reads.served(ana.viewer, None, next_))
    await asyncio.sleep(0.05)
    assert not read.done()

    asks = {"user_id": ana.user, "agent_id": ana.agent, "query": "tea", "record": True}
    recorded = await context.run(engine, validated(ContextRead, asks))

    assert [one["event_id"] for one in await read] == [recorded.served_id]


@pytest.mark.spec("X10")
async def test_a_wait_without_a_deadline_of_its_own_has_that_of_the_settings(engine: Engine, user: str) -> None:
    impatient = engine.settings.model_copy(update={"read_deadline": 0.05})
    async with open_engine(impatient, attach=True) as attached:
        ana = Person(attached, user)
        await ana.creates("Ana drinks tea")
        async with asyncio.timeout(30):
            with pytest.raises(ReadTimeout):
                await ana.asks("tea", Moment(after=Position(ana.stream, 99)))


@pytest.mark.parametrize("deadline", [0, -1, float("nan"), float("inf")])
def test_an_invalid_deadline_is_refused(deadline: float) -> None:
    with pytest.raises(InvalidInput) as refused:
        Moment(deadline=deadline)

    assert refused.value.field == "deadline"


@pytest.mark.spec("X10")
@every_read
async def test_a_read_that_needs_a_paused_projection_fails_at_once(engine: Engine, user: str, read: Read) -> None:
    ana = Person(engine, user)
    memory_id = await ana.remembers("I drink tea")
    await read(ana, memory_id, await ana.caught_up())
    names = list(engine.projections.running)
    for name in names:
        await engine.projections.pause(name, Pause(now(), "ops"))
    try:
        with pytest.raises(ProjectionPaused, match=r"\w+ was paused by ops at") as paused:
            await read(ana, memory_id, Moment(after=Position(ana.stream, 99), deadline=30))
    finally:
        for name in names:
            await engine.projections.resume(name)

    assert isinstance(paused.value, ReadTimeout)
    assert "mnemolog projection resume" in paused.value.fix


@pytest.mark.spec_part("A11")
@every_read
async def test_a_token_of_another_users_write_is_refused(engine: Engine, user: str, read: Read) -> None:
    ana = Person(engine, user)
    memory_id = await ana.creates("Ana drinks tea")
    of_bob = Moment(after=Position(StreamId.of_user("bob"), 10**6))

    with pytest.raises(InvalidInput) as refused:
        await read(ana, memory_id, of_bob)

    assert refused.value.field == "after"
    assert "bob" not in str(refused.value)


async def test_a_stopped_projection_stops_only_the_reads_that_need_it(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    await ana.says("I drink tea")
    await ana.caught_up()
    store = engine.projections.stores["graph"]
    await store.stop(ana.stream, 3, "ValueError: made up")
    await ana.says("I drink coffee")
    moment = Moment(after=Position(ana.stream, await engine.log.head(ana.stream)))
    assert len(await engine.reads.messages(ana.viewer, None, 10, moment)) == 2
    with pytest.raises(ProjectionPoisoned, match=r"graph stopped .* made up"):
        await engine.reads.entities(ana.viewer, moment)
    await store.resume()
    await engine.projections.running["graph"].catch_up()
    assert await engine.reads.entities(ana.viewer, moment)


@pytest.mark.spec("X10")
async def test_a_projection_that_is_late_is_named_with_how_far_it_is(engine: Engine) -> None:
    log, store = MemoryLog(), MemoryStore()
    log.streams[STREAM] = rows(STREAM, [created(), created(), created()])
    waits = Waits({"memories": store}, log, engine.projections.live, 0.05, 0.05)

    with pytest.raises(ReadTimeout, match=r"memories is at seq 0 of default/user:ana, not yet at 3"):
        await waits.until(Position(STREAM, 3), ["memories"])
