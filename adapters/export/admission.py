"""What an import lets in: texts within the limits of the commands that write them, which can be stored and indexed.

An id that is too long for an index would stop a projection of its user.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any, get_args

from pydantic import JsonValue

from mnemolog.domain.identity import identifier
from mnemolog.domain.json_value import checked_json, require_no_nul
from mnemolog.domain.memory_key import MAX_KEY_BYTES
from mnemolog.domain.text import MAX_TEXT_BYTES, require_no_control, require_short
from mnemolog.events.envelope import NewEvent
from mnemolog.events.event import Event
from mnemolog.events.fields import MAX_LABEL

# Names of fields with ids, or with what is validated as one.
_IDS = ("_id", "_ids")
_LIKE_IDS = frozenset({"actor", "category", "predicate", "relation_type", "field"})
_KEYS = frozenset({"memory_key", "entity_refs", "key"})
# The JSON of one write. Other JSON, such as the attributes of an entity, may add up over several.
_OF_ONE_WRITE = frozenset({"MemoryCreated", "MemoryUpdated", "MemoriesMerged", "MemoryReverted", "TurnRecorded"})


def require_admitted(event: NewEvent) -> None:
    """Raises InvalidInput, with the path of the first text that no command would have written."""
    for name, value in event.meta.as_dict().items():
        _require(value, f"meta.{name}", name, MAX_LABEL)
    payload = event.payload
    of_json, personal = _json_fields(type(payload)), payload.personal_fields()
    for name, value in payload.model_dump(mode="json").items():
        if name == "metadata" and payload.type_name() in _OF_ONE_WRITE:
            checked_json(value, f"data.{name}")
        limit = MAX_TEXT_BYTES if name in personal else MAX_LABEL
        _require_all(value, f"data.{name}", name, limit, is_json=name in of_json)


@cache
def _json_fields(type_: type[Event]) -> frozenset[str]:
    """The fields that hold JSON of a caller."""
    return frozenset(
        name
        for name, field in type_.model_fields.items()
        if JsonValue in (field.annotation, *get_args(field.annotation))
    )


def _require_all(value: Any, path: str, name: str, limit: int, *, is_json: bool) -> None:
    match value:
        case str() if is_json:
            _require_plain(value, path, limit)
        case str():
            _require(value, path, name, limit)
        case list():
            for place, one in enumerate(value):
                _require_all(one, f"{path}[{place}]", name, limit, is_json=is_json)
        case Mapping():
            for key, one in value.items():
                _require_plain(key, path, limit)
                _require_all(one, f"{path}.{key[:40]}", key, limit, is_json=is_json)
        case _:
            pass


def _require(text: str, path: str, name: str, limit: int) -> None:
    """A text of a field with this name. An erased one is empty."""
    if not text:
        return
    if name.endswith(_IDS) or name in _LIKE_IDS:
        identifier(text, path)
    else:
        require_no_control(text, path)
        require_short(text, path, MAX_KEY_BYTES if name in _KEYS else limit)


def _require_plain(text: str, path: str, limit: int) -> None:
    """A text in JSON."""
    require_no_nul(text, path)
    require_short(text, path, limit)
