"""What JSON Schema says of a field is what its rule takes."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from mnemolog.events.fields import Detail, Id, Label, Text

ODD = " \t\n\r\x00\x07\x0b\x0c\x1f\x7f\x85\xa0\u1680\u2028\u3000\u200baé\U0001f600-:/"
texts = st.text(st.sampled_from(ODD), max_size=6) | st.text(max_size=20)


def by_schema(schema: dict[str, Any], text: str) -> bool:
    if "anyOf" in schema:
        return any(by_schema(one, text) for one in schema["anyOf"] if one["type"] == "string")
    long_enough = schema.get("minLength", 0) <= len(text) <= schema["maxLength"]
    # `$` of JSON Schema is the end, and not what comes before a last line break.
    return long_enough and re.search(schema["pattern"].replace("$", r"\Z"), text) is not None


def by_rule(kind: Any, text: str) -> bool:
    try:
        TypeAdapter(kind).validate_python(text)
    except ValidationError:
        return False
    return True


@pytest.mark.parametrize("kind", [Id, Text, Label, Detail], ids=["id", "text", "label", "detail"])
def test_the_schema_of_a_text_allows_what_its_rule_takes(kind: Any) -> None:
    schema = TypeAdapter(kind).json_schema()

    @given(texts)
    @example("")
    @example(" ")
    @example("a\n")
    @example("\x0ca")
    @example("a" * 200)
    @example("a" * 201)
    def agree(text: str) -> None:
        assert by_schema(schema, text) == by_rule(kind, text), ascii(text)

    checked: Callable[[], None] = agree
    checked()
