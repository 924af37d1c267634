"""The one rule: whatever happens on the way, a stream goes on without a gap or not at all (design §4)."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemolog.events.envelope import StoredEvent
from mnemolog.projections.rule import outstanding
from tests.projections.recorded import turns

EVENTS = [StoredEvent(event.header, b"", b"") for event in turns(12)]

deliveries = st.lists(st.sampled_from(EVENTS), max_size=20)


@pytest.mark.spec("X09")
@given(st.integers(0, 12), deliveries)
def test_what_is_to_be_applied_goes_on_from_the_progress_or_a_gap_is_named(
    progress: int, delivered: Sequence[StoredEvent]
) -> None:
    wanted = outstanding(progress, delivered)
    newer = {event.header.seq for event in delivered if event.header.seq > progress}

    if wanted is None:
        assert newer != set(range(progress + 1, progress + 1 + len(newer)))
    else:
        assert [event.header.seq for event in wanted] == list(range(progress + 1, progress + 1 + len(newer)))


@pytest.mark.spec("X09")
@given(st.permutations(EVENTS), deliveries)
def test_loss_free_deliveries_apply_every_event_once_however_they_are_cut(
    order: Sequence[StoredEvent], doubled: Sequence[StoredEvent]
) -> None:
    assert outstanding(0, [*order, *doubled]) == EVENTS
