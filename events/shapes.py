"""JSON Schemas of field types. The rules themselves are in the domain, and count bytes where JSON Schema counts
characters.
"""

from collections.abc import Iterable
from typing import Any

from mnemolog.domain.identity import MAX_IDENTIFIER
from mnemolog.domain.text import MAX_TEXT_BYTES

Shape = dict[str, Any]

# Refused in a text, and in an id, which may not have surrounding space either.
_CONTROL = r"\u0000-\u0008\u000b\u000c\u000e-\u001f"
_TEXT = rf"[^{_CONTROL}]*[^\s{_CONTROL}][^{_CONTROL}]*"
_UNFIT = r"\u0000-\u001f\u007f-\u009f"
_ID = rf"^[^\s{_UNFIT}]([^{_UNFIT}\u2028\u2029]*[^\s{_UNFIT}])?$"


def id_shape(max_length: int = MAX_IDENTIFIER) -> Shape:
    """An id as text, or as an integer."""
    return {"anyOf": [id_text_shape(max_length), {"type": "integer"}]}


def id_text_shape(max_length: int = MAX_IDENTIFIER) -> Shape:
    """An id in a path or a header, which is always text."""
    return {"type": "string", "minLength": 1, "maxLength": max_length, "pattern": _ID}


def text_shape(max_length: int = MAX_TEXT_BYTES) -> Shape:
    """A text with a visible character and without NUL."""
    return {"type": "string", "minLength": 1, "maxLength": max_length, "pattern": f"^{_TEXT}$"}


def label_shape(max_length: int) -> Shape:
    """A text, possibly empty."""
    text = {"type": "string", "maxLength": max_length, "pattern": f"^({_TEXT})?$"}
    return {"anyOf": [text, {"type": "null"}]}


def ref_shape(kinds: Iterable[str], max_length: int) -> Shape:
    """A reference: a kind in any case, a colon and a name."""
    names = "|".join("".join(f"[{letter.upper()}{letter}]" for letter in kind) for kind in kinds)
    pattern = rf"^\s*({names})\s*:{_TEXT}$"
    return {"type": "string", "maxLength": max_length, "pattern": pattern}


def distinct(most: int) -> Shape:
    """A list of unique items with a maximum length."""
    return {"minItems": 1, "maxItems": most, "uniqueItems": True}


UNIT: Shape = {"type": "number", "minimum": 0, "maximum": 1}
MOMENT: Shape = {"type": "string", "format": "date-time"}
DAY: Shape = {"anyOf": [MOMENT, {"type": "string", "format": "date"}]}
PARTIAL_DAY: Shape = {"anyOf": [*DAY["anyOf"], {"type": "string", "pattern": r"^(?!0000)[0-9]{4}(-(0[1-9]|1[0-2]))?$"}]}
