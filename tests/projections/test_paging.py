"""Pages of lists that are in memory."""

import pytest

from mnemolog.domain.errors import InvalidInput
from mnemolog.projections.paging import slice_of


def test_a_page_whose_last_row_is_gone_is_not_taken_for_the_last_page() -> None:
    rows = [{"id": str(place)} for place in range(5)]
    first = slice_of(rows, "id", 2, None)
    assert [row["id"] for row in slice_of(rows[1:], "id", 2, first.next_cursor)] == ["2", "3"]

    with pytest.raises(InvalidInput, match="not listed any more") as refused:
        slice_of(rows[2:], "id", 2, first.next_cursor)

    assert refused.value.field == "cursor"
