"""The runtime of a projection: what cannot be reached is tried again, what cannot be applied stops its stream only."""

from collections.abc import AsyncIterator, Sequence
from uuid import uuid4

import pytest
from sqlalchemy import MetaData
from sqlalchemy.event import listen
from sqlalchemy.ext.asyncio import AsyncConnection

from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.postgres.rebuildable import RebuildablePostgres
from mnemolog.adapters.postgres.store import PostgresStore
from mnemolog.domain.errors import ProjectionPoisoned, TamperedEvent
from mnemolog.events.envelope import Recorded, StoredEvent, StreamId
from mnemolog.events.event import Event
from mnemolog.events.log import EventLog
from mnemolog.events.memory import MemorySoftDeleted
from mnemolog.projections.kinds import Kinds
from mnemolog.projections.projector import Stop
from mnemolog.projections.rebuild import rebuild
from mnemolog.projections.runtime import Projection
from mnemolog.projections.strategy import FAIL, OnPoison, Strategy
from tests.engine.person import Person
from tests.testkit.own_engine import own_engine  # noqa: F401


class Seen:
    """A projector that remembers what it was given, and cannot apply deletions while `poisoned`."""

    version = 1
    readable_from = 1
    variant = ""
    kinds = Kinds(Event)

    def __init__(self) -> None:
        self.name = f"seen_{uuid4().hex[:8]}"
        self.tables = MetaData(schema=self.name)
        self.seqs: list[tuple[str, int]] = []
        self.steps = 0
        self.poisoned = False

    async def apply(self, connection: AsyncConnection, events: Sequence[Recorded]) -> None:
        if self.poisoned and any(isinstance(event.payload, MemorySoftDeleted) for event in events):
            raise ValueError("deletions are not understood")
        self.steps += 1
        self.seqs += [(event.stream.owner, event.seq) for event in events]


class Unreachable(Exception):
    """The log does not answer."""


class Away:
    """A log that does not answer scans the next `times` times; else the real one."""

    def __init__(self, log: EventLog, times: int) -> None:
        self._log, self._times = log, times

    def __getattr__(self, name: str) -> object:
        return getattr(self._log, name)

    async def scan(self, stream: StreamId, **bounds: int) -> AsyncIterator[Sequence[StoredEvent]]:
        if self._times:
            self._times -= 1
            raise Unreachable
        async for batch in self._log.scan(stream, **bounds):
            yield batch


@pytest.fixture
def seen() -> Seen:
    return Seen()


@pytest.fixture
async def store(engine: Engine, seen: Seen) -> AsyncIterator[PostgresStore]:
    store = PostgresStore(engine.projections.live, seen)
    await store.create()
    yield store
    await store.drop()


async def stored(engine: Engine, ana: Person) -> list[StoredEvent]:
    return [event async for batch in engine.log.scan(ana.stream) for event in batch]


@pytest.mark.spec("X09")
async def test_lost_doubled_and_reordered_messages_are_applied_once_and_in_order(
    engine: Engine, user: str, seen: Seen, store: PostgresStore
) -> None:
    ana = Person(engine, user)
    for number in range(6):
        await ana.creates(f"Ana drinks tea number {number}", kind="episode")  # Not linked to the others.
    first, second, _lost, fourth, fifth, sixth = await stored(engine, ana)
    projection = Projection(store, engine.log)

    for delivery in ([second, first], [first], [sixth, fourth], [fifth, fifth]):
        await projection.deliver(delivery)

    assert seen.seqs == [(user, seq) for seq in range(1, 7)]
    assert await store.progress(ana.stream) == 6


@pytest.mark.spec("X09")
async def test_a_log_that_does_not_answer_is_no_poisoned_event(
    engine: Engine, user: str, seen: Seen, store: PostgresStore
) -> None:
    ana = Person(engine, user)
    for number in range(3):
        await ana.creates(f"Ana drinks tea number {number}", kind="episode")  # Not linked to the others.
    [*_, third] = await stored(engine, ana)
    away: EventLog = Away(engine.log, times=1)  # type: ignore[assignment]
    projection = Projection(store, away, (Unreachable,))

    with pytest.raises(Unreachable):
        await projection.deliver([third])
    assert await store.stopped() == {}

    await projection.deliver([third])
    assert seen.seqs == [(user, 1), (user, 2), (user, 3)]


async def test_an_event_that_cannot_be_applied_stops_its_stream_and_no_other(
    engine: Engine, user: str, seen: Seen, store: PostgresStore
) -> None:
    ana, bob = Person(engine, user), Person(engine, f"{user}-bob")
    tea = await ana.creates("Ana drinks tea")
    await ana.deletes(tea)
    await ana.restores(tea)
    await bob.creates("Bob drinks coffee")
    projection, seen.poisoned = Projection(store, engine.log), True

    await projection.deliver([*await stored(engine, ana), *await stored(engine, bob)])

    assert seen.seqs == [(user, 1), (bob.user, 1)]
    assert await store.stopped() == {ana.stream: Stop(2, "ValueError: deletions are not understood")}
    assert ana.stream not in await projection.behind()


