"""Appends that arrive together share a transaction, wait for no neighbour's fault, and keep to their deadlines."""

import asyncio
import gc
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from secrets import token_hex
from typing import Any
from uuid import UUID, uuid4

import pytest
from psycopg import AsyncConnection
from psycopg.conninfo import make_conninfo

from mnemolog.adapters.engine.engine import Engine
from mnemolog.adapters.postgres.append import Appender, Fault, Settled
from mnemolog.adapters.postgres.log import PostgresLog
from mnemolog.adapters.postgres.pool import Pool, open_pool
from mnemolog.adapters.postgres.roots import Roots
from mnemolog.adapters.postgres.writing import Doubt
from mnemolog.commands.handler import Handler
from mnemolog.commands.memories import MEMORIES, CreateMemory, UndoChange, UpdateMemory
from mnemolog.domain.errors import AppendTimeout, ConcurrencyConflict, IdempotencyConflict, Overloaded
from mnemolog.events.codec import Codec
from mnemolog.events.envelope import Receipt, StreamId
from mnemolog.events.event import memory_tag
from mnemolog.events.log import Append, Guard
from mnemolog.events.memory import MemoryReverted
from tests.testkit.clock import Clock
from tests.testkit.events import created, new, updated
from tests.testkit.network import Network, slow_commits


@asynccontextmanager
async def held(pool: Pool, stream: StreamId) -> AsyncIterator[None]:
    """The head of the stream locked by somebody else, as by a long transaction of another engine."""
    async with pool.connection() as connection, connection.transaction():
        await connection.execute("SELECT FROM mnemolog.heads WHERE stream = %s FOR UPDATE", [stream.name])
        yield


async def transactions(pool: Pool, stream: StreamId) -> int:
    """In how many transactions the events of a stream were written."""
    async with pool.connection() as connection:
        found = await connection.execute(
            "SELECT count(DISTINCT xmin::text) AS count FROM mnemolog.events WHERE stream = %s", [stream.name]
        )
        [row] = await found.fetchall()
        return int(row["count"])


def one(stream: StreamId, text: str = "tea") -> Append:
    return Append(stream, (new(created(text=text)),))


# Together


async def test_what_arrives_during_a_write_is_written_together(log: PostgresLog, pool: Pool, stream: StreamId) -> None:
    await log.append([one(stream)])

    async with held(pool, stream):
        waiting = [asyncio.create_task(log.append([one(stream)])) for _ in range(50)]
        await asyncio.sleep(0.1)
    await asyncio.gather(*waiting)

    assert await log.head(stream) == 51
    assert await transactions(pool, stream) <= 3  # The first, the one that was held up, and all others.


async def test_one_writers_appends_keep_their_order(log: PostgresLog, stream: StreamId) -> None:
    appends = [one(stream, str(number)) for number in range(200)]

    outcomes = await asyncio.gather(*(log.append([append]) for append in appends))

    assert [outcome.last_seq for [outcome] in outcomes if isinstance(outcome, Receipt)] == list(range(1, 201))


async def test_a_locked_stream_delays_no_other(log: PostgresLog, pool: Pool, stream: StreamId) -> None:
    others = [StreamId.of_user(f"{stream.owner}-{number}") for number in range(8)]
    await log.append([one(known) for known in (stream, *others[:4])])

    async with held(pool, stream):
        late = [asyncio.create_task(log.append([one(stream, str(number))])) for number in range(3)]
        await asyncio.sleep(0.1)
        late += [asyncio.create_task(log.append([one(stream, str(number))])) for number in range(3, 6)]
        async with asyncio.timeout(60):
            await asyncio.gather(*(log.append([one(other)]) for other in others))  # Of both lanes, known or not.
        assert not any(task.done() for task in late)
    outcomes = await asyncio.gather(*late)

    assert [outcome.last_seq for [outcome] in outcomes if isinstance(outcome, Receipt)] == [2, 3, 4, 5, 6, 7]
    assert [event.payload.text for event in await log.read(stream, after=1)] == list("012345")  # type: ignore[attr-defined]


# Alone


def unwritable(stream: StreamId) -> Append:
    """What reads well, and no index of Postgres takes: a tag of that length."""
    return Append(stream, (new(created(source_turn_ids=(token_hex(5000),))),))


