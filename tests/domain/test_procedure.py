"""Procedures: numbered steps, and a category of their own."""

import pytest

from mnemolog.domain.errors import InvalidInput
from mnemolog.domain.memory import Kind
from mnemolog.domain.memory_key import Source
from mnemolog.domain.procedure import imperative, kind_and_category, require_steps, require_wanted

pytestmark = pytest.mark.spec("B12")


@pytest.mark.parametrize(
    "text",
    ["1. Open the door", "1. Fetch\n2. Build\n\n3) Ship", "1. Open\n   the left one\n2. Close", "1. 打开门\n2. 关门"],
)
def test_numbered_steps_are_a_procedure_and_no_number_may_be_missing(text: str) -> None:
    require_steps(text)
    with pytest.raises(InvalidInput):
        require_steps(text + "\n9. Stop")


@pytest.mark.parametrize(
    "text", ["Open the door", "1. Open\n3. Close", "2. Open", "1. Open\nthen close", "1.", "- Open", "  1. Open"]
)
def test_anything_else_is_none(text: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        require_steps(text)

    assert refused.value.field == "text"


@pytest.mark.parametrize(
    "step",
    [
        "Open the door",
        "Do not open it",
        "Carefully press the button",
        "If it rains, close the window",
        "Bring an umbrella",
        "Process the queue",
        "Focus on one thing",
        "Proceed to step 4",
        "`git fetch` the branch",
        "Откройте дверь",
        "Otwórz drzwi",
        "Abre la puerta",
        "Öffne die Tür",
        "ドアを開ける",
    ],
)
def test_a_step_is_an_order(step: str) -> None:
    assert imperative(step)
    require_steps(f"1. {step}")


@pytest.mark.parametrize(
    "step",
    [
        "You open the door",
        "The user opens the door",
        "Opens the door",
        "Opened the door",
        "Opening the door",
        "The door is opened",
        "Should open the door",
        "Я открываю дверь",
        "Ja otwieram drzwi",
        "Yo abro la puerta",
        "Ich öffne die Tür",
        "!!!",
    ],
)
def test_a_statement_is_no_step_and_the_refusal_names_it(step: str) -> None:
    with pytest.raises(InvalidInput, match="step 2 is not an instruction") as refused:
        require_steps(f"1. Go there\n2. {step}")

    assert (refused.value.field, "imperative" in refused.value.fix) == ("text", True)


def test_kind_and_category_go_together() -> None:
    assert kind_and_category(Kind.PROCEDURE, "note") == (Kind.PROCEDURE, "procedural")
    assert kind_and_category(Kind.FACT, "procedural") == (Kind.PROCEDURE, "procedural")
    assert kind_and_category(Kind.FACT, "note") == (Kind.FACT, "note")


def test_what_was_overheard_must_be_clear() -> None:
    require_wanted(Source.API, 0.1)
    require_wanted(Source.SHADOW_EXTRACTION, 0.8)
    with pytest.raises(InvalidInput):
        require_wanted(Source.SHADOW_EXTRACTION, 0.79)
