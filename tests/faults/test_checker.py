"""The checker finds what is lost, doubled, overwritten or out of order, and says nothing of a good log."""

from collections.abc import Sequence
from uuid import UUID

import pytest

from mnemolog.events.codec import Codec
from mnemolog.events.envelope import Receipt, Recorded
from mnemolog.events.event import Event
from mnemolog.events.memory import MemoriesMerged, MemorySoftDeleted
from tests.faults.checker import Acknowledged, Verdict, judge
from tests.faults.plan import FAULTS, plan
from tests.faults.strike import STRIKES
from tests.testkit.clock import START
from tests.testkit.events import STREAM, created, rows, updated

ONE, TWO = UUID(int=1), UUID(int=2)
LOG: list[Event] = [created(ONE, "tea #1"), created(TWO, "trams #2"), updated(ONE, "coffee #3")]


def decoded(payloads: Sequence[Event]) -> list[Recorded]:
    return [Codec().decode(row) for row in rows(STREAM, payloads)]


def told(event: Recorded, mark: str, began: float) -> Acknowledged:
    receipt = Receipt(STREAM, (event.event_id,), event.seq, event.seq)
    return Acknowledged(mark, receipt, began, began + 0.5)


def verdict(recorded: Sequence[Recorded], *acknowledged: Acknowledged) -> Verdict:
    return judge({STREAM: recorded}, acknowledged)


def all_told(recorded: Sequence[Recorded]) -> list[Acknowledged]:
    return [told(event, f"#{event.seq}", float(event.seq)) for event in recorded]


def test_a_log_that_holds_everything_in_order_is_good() -> None:
    recorded = decoded(LOG)

    assert verdict(recorded, *all_told(recorded)).good


@pytest.mark.parametrize("missing", [0, 1, 2])
def test_an_acknowledged_event_that_is_gone_is_lost(missing: int) -> None:
    recorded = decoded(LOG)
    kept = [event for event in recorded if event is not recorded[missing]]

    assert len(verdict(kept, *all_told(recorded)).lost) == 1


def test_a_deleted_stream_is_reported_as_lost() -> None:
    assert len(judge({}, all_told(decoded(LOG))).lost) == 3


def test_another_event_at_its_place_is_a_loss() -> None:
    recorded, others = decoded(LOG), decoded(LOG)

    assert len(verdict(others, *all_told(recorded)).lost) == 3


def test_a_gap_in_seq_is_named() -> None:
    recorded = decoded(LOG)

    [sentence] = verdict([recorded[0], recorded[2]]).disordered

    assert "missing: [2]" in sentence


def test_the_same_write_twice_is_doubled() -> None:
    [sentence] = verdict(decoded([*LOG, created(UUID(int=3), "tea #1")])).doubled

    assert "#1 stands there 2 times" in sentence


def test_the_same_event_twice_is_doubled() -> None:
    recorded = decoded(LOG)

    assert any("event" in sentence for sentence in verdict([*recorded, recorded[2]]).doubled)


def test_a_write_before_one_that_was_acknowledged_earlier_is_out_of_order() -> None:
    recorded = decoded(LOG)
    late = [told(recorded[0], "#1", 9.0), told(recorded[1], "#2", 1.0)]

    [sentence] = verdict(recorded, *late).disordered

    assert "#1 stands at 1" in sentence


def test_writes_that_overlap_may_stand_in_any_order() -> None:
    recorded = decoded(LOG)

    assert verdict(recorded, told(recorded[0], "#1", 1.2), told(recorded[1], "#2", 1.0)).good


def test_an_update_that_was_decided_without_the_one_before_it_is_a_lost_update() -> None:
    weighed = updated(ONE, "tea #1", importance=0.9, changed=("importance",))  # It did not see "coffee #3".

    [sentence] = verdict(decoded([*LOG, weighed])).lost

    assert "text of an update that came before it is lost" in sentence


@pytest.mark.parametrize(
    "unseeing",
    [
        updated(ONE, "cocoa #4"),
        MemoriesMerged.of(TWO, created().content, absorbed_ids=(ONE,)),
    ],
)
def test_a_change_that_did_not_see_a_deletion_is_a_lost_update(unseeing: Event) -> None:
    deleted = MemorySoftDeleted(memory_id=ONE, purge_at=START)

    assert len(verdict(decoded([*LOG, deleted, unseeing])).lost) == 1


def test_the_same_seed_gives_the_same_rounds_and_each_fault_comes_in_turn() -> None:
    rounds = plan(7, 3 * len(FAULTS))

    assert rounds == plan(7, 3 * len(FAULTS))
    assert rounds != plan(8, 3 * len(FAULTS))
    assert {one.fault for one in rounds[: len(FAULTS)]} == set(FAULTS) == set(STRIKES)
    assert rounds[5].random("load").random() == plan(7, 6)[-1].random("load").random()