async def test_an_append_that_cannot_be_written_fails_alone(log: PostgresLog, pool: Pool, stream: StreamId) -> None:
    await log.append([one(stream)])
    broken = unwritable(stream)

    async with held(pool, stream):
        first = asyncio.create_task(log.append([one(stream)]))  # Holds the lane, so that the others meet.
        await asyncio.sleep(0.05)
        waiting = [asyncio.create_task(log.append([append])) for append in (one(stream), broken, one(stream))]
        await asyncio.sleep(0.05)
    outcomes = await asyncio.gather(first, *waiting, return_exceptions=True)

    assert [isinstance(outcome, Exception) for outcome in outcomes] == [False, False, True, False]
    assert await log.head(stream) == 4


async def test_an_event_id_that_is_in_the_log_is_refused_alone(log: PostgresLog, stream: StreamId) -> None:
    known = one(stream)
    await log.append([known])

    [before, refused, after] = await log.append([one(stream), Append(stream, known.events), one(stream)])

    assert isinstance(refused, IdempotencyConflict)
    assert refused.field == "event_id"
    assert isinstance(before, Receipt)
    assert isinstance(after, Receipt)
    assert await log.head(stream) == 3


# Deadlines


async def test_a_deadline_that_passes_in_the_queue_writes_nothing(
    log: PostgresLog, pool: Pool, stream: StreamId
) -> None:
    await log.append([one(stream)])

    async with held(pool, stream):
        first = asyncio.create_task(log.append([one(stream)]))
        await asyncio.sleep(0.3)
        with pytest.raises(Overloaded, match="was not written") as caught:
            await log.append([one(stream)], deadline=0.1)
    await first

    assert caught.value.field == "deadline"
    assert await log.head(stream) == 2


async def test_a_deadline_that_passes_during_a_write_reports_an_unknown_outcome(
    log: PostgresLog, pool: Pool, stream: StreamId
) -> None:
    await log.append([one(stream)])
    append = replace(one(stream), idempotency_key="key")

    async with held(pool, stream):
        with pytest.raises(AppendTimeout, match="may or may not"):
            await log.append([append], deadline=0.1)
    [again] = await log.append([append])

    assert isinstance(again, Receipt)
    assert (again.already, again.last_seq) == (True, 2)


async def test_the_failure_of_a_write_whose_caller_gave_up_is_not_reported_by_asyncio(stream: StreamId) -> None:
    async def fails_late(appends: Sequence[Append], wait: bool = True, *, doubtful: bool = False) -> Sequence[Settled]:
        await asyncio.sleep(0.1)
        return [Fault(ConnectionError("the disk is full"))] * len(appends)

    reported = list[dict[str, Any]]()
    asyncio.get_running_loop().set_exception_handler(lambda _, context: reported.append(context))
    with pytest.raises(AppendTimeout):
        await Appender(fails_late).append([one(stream)], deadline=0.01)
    await asyncio.sleep(0.2)
    gc.collect()

    assert reported == []


async def test_a_cancelled_caller_that_waits_leaves_nothing_behind(
    log: PostgresLog, pool: Pool, stream: StreamId
) -> None:
    await log.append([one(stream)])

    async with held(pool, stream):
        first = asyncio.create_task(log.append([one(stream)]))
        await asyncio.sleep(0.3)
        gone = asyncio.create_task(log.append([one(stream)]))
        await asyncio.sleep(0.05)
        gone.cancel()
    await first
    await log.append([one(stream)])

    assert await log.head(stream) == 3


async def test_a_full_queue_makes_callers_wait_and_loses_none(log: PostgresLog, pool: Pool, stream: StreamId) -> None:
    narrow = Appender(log._writer.write, lanes=1, room=4)
    await narrow.append([one(stream)])

    async with held(pool, stream):
        waiting = [asyncio.create_task(narrow.append([one(stream)])) for _ in range(20)]
        await asyncio.sleep(0.05)
        with pytest.raises(Overloaded):
            await narrow.append([one(stream)], deadline=0.05)
    await asyncio.gather(*waiting)

    assert await log.head(stream) == 21


# Tails that are remembered


@pytest.mark.spec("X01")
async def test_two_logs_that_remember_the_same_stream_leave_one_order(
    log: PostgresLog, pool: Pool, roots: Roots, clock: Clock, stream: StreamId
) -> None:
    other = PostgresLog(pool, Codec(), roots, clock)
    memory_id = uuid4()
    for number, writer in enumerate([log, other, other, log, log, other]):
        [outcome] = await writer.append([Append(stream, (new(updated(memory_id, str(number))),))])
        assert isinstance(outcome, Receipt)
        assert outcome.last_seq == number + 1

    texts = [event.payload.text for event in await log.read(stream)]  # type: ignore[attr-defined]
    assert texts == ["0", "1", "2", "3", "4", "5"]


