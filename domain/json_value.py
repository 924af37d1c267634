"""JSON from outside: limits on depth and size, so that every accepted value can be read back."""

import json
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain
from typing import Any, NoReturn

from mnemolog.domain.errors import InvalidInput, NestedTooDeep

MAX_DEPTH = 64
"""Maximum nesting of a caller's value. The most limited JSON parser supports 128 levels."""
MAX_DOCUMENT_DEPTH = MAX_DEPTH + 8
"""Maximum nesting of a container of such values: a request body, a turn, a line of an export."""
MAX_JSON_BYTES = 32 * 1024
MAX_DIGITS = 4300
"""Of a whole number. Python converts no more, since that takes time that grows with their square."""
FIX = f"flatten it: lists and objects may be nested at most {MAX_DEPTH} levels deep"


def parsed_json(text: bytes | str, field: str) -> Any:
    """Parse a JSON document; raises InvalidInput if it is invalid, NestedTooDeep if parsers might not be able to read
    it.

    If an object has a duplicate name, the last one counts.
    """
    try:
        document = json.loads(text, parse_int=partial(_whole_number, field=field), parse_constant=_refuse_constant)
    except RecursionError as error:
        raise NestedTooDeep("is nested too deeply", field=field, fix=FIX) from error
    except ValueError as error:
        raise InvalidInput(f"is not JSON: {error}", field=field, fix="send one JSON object in UTF-8") from error
    require_depth(document, field="", limit=MAX_DOCUMENT_DEPTH)
    return document


def checked_json(value: Any, path: str) -> Any:
    """The value; raises InvalidInput if it cannot be stored unchanged."""
    require_depth(value, path)
    try:
        size = len(json.dumps(value, allow_nan=False, ensure_ascii=False).encode())
    except (TypeError, ValueError) as error:
        raise InvalidInput("is not a JSON value", field=path, fix="send text, a number, a list or an object") from error
    if size > MAX_JSON_BYTES:
        message = f"has {size:,} bytes of JSON, at most {MAX_JSON_BYTES:,} are accepted"
        raise InvalidInput(message, field=path, fix="shorten it")
    for one in _texts(value):
        if isinstance(one, str):
            require_no_nul(one, path)
    return value


def require_no_nul(text: str, path: str) -> None:
    """A text in JSON may have any other control character."""
    if "\0" in text:
        raise InvalidInput("contains a NUL character", field=path, fix="remove it")


def require_depth(value: Any, field: str, limit: int = MAX_DEPTH) -> None:
    """Raises NestedTooDeep, with the path of the value, if it is nested more than `limit` levels deep."""
    if not _is_deeper(value, limit):
        return
    path: list[Any] = []
    while len(path) < SHOWN:
        parts = value.items() if isinstance(value, dict) else enumerate(value)
        name, value = next((name, part) for name, part in parts if _is_deeper(part, limit - len(path) - 1))
        path.append(name)
    raise NestedTooDeep(f"is nested more than {MAX_DEPTH} levels deep", field=_shown(field, path), fix=FIX)


def _is_deeper(value: Any, limit: int) -> bool:
    """Level by level, because a body may consist of a million lists."""
    level = [value] if isinstance(value, _NESTING) else []
    for _ in range(limit):
        parts = (one.values() if isinstance(one, dict) else one for one in level if one)
        level = [part for part in chain.from_iterable(parts) if isinstance(part, _NESTING)]
        if not level:
            return False
    return bool(level)


_NESTING = (dict, list, tuple)
SHOWN = MAX_DOCUMENT_DEPTH - MAX_DEPTH


def _shown(field: str, path: Sequence[Any]) -> str:
    """A path such as `facts[0].object`, without the levels inside the value."""
    named = max((place for place, part in enumerate(path, start=1) if isinstance(part, str)), default=0)
    parts = (f".{part}" if isinstance(part, str) else f"[{part}]" for part in path[:named])
    return f"{field}{''.join(parts)}".removeprefix(".")[:200] or "value"


def _texts(value: Any) -> Iterator[Any]:
    """All values and names in a value, whose depth was checked before."""
    if isinstance(value, dict):
        for name, part in value.items():
            yield name
            yield from _texts(part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _texts(part)
    else:
        yield value


def _whole_number(text: str, field: str) -> int:
    digits = len(text.removeprefix("-"))
    if digits > MAX_DIGITS:
        what = f"has a whole number of {digits:,} digits, at most {MAX_DIGITS:,} are accepted"
        raise InvalidInput(what, field=field, fix="send it as text")
    return int(text)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")
