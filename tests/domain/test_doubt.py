"""What a message says that may end a critical fact."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemolog.domain.doubt import SHOWN, doubt, stated


@pytest.mark.parametrize(
    ("text", "predicate", "value", "told"),
    [
        ("Maybe I can stop losartan", "medication", "losartan", "Maybe I can stop losartan"),
        (
            "Hi! The GP is weaning me off Losartan. Great.",
            "medication",
            "losartan",
            "The GP is weaning me off Losartan.",
        ),
        (
            "I asked about the losartan. They said I may stop it.",
            "medication",
            "losartan",
            "I asked about the losartan. They said I may stop it.",
        ),
        ("I've stopped all my tablets", "medication", "losartan", "I've stopped all my tablets"),
        ("The GP switched me to losartan", "medication", "lisinopril", "The GP switched me to losartan"),
        ("She's put me on losartan instead.", "medication", "lisinopril", "She's put me on losartan instead."),
        ("I've been moved over to losartan", "medication", "lisinopril", "I've been moved over to losartan"),
        ("I can eat nuts again", "allergy", "nuts", "I can eat nuts again"),
        (
            "My nut allergy has vanished, the test was negative",
            "allergy",
            "nuts",
            "My nut allergy has vanished, the test was negative",
        ),
    ],
)
def test_what_may_end_a_fact_is_told_as_it_was_said(text: str, predicate: str, value: str, told: str) -> None:
    assert doubt(text, predicate, value) == told


@pytest.mark.parametrize(
    "said",
    [
        "Dr Singh bumped my levo, it's 88 now",
        "They've upped the levothyroxine again",
        "Levothyroxine 100 from tomorrow",
        "My levo went down to 50",
    ],
)
def test_another_dose_is_told_as_it_was_said_though_the_medication_is_called_for_short(said: str) -> None:
    assert doubt(f"Hi there. {said}", "levothyroxine_dose", "75") == said


@pytest.mark.parametrize(
    "said",
    [
        "Should I double my levo?",
        "I take my levothyroxine 75 at 6 in the morning",
        "I changed the tyres, they hold 88 now",
        "They raised my salary, I level up",
    ],
)
def test_no_dose_is_doubted_for_anything_else(said: str) -> None:
    assert doubt(said, "levothyroxine_dose", "75") == ""


def test_a_letter_names_no_medication() -> None:
    assert doubt("I'd have 500 now", "vitamin_d_dose", "75") == ""


@pytest.mark.parametrize(
    ("text", "predicate", "value"),
    [
        ("I took my losartan this morning", "medication", "losartan"),
        ("Can I stop losartan?", "medication", "losartan"),
        ("I stopped smoking", "medication", "losartan"),
        ("I stopped metformin", "medication", "losartan"),
        ("Should I switch to losartan?", "medication", "lisinopril"),
        ("I switched to oat milk", "medication", "lisinopril"),
        ("We moved to Bath", "medication", "losartan"),
        ("I switched to losartan", "allergy", "nuts"),
        ("I'm no longer allergic to cats", "allergy", "nuts"),
        ("My allergy to cats is gone", "allergy", "nuts"),
        ("Nuts make my throat swell", "allergy", "nuts"),
    ],
)
def test_nothing_else_is(text: str, predicate: str, value: str) -> None:
    assert doubt(text, predicate, value) == ""


@pytest.mark.parametrize(
    ("text", "again"),
    [
        ("I take losartan every morning", True),
        ("I'm back on Losartan", True),
        ("I ran out of losartan", False),
        ("My mum takes losartan", False),
        ("I take metformin", False),
    ],
)
def test_what_is_said_again_is_no_longer_in_doubt(text: str, again: bool) -> None:
    assert stated(text, datetime(2026, 5, 13, tzinfo=UTC), "medication", "losartan") is again


@given(st.text(), st.text(min_size=1))
def test_what_is_told_is_one_short_line_of_the_message(text: str, value: str) -> None:
    told = doubt(f"{text} I stopped losartan {value}", "medication", "losartan")
    assert len(told) <= SHOWN
    assert len(told.splitlines()) <= 1


@pytest.mark.parametrize(
    ("said", "doubted"),
    [
        ("I'm not allergic to anything but penicillin", False),
        ("I'm not allergic to anything except for penicillin", False),
        ("I'm not allergic to penicillin, they say", True),
    ],
)
def test_who_is_allergic_to_nothing_else_is_allergic_to_it(said: str, doubted: bool) -> None:
    assert bool(doubt(said, "allergy", "penicillin")) is doubted
