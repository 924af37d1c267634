"""Keys: what is personal is sealed with a key of its scope, opens with that alone, and is gone when that is gone."""

import asyncio
import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg.sql import SQL, Identifier
from sqlalchemy import make_url

from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.postgres import roots as root_keys
from mnemolog.adapters.postgres.log import PostgresLog
from mnemolog.adapters.postgres.migrate import migrate
from mnemolog.adapters.postgres.pool import Pool, open_pool
from mnemolog.adapters.postgres.roots import Roots, open_roots, rotate
from mnemolog.domain.errors import EngineError, MalformedEvent
from mnemolog.events.codec import Codec
from mnemolog.events.envelope import Receipt, StreamId
from mnemolog.events.erasure import UserErased
from mnemolog.events.event import Event, blind_tag, memory_tag
from mnemolog.events.log import Append, Guard
from mnemolog.events.memory import MemoryCreated
from mnemolog.events.registry import Registry
from tests.testkit.clock import Clock
from tests.testkit.events import created, new

SECRET = "Ana keeps bees in Sintra"
MASTER = bytes(range(32))


class Destroyed(Event):
    """Stands for an event that destroys keys."""

    scopes: tuple[str, ...]

    def tags(self) -> frozenset[str]:
        return frozenset()

    def key_scope(self) -> str:
        return "user"

    def shreds(self) -> frozenset[str]:
        return frozenset(self.scopes)


class Named(Destroyed):
    """Stands for an event whose name nobody may read off its tags."""

    name: str
    scopes: tuple[str, ...] = ()

    def tags(self) -> frozenset[str]:
        return frozenset({blind_tag("name", self.name)})


FORMER = {("MemoryCreated", version): dict for version in range(1, MemoryCreated.version)}
CODEC = Codec(Registry((MemoryCreated, UserErased, Destroyed, Named), FORMER))


@asynccontextmanager
async def database(engine: Engine, name: str) -> AsyncIterator[Pool]:
    """A pool on a migrated database of its own, on the engine's Postgres."""
    dsn = engine.endpoints.postgres_dsn
    async with await psycopg.AsyncConnection.connect(dsn, autocommit=True) as connection:
        await connection.execute(f"CREATE DATABASE {name}".encode())
        own = make_url(dsn).set(database=name).render_as_string(hide_password=False)
        await asyncio.to_thread(migrate, own)
        async with await open_pool(own, size=4) as pool:
            yield pool
        await connection.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


@pytest.fixture(scope="module")
async def pool(engine: Engine) -> AsyncIterator[Pool]:
    """Apart from the engine's own log: no projection could read the events that stand for others here."""
    async with database(engine, "keys") as pool:
        yield pool


@pytest.fixture(scope="module")
async def roots(pool: Pool) -> Roots:
    return await open_roots(pool, MASTER, os.urandom)


@pytest.fixture
def log(pool: Pool, roots: Roots, clock: Clock) -> PostgresLog:
    return PostgresLog(pool, CODEC, roots, clock)


@pytest.fixture
async def empty(engine: Engine, user: str) -> AsyncIterator[Pool]:
    """A database that nothing was written to."""
    async with database(engine, user.replace("-", "_")) as pool:
        yield pool


async def write(log: PostgresLog, stream: StreamId, *payloads: Event) -> None:
    [receipt] = await log.append([Append(stream, tuple(map(new, payloads)))])
    assert isinstance(receipt, Receipt)


async def texts(log: PostgresLog, stream: StreamId, *memories: UUID) -> list[tuple[str, bool]]:
    """The text of each created memory as it reads now, and whether it reads as erased."""
    tags = [memory_tag(memory_id) for memory_id in memories]
    return [(event.payload.text, event.erased) for event in await log.read(stream, tags=tags)]  # type: ignore[attr-defined]


async def rows(pool: Pool, statement: str, *values: object) -> list[dict[str, Any]]:
    async with pool.connection() as connection:
        return await (await connection.execute(statement.encode(), values)).fetchall()


# Sealing


@pytest.mark.spec("X07")
async def test_the_log_contains_no_personal_text(log: PostgresLog, pool: Pool, stream: StreamId) -> None:
    await write(log, stream, created(text=SECRET))

    for table in ("events", "tags", "outbox", "receipts", "heads"):
        statement = SQL("SELECT t::text AS shown FROM mnemolog.{} AS t WHERE stream = %s").format(Identifier(table))
        shown = [row["shown"] for row in await rows(pool, statement.as_string(), stream.name)]
        assert not [row for row in shown if SECRET in row or SECRET.encode().hex() in row]
    assert (await log.read(stream))[0].payload.text == SECRET  # type: ignore[attr-defined]


