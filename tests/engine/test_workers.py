"""Workers heal what JetStream or Redis lose: the log is the truth (X09)."""

import asyncio
import os
from collections.abc import Mapping, Sequence
from functools import partial
from typing import cast

import pytest
from redis.asyncio import Redis

from mnemolog.adapters.engine.engine import Engine, new_id, now
from mnemolog.adapters.keys import from_file
from mnemolog.adapters.nats.subjects import partition_of
from mnemolog.adapters.postgres.group import Group
from mnemolog.adapters.postgres.pool import open_pool
from mnemolog.adapters.postgres.roots import open_roots
from mnemolog.adapters.postgres.tail import LogSecrets
from mnemolog.adapters.postgres.writing import write
from mnemolog.adapters.projecting import workers
from mnemolog.adapters.projecting.queue import Batch
from mnemolog.adapters.projecting.workers import ProjectionWorker, Sweeper, Workers
from mnemolog.domain.errors import TamperedEvent
from mnemolog.domain.importance import STANDARD
from mnemolog.domain.memory import Content, Kind
from mnemolog.domain.scope import Scope
from mnemolog.events.codec import Codec
from mnemolog.events.envelope import Header, Meta, NewEvent, Position, Recorded, StoredEvent, StreamId
from mnemolog.events.log import Append
from mnemolog.events.memory import MemoryCreated
from mnemolog.projections.projector import Stop
from mnemolog.projections.rule import Delivered, Unread, seq_of, stream_of
from mnemolog.projections.runtime import Projection
from mnemolog.projections.shared_transaction import each_alone
from tests.engine.equality import assert_live_equals_rebuilt, assert_live_equals_replayed
from tests.engine.person import Person
from tests.testkit.events import created, rows
from tests.testkit.eventually import eventually
from tests.testkit.log import MemoryLog
from tests.testkit.store import MemoryStore


async def append_undelivered(engine: Engine, ana: Person, text: str) -> None:
    """Append without a trace in the outbox, as if the message were lost on the way."""
    content = Content(text, "note", STANDARD, 1.0, pinned=False)
    created = MemoryCreated.of(new_id(), content, kind=Kind.FACT, scope=Scope.GLOBAL)
    event = NewEvent(new_id(), created, Meta("user"), now())
    pool = await open_pool(engine.endpoints.postgres_dsn, size=1)
    roots = await open_roots(pool, from_file(engine.settings.directory / "master.key"), os.urandom)
    group = Group(Codec(), LogSecrets.of(roots), [Append(ana.stream, (event,))])
    async with pool.connection() as connection, connection.transaction():
        await write(connection, group, now)
        await connection.execute("DELETE FROM mnemolog.outbox WHERE stream = %s", [ana.stream.name])
    await pool.close()


