"""Appends: guards, groups and keys are each judged alone, and a stream has one gapless, chained order."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import pytest

from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.postgres.log import PostgresLog
from mnemolog.adapters.postgres.pool import Pool
from mnemolog.adapters.postgres.roots import Roots
from mnemolog.domain.errors import ConcurrencyConflict, IdempotencyConflict
from mnemolog.events.chain import START as CHAIN_START
from mnemolog.events.chain import link
from mnemolog.events.codec import Codec
from mnemolog.events.envelope import Receipt, StoredEvent, StreamId
from mnemolog.events.event import memory_tag
from mnemolog.events.log import Append, Guard, Outcome
from tests.testkit.clock import START, Clock
from tests.testkit.events import created, new, updated


def one(stream: StreamId, memory_id: UUID | None = None, after: int | None = None, **fields: object) -> Append:
    """An append of one event, guarded by its memory if `after` is given."""
    id_ = memory_id or uuid4()
    event = new(created(id_, f"Ana lives in {id_}"))  # The same text would be the same tag.
    guard = None if after is None else Guard(event.tags, after)
    return Append(stream, (event,), guard, **fields)  # type: ignore[arg-type]


async def whole(log: PostgresLog, stream: StreamId) -> list[StoredEvent]:
    return [event async for batch in log.scan(stream) for event in batch]


def accepted(outcomes: Sequence[Outcome]) -> list[bool]:
    return [isinstance(outcome, Receipt) for outcome in outcomes]


async def test_an_append_is_read_back_as_it_was_given(log: PostgresLog, stream: StreamId) -> None:
    first, second = new(created(text="Olá, 東京 🙂")), new(created(), occurred_at=datetime(1971, 2, 3, tzinfo=UTC))

    [receipt] = await log.append([Append(stream, (first, second))])

    assert receipt == Receipt(stream, (first.event_id, second.event_id), 1, 2)
    found = await log.read(stream)
    assert [(event.payload, event.meta, event.occurred_at) for event in found] == [
        (event.payload, event.meta, event.occurred_at) for event in (first, second)
    ]


@pytest.mark.parametrize("moment", [datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)])
async def test_the_first_and_the_last_moment_of_all_are_kept(
    engine: Engine, log: PostgresLog, stream: StreamId, moment: datetime
) -> None:
    await log.append([Append(stream, (new(created(), occurred_at=moment),))])

    [event] = await log.read(stream)

    assert event.occurred_at == moment


# Guards


@pytest.mark.spec("D04")
async def test_a_guard_fails_if_somebody_else_changed_it_since(log: PostgresLog, stream: StreamId) -> None:
    memory_id = uuid4()
    await log.append([one(stream, memory_id), one(stream), one(stream, memory_id), one(stream)])

    [outcome] = await log.append([one(stream, memory_id, after=1)])

    assert isinstance(outcome, ConcurrencyConflict)
    assert (outcome.expected, outcome.actual) == (1, 3)
    assert await log.head(stream) == 4


async def test_a_guard_passes_if_nothing_changed_since(log: PostgresLog, stream: StreamId) -> None:
    memory_id = uuid4()
    await log.append([one(stream, memory_id), one(stream)])

    assert accepted(await log.append([one(stream, memory_id, after=1)])) == [True]


async def test_guards_on_other_tags_or_other_streams_do_not_conflict(log: PostgresLog, stream: StreamId) -> None:
    memory_id = uuid4()
    other = StreamId(stream.tenant, f"{stream.name}-other")
    await log.append([one(stream, memory_id)])

    outcomes = await log.append([one(stream, after=0), one(other, memory_id, after=0)])

    assert accepted(outcomes) == [True, True]


async def test_one_tag_of_many_is_enough_for_a_conflict(log: PostgresLog, stream: StreamId) -> None:
    memory_id = uuid4()
    await log.append([one(stream, memory_id)])
    guard = Guard(frozenset({memory_tag(memory_id), memory_tag(uuid4())}), 0)

    [outcome] = await log.append([Append(stream, (new(created()),), guard)])

    assert isinstance(outcome, ConcurrencyConflict)


@pytest.mark.spec("D04")
async def test_writers_under_one_guard_at_once_leave_one_event(log: PostgresLog, stream: StreamId) -> None:
    memory_id = uuid4()

    outcomes = await asyncio.gather(*(log.append([one(stream, memory_id, after=0)]) for _ in range(10)))

    assert sum(isinstance(outcome, Receipt) for [outcome] in outcomes) == 1
    assert await log.head(stream) == 1


# Groups


async def test_an_append_of_a_group_that_is_refused_harms_no_other(log: PostgresLog, stream: StreamId) -> None:
    memory_id = uuid4()
    await log.append([one(stream, memory_id)])

    outcomes = await log.append([one(stream), one(stream, memory_id, after=0), one(stream)])

    assert accepted(outcomes) == [True, False, True]
    assert [event.header.seq for event in await whole(log, stream)] == [1, 2, 3]


async def test_two_appends_of_a_group_can_stand_in_each_others_way(log: PostgresLog, stream: StreamId) -> None:
    memory_id = uuid4()

    first, other = await log.append([one(stream, memory_id, after=0), one(stream, memory_id, after=0)])

    assert isinstance(first, Receipt)
    assert isinstance(other, ConcurrencyConflict)
    assert (other.expected, other.actual) == (0, 1)


async def test_a_group_over_many_streams_numbers_each_of_them_alone(log: PostgresLog, stream: StreamId) -> None:
    others = [StreamId(stream.tenant, f"{stream.name}-{number}") for number in range(3)]
    group = [one(each) for each in [*others, *reversed(others), others[0]]]

    outcomes = await log.append(group)

    assert [receipt.last_seq for receipt in outcomes if isinstance(receipt, Receipt)] == [1, 1, 1, 2, 2, 2, 3]


async def test_groups_over_the_same_streams_in_any_order_do_not_deadlock(log: PostgresLog, stream: StreamId) -> None:
    streams = [StreamId(stream.tenant, f"{stream.name}-{number}") for number in range(6)]
    groups = [[one(each) for each in streams[turn % 6 :] + streams[: turn % 6]] for turn in range(24)]

    await asyncio.gather(*map(log.append, groups))

    assert [await log.head(each) for each in streams] == [24] * 6


async def test_an_empty_group_writes_nothing(log: PostgresLog) -> None:
    assert list(await log.append([])) == []


# Keys


@pytest.mark.spec("X14")
async def test_the_same_key_again_gives_the_first_receipt(log: PostgresLog, stream: StreamId) -> None:
    [first] = await log.append([one(stream, idempotency_key="key", fingerprint=b"this")])
    await log.append([one(stream)])

    [again] = await log.append([one(stream, idempotency_key="key", fingerprint=b"this")])

    assert isinstance(first, Receipt)
    assert again == Receipt(stream, first.event_ids, 1, 1, already=True)
    assert await log.receipt(stream, "key", b"this") == again
    assert await log.head(stream) == 2


@pytest.mark.spec("X14")
async def test_the_same_key_for_another_request_is_refused(log: PostgresLog, stream: StreamId) -> None:
    await log.append([one(stream, idempotency_key="key", fingerprint=b"this")])

    [again] = await log.append([one(stream, idempotency_key="key", fingerprint=b"that")])

    assert isinstance(again, IdempotencyConflict)
    assert again.field == "idempotency_key"
    with pytest.raises(IdempotencyConflict):
        await log.receipt(stream, "key", b"that")


@pytest.mark.spec("X14")
@pytest.mark.parametrize("known", [False, True], ids=["new key", "known key"])
async def test_one_key_many_times_in_a_group_is_one_write(log: PostgresLog, stream: StreamId, known: bool) -> None:
    if known:
        await log.append([one(stream, idempotency_key="key", fingerprint=b"this")])

    first, again, other, free = await log.append(
        [
            one(stream, idempotency_key="key", fingerprint=b"this"),
            one(stream, idempotency_key="key", fingerprint=b"this"),
            one(stream, idempotency_key="key", fingerprint=b"that"),
            one(stream),
        ]
    )

    assert isinstance(first, Receipt)
    assert isinstance(again, Receipt)
    assert (first.already, again.already) == (known, True)
    assert again.event_ids == first.event_ids
    assert isinstance(other, IdempotencyConflict)
    assert isinstance(free, Receipt)
    assert await log.head(stream) == 2


async def test_a_key_of_a_refused_append_is_free_for_the_next_of_its_group(log: PostgresLog, stream: StreamId) -> None:
    memory_id = uuid4()
    await log.append([one(stream, memory_id)])

    outcomes = await log.append(
        [
            one(stream, memory_id, after=0, idempotency_key="key", fingerprint=b"this"),
            one(stream, memory_id, after=1, idempotency_key="key", fingerprint=b"that"),
        ]
    )

    assert accepted(outcomes) == [False, True]


@pytest.mark.spec("X14")
async def test_one_key_from_many_writers_at_once_is_one_write(log: PostgresLog, stream: StreamId) -> None:
    outcomes = await asyncio.gather(
        *(log.append([one(stream, idempotency_key="key", fingerprint=b"this")]) for _ in range(10))
    )

    receipts = [outcome for [outcome] in outcomes if isinstance(outcome, Receipt)]
    assert sorted(receipt.already for receipt in receipts) == [False] + [True] * 9
    assert len({receipt.event_ids for receipt in receipts}) == 1


@pytest.mark.spec("X14")
async def test_a_request_that_changed_nothing_keeps_its_key(log: PostgresLog, stream: StreamId) -> None:
    [found] = await log.append([one(stream)])
    assert isinstance(found, Receipt)
    nothing = Append(stream, (), None, "key", b"this", existing=found)

    [first] = await log.append([nothing])
    await log.append([one(stream)])
    [again] = await log.append([one(stream, idempotency_key="key", fingerprint=b"this")])

    assert first == found
    assert again == Receipt(stream, found.event_ids, 1, 1, already=True)
    assert await log.head(stream) == 2


async def test_no_receipt_tells_what_the_request_was(
    log: PostgresLog, pool: Pool, roots: Roots, stream: StreamId
) -> None:
    await log.append([one(stream, idempotency_key="key", fingerprint=b"a guessable request")])

    async with pool.connection() as connection:
        found = await connection.execute("SELECT fingerprint FROM mnemolog.receipts WHERE stream = %s", [stream.name])
        [row] = await found.fetchall()

    assert len(row["fingerprint"]) == 32
    assert b"guessable" not in row["fingerprint"]
    other_key = PostgresLog(pool, Codec(), replace(roots, integrity=b"\x01" * 32), Clock())
    with pytest.raises(IdempotencyConflict):
        await other_key.receipt(stream, "key", b"a guessable request")


# Order


@pytest.mark.spec("X01")
async def test_twenty_concurrent_writers_leave_no_gap_and_an_intact_chain(
    log: PostgresLog, roots: Roots, stream: StreamId
) -> None:
    async def write() -> None:
        for _ in range(5):
            await log.append([Append(stream, (new(created()), new(created())))])

    await asyncio.gather(*(write() for _ in range(20)))

    events = await whole(log, stream)
    assert [event.header.seq for event in events] == list(range(1, 201))
    assert_chained(events, roots)


async def test_record_time_never_runs_backwards_when_the_clock_does(
    log: PostgresLog, stream: StreamId, clock: Clock
) -> None:
    for step in (timedelta(), timedelta(minutes=-10), timedelta(minutes=11)):
        clock.move(step)
        await log.append([one(stream), one(stream)])

    recorded = [event.header.recorded_at for event in await whole(log, stream)]
    assert recorded == [START] * 4 + [START + timedelta(minutes=1)] * 2


@pytest.mark.spec("X08")
async def test_the_links_as_stored_are_those_of_the_chain(log: PostgresLog, roots: Roots, stream: StreamId) -> None:
    memory_id = uuid4()
    await log.append([Append(stream, (new(created(memory_id, text="Olá, 東京 🙂 \n")), new(created())))])
    await log.append([one(stream), Append(stream, (new(updated(memory_id, "Porto")),))])

    events = await whole(log, stream)

    assert_chained(events, roots)
    with pytest.raises(AssertionError):
        assert_chained([events[0], *events[2:]], roots)


def assert_chained(events: Sequence[StoredEvent], roots: Roots) -> None:
    key, previous = roots.derived("chain"), CHAIN_START
    for event in events:
        assert event.link == link(key, previous, event.header, event.data)
        previous = event.link


# What an append leaves beside the events


async def test_an_append_leaves_its_tags(log: PostgresLog, pool: Pool, stream: StreamId) -> None:
    memory_id = uuid4()
    await log.append([one(stream, memory_id), one(stream, memory_id)])

    async with pool.connection() as connection:
        found = await connection.execute(
            "SELECT tag, seq FROM mnemolog.tags WHERE stream = %s AND starts_with(tag, 'memory:') ORDER BY seq",
            [stream.name],
        )
        assert [(row["tag"], row["seq"]) for row in await found.fetchall()] == [
            (memory_tag(memory_id), 1),
            (memory_tag(memory_id), 2),
        ]


async def test_what_was_added_is_told_after_the_commit(pool: Pool, roots: Roots, stream: StreamId) -> None:
    told: list[StoredEvent] = []
    log = PostgresLog(pool, Codec(), roots, Clock(), appended=told.extend)

    for _ in range(3):
        await log.append([one(stream), one(stream)])

    assert told == await whole(log, stream)
