"""Whatever reads the log is refused what does not fit the chain, and is given what stands before it (X08)."""

import os
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Sequence
from dataclasses import replace
from datetime import timedelta
from uuid import uuid4

import pytest

from mnemolog.adapters.engine.engine import Engine, open_engine
from mnemolog.adapters.keys import from_file
from mnemolog.adapters.postgres.chained import NoHeads
from mnemolog.adapters.postgres.log import PostgresLog
from mnemolog.adapters.postgres.pool import Pool, open_pool
from mnemolog.adapters.postgres.roots import Roots, open_roots
from mnemolog.domain.errors import TamperedEvent
from mnemolog.events.chain import START as START_LINK
from mnemolog.events.chain import link
from mnemolog.events.codec import Codec
from mnemolog.events.envelope import StreamId
from mnemolog.events.event import memory_tag
from mnemolog.events.log import Append
from tests.testkit.clock import START, Clock
from tests.testkit.events import created, new
from tests.testkit.settings import settings_in

pytestmark = pytest.mark.spec("X08")

LAST = 6
Attack = Callable[[Pool, StreamId], Awaitable[None]]


class Known(NoHeads):
    """What was seen of heads elsewhere."""

    def __init__(self, seq: int) -> None:
        self._seq = seq

    def seq(self, stream: StreamId) -> int:
        return self._seq


class Appending(NoHeads):
    """A stream that gets another event each time that a reading asks for its head, up to three."""

    def __init__(self, log: PostgresLog, stream: StreamId) -> None:
        self._log, self._stream, self._appended = log, stream, 0

    async def append(self) -> None:
        self._appended += 1
        await self._log.append([Append(self._stream, (new(created()),))])

    async def learn(self, streams: Collection[StreamId]) -> None:
        if self._appended < 3:
            await self.append()


@pytest.fixture(scope="module")
async def damaged(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Engine]:
    """An engine that other tests do not use: what is damaged here stops its projections."""
    async with open_engine(settings_in(tmp_path_factory.mktemp("damaged"))) as opened:
        yield opened


@pytest.fixture(scope="module")
async def pool(damaged: Engine) -> AsyncIterator[Pool]:
    opened = await open_pool(damaged.endpoints.postgres_dsn, size=4)
    yield opened
    await opened.close()


@pytest.fixture(scope="module")
async def roots(damaged: Engine, pool: Pool) -> Roots:
    return await open_roots(pool, from_file(damaged.settings.directory / "master.key"), os.urandom)


@pytest.fixture
async def written(log: PostgresLog, stream: StreamId, clock: Clock) -> Sequence[str]:
    """Six events, a minute apart, with a memory's tag each."""
    tags = []
    for _ in range(LAST):
        memory_id = uuid4()
        await log.append([Append(stream, (new(created(memory_id)),))])
        clock.move(timedelta(minutes=1))
        tags.append(memory_tag(memory_id))
    return tags


async def sql(pool: Pool, statement: str, stream: StreamId) -> None:
    """As somebody whom no trigger stops."""
    async with pool.connection() as connection, connection.transaction():
        await connection.execute("SET LOCAL ROLE NONE")
        await connection.execute("SET LOCAL session_replication_role = replica")
        await connection.execute(statement.encode(), {"stream": stream.name})


async def read_to_the_end(log: PostgresLog, stream: StreamId, after: int = 0) -> list[int]:
    return [event.header.seq async for batch in log.scan(stream, after=after, batch=2) for event in batch]


async def sound_before_damage(log: PostgresLog, stream: StreamId, after: int = 0) -> tuple[list[int], int]:
    """What a scan gave before it was refused, and where it was."""
    found: list[int] = []
    try:
        async for batch in log.scan(stream, after=after, batch=2):
            found += [event.header.seq for event in batch]
    except TamperedEvent as damage:
        return found, damage.seq
    raise AssertionError(f"a damaged log was read: {found}")


