"""Variants of names are suggested where a slip or two would explain them, and names that are told apart are not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemolog.domain.variants import alike, distance

words = st.text("abcd", max_size=8)


@pytest.mark.spec_part("D13")
@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("Makesh", "Mukesh", True),
        ("Marta", "Matra", True),
        ("Zoë Müller", "zoe mullr", True),
        ("Katharina", "Catarina", True),
        ("Ana", "Ann", False),
        ("Marta", "marta", False),
        ("Marta", "Martin", False),
        ("李", "王", False),
    ],
)
def test_names_that_a_slip_explains_are_alike(one: str, other: str, *, expected: bool) -> None:
    assert alike(one, other) is alike(other, one) is expected


@given(words, words)
def test_the_distance_is_the_same_both_ways_and_none_only_between_the_same(one: str, other: str) -> None:
    assert distance(one, other) == distance(other, one)
    assert (distance(one, other) == 0) is (one == other)
    assert abs(len(one) - len(other)) <= distance(one, other) <= max(len(one), len(other))