@pytest.mark.spec("X07")
async def test_the_same_text_never_leaves_the_same_bytes(log: PostgresLog, pool: Pool, stream: StreamId) -> None:
    memory_id = uuid4()
    await write(log, stream, created(memory_id, SECRET), created(memory_id, SECRET))

    found = await rows(pool, "SELECT data FROM mnemolog.events WHERE stream = %s", stream.name)

    boxes = {json.loads(row["data"])["sealed"]["box"] for row in found}
    assert len(boxes) == 2


@pytest.mark.spec("X07")
async def test_each_memory_has_a_key_of_its_own(log: PostgresLog, pool: Pool, stream: StreamId) -> None:
    await write(log, stream, created(), created())
    await write(log, stream, created())

    found = await rows(pool, "SELECT scope, wrapped FROM mnemolog_keys.data_keys WHERE stream = %s", stream.name)

    assert len({bytes(row["wrapped"]) for row in found}) == len({row["scope"] for row in found}) == 3


@pytest.mark.spec("X08")
async def test_bytes_that_are_moved_to_another_memory_do_not_open(
    log: PostgresLog, pool: Pool, stream: StreamId
) -> None:
    await write(log, stream, created(text=SECRET), created(text="tea"))
    one, other = [event async for batch in log.scan(stream) for event in batch]

    body = json.loads(one.data)
    moved = json.dumps({**json.loads(other.data), "sealed": body["sealed"]}).encode()
    [recorded] = await log.decode([replace(other, data=moved)])
    assert (recorded.payload.text, recorded.erased) == ("", True)  # type: ignore[attr-defined]

    key_id = json.loads(other.data)["sealed"]["key"]
    forged = json.dumps({**json.loads(other.data), "sealed": {**body["sealed"], "key": key_id}}).encode()
    with pytest.raises(MalformedEvent, match="cannot be decrypted"):
        await log.decode([replace(other, data=forged)])


# Shredding


@pytest.mark.spec("X07")
async def test_a_destroyed_key_takes_its_text_and_no_other(log: PostgresLog, stream: StreamId) -> None:
    one, other = uuid4(), uuid4()
    await write(log, stream, created(one, SECRET), created(other, "tea"))
    copies = [event async for batch in log.scan(stream) for event in batch]

    await write(log, stream, Destroyed(scopes=(memory_tag(one),)))

    assert await texts(log, stream, one, other) == [("", True), ("tea", False)]
    assert [event.erased for event in await log.decode(copies)] == [True, False]  # Copies on JetStream, too.


@pytest.mark.spec("X07")
async def test_a_scope_takes_all_below_it_and_nothing_beside_it(log: PostgresLog, pool: Pool, stream: StreamId) -> None:
    async with pool.connection() as connection:
        await write(log, stream, created())
        for scope in ("thread:a/turn:1", "thread:a/turn:2", "thread:ab/turn:3", "thread:a_/turn:4"):
            await connection.execute(
                "INSERT INTO mnemolog_keys.data_keys VALUES ('default', %s, %s, '', '')", [stream.name, scope]
            )

    await write(log, stream, Destroyed(scopes=("thread:a",)))

    found = await rows(pool, "SELECT scope FROM mnemolog_keys.data_keys WHERE stream = %s", stream.name)
    assert {row["scope"] for row in found if row["scope"].startswith("thread")} == {
        "thread:ab/turn:3",
        "thread:a_/turn:4",
    }


@pytest.mark.spec("X07")
async def test_what_is_written_after_a_destruction_opens_and_what_was_before_does_not(
    log: PostgresLog, stream: StreamId
) -> None:
    memory_id = uuid4()
    await write(log, stream, created(memory_id, SECRET))
    await write(log, stream, Destroyed(scopes=(memory_tag(memory_id),)), created(memory_id, "new"))
    await write(log, stream, created(memory_id, "newer"))

    assert await texts(log, stream, memory_id) == [("", True), ("new", False), ("newer", False)]


@pytest.mark.spec("X07")
async def test_a_user_who_is_forgotten_leaves_no_key_and_may_come_back(
    log: PostgresLog, pool: Pool, stream: StreamId
) -> None:
    before, after = uuid4(), uuid4()
    await write(log, stream, created(before, SECRET))

    await write(log, stream, UserErased())

    assert not await rows(pool, "SELECT FROM mnemolog_keys.stream_keys WHERE stream = %s", stream.name)
    assert not await rows(pool, "SELECT FROM mnemolog_keys.data_keys WHERE stream = %s", stream.name)
    await write(log, stream, created(after, "back"))
    assert await texts(log, stream, before, after) == [("", True), ("back", False)]