CHANGES = [
    "data = replace(convert_from(data, 'UTF8'), 'open', 'Open')::bytea",
    'meta = meta || \'{"actor": "eve"}\'',
    "tags = tags || '{x}'",
    "occurred_at = occurred_at + interval '1 microsecond'",
    "recorded_at = recorded_at + interval '1 microsecond'",
    "link = sha256(link)",
    "event_id = gen_random_uuid()",
    "version = version + 1",
]


@pytest.mark.usefixtures("written")
@pytest.mark.parametrize("change", CHANGES)
async def test_a_changed_event_is_refused_and_those_before_it_are_returned(
    log: PostgresLog, pool: Pool, stream: StreamId, change: str
) -> None:
    await sql(pool, f"UPDATE mnemolog.events SET {change} WHERE stream = %(stream)s AND seq = 4", stream)

    assert await sound_before_damage(log, stream) == ([1, 2, 3], 4)
    assert await sound_before_damage(log, stream, after=2) == ([3], 4)
    assert await sound_before_damage(log, stream, after=3) == ([], 4)
    assert [event.seq for event in await log.read(stream, until=3)] == [1, 2, 3]
    with pytest.raises(TamperedEvent):
        await log.read(stream)


@pytest.mark.usefixtures("written")
async def test_a_removed_event_is_refused_wherever_a_reading_begins(
    log: PostgresLog, pool: Pool, stream: StreamId
) -> None:
    await sql(pool, "DELETE FROM mnemolog.events WHERE stream = %(stream)s AND seq = 4", stream)

    assert await sound_before_damage(log, stream) == ([1, 2, 3], 4)
    assert await sound_before_damage(log, stream, after=4) == ([], 4)
    assert await read_to_the_end(log, stream, after=5) == [6]


@pytest.mark.usefixtures("written")
@pytest.mark.parametrize("after", [0, 3, 4])
async def test_a_tail_that_is_shorter_than_its_head_says_is_refused(
    log: PostgresLog, pool: Pool, stream: StreamId, after: int
) -> None:
    await sql(pool, "DELETE FROM mnemolog.events WHERE stream = %(stream)s AND seq > 4", stream)

    assert await sound_before_damage(log, stream, after) == (list(range(after + 1, 5)), 5)


@pytest.mark.usefixtures("written")
async def test_a_tail_cut_together_with_its_head_is_refused_by_a_process_that_knew_it(
    log: PostgresLog, pool: Pool, roots: Roots, stream: StreamId
) -> None:
    await sql(pool, "DELETE FROM mnemolog.events WHERE stream = %(stream)s AND seq > 4", stream)
    await sql(pool, "UPDATE mnemolog.heads SET seq = 4 WHERE stream = %(stream)s", stream)
    knowing = PostgresLog(pool, Codec(), roots, Clock(), known=Known(LAST))

    assert await read_to_the_end(log, stream) == [1, 2, 3, 4]
    assert await sound_before_damage(knowing, stream) == ([1, 2, 3, 4], 5)
    assert [event.seq for event in await knowing.read(stream, until=4)] == [1, 2, 3, 4]


async def test_an_event_found_by_tag_or_id_is_verified_against_the_previous_one(
    log: PostgresLog, pool: Pool, stream: StreamId, written: Sequence[str]
) -> None:
    events = await log.read(stream)
    await sql(pool, "UPDATE mnemolog.events SET meta = '{}' WHERE stream = %(stream)s AND seq = 3", stream)
    await sql(pool, "DELETE FROM mnemolog.events WHERE stream = %(stream)s AND seq = 5", stream)

    for seq, damaged in ((1, 0), (2, 0), (3, 3), (4, 0), (6, 5)):
        if not damaged:
            assert [event.seq for event in await log.read(stream, tags=[written[seq - 1]])] == [seq]
            assert await log.find(stream, events[seq - 1].event_id) == events[seq - 1]
            continue
        with pytest.raises(TamperedEvent, match=f"event {damaged}"):
            await log.read(stream, tags=[written[seq - 1]])
        with pytest.raises(TamperedEvent, match=f"event {damaged}"):
            await log.find(stream, events[seq - 1].event_id)


