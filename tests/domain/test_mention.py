"""Which phrases of a text may be names."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemolog.domain.mention import LONGEST_NAME, WORDS_READ, longest, phrases
from mnemolog.domain.text import name_key


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("I called Marta today", "Marta"),
        ("Marta's sister is in town", "Marta"),
        ("We fly to New York City, at last!", "new york city"),
        ("(José) não veio", "jose"),
        ("O'Brien wrote", "O'Brien"),
        ("Вчера был Иван.", "иван"),
        ("Я видел Марту", "Марта"),
        ("Марией довольны", "Мария"),
        ("Это для Игоря", "Игорь"),
        ("С Сергеем", "Сергей"),
        ("у Ивана", "Иван"),
        ("Spotkałem Martę", "Marta"),
        ("Co wiesz o Marcie?", "Marta"),
        ("Kto był z Adamem?", "Adam"),
        ("Czy znasz Marka?", "Marek"),
        ("昨日は田中さんに会った", "田中"),
        ("the data-platform is down", "data-platform"),
    ],
)
def test_a_name_in_passing_is_among_the_phrases(text: str, name: str) -> None:
    assert name_key(name) in phrases(text)


def test_only_capitalised_words_of_texts_in_a_language_that_declines_names_are_taken_for_cases() -> None:
    assert "роман" not in phrases("я читаю романа")
    assert "marta" not in phrases("Do you know Marty?")
    assert "anna" not in phrases("Annie called")


def test_names_of_one_letter_and_parts_of_words_are_not() -> None:
    assert phrases("a b") == {"a b"}
    assert "art" not in phrases("Marta")


@given(st.text(max_size=300))
def test_no_phrase_is_longer_than_a_name_may_be(text: str) -> None:
    assert all(1 <= len(one.split()) <= LONGEST_NAME for one in phrases(text))


@given(st.text(max_size=300) | st.text("ab-_'. &1", max_size=30))
def test_phrases_have_the_form_in_which_names_are_compared(text: str) -> None:
    assert all(name_key(one) == one for one in phrases(text))


def test_a_long_text_is_read_up_to_a_limit() -> None:
    assert len(phrases(" ".join(f"w{number}" for number in range(2 * WORDS_READ)))) <= LONGEST_NAME * WORDS_READ


def test_the_longest_name_is_meant() -> None:
    assert longest({"york", "new york", "marta"}) == {"new york", "marta"}
    assert longest({"田中", "田中一郎"}) == {"田中一郎"}
    assert longest({"ana", "anabel"}) == {"ana", "anabel"}