async def test_a_stream_that_was_first_touched_without_text_keeps_its_one_key(
    log: PostgresLog, pool: Pool, roots: Roots, clock: Clock, stream: StreamId
) -> None:
    one, other = uuid4(), uuid4()
    await write(log, stream, created(one, "tea"))
    fresh = PostgresLog(pool, CODEC, roots, clock)

    await write(fresh, stream, Destroyed(scopes=()))
    await write(fresh, stream, created(other, "honey"))

    assert await texts(fresh, stream, one, other) == [("tea", False), ("honey", False)]
    assert len(await rows(pool, "SELECT FROM mnemolog_keys.stream_keys WHERE stream = %s", stream.name)) == 1


async def test_a_key_that_was_made_for_a_refused_append_is_not_sealed_with(
    log: PostgresLog, pool: Pool, roots: Roots, clock: Clock, stream: StreamId
) -> None:
    """The guard's blind tag needs a stream key, which is written with nothing."""
    memory_id = uuid4()
    await write(log, stream, created(memory_id, SECRET), UserErased())
    guard = Guard(frozenset({memory_tag(memory_id), blind_tag("name", "ana")}), 0)
    fresh = PostgresLog(pool, CODEC, roots, clock)

    [refused] = await fresh.append([Append(stream, (new(created()),), guard)])
    await write(fresh, stream, created(memory_id, "new"))

    assert not isinstance(refused, Receipt)
    assert await texts(log, stream, memory_id) == [("", True), ("new", False)]


@pytest.mark.spec("X07")
async def test_a_log_that_remembers_a_destroyed_key_seals_with_a_new_one(
    log: PostgresLog, pool: Pool, roots: Roots, clock: Clock, stream: StreamId
) -> None:
    """Another engine destroys the key; this one has it in its memory still."""
    memory_id, other = uuid4(), PostgresLog(pool, CODEC, roots, clock)
    await write(log, stream, created(memory_id, SECRET))
    await write(other, stream, UserErased())

    await write(log, stream, created(memory_id, "new"))

    assert await texts(log, stream, memory_id) == [("", True), ("new", False)]
    assert await texts(other, stream, memory_id) == [("", True), ("new", False)]


# Blind tags


@pytest.mark.spec("X07")
async def test_a_blind_tag_is_found_and_guarded_by_and_shows_nothing(
    log: PostgresLog, pool: Pool, roots: Roots, clock: Clock, stream: StreamId
) -> None:
    tag = blind_tag("name", "melanie")
    assert not await log.read(stream, tags=[tag])
    await write(log, stream, Named(name="melanie"), Named(name="caroline"))

    found = [event async for batch in log.scan(stream) for event in batch]
    assert [found[0].header.tags, found[1].header.tags] != [(tag,), (tag,)]
    shown = await rows(pool, "SELECT tag FROM mnemolog.tags WHERE stream = %s", stream.name)
    assert all(row["tag"].startswith("name:") and "melanie" not in row["tag"] for row in shown)
    for one in (log, PostgresLog(pool, CODEC, roots, clock)):
        append = Append(stream, (new(created()),), Guard(frozenset({tag}), 0))
        [refused] = await one.append([append])
        assert not isinstance(refused, Receipt)
        [taken] = await one.append([replace(append, guard=Guard(frozenset({tag}), 1))])
        assert isinstance(taken, Receipt)


@pytest.mark.spec("X07")
async def test_the_same_name_has_another_tag_for_each_user_and_none_once_forgotten(
    log: PostgresLog, pool: Pool, stream: StreamId
) -> None:
    other = StreamId.of_user(f"{stream.owner}-other")
    await write(log, stream, Named(name="melanie"))
    await write(log, other, Named(name="melanie"))
    await write(log, stream, UserErased())
    await write(log, stream, Named(name="melanie"))

    names = "SELECT tag FROM mnemolog.tags WHERE stream = ANY(%s) AND tag LIKE 'name:%%'"
    shown = await rows(pool, names, [stream.name, other.name])

    assert len({row["tag"] for row in shown}) == 3


# Roots


async def log_of(pool: Pool, master_key: bytes = MASTER) -> PostgresLog:
    return PostgresLog(pool, CODEC, await open_roots(pool, master_key, os.urandom), Clock())


async def test_the_roots_are_made_once_by_however_many_engines(empty: Pool) -> None:
    found = await asyncio.gather(*(open_roots(empty, MASTER, os.urandom) for _ in range(4)))

    assert len({one.integrity for one in found}) == len({one.current for one in found}) == 1


