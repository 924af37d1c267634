"""What a projection does with an event that it cannot apply: strategies, skips, retries; and what is no poison."""

import pytest

from mnemolog.domain.errors import Conflict, EngineError, ModelMissing, ServerFailed
from mnemolog.events.envelope import Position, Recorded, StreamId
from mnemolog.events.memory import ContentEvent
from mnemolog.projections.projector import Skipped, Stop
from mnemolog.projections.runtime import Projection
from mnemolog.projections.strategy import OnPoison, Strategy
from tests.testkit.clock import Clock
from tests.testkit.events import created, rows
from tests.testkit.log import MemoryLog
from tests.testkit.store import MemoryStore

POISON = "poison"
ANA, BOB = StreamId.of_user("ana"), StreamId.of_user("bob")
STOPPED = Stop(2, "ValueError: I cannot bear this")


class Poisoned:
    """Cannot bear poison the first `times` times; `tries` counts how often it was given any."""

    def __init__(self, times: int = 10**6, error: Exception | None = None) -> None:
        self.times, self.tries = times, 0
        self._error = error or ValueError("I cannot bear this")

    def __call__(self, event: Recorded) -> None:
        if isinstance(event.payload, ContentEvent) and event.payload.text == POISON:
            self.tries += 1
            if self.tries <= self.times:
                raise self._error


def log_with(*texts: str) -> MemoryLog:
    """What Ana's stream holds; Bob's holds one event."""
    log = MemoryLog()
    log.streams = {ANA: rows(ANA, [created(text=text) for text in texts]), BOB: rows(BOB, [created()])}
    return log


def running(store: MemoryStore, log: MemoryLog, on_poison: OnPoison = OnPoison.FAIL, retries: int = 3) -> Projection:
    return Projection(store, log, strategy=Strategy(on_poison, retries, pause=0.001), now=Clock())


def applied(store: MemoryStore, stream: StreamId) -> list[int]:
    return [event.seq for event in store.rows.get(stream, [])]


@pytest.mark.parametrize(
    ("strategy", "tries"),
    [(OnPoison.FAIL, 2), (OnPoison.RETRY_AND_FAIL, 5)],  # The first try is that of the whole batch.
)
async def test_fail_stops_the_stream_at_the_event(strategy: OnPoison, tries: int) -> None:
    store, log = MemoryStore(poisoned := Poisoned()), log_with("fine", POISON, "fine")

    await running(store, log, strategy).catch_up()

    assert (applied(store, ANA), applied(store, BOB)) == ([1], [1])
    assert await store.stopped() == {ANA: STOPPED}
    assert await store.count_skipped() == 0
    assert poisoned.tries == tries


@pytest.mark.parametrize(("strategy", "tries"), [(OnPoison.SKIP, 2), (OnPoison.RETRY_AND_SKIP, 5)])
async def test_skip_continues_after_the_event_and_records_it(strategy: OnPoison, tries: int) -> None:
    store, log = MemoryStore(poisoned := Poisoned()), log_with("fine", POISON, "fine")

    await running(store, log, strategy).catch_up()

    assert (applied(store, ANA), applied(store, BOB)) == ([1, 3], [1])
    assert await store.stopped() == {}
    header = log.streams[ANA][1].header
    assert await store.skipped() == [
        Skipped(ANA, 2, header.event_id, "MemoryCreated", STOPPED.reason, Clock()(), f"strategy {strategy}")
    ]
    assert poisoned.tries == tries


@pytest.mark.parametrize("strategy", [OnPoison.RETRY_AND_FAIL, OnPoison.RETRY_AND_SKIP])
async def test_a_retry_that_succeeds_leaves_no_trace(strategy: OnPoison) -> None:
    store, log = MemoryStore(Poisoned(times=3)), log_with("fine", POISON, "fine")

    await running(store, log, strategy).catch_up()

    assert applied(store, ANA) == [1, 2, 3]
    assert (await store.stopped(), await store.count_skipped()) == ({}, 0)