async def test_a_stream_that_is_retried_or_goes_on_after_a_skip_is_read_in_batches(
    engine: Engine, user: str, seen: Seen, store: PostgresStore
) -> None:
    ana = Person(engine, user)
    tea = await ana.creates("Ana drinks tea")
    await ana.deletes(tea)
    for _ in range(3):
        await ana.restores(tea)
        await ana.updates(tea, importance=0.75)
        await ana.deletes(tea)
    projection, seen.poisoned = Projection(store, engine.log), True
    await projection.deliver(await stored(engine, ana))
    assert await projection.retry(ana.stream) == Stop(2, "ValueError: deletions are not understood")

    seen.poisoned, seen.steps = False, 0
    await projection.skip(ana.stream, "Ops")
    assert (seen.steps, await store.progress(ana.stream)) == (1, await engine.log.head(ana.stream))

    async with store.session([ana.stream]) as session:
        await session.reset(ana.stream)
    await projection.retry(ana.stream)
    assert (seen.steps, await store.progress(ana.stream)) == (2, await engine.log.head(ana.stream))


async def test_a_stream_is_reapplied_in_a_transaction_that_is_never_idle_for_long(
    engine: Engine, user: str, store: PostgresStore
) -> None:
    asked = list[str]()

    async with store.session([StreamId.of_user(user)]) as session:
        connection = session._connection
        await session.reset(StreamId.of_user(user))
        listen(connection.sync_connection, "before_cursor_execute", lambda *given: asked.append(given[2]))
        await session.apply([], {StreamId.of_user(user): 500})

    assert asked[0] == "SELECT"


async def test_a_stopped_stream_continues_where_it_stopped_once_resumed(
    engine: Engine, user: str, seen: Seen, store: PostgresStore
) -> None:
    ana = Person(engine, user)
    tea = await ana.creates("Ana drinks tea")
    await ana.deletes(tea)
    projection, seen.poisoned = Projection(store, engine.log), True
    await projection.deliver(await stored(engine, ana))

    seen.poisoned = False
    await store.resume()
    await projection.deliver(await stored(engine, ana))

    assert seen.seqs == [(user, 1), (user, 2)]


@pytest.mark.spec_part("X05")
async def test_a_rebuild_that_meets_a_poisoned_event_swaps_nothing(
    engine: Engine, user: str, seen: Seen, store: PostgresStore
) -> None:
    ana = Person(engine, user)
    tea = await ana.creates("Ana drinks tea")
    await ana.deletes(tea)
    live, target = Projection(store, engine.log), RebuildablePostgres(store)
    await live.catch_up()
    seen.poisoned = True

    with pytest.raises(ProjectionPoisoned, match="deletions are not understood"):
        await rebuild(live, target, lambda shadow: Projection(shadow, engine.log))

    assert await store.progress(ana.stream) == 2
    seen.poisoned = False
    assert (await rebuild(live, target, lambda shadow: Projection(shadow, engine.log))).equal


@pytest.mark.spec_part("X05")
async def test_a_projection_that_lost_everything_is_built_again_from_the_log(
    engine: Engine, user: str, seen: Seen, store: PostgresStore
) -> None:
    ana = Person(engine, user)
    await ana.creates("Ana drinks tea")
    await store.drop()
    await store.create()
    live, target = Projection(store, engine.log), RebuildablePostgres(store)

    rebuilt = await rebuild(live, target, lambda shadow: Projection(shadow, engine.log))

    assert rebuilt.equal
    assert await store.progress(ana.stream) == 1


class Damaged:
    """A log whose stream of somebody is damaged at a seq: what stands before it is given."""

    def __init__(self, log: EventLog, stream: StreamId, seq: int) -> None:
        self._log, self._stream, self._seq = log, stream, seq

    def __getattr__(self, name: str) -> object:
        return getattr(self._log, name)

    async def scan(
        self, stream: StreamId, *, after: int = 0, until: int | None = None, batch: int = 1000
    ) -> AsyncIterator[Sequence[StoredEvent]]:
        end = self._seq - 1 if stream == self._stream else until
        async for events in self._log.scan(stream, after=after, until=end, batch=batch):
            yield events
        if stream == self._stream:
            raise TamperedEvent(str(stream), self._seq, "it does not match the chain")


@pytest.mark.spec("X08")
@pytest.mark.parametrize("strategy", [FAIL, Strategy(OnPoison.SKIP), Strategy(OnPoison.RETRY_AND_SKIP, pause=0)])
async def test_a_damaged_log_stops_its_stream_before_the_damage_and_no_other_whatever_the_strategy(
    engine: Engine, user: str, seen: Seen, store: PostgresStore, strategy: Strategy
) -> None:
    ana, bob = Person(engine, user), Person(engine, f"{user}-bob")
    for person in (ana, bob):
        for number in range(4):
            await person.creates(f"Tea number {number}", kind="episode")
    log: EventLog = Damaged(engine.log, ana.stream, 3)  # type: ignore[assignment]
    projection = Projection(store, log, strategy=strategy)

    await projection.catch_up(wanted=lambda stream: stream in (ana.stream, bob.stream))

    assert sorted(seen.seqs) == [(user, 1), (user, 2), *((bob.user, seq) for seq in range(1, 5))]
    stop = (await store.stopped())[ana.stream]
    assert (stop.seq, stop.reason.split(":")[0]) == (3, "TamperedEvent")
    assert await store.count_skipped() == 0
    with pytest.raises(TamperedEvent):
        await projection.skip(ana.stream, "operator")
    with pytest.raises(TamperedEvent):
        await projection.heal(ana.stream)
    assert await store.progress(ana.stream) == 2
