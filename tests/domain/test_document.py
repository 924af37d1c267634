"""Documents: a change of their chunks names as few of them as it can, and gives the order that was asked for."""

from collections.abc import Sequence
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemolog.domain.document import Ranks, after, reordered

pytestmark = pytest.mark.spec("A21")

some = st.lists(st.integers(0, 12).map(lambda number: UUID(int=number)), unique=True)


def ids(numbers: Sequence[int]) -> list[UUID]:
    return [UUID(int=one) for one in numbers]


def changed(before: Ranks, now: Sequence[UUID]) -> Ranks:
    change = reordered(before, now)
    return after(before, change.added, change.moved, change.removed)


@given(st.lists(some, min_size=1, max_size=8))
def test_after_any_sequence_of_changes_the_chunks_are_in_the_order_asked_for(versions: list[list[UUID]]) -> None:
    ranks: Ranks = {}
    for version in versions:
        change = reordered(ranks, version)
        assert bool(change) == (sorted(ranks, key=ranks.__getitem__) != version)
        ranks = changed(ranks, version)
        assert sorted(ranks, key=ranks.__getitem__) == version
        assert len(set(ranks.values())) == len(version)


@pytest.mark.parametrize(
    ("now", "added", "moved", "removed"),
    [
        ([1, 2, 3, 4], [], [], []),
        ([9, 1, 2, 3, 4], [9], [], []),
        ([1, 2, 9, 3, 4], [9], [], []),
        ([1, 2, 3, 4, 9], [9], [], []),
        ([1, 3, 4], [], [], [2]),
        ([4, 1, 2, 3], [], [4], []),
        ([2, 3, 4, 1], [], [1], []),
        ([1, 9, 4, 3], [9], [4], [2]),
        ([], [], [], [1, 2, 3, 4]),
    ],
)
def test_only_the_chunks_that_changed_are_named(
    now: list[int], added: list[int], moved: list[int], removed: list[int]
) -> None:
    before = changed({}, ids([1, 2, 3, 4]))

    change = reordered(before, ids(now))

    assert (list(change.added), list(change.removed)) == (ids(added), ids(removed))
    assert len(change.moved) == len(moved)


def test_chunks_that_are_always_added_at_the_same_place_never_share_a_rank() -> None:
    ranks: Ranks = changed({}, ids([1, 2]))
    numbers_again = 0
    for number in range(3, 130):
        order = [UUID(int=1), UUID(int=number), *sorted(ranks.keys() - {UUID(int=1)}, key=ranks.__getitem__)]
        numbers_again += len(reordered(ranks, order).moved) > 1
        ranks = changed(ranks, order)
        assert sorted(ranks, key=ranks.__getitem__) == order
    assert 0 < numbers_again < 5
