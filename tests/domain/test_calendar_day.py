"""Days as values of facts: those that cannot be are refused, other texts are left alone."""

from datetime import UTC, datetime

import pytest

from mnemolog.domain.calendar_day import end_of_planned, require_possible_day
from mnemolog.domain.errors import InvalidInput
from mnemolog.domain.identity import day_or_instant

AT = datetime(2026, 5, 13, tzinfo=UTC)


@pytest.mark.parametrize(
    ("predicate", "value", "what"),
    [
        ("birthday", "31 February", "not a day"),
        ("birthday", "February 31st, 1990", "not a day"),
        ("birthday", "1990-02-31", "not a day"),
        ("birthday", "0000-01-01", "not a day"),
        ("birthday", "1990-13-01", "not a day"),
        ("birthday", "3 May 2027", "in the future"),
        ("birthday", "2026-05-14", "in the future"),
        ("died", "by 2026-05-14", "in the future"),
        ("wedding_date", "2026-06-31", "not a day"),
    ],
)
def test_an_impossible_day_is_refused_with_its_field(predicate: str, value: str, what: str) -> None:
    with pytest.raises(InvalidInput, match=what) as refused:
        require_possible_day(predicate, value, AT, "object")
    assert refused.value.field == "object"
    assert refused.value.fix


@pytest.mark.parametrize(
    ("predicate", "value"),
    [
        ("birthday", "29 February"),
        ("birthday", "29 February 2000"),
        ("birthday", "2026-05-13"),
        ("birthday", "in spring"),
        ("birthday", "le 3 mai"),
        ("birthday", {"month": 2, "day": 31}),
        ("wedding_date", "2030-06-30"),
        ("died", "2026-03"),
        ("likes", "31 February"),
    ],
)
def test_a_possible_day_and_any_other_value_pass(predicate: str, value: object) -> None:
    require_possible_day(predicate, value, AT, "object")


@pytest.mark.parametrize("value", ["0000-01-01", "2026-02-31", "2026-13-01"])
def test_a_time_is_no_day_that_does_not_exist(value: str) -> None:
    with pytest.raises(InvalidInput, match="not a day of the calendar") as refused:
        day_or_instant(value, "since")
    assert refused.value.field == "since"


@pytest.mark.parametrize(
    ("predicate", "value", "end"),
    [
        ("exam_date", "2026-06-30", datetime(2026, 7, 1, 12, tzinfo=UTC)),
        ("deadline_date", "by 2026-12-31", datetime(2027, 1, 1, 12, tzinfo=UTC)),
        ("trip_date", "2026-08", None),
        ("trip_date", "2026-06-31", None),
        ("wedding_date", "2026-06-30", None),
        ("birthday", "2026-06-30", None),
        ("lives_in", "2026-06-30", None),
    ],
)
def test_what_is_planned_for_a_day_ends_with_it(predicate: str, value: str, end: datetime | None) -> None:
    assert end_of_planned(predicate, value) == end
