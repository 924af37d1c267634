"""JSON from outside: how deep and how large a value may be, so that whatever is taken in can be read again."""

import json
from collections.abc import Iterator
from typing import Any, NoReturn

from mnemolog.domain.errors import InvalidInput, NestedTooDeep

MAX_DEPTH = 64
"""Lists and objects within each other, in a value that a caller gives: of JSON's parsers the least takes 128."""
MAX_DOCUMENT_DEPTH = MAX_DEPTH + 8
"""In what carries such values: the body of a request, a turn, a line of an export."""
MAX_JSON_BYTES = 32 * 1024
FIX = f"flatten it: at most {MAX_DEPTH} lists and objects may stand within each other"


def parsed_json(text: bytes | str, field: str) -> Any:
    """A JSON document; InvalidInput when it is none, NestedTooDeep when no parser could be relied on to read it.

    Of a name that stands twice in an object the last counts.
    """
    try:
        document = json.loads(text, parse_constant=_refuse_constant)
    except RecursionError as error:
        raise NestedTooDeep("is nested too deeply", field=field, fix=FIX) from error
    except ValueError as error:
        raise InvalidInput(f"is not JSON: {error}", field=field, fix="send one JSON object in UTF-8") from error
    require_depth(document, field="", limit=MAX_DOCUMENT_DEPTH)
    return document


def checked_json(value: Any, path: str) -> Any:
    """The value, or InvalidInput when it could not be stored as it is."""
    require_depth(value, path)
    try:
        size = len(json.dumps(value, allow_nan=False, ensure_ascii=False).encode())
    except (TypeError, ValueError) as error:
        raise InvalidInput("is not a JSON value", field=path, fix="send text, a number, a list or an object") from error
    if size > MAX_JSON_BYTES:
        message = f"has {size:,} bytes of JSON, at most {MAX_JSON_BYTES:,} are accepted"
        raise InvalidInput(message, field=path, fix="shorten it")
    if any(isinstance(one, str) and "\0" in one for one in _texts(value)):
        raise InvalidInput("contains a NUL character", field=path, fix="remove it")
    return value


def require_depth(value: Any, field: str, limit: int = MAX_DEPTH) -> None:
    """NestedTooDeep, with the path of the value that is, when more than `limit` lists and objects are nested."""
    waiting: list[tuple[Any, int, Path]] = [(value, 1, ())]
    while waiting:
        one, depth, path = waiting.pop()
        if not isinstance(one, dict | list | tuple):
            continue
        if depth > limit:
            message = f"is nested deeper than {MAX_DEPTH}"
            raise NestedTooDeep(message, field=_shown(field, path), fix=FIX)
        parts = one.items() if isinstance(one, dict) else enumerate(one)
        waiting += [(part, depth + 1, (*path, name) if depth <= SHOWN else path) for name, part in parts]


Path = tuple[Any, ...]
SHOWN = MAX_DOCUMENT_DEPTH - MAX_DEPTH


def _shown(field: str, path: Path) -> str:
    """`facts[0].object`: as far as the names go, not how the value goes on within."""
    named = max((place for place, part in enumerate(path, start=1) if isinstance(part, str)), default=0)
    parts = (f".{part}" if isinstance(part, str) else f"[{part}]" for part in path[:named])
    return f"{field}{''.join(parts)}".removeprefix(".")[:200] or "value"


def _texts(value: Any) -> Iterator[Any]:
    """All that stands in a value, and the names in it; it is known not to be deep."""
    if isinstance(value, dict):
        for name, part in value.items():
            yield name
            yield from _texts(part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _texts(part)
    else:
        yield value


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")