@pytest.mark.usefixtures("written")
@pytest.mark.parametrize(("seq", "shift"), [(3, "1 hour"), (5, "-1 hour")])
async def test_a_changed_time_moves_no_moment(
    log: PostgresLog, pool: Pool, stream: StreamId, seq: int, shift: str
) -> None:
    at = START + timedelta(minutes=2, seconds=30)
    assert await log.seq_at(stream, at) == 3
    await sql(
        pool,
        f"UPDATE mnemolog.events SET recorded_at = recorded_at + interval '{shift}'"
        f" WHERE stream = %(stream)s AND seq = {seq}",
        stream,
    )

    with pytest.raises(TamperedEvent, match=f"event {seq}"):
        await log.seq_at(stream, at)


@pytest.mark.usefixtures("written")
async def test_who_keeps_incidents_is_told_before_anybody_is_refused(
    pool: Pool, roots: Roots, stream: StreamId
) -> None:
    told: list[TamperedEvent] = []

    async def refused(damage: TamperedEvent) -> None:
        told.append(damage)

    log = PostgresLog(pool, Codec(), roots, Clock(), refused=refused)
    await sql(pool, "UPDATE mnemolog.events SET meta = '{}' WHERE stream = %(stream)s AND seq = 2", stream)

    with pytest.raises(TamperedEvent) as damage:
        await read_to_the_end(log, stream)
    assert told == [damage.value]


async def test_a_deleted_stream_is_refused_by_a_process_that_knew_it(
    pool: Pool, roots: Roots, stream: StreamId
) -> None:
    log = PostgresLog(pool, Codec(), roots, Clock(), known=Known(2))

    assert await sound_before_damage(log, stream) == ([], 1)


async def test_the_ends_of_a_sound_stream_are_read_without_fault(
    log: PostgresLog, stream: StreamId, written: Sequence[str]
) -> None:
    assert await read_to_the_end(log, stream) == list(range(1, LAST + 1))
    for after in range(LAST + 3):
        assert await read_to_the_end(log, stream, after) == list(range(after + 1, LAST + 1))
    assert len(await log.read(stream, tags=written)) == LAST
    assert await log.read(StreamId.of_user("nobody at all")) == []


@pytest.mark.parametrize("after", [0, 1, 2, 3])
async def test_events_appended_while_a_stream_is_read_are_not_taken_for_removed(
    log: PostgresLog, pool: Pool, roots: Roots, stream: StreamId, after: int
) -> None:
    """Also by a reading that begins beyond the end of the stream."""
    heads = Appending(log, stream)
    await heads.append()
    reading = PostgresLog(pool, Codec(), roots, Clock(), known=heads)

    assert await read_to_the_end(reading, stream, after) == list(range(after + 1, 4))


async def test_unencrypted_text_is_refused_in_an_encrypted_log(
    log: PostgresLog, pool: Pool, roots: Roots, stream: StreamId
) -> None:
    """Also behind a link that fits: whoever gets hold of the chain's key alone makes nobody say anything."""
    told = new(created(uuid4()))
    await log.append([Append(stream, (told,))])
    [[event]] = [batch async for batch in log.scan(stream)]
    plain = Codec().encode(stream, told)
    fits = link(roots.derived("chain"), START_LINK, event.header, plain)
    values = f"data = decode('{plain.hex()}', 'hex'), link = decode('{fits.hex()}', 'hex')"
    await sql(pool, f"UPDATE mnemolog.events SET {values} WHERE stream = %(stream)s", stream)

    with pytest.raises(TamperedEvent, match="not encrypted"):
        await log.read(stream)
    older = PostgresLog(pool, Codec(), replace(roots, readable=True), Clock())  # From before there were keys.
    [read] = await older.read(stream)
    assert read.payload == told.payload
