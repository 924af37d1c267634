"""Scene notes: a scene as a being wrote it down, one JSON object, until a patrol makes a memory of it (C ❶)."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mnemolog.domain.errors import InvalidInput
from mnemolog.domain.memory import Kind, default_importance
from mnemolog.domain.scene import Experience, experience_of

PARSE_FAILED = "[PARSE_FAILED]"
"""Marks a note that does not parse. It is kept, so that the being can write it again."""
_BESIDE = ("feeling", "themes", "emotion", "cluster")


@dataclass(frozen=True, slots=True)
class SceneNote:
    """A parsed note. `importance` is in [0, 1]."""

    experience: Experience
    importance: float


def parsed(text: str) -> SceneNote | None:
    """The scene of a note; None if it is not the JSON object of a scene. A mark is not part of the note.

    >>> note = '{"action": "Mia won", "actors": ["Mia"], "when": ["2026-01-03"], "feeling": "proud", "importance": 2}'
    >>> parsed(note).importance
    1.0
    """
    try:
        fields = json.loads(text.strip().removeprefix(PARSE_FAILED))
        if not isinstance(fields, Mapping):
            return None
        importance = fields.get("importance")
        beside = {name: fields[name] for name in _BESIDE if fields.get(name) is not None}
        scene = {name: value for name, value in fields.items() if name not in (*_BESIDE, "importance")}
        return SceneNote(experience_of({"scene": scene, **beside}), _weight(importance))
    except (InvalidInput, ValueError, RecursionError):
        return None


def marked(text: str) -> str:
    """The note with its mark, once."""
    return text if text.startswith(PARSE_FAILED) else f"{PARSE_FAILED} {text}"


def _weight(importance: Any) -> float:
    """`clamp(0, 1, importance ?? 0.5)` (C ❶)."""
    if importance is None:
        return default_importance(Kind.SCENE)
    if isinstance(importance, bool) or not isinstance(importance, int | float) or importance != importance:
        raise InvalidInput("is not a number", field="importance", fix="give a number from 0 to 1")
    return min(1.0, max(0.0, float(importance)))
