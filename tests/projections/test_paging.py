"""Pages of lists that are in memory."""

import pytest

from mnemolog.domain.errors import InvalidInput
from mnemolog.projections.paging import slice_of


def test_who_deletes_a_page_is_given_the_next_one() -> None:
    rows = [{"id": str(place)} for place in range(5)]
    first = slice_of(rows, "id", 2, None)

    for left in (rows, rows[1:], rows[2:]):
        assert [row["id"] for row in slice_of(left, "id", 2, first.next_cursor)] == ["2", "3"]


def test_a_page_whose_place_is_gone_is_not_taken_for_the_last_page() -> None:
    rows = [{"id": str(place)} for place in range(5)]
    first = slice_of(rows, "id", 2, None)

    with pytest.raises(InvalidInput, match="no longer listed") as refused:
        slice_of(rows[3:], "id", 2, first.next_cursor)

    assert refused.value.field == "cursor"
