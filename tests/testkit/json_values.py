"""Values of JSON, odd ones among them, as a caller may send them."""

from typing import Any

from hypothesis import strategies as st

from mnemolog.domain.json_value import MAX_DEPTH

texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12)
ODD_NUMBERS = (
    6.02214076e23,
    1e30,
    12345678901234567890.0,
    -0.0,
    1.0,
    5e-324,
    1.7976931348623157e308,
    0.1,
    2**53 + 1,
    10**30,
    -(10**300),
    9007199254740993.0,
)
numbers = st.sampled_from(ODD_NUMBERS) | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
odd_texts = st.sampled_from(["", " ", "\x7f", "\u2028", "\ufeff", "\U0001f600", "null", "\\u0000", '"', "x" * 3000])
scalars = st.none() | st.booleans() | numbers | texts | odd_texts


def _deeper(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.lists(values, max_size=4) | st.dictionaries(texts | odd_texts, values, max_size=4)


json_values = st.recursive(scalars, _deeper, max_leaves=12) | st.integers(1, MAX_DEPTH).map(lambda n: nested(n, "both"))
json_objects = st.dictionaries(texts, json_values.filter(lambda value: depth(value) < MAX_DEPTH), max_size=4)


def nested(levels: int, of: str = "list") -> Any:
    """So many lists or objects within each other, or both in turn."""
    value: Any = 1
    for level in range(levels):
        as_list = of == "list" or (of == "both" and level % 2)
        value = [value] if as_list else {"a": value}
    return value


def depth(value: Any) -> int:
    """How many lists and objects are within each other."""
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return 0 if parts is None else 1 + max(map(depth, parts), default=0)