@pytest.mark.parametrize("error", [ServerFailed("the model does not answer"), ModelMissing()])
async def test_a_model_that_does_not_answer_is_no_poison(error: Exception) -> None:
    store, log = MemoryStore(Poisoned(1, error)), log_with(POISON)
    projection = running(store, log, OnPoison.SKIP)

    with pytest.raises(type(error)):
        await projection.catch_up()
    assert (await store.stopped(), await store.count_skipped()) == ({}, 0)

    await projection.catch_up()
    assert applied(store, ANA) == [1]


async def test_an_engine_error_in_one_stream_neither_stops_nor_skips_it_and_others_continue() -> None:
    error = EngineError("a key was rotated")
    store, log = MemoryStore(Poisoned(2, error)), log_with("fine", POISON)
    projection = running(store, log, OnPoison.SKIP)

    await projection.catch_up()
    assert (applied(store, ANA), applied(store, BOB)) == ([1], [1])
    assert (await store.stopped(), await store.count_skipped()) == ({}, 0)

    await projection.catch_up()
    assert applied(store, ANA) == [1, 2]


async def test_a_retry_continues_from_the_stop_to_the_head() -> None:
    store, log = MemoryStore(Poisoned(times=2)), log_with("fine", POISON, "fine")
    projection = running(store, log)
    await projection.catch_up()

    assert await projection.retry(ANA) is None

    assert applied(store, ANA) == [1, 2, 3]
    assert await store.stopped() == {}


async def test_a_retry_that_meets_the_poison_again_says_where() -> None:
    store, log = MemoryStore(Poisoned()), log_with("fine", POISON, "fine")
    projection = running(store, log)
    await projection.catch_up()

    assert await projection.retry(ANA) == STOPPED
    assert await store.stopped() == {ANA: STOPPED}


async def test_an_operator_skips_exactly_the_event_that_a_stream_stopped_at() -> None:
    store, log = MemoryStore(Poisoned()), log_with("fine", POISON, POISON, "fine")
    projection = running(store, log)
    await projection.catch_up()

    skipped = await projection.skip(ANA, by="olga")

    assert (skipped.seq, skipped.by, skipped.reason) == (2, "olga", STOPPED.reason)
    assert (await store.stopped())[ANA].seq == 3
    assert await store.skipped() == [skipped]
    await projection.skip(ANA, by="olga")
    assert applied(store, ANA) == [1, 4]
    assert await projection.lag() == 0


async def test_a_stream_that_is_not_stopped_cannot_be_skipped() -> None:
    store, log = MemoryStore(), log_with("fine")
    projection = running(store, log)

    with pytest.raises(Conflict, match="not stopped"):
        await projection.skip(ANA, by="olga")

    await projection.catch_up()
    assert applied(store, ANA) == [1]


@pytest.mark.spec("X08")
async def test_healing_reapplies_a_stream_without_skipped_events() -> None:
    store, log = MemoryStore(Poisoned()), log_with("fine", POISON, "fine", POISON)
    projection = running(store, log, OnPoison.SKIP)
    await projection.catch_up()
    store.rows[ANA] = []

    assert await projection.heal(ANA) == 4

    assert applied(store, ANA) == [1, 3]
    assert await store.progress(ANA) == 4
    assert applied(store, BOB) == [1]


@pytest.mark.spec("X08")
async def test_healing_that_meets_poison_changes_nothing() -> None:
    store, log = MemoryStore(poisoned := Poisoned(times=0)), log_with("fine", POISON)
    projection = running(store, log)
    await projection.catch_up()
    poisoned.times = 10**6

    with pytest.raises(ValueError, match="bear"):
        await projection.heal(ANA)

    assert applied(store, ANA) == [1, 2]
    assert await store.progress(ANA) == 2


@pytest.mark.spec("X09")
async def test_an_event_that_was_too_large_for_its_message_is_read_from_the_log_at_once() -> None:
    store, log = MemoryStore(), log_with("one", "two", "three")
    projection = running(store, log)

    await projection.deliver([log.streams[ANA][0], Position(ANA, 2), log.streams[ANA][2]])

    assert applied(store, ANA) == [1, 2, 3]
    await projection.deliver([Position(ANA, 2)])
    assert applied(store, ANA) == [1, 2, 3]
