"""The store of working memory: sessions and progress change in one step or not at all (A04)."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import count
from random import Random
from unittest.mock import AsyncMock

import pytest
from redis.asyncio import Redis
from redis.exceptions import RedisError

from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.redis import rebuildable
from mnemolog.adapters.redis.rebuildable import RebuildableWorking
from mnemolog.adapters.redis.working import OtherWorker, WorkingStore
from mnemolog.domain.errors import TamperedRow
from mnemolog.domain.session import LIFETIME, Session
from mnemolog.events.conversation import AffectSet, SessionForgotten, SessionReverted
from mnemolog.events.envelope import Recorded, StreamId
from mnemolog.events.erasure import UserErased
from mnemolog.projections.projector import Stop
from mnemolog.projections.runtime import Projection
from mnemolog.projections.working.projector import SessionPlace
from tests.engine.person import Person
from tests.projections.recorded import recorded, turns
from tests.testkit.events import new, stored
from tests.testkit.log import MemoryLog

ANA = StreamId.of_user("ana")
PLACE = SessionPlace("default", "ana", "deanna", "main")
_prefixes = count(1)


@pytest.fixture
async def redis(engine: Engine) -> AsyncIterator[Redis]:
    client = Redis.from_url(engine.endpoints.redis_url)
    yield client
    await client.aclose()


@pytest.fixture
def prefix() -> str:
    return f"test-{next(_prefixes)}:"


def lately(events: Sequence[Recorded]) -> Sequence[Recorded]:
    """The same turns, the last of them now."""
    shift = datetime.now(UTC) - events[-1].recorded_at
    return [recorded(event.payload, event.seq, at=event.recorded_at + shift) for event in events]


async def apply(store: WorkingStore, events: Sequence[Recorded]) -> None:
    stream = events[0].stream
    async with store.session([stream]) as session:
        await session.apply([event for event in events if event.seq > session.progress[stream]])


@pytest.mark.spec("A19", "X03")
async def test_a_forgotten_session_is_under_no_key_of_the_specification_until_it_is_brought_back(
    redis: Redis, prefix: str
) -> None:
    store = WorkingStore(redis, prefix)
    events = lately(turns(2))
    forgotten = recorded(SessionForgotten(agent_id="deanna", chat_id="main"), 3)
    await apply(store, events)
    before = await redis.get(f"{prefix}sess:ana:deanna:main")

    await apply(store, [forgotten])
    assert await redis.get(f"{prefix}sess:ana:deanna:main") is None
    assert (await store.read(PLACE), await store.blobs()) == (None, {})
    undo = SessionReverted(agent_id="deanna", chat_id="main", undoes=forgotten.event_id)
    await apply(store, [recorded(undo, 4)])

    assert await redis.get(f"{prefix}sess:ana:deanna:main") == before
    await store.drop()
    assert await redis.keys(f"{prefix}*") == []


@pytest.mark.spec_part("A04")
async def test_a_session_is_one_json_blob_under_the_key_of_the_specification(redis: Redis, prefix: str) -> None:
    store = WorkingStore(redis, prefix)
    events = lately(turns(2))
    await apply(store, events)

    stored = await redis.get(f"{prefix}sess:ana:deanna:main")

    assert stored is not None
    blob = json.loads(stored)
    assert list(blob) == [
        "slot_contract_version",
        "user_id",
        "agent_id",
        "chat_id",
        "msg_count",
        "summary",
        "turns",
        "scratch",
        "active_entity_ids",
        "updated_at",
    ]
    assert blob["turns"] == [{"role": "user", "text": "sentence 1"}, {"role": "user", "text": "sentence 2"}]


@pytest.mark.spec_part("A04")
async def test_a_session_expires_by_itself(redis: Redis, prefix: str) -> None:
    await apply(WorkingStore(redis, prefix), lately(turns(1)))

    left = await redis.ttl(f"{prefix}sess:ana:deanna:main")

    assert LIFETIME <= timedelta(seconds=left) <= LIFETIME + timedelta(hours=1, seconds=1)


@pytest.mark.spec_part("A04")
async def test_a_session_is_not_read_after_its_lifetime(redis: Redis, prefix: str) -> None:
    events = lately(turns(1))
    now = events[0].recorded_at
    store = WorkingStore(redis, prefix, lambda: now)
    await apply(store, events)
    before = await store.read(PLACE), len(await store.blobs())

    now = now + LIFETIME + timedelta(seconds=1)

    assert before[0] is not None
    assert before[1] == 1
    assert await store.read(PLACE) is None
    assert await store.blobs() == {}


@pytest.mark.spec("X09")
@pytest.mark.spec_part("A04")
async def test_two_workers_that_apply_the_same_batch_apply_it_once(redis: Redis, prefix: str) -> None:
    one, other = WorkingStore(redis, prefix), WorkingStore(redis, prefix)
    events = lately(turns(3))

    async with one.session([ANA]) as first, other.session([ANA]) as second:
        outcomes = await asyncio.gather(first.apply(events), second.apply(events), return_exceptions=True)

    assert [type(outcome) for outcome in outcomes if outcome] == [OtherWorker]
    session = await one.read(PLACE)
    assert session is not None
    assert session.msg_count == 3
    assert await one.progress(ANA) == 3


@pytest.mark.spec("X09")
async def test_a_batch_on_two_streams_is_refused_if_one_of_them_moved(redis: Redis, prefix: str) -> None:
    one, other = WorkingStore(redis, prefix), WorkingStore(redis, prefix)
    bob = StreamId.of_user("bob")
    of_bob = turns(1, user="bob")

    async with one.session([ANA, bob]) as session:
        async with other.session([bob]) as faster:
            await faster.apply(of_bob)
        with pytest.raises(OtherWorker):
            await session.apply([*lately(turns(2)), *of_bob])

    assert await one.all_progress() == {bob: 1}
    assert await one.read(PLACE) is None


@pytest.mark.spec_part("X05", "A04")
async def test_a_session_that_lasted_days_is_the_same_when_it_is_built_in_batches(redis: Redis, prefix: str) -> None:
    """A turn every 20 hours: each batch of a rebuild ends with a session that Redis would let expire at once."""
    events = lately(turns(12, every=timedelta(hours=20)))
    whole, cut = WorkingStore(redis, prefix), WorkingStore(redis, f"{prefix}shadow:")

    await apply(whole, events)
    for start in range(0, 12, 4):
        await apply(cut, events[start : start + 4])

    found = await whole.read(PLACE)
    assert found is not None
    assert found.msg_count == 12
    assert await cut.read(PLACE) == found


async def test_a_stream_that_was_set_aside_is_left_out_until_it_is_resumed(redis: Redis, prefix: str) -> None:
    store = WorkingStore(redis, prefix)
    await store.stop(ANA, 4, "ValueError: no")

    async with store.session([ANA]) as session:
        assert session.progress == {}
    assert await store.stopped() == {ANA: Stop(4, "ValueError: no")}
    await store.resume()
    async with store.session([ANA]) as session:
        assert session.progress == {ANA: 0}


@pytest.mark.parametrize("user", ["a:b", "a/b", "a%3Ab", "a@1", "ä b", "日本"])
async def test_progress_is_kept_under_any_user_id(redis: Redis, prefix: str, user: str) -> None:
    store, stream = WorkingStore(redis, prefix), StreamId.of_user(user, "acme")

    await store.save({}, {stream: 0}, {stream: 7})

    assert await store.all_progress() == {stream: 7}
    assert await store.progress(stream) == 7


async def test_a_store_lists_its_own_keys_only(redis: Redis, prefix: str) -> None:
    store, shadow = WorkingStore(redis, prefix), WorkingStore(redis, f"{prefix}shadow:")
    await apply(store, lately(turns(1)))
    await apply(shadow, lately(turns(2)))

    assert await store.keys() == ["sess:ana:deanna:main"]
    assert len((await store.blobs()).values()) == 1
    await shadow.drop()
    assert [await shadow.every_key(slot) for slot in shadow.slots.every] == [[]]
    assert await store.read(PLACE) is not None


def felt(seq: int) -> Recorded:
    at = datetime.now(UTC)
    mood = {"label": "glad", "confidence": 0.9, "every_n_messages": 3, "decay_at": at + timedelta(minutes=9)}
    return recorded(AffectSet.model_validate({"agent_id": "deanna", "chat_id": "main", **mood}), seq, at=at)


@pytest.mark.spec_part("A04")
@pytest.mark.parametrize("kind", ["sess", "affect"])
async def test_what_redis_lost_or_somebody_else_wrote_is_told_from_what_never_was(
    redis: Redis, prefix: str, kind: str
) -> None:
    store, key = WorkingStore(redis, prefix), f"{prefix}{kind}:ana:deanna:main"
    assert await store.read(PLACE) is None
    await apply(store, [*lately(turns(2)), felt(3)])
    later = lately(turns(1, first=4))
    for damage, missing in (
        (lambda: redis.delete(key), True),
        (lambda: redis.lpush(key, "x"), True),
        (lambda: redis.set(key, "no JSON"), False),
        (lambda: redis.set(key, '{"slot_contract_version": "1.0"}'), False),
        (lambda: redis.set(key, "[]"), False),
    ):
        await redis.delete(key)
        await damage()
        for reached in (store.read(PLACE), apply(store, later)):
            with pytest.raises(TamperedRow) as tampered:
                await reached
            assert tampered.value.missing is missing
    assert await store.progress(ANA) == 3
    assert await store.blobs()


async def test_no_turn_is_applied_twice_to_sessions_whose_progress_redis_lost(redis: Redis, prefix: str) -> None:
    events, log = lately(turns(3)), MemoryLog()
    log.streams[ANA] = [stored(new(event.payload), event.seq, ANA) for event in events]
    store = WorkingStore(redis, prefix, log_size=AsyncMock(return_value=3))
    await apply(store, events)
    assert not await store.lags(log)
    await redis.delete(f"{prefix}mnemolog:working:1:progress")
    assert await store.lags(log)
    with pytest.raises(OtherWorker):
        await store.save({}, {ANA: 3}, {ANA: 4})
    await apply(store, events)
    session = await store.read(PLACE)
    assert session
    assert session.msg_count == 3


@pytest.mark.spec_part("A04")
@pytest.mark.parametrize("tenant", ["default", "acme"])
async def test_no_turn_is_applied_twice_if_redis_lost_the_index_too(redis: Redis, prefix: str, tenant: str) -> None:
    store, others = WorkingStore(redis, prefix), f"{prefix}sess:of-a-web-server"
    await redis.set(others, json.dumps({"cookie": {}, "user": "ana"}))
    ana = StreamId.of_user("ana", tenant)
    events = [replace(event, header=replace(event.header, stream=ana)) for event in lately(turns(3))]
    await apply(store, events)
    await redis.delete(f"{prefix}mnemolog:working:1:progress", f"{prefix}mnemolog:working:1:keys")

    await apply(store, events[:1])
    await apply(store, events)

    session = await store.read(replace(PLACE, tenant=tenant))
    assert session
    assert session.msg_count == 3
    assert await redis.exists(others), "it is of somebody else"


@pytest.mark.spec("X09")
@pytest.mark.parametrize("name", ["progress", "keys", "total", "stopped", "skipped"])
async def test_a_key_of_another_type_is_made_anew(redis: Redis, prefix: str, name: str) -> None:
    store, log = WorkingStore(redis, prefix, log_size=AsyncMock(return_value=3)), MemoryLog()
    events = lately(turns(3))
    await apply(store, events[:2])
    key = f"{prefix}mnemolog:working:1:{name}"
    await redis.delete(key)
    await redis.geoadd(key, (13.4, 52.5, "Berlin")) if name != "keys" else await redis.set(key, "x")

    for _ in range(3):
        with suppress(RedisError):  # Whoever calls tries again.
            await store.lags(log)
            await apply(store, events)
            await store.count_skipped()

    session = await store.read(PLACE)
    assert session
    assert (session.msg_count, await store.progress(ANA)) == (3, 3)
    assert await store.stopped() == {}


async def test_a_reader_gets_a_lost_session_back_from_the_log(engine: Engine, redis: Redis, user: str) -> None:
    ana = Person(engine, user)
    place = SessionPlace("default", user, ana.agent, ana.thread)
    await ana.says("I moved to Lisbon")
    whole = await engine.reads.session(ana.viewer, ana.thread, await ana.caught_up())
    for damage in (redis.delete(place.key), redis.set(place.key, "no JSON")):
        await damage
        assert await engine.reads.session(ana.viewer, ana.thread, await ana.caught_up()) == whole
    await redis.delete(place.key)
    await ana.says("I like it")
    assert [
        turn["text"] for turn in (await engine.reads.session(ana.viewer, ana.thread, await ana.caught_up())).turns
    ] == [
        "I moved to Lisbon",
        "I like it",
    ]


@pytest.mark.spec_part("X09")
@pytest.mark.parametrize("name", ["progress", "keys"])
async def test_the_reader_that_finds_a_key_of_another_type_is_answered(
    engine: Engine, redis: Redis, user: str, name: str
) -> None:
    ana = Person(engine, user)
    await ana.says("I moved to Lisbon")
    said = await ana.caught_up()
    whole = await engine.reads.session(ana.viewer, ana.thread, said)
    key = f"mnemolog:working:1:{name}"
    await redis.delete(key)
    await redis.lpush(key, "x")

    assert await engine.reads.session(ana.viewer, ana.thread, said) == whole


@pytest.mark.spec_part("X05")
async def test_no_write_of_any_process_comes_between_catching_up_and_swapping(engine: Engine, redis: Redis) -> None:
    """While a rebuild holds the store quiet, the worker of another process is told to come again."""
    live, elsewhere = WorkingStore(redis), WorkingStore(redis)
    user = StreamId.of_user("quiet")

    async with RebuildableWorking(redis, live).quiet():
        with pytest.raises(OtherWorker):
            await elsewhere.save({}, {user: 0}, {user: 1})

    await elsewhere.save({}, {user: 0}, {user: 1})
    assert await live.progress(user) == 1
    await redis.hdel("mnemolog:working:1:progress", str(user))


@pytest.mark.spec_part("X05")
async def test_a_rebuild_killed_while_it_held_writers_back_is_waited_for(
    engine: Engine, redis: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rebuildable, "QUIET_SECONDS", 0.5)
    before, killed = asyncio.all_tasks(), RebuildableWorking(redis, WorkingStore(redis)).quiet()
    await killed.__aenter__()
    for task in asyncio.all_tasks() - before:  # Not the tasks that the engine began meanwhile.
        if task.get_coro().__qualname__ == RebuildableWorking._keep.__qualname__:  # type: ignore[union-attr]
            task.cancel()

    live, user = WorkingStore(redis), StreamId.of_user("killed")
    async with RebuildableWorking(redis, live).quiet():
        pass

    await live.save({}, {user: 0}, {user: 1})
    await redis.hdel("mnemolog:working:1:progress", str(user))
    # Left to the collector of garbage, it would open a connection that nobody closes.
    await killed.__aexit__(None, None, None)


@pytest.mark.spec_part("X05")
async def test_a_slow_rebuild_holds_writers_back_until_it_swaps(
    engine: Engine, redis: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rebuildable, "QUIET_SECONDS", 2.0)
    monkeypatch.setattr(rebuildable, "RENEW_SECONDS", 0.1)
    elsewhere, user = WorkingStore(redis), StreamId.of_user("slow")
    async with RebuildableWorking(redis, WorkingStore(redis)).quiet():
        await asyncio.sleep(3.0)
        with pytest.raises(OtherWorker):
            await elsewhere.save({}, {user: 0}, {user: 1})


async def test_a_rebuild_leaves_the_keys_of_others_alone(engine: Engine, user: str) -> None:
    ana = Person(engine, user)
    await ana.says("I moved to Lisbon")
    await ana.caught_up()
    redis = Redis.from_url(engine.endpoints.redis_url, decode_responses=True)
    foreign = {f"sess:{user}": "a web session", f"tenant:acme:sess:{user}": '{"x": 1}'}
    await redis.mset(foreign)
    live = WorkingStore(redis)
    before, stopped, progress = await live.blobs(), await live.stopped(), await live.all_progress()
    rebuilt = await engine.projections.rebuild("working")
    after = await live.blobs()
    left = await redis.mget(list(foreign))
    await redis.delete(*foreign)
    await redis.aclose()
    assert rebuilt.equal, (len(progress), stopped, sorted(before.items() ^ after.items()))
    assert left == list(foreign.values())


class Chats:
    """Streams of two tenants and of an agent, each with a chat, in a log and in the working memory that follows it."""

    places = (PLACE, replace(PLACE, tenant="acme"), SessionPlace("default", "deanna", "deanna", "main", "agent"))

    def __init__(self, redis: Redis, prefix: str) -> None:
        self._redis, self._prefix, self._log = redis, prefix, MemoryLog()
        self._store = WorkingStore(redis, prefix, log_size=self._size)

    async def go_on(self) -> None:
        """A turn and a mood in each chat."""
        for place in self.places:
            said = self._log.streams.setdefault(place.stream, [])
            for event in (*lately(turns(1, first=len(said) + 1)), felt(len(said) + 2)):
                row = stored(new(event.payload, meta=event.meta), event.seq, place.stream)
                said.append(replace(row, header=replace(row.header, recorded_at=event.recorded_at)))

    async def follow(self, store: WorkingStore | None = None) -> WorkingStore:
        store = store or self._store
        for _ in range(5):
            with suppress(RedisError):  # The sweep tries again.
                await Projection(store, self._log).catch_up()
        return store

    async def read(self, store: WorkingStore | None = None) -> Sequence[Session | None]:
        store, found = store or self._store, list[Session | None]()
        for place in self.places:
            try:
                found.append(await store.read(place))
            except TamperedRow:
                await Projection(store, self._log).heal(place.stream)
                found.append(await store.read(place))
        return found

    async def replayed(self) -> Sequence[Session | None]:
        beside = await self.follow(WorkingStore(self._redis, f"replayed:{self._prefix}"))
        found = await self.read(beside)
        await beside.drop()
        return found

    async def names(self) -> Sequence[str]:
        return sorted([name.decode() async for name in self._redis.scan_iter(f"{self._prefix}*")])

    async def _size(self) -> int:
        return sum(map(len, self._log.streams.values()))


@pytest.mark.spec_part("A04", "X09")
@pytest.mark.parametrize("reading_first", [False, True])
async def test_whichever_keys_redis_loses_working_memory_equals_the_log(
    redis: Redis, prefix: str, *, reading_first: bool
) -> None:
    chats, seed = Chats(redis, prefix), Random(1)
    await chats.go_on()
    await chats.follow()
    for _ in range(80):
        names = await chats.names()
        gone = seed.sample(names, seed.randrange(len(names) + 1))
        await redis.delete(*gone, "")
        if reading_first:
            await chats.read()
        await chats.go_on()
        await chats.follow()
        assert await chats.read() == await chats.replayed(), f"after the loss of {gone}"


@pytest.mark.spec_part("A04", "A14")
async def test_a_session_that_the_index_lost_is_erased_with_its_user(redis: Redis, prefix: str) -> None:
    chats = Chats(redis, prefix)
    await chats.go_on()
    store = await chats.follow()
    await redis.delete(f"{prefix}mnemolog:working:1:keys")

    erased = recorded(UserErased(), 3, at=datetime.now(UTC))
    await Projection(store, MemoryLog()).forget(erased)

    assert not [name for name in await chats.names() if name.startswith((f"{prefix}sess:ana", f"{prefix}affect:ana"))]
