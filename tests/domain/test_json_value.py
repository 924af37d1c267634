"""JSON from outside: how deep it may be, where it is said to be deeper, and what is no JSON."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemolog.domain.errors import InvalidInput, NestedTooDeep
from mnemolog.domain.json_value import MAX_DEPTH, MAX_DIGITS, MAX_DOCUMENT_DEPTH, checked_json, parsed_json
from tests.testkit.json_values import json_values, nested


@given(json_values)
def test_what_is_accepted_reads_back_the_same(value: Any) -> None:
    assert checked_json(value, "object") is value
    again = parsed_json(json.dumps(value), "body")
    assert again == value
    assert json.dumps(again) == json.dumps(value)


@given(st.integers(0, 300), st.sampled_from(["list", "object", "both"]))
def test_a_value_is_accepted_up_to_the_limit_and_no_deeper(depth: int, of: str) -> None:
    value = nested(depth, of)

    if depth <= MAX_DEPTH:
        assert checked_json(value, "object") is value
    else:
        with pytest.raises(NestedTooDeep) as refused:
            checked_json(value, "object")
        assert refused.value.field.startswith("object")
        assert str(MAX_DEPTH) in refused.value.fix


@pytest.mark.parametrize("depth", [MAX_DOCUMENT_DEPTH, 200, 480, 900, 100_000])
def test_a_document_that_is_too_deep_is_refused_and_by_its_field_where_it_can_be_read(depth: int) -> None:
    text = '{"facts": [{"object": ' + "[" * depth + "]" * depth + "}]}"

    with pytest.raises(NestedTooDeep) as refused:
        parsed_json(text, "body")

    assert refused.value.field in (("facts[0].object",) if depth < 900 else ("facts[0].object", "body"))


@pytest.mark.parametrize("text", ["", "{", "NaN", "[Infinity]", '{"a": -Infinity}', "9" * 5000, b"\xff", "'a'"])
def test_what_is_no_json_is_refused(text: str | bytes) -> None:
    with pytest.raises(InvalidInput) as refused:
        parsed_json(text, "body")

    assert (refused.value.code, refused.value.field) == ("invalid_input", "body")


@pytest.mark.parametrize("number", ["9" * MAX_DIGITS, "-" + "9" * MAX_DIGITS])
def test_a_whole_number_is_accepted_up_to_the_limit_of_digits_and_no_longer(number: str) -> None:
    assert parsed_json(f'{{"score": {number}}}', "body") == {"score": int(number)}

    with pytest.raises(InvalidInput) as refused:
        parsed_json(f'{{"score": {number}0}}', "body")

    assert refused.value.message == "has a whole number of 4,301 digits, at most 4,300 are accepted"
    assert (refused.value.field, refused.value.fix) == ("body", "send it as text")


def test_the_last_of_two_equal_names_counts() -> None:
    assert parsed_json('{"a": 1, "a": 2}', "body") == {"a": 2}


@pytest.mark.parametrize(
    "value", [float("nan"), float("inf"), "\ud800", {"\ud800": 1}, "a\0b", {"a\0b": 1}, {1, 2}, {1: {2}}]
)
def test_what_could_not_be_stored_as_it_is_is_refused(value: Any) -> None:
    with pytest.raises(InvalidInput) as refused:
        checked_json(value, "object")

    assert refused.value.field == "object"


def test_a_number_of_thousands_of_digits_is_refused() -> None:
    with pytest.raises(InvalidInput):
        checked_json(10**5000, "object")