@pytest.mark.spec("D04")
async def test_a_remembered_tail_does_not_let_a_guard_pass(
    log: PostgresLog, pool: Pool, roots: Roots, clock: Clock, stream: StreamId
) -> None:
    other, memory_id = PostgresLog(pool, Codec(), roots, clock), uuid4()
    await log.append([Append(stream, (new(created(memory_id)),)), one(stream)])
    await other.append([Append(stream, (new(updated(memory_id, "other")),))])

    for after, expected in ((1, 3), (2, 3)):
        [outcome] = await log.append([_guarded(stream, memory_id, after)])
        assert isinstance(outcome, ConcurrencyConflict)
        assert outcome.actual == expected
    [outcome] = await log.append([_guarded(stream, memory_id, 3)])
    assert isinstance(outcome, Receipt)


async def test_a_guard_on_what_this_log_wrote_itself_is_judged_too(log: PostgresLog, stream: StreamId) -> None:
    memory_id = uuid4()
    await log.append([Append(stream, (new(created(memory_id)),)), one(stream), one(stream)])

    [refused] = await log.append([_guarded(stream, memory_id, 0)])
    [taken] = await log.append([_guarded(stream, memory_id, 1)])

    assert isinstance(refused, ConcurrencyConflict)
    assert isinstance(taken, Receipt)


def _guarded(stream: StreamId, memory_id: UUID, after: int) -> Append:
    return Append(stream, (new(updated(memory_id, "mine")),), Guard(frozenset({memory_tag(memory_id)}), after))


@pytest.mark.spec("X14")
async def test_a_key_that_another_log_used_gives_its_receipt(
    log: PostgresLog, pool: Pool, roots: Roots, clock: Clock, stream: StreamId
) -> None:
    await log.append([one(stream)])
    other = PostgresLog(pool, Codec(), roots, clock)
    append = replace(one(stream), idempotency_key="key", fingerprint=b"same")
    [first] = await other.append([append])
    await log.append([one(stream)])

    [again] = await log.append([replace(one(stream), idempotency_key="key", fingerprint=b"same")])

    assert isinstance(first, Receipt)
    assert again == replace(first, already=True)


@pytest.mark.parametrize("remembered", [True, False])
async def test_what_can_be_written_is_when_a_neighbour_fails(
    log: PostgresLog, pool: Pool, roots: Roots, clock: Clock, stream: StreamId, *, remembered: bool
) -> None:
    writer = log if remembered else PostgresLog(pool, Codec(), roots, clock)
    broken_stream, memory_id = StreamId.of_user(f"{stream.owner}-2"), uuid4()
    await log.append([Append(stream, (new(created(memory_id)),)), one(broken_stream)])
    broken = unwritable(broken_stream)

    [written, failed] = await writer._writer.write([_guarded(stream, memory_id, 1), broken])

    assert isinstance(written, Receipt)
    assert isinstance(failed, Fault)
    assert (await log.head(stream), await log.head(broken_stream)) == (2, 1)


@pytest.mark.spec("X14")
async def test_a_known_event_id_is_refused_on_a_remembered_tail_too(log: PostgresLog, stream: StreamId) -> None:
    known = one(stream)
    await log.append([known])

    [refused] = await log.append([Append(stream, known.events)])

    assert isinstance(refused, IdempotencyConflict)
    assert await log.head(stream) == 1


@pytest.mark.spec("X14")
async def test_two_logs_that_keep_a_standing_receipt_at_once_give_the_same(
    log: PostgresLog, pool: Pool, roots: Roots, clock: Clock, stream: StreamId
) -> None:
    """A request that changes nothing leaves its key and moves no head, so the tails of both stay right."""
    other = PostgresLog(pool, Codec(), roots, clock)
    [found] = await log.append([one(stream)])
    await other.append([one(stream)])
    await log.append([one(stream)])
    assert isinstance(found, Receipt)
    for number in range(20):
        append = Append(stream, (), None, f"key-{number}", b"same", found)
        outcomes = await asyncio.gather(log.append([append]), other.append([append]))
        assert {outcome.last_seq for [outcome] in outcomes if isinstance(outcome, Receipt)} == {1}


# Connections that are lost


