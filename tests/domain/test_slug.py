"""Slugs: lower case, no punctuation, underscores for spaces and hyphens, in any script (D02)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemolog.domain.errors import InvalidInput
from mnemolog.domain.slug import slug


@pytest.mark.spec("D02")
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("John Doe", "john_doe"),
        ("Acme Corp.", "acme_corp"),
        ("Austin, Texas", "austin_texas"),
        ("dashboard-redesign", "dashboard_redesign"),
        ("  O'Neil -- Zoë ", "oneil_zoe"),
        ("मुकेश", "मुकेश"),
        ("ALLERGY", "allergy"),
    ],
)
def test_a_name_becomes_one_word(name: str, expected: str) -> None:
    assert slug(name) == expected


@pytest.mark.parametrize("name", ["", "!?", " - "])
def test_a_name_without_a_letter_is_refused(name: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        slug(name, "predicate")
    assert caught.value.field == "predicate"


@given(st.text())
def test_a_slug_is_its_own_slug(name: str) -> None:
    try:
        found = slug(name)
    except InvalidInput:
        return
    assert slug(found) == found
