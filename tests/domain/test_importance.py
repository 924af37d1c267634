"""Importance: one float in [0, 1], and the scales of B (1 to 5) and D (0 to 3)."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemolog.domain.errors import InvalidInput
from mnemolog.domain.importance import (
    Scale,
    checked,
    from_five,
    from_level,
    of_scale,
    shows_at_least,
    shows_more_than,
    to_five,
    to_level,
)
from mnemolog.domain.memory import Kind, default_importance

unit = st.floats(0, 1)


@pytest.mark.parametrize("n", range(1, 6))
def test_the_scale_of_b_goes_there_and_back(n: int) -> None:
    assert from_five(n) == (n - 1) / 4
    assert to_five(from_five(n)) == n


@pytest.mark.spec("D03")
@pytest.mark.parametrize("level", range(4))
def test_the_levels_of_d_are_thirds(level: int) -> None:
    assert from_level(level) == level / 3


@given(unit)
def test_b_shows_the_nearest_step(value: float) -> None:
    assert abs(from_five(to_five(value)) - value) <= 1 / 8


@pytest.mark.spec("D03")
def test_what_is_not_said_to_matter_is_of_level_one_and_what_happened_and_insights_as_their_specifications_say() -> (
    None
):
    assert {kind: default_importance(kind) for kind in Kind} == {
        Kind.FACT: from_level(1),
        Kind.PROCEDURE: from_level(1),
        Kind.SUMMARY: from_level(1),
        Kind.EPISODE: 0.5,
        Kind.SCENE: 0.5,
        Kind.INSIGHT: from_five(2),
    }


@pytest.mark.spec("D03")
@pytest.mark.parametrize("level", [0, 1, 2, 3])
def test_a_level_of_d_is_read_as_it_was_written(level: int) -> None:
    assert to_level(from_level(level)) == level


def test_a_scale_is_named_and_never_guessed() -> None:
    assert [of_scale(1, scale) for scale in Scale] == [1.0, 1 / 3, 0.0]
    with pytest.raises(InvalidInput):
        of_scale(2, Scale.UNIT)


@given(unit, unit)
def test_what_is_more_important_never_shows_less(one: float, other: float) -> None:
    low, high = sorted([one, other])

    assert to_five(low) <= to_five(high)


@pytest.mark.spec_part("B06")
@given(unit, st.integers(1, 5))
def test_a_filter_by_level_goes_by_the_level_that_is_shown(value: float, level: int) -> None:
    assert (value >= shows_at_least(level)) == (to_five(value) >= level)
    assert (value < shows_more_than(level)) == (to_five(value) <= level)
    assert shows_at_least(level - 0.5 if level > 1 else level) == shows_at_least(level)


@given(unit)
def test_a_value_in_range_passes_unchanged(value: float) -> None:
    assert checked(value) == value


@pytest.mark.parametrize("value", [-0.001, 1.001, 5, math.nan, math.inf, -math.inf])
def test_a_value_out_of_range_is_refused_by_field(value: float) -> None:
    with pytest.raises(InvalidInput) as refused:
        checked(value, "filters.importance")

    assert refused.value.field == "filters.importance"


@pytest.mark.parametrize("level", [0, 0.99, 5.01, 6, math.nan])
def test_a_level_outside_one_to_five_is_refused(level: float) -> None:
    with pytest.raises(InvalidInput):
        from_five(level)


@pytest.mark.parametrize("level", [-1, 4, 0.5, math.nan])
def test_what_is_no_level_of_zero_to_three_is_refused(level: float) -> None:
    with pytest.raises(InvalidInput):
        from_level(level)
