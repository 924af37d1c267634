"""The handler on the real log: conflicts are retried, groups are judged one by one, and a key is used once."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import reduce
from itertools import product
from typing import Any
from uuid import UUID, uuid4

import pytest

from mnemolog.adapters.engine.engine import Engine, new_id, now
from mnemolog.commands.facts import FACTS
from mnemolog.commands.handler import ATTEMPTS, Handler
from mnemolog.commands.memories import (
    MEMORIES,
    CreateMemory,
    LinkMemories,
    RestoreMemory,
    SoftDeleteMemory,
    UpdateMemory,
)
from mnemolog.commands.turns import TURNS, RecordTurn
from mnemolog.domain.errors import ConcurrencyConflict, IdempotencyConflict, InvalidInput, NotFound, TransitionRefused
from mnemolog.events.conversation import TurnRecorded
from mnemolog.events.envelope import Receipt, Recorded, StreamId
from mnemolog.events.event import memory_tag
from mnemolog.events.log import Append, EventLog, Outcome
from mnemolog.events.memory import MemoryCreated, MemoryUpdated
from tests.testkit.clock import START, Clock, ids
from tests.testkit.events import new, updated
from tests.testkit.graph import remembering
from tests.testkit.log import MemoryLog


def handler(log: EventLog) -> Handler:
    return Handler(log, now, new_id)


def create(user: str, memory_id: UUID, **fields: Any) -> CreateMemory:
    return CreateMemory.model_validate(
        {"user_id": user, "memory_id": memory_id, "text": "Ana lives in Lisbon", **fields}
    )


def update(user: str, memory_id: UUID, **fields: Any) -> UpdateMemory:
    return UpdateMemory.model_validate({"user_id": user, "memory_id": memory_id, **fields})


def turn(user: str, turn_id: str, **fields: Any) -> RecordTurn:
    drawn = {"entity_id": new_id()}
    plain = {"user_id": user, "turn_id": turn_id, "text": f"text of {turn_id}", "occurred_at": START}
    return RecordTurn.model_validate({**plain, **drawn, **fields})


async def payloads(log: EventLog, user: str) -> Sequence[Any]:
    return [event.payload for event in await log.read(StreamId.of_user(user))]


async def read(log: EventLog, user: str) -> Sequence[Recorded]:
    return await log.read(StreamId.of_user(user))


@pytest.mark.spec("X14")
async def test_a_receipt_names_the_events_as_they_stand_in_the_log(engine: Engine, user: str) -> None:
    receipt = await handler(engine.log).handle(TURNS, turn(user, "msg-1", speaker="Ana"), occurred_at=START)

    events = await read(engine.log, user)
    assert receipt == Receipt(StreamId.of_user(user), tuple(event.event_id for event in events), 1, 2)
    assert {event.occurred_at for event in events} == {START}
    assert events[0].meta.actor == "user"


@pytest.mark.spec("D04")
async def test_two_writers_of_one_memory_at_once_lose_nothing(engine: Engine, user: str) -> None:
    memory_id = uuid4()
    run = handler(engine.log)
    await run.handle(MEMORIES, create(user, memory_id))

    await asyncio.gather(
        run.handle(MEMORIES, update(user, memory_id, text="Ana lives in Porto")),
        run.handle(MEMORIES, update(user, memory_id, importance=1.0)),
    )

    [*_, last] = await payloads(engine.log, user)
    assert (last.text, last.importance) == ("Ana lives in Porto", 1.0)
    assert len(await payloads(engine.log, user)) == 3


@pytest.mark.spec("D04")
async def test_many_creations_of_one_memory_at_once_leave_one(engine: Engine, user: str) -> None:
    memory_id = uuid4()
    run = handler(engine.log)

    receipts = await asyncio.gather(*(run.handle(MEMORIES, create(user, memory_id)) for _ in range(10)))

    assert len({receipt.event_ids for receipt in receipts}) == 1
    assert sorted(receipt.already for receipt in receipts) == [False] + [True] * 9
    assert len(await payloads(engine.log, user)) == 1


async def test_writers_of_different_memories_do_not_conflict(engine: Engine, user: str) -> None:
    run = handler(engine.log)

    receipts = await asyncio.gather(*(run.handle(MEMORIES, create(user, uuid4())) for _ in range(20)))

    assert sorted(receipt.first_seq for receipt in receipts) == list(range(1, 21))


class Overtaken(MemoryLog):
    """A log on which somebody else writes to the same memory first, so many times."""

    def __init__(self, memory_id: UUID, times: int) -> None:
        super().__init__()
        self.memory_id, self.times, self.tried = memory_id, times, 0

    async def append(self, appends: Sequence[Append]) -> Sequence[Outcome]:
        guarded = any(append.guard and append.guard.after for append in appends)
        if guarded and self.tried < self.times:
            rival = updated(self.memory_id, f"rival {self.tried}")
            await super().append([Append(appends[0].stream, (new(rival),))])
        self.tried += guarded
        return await super().append(appends)


async def test_a_conflict_is_decided_again_on_what_came_first() -> None:
    memory_id = uuid4()
    log = Overtaken(memory_id, times=ATTEMPTS - 1)
    run = Handler(log, Clock(), ids())
    await run.handle(MEMORIES, create("ana", memory_id))

    await run.handle(MEMORIES, update("ana", memory_id, importance=1.0))

    [*_, last] = await payloads(log, "ana")
    assert (last.text, last.importance) == (f"rival {ATTEMPTS - 2}", 1.0)


async def test_a_writer_that_always_loses_gets_a_conflict() -> None:
    memory_id = uuid4()
    log = Overtaken(memory_id, times=ATTEMPTS)
    run = Handler(log, Clock(), ids())
    await run.handle(MEMORIES, create("ana", memory_id))

    with pytest.raises(ConcurrencyConflict) as caught:
        await run.handle(MEMORIES, update("ana", memory_id, importance=1.0))

    assert (log.tried, caught.value.actual - caught.value.expected) == (ATTEMPTS, 1)


# Groups


async def test_a_refused_command_of_a_group_harms_no_other(engine: Engine, user: str) -> None:
    one, other, nowhere = uuid4(), uuid4(), uuid4()
    group = [create(user, one), update(user, nowhere, text="x"), create(user, other), update(user, one, text="Porto")]

    outcomes = await handler(engine.log).handle_all(
        MEMORIES, StreamId.of_user(user), [(command, START) for command in group]
    )

    assert isinstance(outcomes[1], NotFound)
    receipts = [outcome for outcome in outcomes if isinstance(outcome, Receipt)]
    events = await read(engine.log, user)
    assert [type(event.payload) for event in events] == [MemoryCreated, MemoryCreated, MemoryUpdated]
    assert [receipt.event_ids for receipt in receipts] == [(event.event_id,) for event in events]
    assert [receipt.last_seq for receipt in receipts] == [1, 2, 3]


async def test_a_batch_that_is_refused_completely_writes_nothing(engine: Engine, user: str) -> None:
    group = [(update(user, uuid4(), text="x"), START)] * 2

    outcomes = await handler(engine.log).handle_all(MEMORIES, StreamId.of_user(user), group)

    assert [type(outcome) for outcome in outcomes] == [NotFound, NotFound]
    assert await engine.log.head(StreamId.of_user(user)) == 0


@pytest.mark.spec("X14")
async def test_the_same_turn_twice_in_a_group_is_recorded_once(engine: Engine, user: str) -> None:
    group = [(turn(user, name, speaker="Ana"), START) for name in ("msg-1", "msg-2", "msg-1")]

    first, second, again = await handler(engine.log).handle_all(TURNS, StreamId.of_user(user), group)

    events = await read(engine.log, user)
    assert [event.payload.turn_id for event in events if isinstance(event.payload, TurnRecorded)] == ["msg-1", "msg-2"]
    assert isinstance(first, Receipt)
    assert isinstance(second, Receipt)
    assert (first.event_ids + second.event_ids) == tuple(event.event_id for event in events)
    assert again == replace(first, already=True)


@pytest.mark.spec("X14")
async def test_a_turn_that_is_already_recorded_is_answered_with_its_position(engine: Engine, user: str) -> None:
    run = handler(engine.log)
    await run.handle_all(TURNS, StreamId.of_user(user), [(turn(user, "msg-1"), START)])

    again, fresh = await run.handle_all(
        TURNS, StreamId.of_user(user), [(turn(user, "msg-1"), START), (turn(user, "msg-2"), START)]
    )

    assert isinstance(again, Receipt)
    assert isinstance(fresh, Receipt)
    assert (again.already, again.last_seq) == (True, 1)
    assert (fresh.already, fresh.first_seq, fresh.last_seq) == (False, 2, 2)
    assert await engine.log.head(StreamId.of_user(user)) == 2


@pytest.mark.spec("X14")
@pytest.mark.parametrize("speaker", ["Ana", "Bob", ""])
async def test_a_repeated_turn_gets_its_complete_first_receipt(engine: Engine, user: str, speaker: str) -> None:
    """With Ana, whom the turn before showed; with Bob, whom this one shows; and with nobody."""
    run, stream = handler(engine.log), StreamId.of_user(user)
    sent = turn(user, "msg-2", speaker=speaker)
    _, first = await run.handle_all(TURNS, stream, [(turn(user, "msg-1", speaker="Ana"), START), (sent, START)])
    await run.handle(TURNS, turn(user, "msg-3", speaker="Ana"), occurred_at=START)
    assert isinstance(first, Receipt)

    assert await run.handle(TURNS, sent, occurred_at=START) == replace(first, already=True)


@pytest.mark.spec("X14")
async def test_one_turn_from_many_writers_at_once_is_recorded_once(engine: Engine, user: str) -> None:
    run, stream = handler(engine.log), StreamId.of_user(user)
    group = [f"msg-{number}" for number in range(5)]

    await asyncio.gather(
        *(run.handle_all(TURNS, stream, [(turn(user, name, speaker="Ana"), START) for name in group]) for _ in range(4))
    )

    found = await payloads(engine.log, user)
    assert sorted(one.turn_id for one in found if isinstance(one, TurnRecorded)) == group
    assert len(found) == 1 + len(group), "one speaker, and the turns"


# Idempotency keys


@pytest.mark.spec("X14")
async def test_a_retry_under_its_key_gets_the_first_receipt(engine: Engine, user: str) -> None:
    run = handler(engine.log)

    first = await run.handle(MEMORIES, create(user, uuid4()), idempotency_key="key")
    again = await run.handle(MEMORIES, create(user, uuid4()), idempotency_key="key")

    assert (first.already, again.already) == (False, True)
    assert (again.event_ids, again.token) == (first.event_ids, first.token)
    assert await engine.log.head(first.stream) == 1


@pytest.mark.spec("X14")
async def test_retries_at_once_under_one_key_leave_one_write(engine: Engine, user: str) -> None:
    run = handler(engine.log)

    receipts = await asyncio.gather(
        *(run.handle(MEMORIES, create(user, uuid4()), idempotency_key="key") for _ in range(10))
    )

    assert len({receipt.event_ids for receipt in receipts}) == 1
    assert await engine.log.head(StreamId.of_user(user)) == 1


@pytest.mark.spec("X14")
async def test_another_request_under_a_used_key_is_refused(engine: Engine, user: str) -> None:
    run = handler(engine.log)
    await run.handle(MEMORIES, create(user, uuid4()), idempotency_key="key")

    with pytest.raises(IdempotencyConflict) as caught:
        await run.handle(MEMORIES, create(user, uuid4(), text="something else"), idempotency_key="key")

    assert caught.value.field == "idempotency_key"
    assert await engine.log.head(StreamId.of_user(user)) == 1


@pytest.mark.spec("X14")
async def test_a_retry_of_what_changed_nothing_changes_nothing_later_either(engine: Engine, user: str) -> None:
    run, memory_id = handler(engine.log), uuid4()
    await run.handle(MEMORIES, create(user, memory_id))
    command = update(user, memory_id, text="Ana lives in Lisbon")
    first = await run.handle(MEMORIES, command, idempotency_key="key")
    await run.handle(MEMORIES, update(user, memory_id, text="Ana lives in Porto"))

    again = await run.handle(MEMORIES, command, idempotency_key="key")

    assert first == again
    assert first.already
    assert (await payloads(engine.log, user))[-1].text == "Ana lives in Porto"


async def test_a_refused_request_leaves_its_key_free(engine: Engine, user: str) -> None:
    run, memory_id = handler(engine.log), uuid4()
    command = update(user, memory_id, text="Ana lives in Porto")
    with pytest.raises(NotFound):
        await run.handle(MEMORIES, command, idempotency_key="key")
    await run.handle(MEMORIES, create(user, memory_id))

    receipt = await run.handle(MEMORIES, command, idempotency_key="key")

    assert not receipt.already


async def test_one_key_of_two_users_is_two_keys(engine: Engine, user: str) -> None:
    run = handler(engine.log)
    await run.handle(MEMORIES, create(user, uuid4()), idempotency_key="key")

    receipt = await run.handle(MEMORIES, create(f"{user}-other", uuid4()), idempotency_key="key")

    assert not receipt.already


@pytest.mark.parametrize("key", ["", " ", "nul \0", "x" * 201])
async def test_a_key_that_cannot_be_kept_is_refused(engine: Engine, user: str, key: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        await handler(engine.log).handle(MEMORIES, create(user, uuid4()), idempotency_key=key)

    assert caught.value.field == "idempotency_key"


# What is read


async def test_a_decision_reads_the_memories_that_it_depends_on_and_no_others(engine: Engine, user: str) -> None:
    run, one, other = handler(engine.log), uuid4(), uuid4()
    await run.handle(MEMORIES, create(user, one))
    await run.handle(MEMORIES, create(user, other))
    receipt = await run.handle(
        MEMORIES, LinkMemories.model_validate({"user_id": user, "memory_id": one, "to_id": other})
    )

    tagged = await engine.log.read(receipt.stream, tags=[memory_tag(other)])

    assert [event.seq for event in tagged] == [2, 3]


class Counted(MemoryLog):
    """A log that counts how often decisions read it, and remembers what they read."""

    def __init__(self) -> None:
        super().__init__()
        self.reads = 0
        self.seqs: list[int] = []

    async def read(self, *args: Any, **kwargs: Any) -> Sequence[Recorded]:
        self.reads += 1
        found = await super().read(*args, **kwargs)
        self.seqs += [event.seq for event in found]
        return found


async def test_a_new_memory_is_written_without_reading_and_one_that_is_known_after_it() -> None:
    log, memory_id = Counted(), uuid4()
    run = Handler(log, Clock(), ids())

    first = await run.handle(MEMORIES, create("ana", memory_id))
    assert log.reads == 0

    again = await run.handle(MEMORIES, create("ana", memory_id))
    assert (again.already, again.event_ids) == (True, first.event_ids)
    with pytest.raises(IdempotencyConflict):
        await run.handle(MEMORIES, create("ana", memory_id, text="Ana lives in Porto"))


async def test_a_decision_that_reads_on_reads_no_event_twice_and_folds_all_in_order() -> None:
    log = Counted()
    run = Handler(log, Clock(), ids())
    stream = StreamId.of_user("ana")
    for year, (subject, city) in enumerate(product(("Ana", "Marta"), ("Porto", "Oslo", "Turin")), 2001):
        since = datetime(year, 1, 1, tzinfo=UTC)
        await run.handle(FACTS, remembering(subject, "lives_in", city, since=since))
    log.reads, log.seqs = 0, []

    state = await run.read(FACTS, remembering("Ana", "lives_in", "Bergen"))

    assert log.reads > 2, "names, then the entity, then the slot"
    assert len(log.seqs) == len(set(log.seqs)) < len(log.streams[stream])
    whole = reduce(FACTS.evolve, await log.read(stream), FACTS.initial)
    assert state.relations == {id_: whole.relations[id_] for id_ in state.relations}
    assert sorted(len(one.validity.periods) for one in state.relations.values()) == [1, 1, 1]


async def test_a_memory_is_hidden_and_restored(engine: Engine, user: str) -> None:
    run, memory_id = handler(engine.log), uuid4()
    await run.handle(MEMORIES, create(user, memory_id))
    await run.handle(MEMORIES, SoftDeleteMemory.model_validate({"user_id": user, "memory_id": memory_id, "at": START}))

    with pytest.raises(TransitionRefused):
        await run.handle(MEMORIES, update(user, memory_id, text="x"))
    await run.handle(MEMORIES, RestoreMemory.model_validate({"user_id": user, "memory_id": memory_id}))

    assert not (await run.handle(MEMORIES, update(user, memory_id, text="x"))).already
