"""Reads of the log: by stream, by tags, by id, by time, in batches; and the heads of all streams."""

from datetime import timedelta
from uuid import uuid4

import pytest

from mnemolog.adapters.postgres.log import PostgresLog
from mnemolog.events.envelope import StreamId
from mnemolog.events.event import memory_tag
from mnemolog.events.log import Append, Head
from mnemolog.events.memory import MemoriesLinked, MemoryCreated
from tests.testkit.clock import START, Clock
from tests.testkit.events import created, new


async def filled(log: PostgresLog, stream: StreamId, count: int) -> None:
    await log.append([Append(stream, tuple(new(created()) for _ in range(count)))])


async def test_a_read_takes_what_lies_between_its_ends(log: PostgresLog, stream: StreamId) -> None:
    await filled(log, stream, 5)

    assert [event.seq for event in await log.read(stream)] == [1, 2, 3, 4, 5]
    assert [event.seq for event in await log.read(stream, after=2)] == [3, 4, 5]
    assert [event.seq for event in await log.read(stream, after=1, until=3)] == [2, 3]
    assert await log.read(stream, after=5) == []
    assert await log.read(StreamId.of_user("nobody at all")) == []


async def test_a_read_by_tags_takes_each_event_once(log: PostgresLog, stream: StreamId) -> None:
    one, other = uuid4(), uuid4()
    payloads = [created(one), created(other), created(), MemoriesLinked(memory_id=one, to_id=other, strength=1.0)]
    await log.append([Append(stream, tuple(map(new, payloads)))])

    both = [memory_tag(one), memory_tag(other)]
    assert [event.seq for event in await log.read(stream, tags=both)] == [1, 2, 4]
    assert [event.seq for event in await log.read(stream, tags=both[:1])] == [1, 4]
    assert [event.seq for event in await log.read(stream, tags=both, after=1, until=2)] == [2]
    assert await log.read(stream, tags=["memory:none"]) == []


@pytest.mark.spec_part("A11")
async def test_no_read_crosses_users_or_tenants(log: PostgresLog, user: str) -> None:
    memory_id = uuid4()
    ours, theirs = StreamId.of_user(user, "ours"), StreamId.of_user(user, "theirs")
    event = new(created(memory_id))
    await log.append([Append(ours, (event,))])

    assert await log.read(theirs) == []
    assert await log.read(theirs, tags=[memory_tag(memory_id)]) == []
    assert await log.find(theirs, event.event_id) is None
    assert await log.head(theirs) == 0


async def test_one_event_is_found_by_its_id(log: PostgresLog, stream: StreamId) -> None:
    event = new(created())
    await log.append([Append(stream, (new(created()), event))])

    found = await log.find(stream, event.event_id)

    assert found is not None
    assert (found.seq, found.payload) == (2, event.payload)
    assert await log.find(stream, uuid4()) is None


@pytest.mark.parametrize(("count", "batch", "sizes"), [(0, 3, []), (3, 3, [3]), (7, 3, [3, 3, 1]), (2, 1, [1, 1])])
async def test_a_scan_comes_in_batches(
    log: PostgresLog, stream: StreamId, count: int, batch: int, sizes: list[int]
) -> None:
    if count:
        await filled(log, stream, count)

    batches = [found async for found in log.scan(stream, batch=batch)]

    assert [len(found) for found in batches] == sizes
    assert [event.header.seq for found in batches for event in found] == list(range(1, count + 1))


async def test_a_scan_ends_where_it_is_told_to(log: PostgresLog, stream: StreamId) -> None:
    await filled(log, stream, 7)

    batches = [found async for found in log.scan(stream, after=1, until=5, batch=3)]

    assert [event.header.seq for found in batches for event in found] == [2, 3, 4, 5]
    assert list(await log.decode(batches[0])) == list(await log.read(stream, after=1, until=4))


async def test_personal_fields_stay_encrypted_when_only_the_structure_is_read(
    log: PostgresLog, stream: StreamId
) -> None:
    await log.append([Append(stream, (new(created(text="Ana keeps bees", category="hobbies")),))])
    [batch] = [batch async for batch in log.scan(stream)]

    [whole] = await log.decode(batch)
    [shape] = await log.decode(batch, {"MemoryCreated"})

    assert isinstance(whole.payload, MemoryCreated)
    assert whole.payload.text == "Ana keeps bees"
    sealed = {name: MemoryCreated.model_fields[name].get_default() for name in MemoryCreated.personal_fields()}
    assert shape.payload == whole.payload.model_copy(update=sealed)
    assert not shape.erased


async def test_the_heads_of_all_streams_come_in_pages_each_once(log: PostgresLog, user: str) -> None:
    streams = [StreamId(tenant, f"user:{user}-{name}") for tenant in ("t1", "t2") for name in ("a", "b", "ü", "B")]
    for number, stream in enumerate(streams, 1):
        await filled(log, stream, number)

    pages = [page async for page in log.heads(batch=3)]

    assert {len(page) for page in pages[:-1]} == {3}
    heads = [head for page in pages for head in page]
    assert len({head.stream for head in heads}) == len(heads)
    assert {Head(stream, number) for number, stream in enumerate(streams, 1)} <= set(heads)


async def test_shares_of_the_heads_hold_each_stream_once(log: PostgresLog, user: str) -> None:
    for number in range(8):
        await filled(log, StreamId("t1", f"user:{user}-{number}"), 1)
    everything = [head for page in [page async for page in log.heads()] for head in page]

    shares = [[head async for page in log.heads(share, 3) for head in page] for share in range(3)]

    assert sorted(head.stream for share in shares for head in share) == sorted(head.stream for head in everything)
    assert all(shares)


async def test_a_stream_that_nothing_was_written_to_has_no_head(log: PostgresLog, stream: StreamId) -> None:
    await log.append([Append(stream, ())])

    assert await log.head(stream) == 0
    assert stream not in {head.stream async for page in log.heads() for head in page}


@pytest.mark.spec("X02")
async def test_a_moment_is_the_last_event_recorded_until_then(log: PostgresLog, stream: StreamId, clock: Clock) -> None:
    for _ in range(3):
        await filled(log, stream, 2)
        clock.move(timedelta(seconds=10))

    moments = [START + timedelta(seconds=seconds) for seconds in (-1, 0, 9, 10, 20, 999)]
    assert [await log.seq_at(stream, moment) for moment in moments] == [0, 2, 2, 4, 6, 6]


async def test_counts_tell_how_many_events_of_each_type_there_are(log: PostgresLog, stream: StreamId) -> None:
    before = await log.counts()
    await filled(log, stream, 3)

    after = await log.counts()

    assert after["MemoryCreated"] - before.get("MemoryCreated", 0) == 3
