"""Entity cards and the references that they begin with (D02, D06)."""

from math import nextafter

import pytest

from mnemolog.domain.card import TELLING, card, reference
from mnemolog.domain.importance import to_level


@pytest.mark.spec("D06")
def test_a_card_is_one_line_of_the_first_three_facts() -> None:
    assert card("person:john", ["fact1", "fact2", "fact3", "fact4"]) == "[person:john]: fact1; fact2; fact3"


@pytest.mark.spec("D06")
def test_a_fact_of_several_lines_is_in_the_one_line_of_a_card() -> None:
    assert card("person:john", ["To buy:\n- tea\n- milk", "tall"]) == "[person:john]: To buy: - tea - milk; tall"


@pytest.mark.spec("D06")
def test_what_shows_level_two_is_on_a_card() -> None:
    assert (to_level(TELLING), to_level(nextafter(TELLING, 0))) == (2, 1)


def test_there_is_no_card_without_memories() -> None:
    assert card("person:john", []) == ""


@pytest.mark.spec("D02")
@pytest.mark.parametrize(
    ("category", "name", "expected"),
    [
        ("Person", "John Doe", "person:john_doe"),
        ("Organization", "Acme Corp.", "org:acme_corp"),
        ("Location", "Austin, Texas", "place:austin_texas"),
        ("Project", "Dashboard-Redesign", "project:dashboard_redesign"),
        ("Food", "Crème brûlée", "food:creme_brulee"),
        ("Person", "Ελένη", "person:ελενη"),
        ("Person", "★", "person:★"),
    ],
)
def test_a_reference_is_the_type_and_the_slug_of_the_name(category: str, name: str, expected: str) -> None:
    assert reference(category, name) == expected
