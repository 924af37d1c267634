"""Procedures: numbered steps, and a category of their own."""

import pytest

from mnemolog.domain.errors import InvalidInput
from mnemolog.domain.memory import Kind
from mnemolog.domain.memory_key import Source
from mnemolog.domain.procedure import kind_and_category, require_steps, require_wanted

pytestmark = pytest.mark.spec("B12")


@pytest.mark.parametrize(
    "text",
    ["1. Open the door", "1. Fetch\n2. Build\n\n3) Ship", "1. Open\n   the left one\n2. Close", "1. 打开门\n2. 关门"],
)
def test_numbered_steps_are_a_procedure(text: str) -> None:
    require_steps(text)


@pytest.mark.parametrize(
    "text", ["Open the door", "1. Open\n3. Close", "2. Open", "1. Open\nthen close", "1.", "- Open", "  1. Open"]
)
def test_anything_else_is_none(text: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        require_steps(text)

    assert refused.value.field == "text"


def test_kind_and_category_go_together() -> None:
    assert kind_and_category(Kind.PROCEDURE, "note") == (Kind.PROCEDURE, "procedural")
    assert kind_and_category(Kind.FACT, "procedural") == (Kind.PROCEDURE, "procedural")
    assert kind_and_category(Kind.FACT, "note") == (Kind.FACT, "note")


def test_what_was_overheard_must_be_clear() -> None:
    require_wanted(Source.API, 0.1)
    require_wanted(Source.SHADOW_EXTRACTION, 0.8)
    with pytest.raises(InvalidInput):
        require_wanted(Source.SHADOW_EXTRACTION, 0.79)