@pytest.mark.spec("X14")
@pytest.mark.parametrize("remembered", [True, False])
async def test_a_connection_that_is_cut_before_the_write_is_not_noticed(
    engine: Engine, roots: Roots, clock: Clock, stream: StreamId, pool: Pool, *, remembered: bool
) -> None:
    async with writers_of(engine, stream.name) as writers:
        log = PostgresLog(writers, Codec(), roots, clock)
        first = stream if remembered else StreamId.of_user(f"{stream.owner}-other")
        await log.append([one(first)])
        await _cut(engine, stream.name)

        [outcome] = await log.append([one(stream)])

        assert isinstance(outcome, Receipt)
        assert await log.head(stream) == outcome.last_seq == (2 if remembered else 1)


@pytest.mark.spec("X14")
@pytest.mark.parametrize("remembered", [True, False])
async def test_a_write_whose_connection_is_cut_is_written_once(
    engine: Engine, roots: Roots, clock: Clock, stream: StreamId, pool: Pool, *, remembered: bool
) -> None:
    """The backend ends in the middle of the statement, at the lock: the client cannot tell whether it committed."""
    async with writers_of(engine, stream.name) as writers:
        log = PostgresLog(writers, Codec(), roots, clock)
        await (log if remembered else PostgresLog(pool, Codec(), roots, clock)).append([one(stream)])
        async with held(pool, stream):
            writing = asyncio.create_task(log.append([one(stream)]))
            await asyncio.sleep(0.1)
            await _cut(engine, stream.name)
        [outcome] = await writing

        assert isinstance(outcome, Receipt)
        assert (outcome.last_seq, outcome.already) == (2, False)
        assert await log.head(stream) == 2


@pytest.mark.spec("X14")
async def test_a_write_that_was_committed_and_not_confirmed_is_found(log: PostgresLog, stream: StreamId) -> None:
    append = one(stream)
    await log.append([append, one(stream)])

    [outcome] = await log._writer._ask_and_write([append], wait=True, doubt=Doubt(open=True))

    assert outcome == Receipt(stream, (append.events[0].event_id,), 1, 1)
    assert await log.head(stream) == 2


@pytest.mark.spec("X14")
@pytest.mark.parametrize("remembered", [True, False])
async def test_a_cut_in_a_slow_commit_and_then_a_held_head_leave_one_write(
    engine: Engine, pool: Pool, roots: Roots, clock: Clock, stream: StreamId, *, remembered: bool
) -> None:
    """The commit goes on without its client, longer than a group waits for a head, so the append is set aside."""
    before = Handler(PostgresLog(pool, Codec(), roots, clock), clock, uuid4)
    about = {"user_id": stream.owner, "memory_id": uuid4()}
    await before.handle(MEMORIES, CreateMemory.model_validate({**about, "text": "at first"}))
    await before.handle(MEMORIES, UpdateMemory.model_validate({**about, "text": "then"}))
    async with (
        Network(engine.endpoints.postgres_dsn).open() as network,
        await open_pool(network.dsn, size=1, check=False) as writers,
    ):
        log = PostgresLog(writers, Codec(), roots, clock)
        if remembered:
            await log.append([one(stream)])
        async with slow_commits(engine.endpoints.postgres_dsn, 1.0, stream.name):
            undo = UndoChange.model_validate({**about, "at": clock()})  # Done twice, it would undo two changes.
            undoing = asyncio.create_task(Handler(log, clock, uuid4).handle(MEMORIES, undo))
            await asyncio.sleep(0.4)
            network.cut()
            receipt = await undoing

    events = await PostgresLog(pool, Codec(), roots, clock).read(stream)
    assert [type(event.payload) for event in events[2 + remembered :]] == [MemoryReverted]
    assert (receipt.last_seq, receipt.already) == (len(events), False)


@asynccontextmanager
async def writers_of(engine: Engine, name: str) -> AsyncIterator[Pool]:
    """One connection of this name, not tried before its use."""
    dsn = make_conninfo(engine.endpoints.postgres_dsn, application_name=name)
    async with await open_pool(dsn, size=1, check=False) as writers:
        yield writers


async def _cut(engine: Engine, name: str) -> None:
    """End the session of this name, as a restart of the server or a network would."""
    async with await AsyncConnection.connect(engine.endpoints.postgres_dsn) as connection:
        ended = await connection.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = %s", [name]
        )
        assert await ended.fetchall() == [(True,)]