@pytest.mark.spec("X09")
async def test_the_sweep_finds_an_event_whose_message_was_lost(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    await ana.creates("Ana drinks tea")
    await engine.settled(60)

    await append_undelivered(engine, ana, "Ana has a cat")
    await engine.settled(60)

    assert await ana.finds("cat") == ["Ana has a cat", "Ana drinks tea"]
    await assert_live_equals_replayed(engine, StreamId.of_user(user))


@pytest.mark.spec("X09")
async def test_the_next_message_brings_what_was_lost_before_it(
    engine: Engine, user: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Sweeper, "_swept", _finds_nothing)
    ana = Person(engine, user)
    await append_undelivered(engine, ana, "Ana has a cat")

    await ana.creates("Ana drinks tea")

    assert sorted(await ana.finds("Ana")) == ["Ana drinks tea", "Ana has a cat"]


async def _finds_nothing(self: Sweeper) -> float:
    return workers.SWEEP_SECONDS


@pytest.mark.spec("X09")
@pytest.mark.spec_part("A04")
async def test_working_memory_is_healed_from_the_log_after_redis_lost_everything(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    for number in range(25):
        await ana.says(f"sentence {number}", speaker="Ana" if number % 2 else "Bot")
    before = await engine.reads.session(ana.viewer, ana.thread, await ana.caught_up())
    redis = Redis.from_url(engine.endpoints.redis_url)

    await redis.flushall()
    await redis.aclose()
    await engine.settled(60)

    assert await engine.reads.session(ana.viewer, ana.thread) == before
    await assert_live_equals_rebuilt(engine, "working")


@pytest.mark.spec("X09")
@pytest.mark.spec_part("A04")
async def test_a_turn_after_redis_lost_everything_is_counted_after_those_before_it(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    await ana.says("I moved to Lisbon")
    await ana.says("I like it")
    await engine.reads.session(ana.viewer, ana.thread, await ana.caught_up())
    redis = Redis.from_url(engine.endpoints.redis_url)

    await redis.flushall()
    await redis.aclose()
    await ana.says("There are trams")

    session = await engine.reads.session(ana.viewer, ana.thread, await ana.caught_up())
    assert [turn["text"] for turn in session.turns] == ["I moved to Lisbon", "I like it", "There are trams"]


async def test_a_cancelled_read_of_a_session_ends(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    await ana.says("I moved to Lisbon")
    await engine.reads.session(ana.viewer, ana.thread, await ana.caught_up())

    async def read() -> None:
        while True:
            await engine.reads.session(ana.viewer, ana.thread)

    ignored = 0
    for _ in range(30):
        task = asyncio.create_task(read())
        await asyncio.sleep(0.003)
        task.cancel()
        await asyncio.wait([task], timeout=60)
        ignored += not task.done()
        while not task.done():
            task.cancel()
            await asyncio.wait([task], timeout=0.01)

    assert ignored == 0


@pytest.mark.parametrize(("look", "pause"), [(0.001, 2), (0.2, 10), (1.2, 15), (4, 40)])
def test_sweeps_that_take_long_are_followed_by_longer_pauses_within_bounds(look: float, pause: float) -> None:
    pauses = workers.Pauses()
    assert pauses.after(look) == 2, "one long sweep says nothing about the next"
    assert pauses.after(look) == pytest.approx(pause)
    assert pauses.after(0.001) == 2


async def test_a_sweep_reads_stalled_streams_and_nothing_paused_meanwhile(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(workers, "SWEEP_SECONDS", 0.01)
    ana, bob, carl = (StreamId.of_user(name) for name in ("ana", "bob", "carl"))
    log, read = MemoryLog(), list[StreamId]()
    log.streams = {one: rows(one, [created()]) for one in (ana, bob, carl)}

    class Moving(MemoryStore):
        async def progress_of(self, streams: Sequence[StreamId]) -> Mapping[StreamId, int]:
            await Projection(self, log).deliver(log.streams[ana])  # It was under way.
            return await super().progress_of(streams)

    class Reading(Projection):
        async def read_on(self, stream: StreamId, after: int, until: int) -> int:
            read.append(stream)
            sweeper.set_paused(True)
            return await super().read_on(stream, after, until)

    sweeper = Sweeper(Reading(Moving(), log))
    await sweeper._swept()
    assert read == [bob]
    assert await sweeper.projection.store.all_progress() == {ana: 1, bob: 1}


async def test_more_lagging_streams_than_a_sweep_remembers_are_all_healed_by_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(workers, "REMEMBERED", 3)
    streams = [StreamId.of_user(f"user-{number}") for number in range(20)]
    log, store = MemoryLog(), MemoryStore()
    log.streams = {stream: rows(stream, [created(), created()]) for stream in streams}

    await Sweeper(Projection(store, log))._swept()

    assert await store.all_progress() == dict.fromkeys(streams, 2)


async def test_a_stopped_stream_is_tried_once_when_its_partition_is_first_taken() -> None:
    ana = StreamId.of_user("ana")
    log, tried = MemoryLog(), list[int]()
    log.streams = {ana: rows(ana, [created()])}

    def cannot(event: Recorded) -> None:
        tried.append(event.seq)
        raise ValueError("no")

    sweeper = Sweeper(Projection(MemoryStore(cannot), log), frozenset())
    own = frozenset({partition_of(ana)})
    for partitions in (own, frozenset[int](), own):
        sweeper.own(partitions)
        await sweeper._caught_up()

    assert len(tried) == 2, "with its batch and alone, and not again"
    assert set(await sweeper.projection.store.stopped()) == {ana}
    another = Sweeper(sweeper.projection, frozenset())
    another.own(own)
    await another._caught_up()
    assert len(tried) == 4, "another process, which may be newer, tries it once more"


async def test_with_new_partitions_all_are_looked_at_once_and_only_those_that_are_behind_catch_up() -> None:
    """Each that looked for itself would open a connection of its own when an engine starts."""
    ana, bob = StreamId.of_user("ana"), StreamId.of_user("bob")
    log, looked, failures = MemoryLog(), list[str](), 0
    log.streams = {ana: rows(ana, [created()])}

    class Named(MemoryStore):
        def __init__(self, name: str) -> None:
            super().__init__()
            self.name = name

        async def stopped(self) -> Mapping[StreamId, Stop]:
            looked.append(self.name)
            return await super().stopped()

    async def behind() -> list[str]:
        nonlocal failures
        if failures:
            failures -= 1
            raise ConnectionError
        return ["behind"]

    stores = {name: Named(name) for name in ("behind", "level")}
    both = Workers([[Projection(store, log) for store in stores.values()]], each_alone, no_name, behind)
    running = [asyncio.ensure_future(step()) for step in both.steps()]
    try:
        both.own(frozenset({partition_of(ana)}))
        await eventually(lambda: applied(stores["behind"], ana))
        assert looked == ["behind"]

        failures = 1
        both.own(frozenset({partition_of(ana), partition_of(bob)}))
        await eventually(lambda: applied(stores["level"], ana))
        assert sorted(looked) == ["behind", "behind", "level"], "what cannot be told is looked at by each"
    finally:
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)


async def applied(store: MemoryStore, stream: StreamId) -> bool:
    return await store.progress(stream) == 1


async def test_a_paused_projection_applies_nothing() -> None:
    ana = StreamId.of_user("ana")
    log = MemoryLog()
    log.streams = {ana: rows(ana, [created()])}
    store = MemoryStore()
    sweeper = Sweeper(Projection(store, log))
    worker = ProjectionWorker([sweeper], each_alone)
    sweeper.set_paused(True)

    await worker._apply(Batch(log.streams[ana], ()))
    await sweeper._caught_up()
    assert await store.progress(ana) == 0

    sweeper.set_paused(False)
    await worker._apply(Batch(log.streams[ana], ()))
    assert await store.progress(ana) == 1


class Stubborn:
    """A projection whose store refuses the first deliveries, as a Redis that is read-only does."""

    name = "stubborn"

    def __init__(self, refusals: int) -> None:
        self.refusals, self.applied = refusals, 0

    async def deliver(self, events: Sequence[StoredEvent]) -> None:
        if self.refusals:
            self.refusals -= 1
            raise RuntimeError("the store refuses writes")
        self.applied += len(events)


async def test_a_worker_continues_once_its_store_accepts_writes_again(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(workers, "RETRY_SECONDS", 0.01)
    stubborn = Stubborn(refusals=3)
    worker = ProjectionWorker([], each_alone)
    await worker._persist(partial(stubborn.deliver, [recorded_event()]))
    assert stubborn.applied == 1
    assert len(caplog.records) == 1, "however long it takes"


async def test_why_a_sweep_is_put_off_is_logged_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(workers, "RETRY_SECONDS", 0.001)
    sweeper, tried = Sweeper(cast(Projection, Stubborn(0))), list[None]()

    async def fails() -> float:
        tried.append(None)
        raise ConnectionError("the model is away")

    async def often() -> bool:
        return len(tried) > 5

    monkeypatch.setattr(sweeper, "_caught_up", fails)
    sweeper.catch_up()
    running = asyncio.create_task(sweeper.sweep())
    await eventually(often)
    running.cancel()

    assert [one.getMessage() for one in caplog.records] == [
        "stubborn: sweep put off: ConnectionError: the model is away"
    ]


async def test_a_stopped_projection_delays_no_other() -> None:
    both = Workers([[cast(Projection, Stubborn(0))], [cast(Projection, Stubborn(0))]], each_alone, no_name, no_name)
    for _ in range(workers.QUEUE + 100):  # Nothing takes from the queues: both fill, and nobody waits.
        both.deliver(recorded_event())


async def test_a_flood_of_one_stream_lets_another_through_and_is_read_from_the_log_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(workers, "LONGEST_REST_SECONDS", 0)
    ana, flood = StreamId.of_user("ana"), StreamId.of_user("flood")
    log, applied, scanned = MemoryLog(), list[list[Position]](), list[int]()
    log.streams = {flood: rows(flood, [created() for _ in range(5000)]), ana: rows(ana, [created()])}

    class Reading(Projection):
        async def read(self, stream: StreamId, after: int, until: int) -> Sequence[StoredEvent]:
            scanned.append(until - after)
            return await super().read(stream, after, until)

    async def deliver(projections: Sequence[Projection], events: Sequence[Delivered], share: int) -> Sequence[Unread]:
        applied.append([Position(stream_of(one), seq_of(one)) for one in events])
        return await each_alone(projections, events, share)

    projection = Reading(MemoryStore(), log)
    sweeper = Sweeper(projection)
    worker = ProjectionWorker([sweeper], deliver)
    for event in (*log.streams[flood], *log.streams[ana]):
        worker.offer(event)
    running = asyncio.create_task(worker.run())

    async def ended() -> bool:
        return await projection.store.progress(flood) == 5000

    await eventually(ended)
    running.cancel()

    assert Position(ana, 1) in applied[0], "it waits for none of the 5,000"
    assert len(applied[0]) <= workers.SHARE + 1, "nor for many of them in its batch"
    assert max(map(len, applied)) <= workers.ALONE
    assert sum(map(len, applied)) == 5001, "each is applied once"
    assert sum(scanned) == 5001 - workers.QUEUE, "only what the queue did not hold is read"
    assert not sweeper._due, "so nothing is searched for"


async def test_the_gap_before_the_last_event_of_an_import_lets_another_stream_through(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(workers, "LONGEST_REST_SECONDS", 0)
    ana, imported = StreamId.of_user("ana"), StreamId.of_user("imported")
    log, applied = MemoryLog(), list[StreamId]()
    log.streams = {imported: rows(imported, [created() for _ in range(3000)]), ana: rows(ana, [created()])}
    store = MemoryStore(lambda event: applied.append(event.stream))
    worker = ProjectionWorker([Sweeper(Projection(store, log))], each_alone)
    for event in log.streams[imported][2500:]:
        worker.offer(event)
    running = asyncio.create_task(worker.run())

    async def begun() -> bool:
        return bool(applied)

    await eventually(begun)
    worker.offer(log.streams[ana][0])

    async def ended() -> bool:
        return await store.all_progress() == {imported: 3000, ana: 1}

    await eventually(ended)
    running.cancel()

    assert applied.index(ana) < 500, "it waits for none of the 2,500 before"
    assert applied.count(imported) == 3000, "each is applied once"


async def test_a_stream_whose_log_is_damaged_delays_no_other_in_its_batch() -> None:
    ana, eve = StreamId.of_user("ana"), StreamId.of_user("eve")
    log = MemoryLog()
    log.streams = {one: rows(one, [created()]) for one in (ana, eve)}

    class Damaged(Projection):
        async def read(self, stream: StreamId, after: int, until: int) -> Sequence[StoredEvent]:
            raise TamperedEvent(str(stream), until, "made up")

    sweeper = Sweeper(Damaged(MemoryStore(), log))
    await ProjectionWorker([sweeper], each_alone)._apply(Batch(log.streams[ana], [Unread(eve, 0, 1)]))

    assert await sweeper.projection.store.all_progress() == {ana: 1}
    assert sweeper._due, "each projection stops its stream at the damage"


async def no_name() -> list[str]:
    return []


def recorded_event() -> StoredEvent:
    return StoredEvent(Header(StreamId.of_user("ana"), 1, new_id(), "X", 1, (), {}, now(), now()), b"{}", bytes(32))