async def test_another_master_key_is_refused(empty: Pool) -> None:
    await log_of(empty)

    with pytest.raises(EngineError, match="another master key") as caught:
        await log_of(empty, bytes(32))

    assert caught.value.field == "master_key"


@pytest.mark.spec("X08")
async def test_a_log_whose_roots_were_taken_gets_no_new_ones(empty: Pool) -> None:
    stream = StreamId.of_user("ana")
    await write(await log_of(empty), stream, created(text=SECRET))
    await rows_changed(empty, "TRUNCATE mnemolog_keys.roots CASCADE")

    with pytest.raises(EngineError, match="has events but no keys"):
        await log_of(empty)


@pytest.mark.spec("X07")
async def test_after_a_rotation_the_old_master_key_opens_nothing_and_the_new_one_all(empty: Pool) -> None:
    streams = [StreamId.of_user(name) for name in ("ana", "bela", "caio")]
    log = await log_of(empty)
    for stream in streams:
        await write(log, stream, created(text=SECRET))
    before = await rows(empty, "SELECT wrapped FROM mnemolog_keys.stream_keys")
    steps: list[int] = []

    count = await rotate(empty, MASTER, bytes(32), os.urandom, lambda done, left: steps.append(done))

    assert (count, sum(steps)) == (3, 3)
    with pytest.raises(EngineError, match="another master key"):
        await log_of(empty)
    rotated = await log_of(empty, bytes(32))
    for stream in streams:
        assert (await rotated.read(stream))[0].payload.text == SECRET  # type: ignore[attr-defined]
        await write(rotated, stream, created())
    after = await rows(empty, "SELECT wrapped FROM mnemolog_keys.stream_keys")
    assert not {bytes(row["wrapped"]) for row in before} & {bytes(row["wrapped"]) for row in after}
    [links] = await rows(empty, "SELECT count(*) AS roots FROM mnemolog_keys.roots")
    assert links["roots"] == 2


async def test_an_interrupted_rotation_continues(empty: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    log = await log_of(empty)
    for name in ("ana", "bela", "caio"):
        await write(log, StreamId.of_user(name), created(text=SECRET))
    monkeypatch.setattr(root_keys, "REWRAPPED_AT_ONCE", 1)

    def stop(done: int, left: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        await rotate(empty, MASTER, bytes(32), os.urandom, stop)
    between = await log_of(empty, bytes(32))
    assert (await between.read(StreamId.of_user("caio")))[0].payload.text == SECRET  # type: ignore[attr-defined]

    assert await rotate(empty, bytes(32), bytes(32), os.urandom) == 2
    assert (await (await log_of(empty, bytes(32))).read(StreamId.of_user("caio")))[0].payload.text == SECRET  # type: ignore[attr-defined]


async def test_a_rotation_waits_for_no_engine_and_refuses_while_one_leads(empty: Pool) -> None:
    await log_of(empty)
    async with empty.connection() as connection:
        await connection.execute("SELECT pg_advisory_lock(hashtextextended('mnemolog relay 0', 0))")
        with pytest.raises(EngineError, match="an engine runs") as caught:
            await rotate(empty, MASTER, bytes(32), os.urandom)
        await connection.execute("SELECT pg_advisory_unlock_all()")

    assert caught.value.field == "postgres_url"
    assert await rotate(empty, MASTER, bytes(32), os.urandom) == 0


@pytest.mark.spec("X14")
async def test_a_writer_that_a_rotation_overlooked_is_refused_and_loses_nothing(empty: Pool) -> None:
    overlooked, stream = await log_of(empty), StreamId.of_user("late")
    await rotate(empty, MASTER, bytes(32), os.urandom)

    with pytest.raises(psycopg.errors.ForeignKeyViolation):
        await overlooked.append([Append(stream, (new(created()),))])

    assert not await (await log_of(empty, bytes(32))).read(stream)


async def test_a_log_from_before_there_were_keys_is_taken_on_with_its_master_key(empty: Pool) -> None:
    """Its events are readable as they are, and its chain goes on under the key that it was begun with."""
    check = root_keys._check(MASTER)
    await rows_changed(empty, "INSERT INTO mnemolog.master_key (mac) VALUES (%s)", check)

    with pytest.raises(EngineError, match="another master key"):
        await open_roots(empty, bytes(32), os.urandom)
    assert (await open_roots(empty, MASTER, os.urandom)).integrity == MASTER


async def rows_changed(pool: Pool, statement: str, *values: object) -> None:
    async with pool.connection() as connection:
        await connection.execute("RESET ROLE")
        await connection.execute(statement.encode(), values)
